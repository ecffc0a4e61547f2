"""Large programs stay small: peak memory is measured, and what would be quadratic could not finish."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from solar_agent.ir.errors import IRError
from solar_agent.ir.execute import Values, execute
from solar_agent.ir.load import load

from .lab import bindings

FLOAT_BYTES = 8


def run(text, arrays, attrs=None, dtypes=None):
    """Outputs, and the most bytes that the run held at once beyond its inputs."""
    dtypes = dtypes or {}
    bound = bindings({name: (array.shape, dtypes.get(name, "f32")) for name, array in arrays.items()}, None, attrs)
    program = load(f"program t\n{text}\n", bound)
    tracemalloc.start()
    try:
        outputs = execute(program, Values(arrays)).outputs
        return outputs, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def normal(*shape):
    return np.random.default_rng(0).standard_normal(shape)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("sum(j<i+1: x[j])", lambda x: np.cumsum(x)),
        ("sum(j<i: x[j])", lambda x: np.cumsum(x) - x),
        ("sum(j<N-i: x[N-1-j])", lambda x: np.cumsum(x[::-1])[::-1]),
        ("sum(j<N where j >= i: x[j])", lambda x: np.cumsum(x[::-1])[::-1]),
        ("max(j<i+1: x[j])", lambda x: np.maximum.accumulate(x)),
    ],
)
def test_running_reductions_are_linear(body, expected):
    x = normal(300_000)
    (y,), peak = run(f"input x[N]\nfor i<N: y[i] = {body}\noutput y", {"x": x})
    np.testing.assert_allclose(y, expected(x), atol=1e-8)
    assert peak < 8 * x.size * FLOAT_BYTES


def test_convolution_never_lays_out_its_domain():
    x, w = normal(1, 24, 60, 60), normal(48, 24, 3, 3)
    text = (
        "input x[N, C, H, W]\ninput w[O, C, R, S]\n"
        "for n<N, o<O, p<H, q<W, c<C, r<R, s<S: y[n,o,p,q] += (x[n,c,p+r-1,q+s-1] else 0) * w[o,c,r,s]\noutput y"
    )
    (y,), peak = run(text, {"x": x, "w": w})
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x[0], ((0, 0), (1, 1), (1, 1))), (3, 3), axis=(1, 2))
    np.testing.assert_allclose(y[0], np.einsum("cpqrs,ocrs->opq", windows, w), atol=1e-10)
    one_patch_matrix = 24 * 9 * 60 * 60  # c * r * s * p * q: no output channels in it
    assert peak < 2 * one_patch_matrix * FLOAT_BYTES


def test_transposed_convolution_visits_only_its_taps():
    x, w = normal(1, 16, 40, 40), normal(16, 16, 4, 4)
    text = (
        "input x[N, C, H, W]\ninput w[C, O, R, S]\nlet P = 2*H + 2\nlet Q = 2*W + 2\ntensor y[N, O, P, Q] = 0\n"
        "for n<N, o<O, p<P, q<Q, c<C, r<R, s<S where (p - r) % 2 == 0 and (q - s) % 2 == 0: "
        "y[n,o,p,q] += (x[n,c,(p-r)//2,(q-s)//2] else 0) * w[c,o,r,s]\noutput y"
    )
    (y,), peak = run(text, {"x": x, "w": w})
    want = np.zeros((16, 82, 82))
    for r in range(4):
        for s in range(4):
            want[:, r : r + 80 : 2, s : s + 80 : 2] += np.einsum("chw,co->ohw", x[0], w[:, :, r, s])
    np.testing.assert_allclose(y[0], want, atol=1e-10)
    taps_of_one_residue = 16 * 4 * 41 * 41  # c * (2*2 taps) * p/2 * q/2
    assert peak < (2 * y.size + 3 * taps_of_one_residue) * FLOAT_BYTES


def test_pooling_goes_tap_by_tap():
    x = normal(4, 32, 64, 64)
    text = (
        "input x[N, C, H, W]\n"
        "for n<N, c<C, p<H//2, q<W//2, r<3, s<3: y[n,c,p,q] max= (x[n,c,2*p+r-1,2*q+s-1] else -inf)\noutput y"
    )
    (y,), peak = run(text, {"x": x})
    assert y[0, 0, 1, 1] == x[0, 0, 1:4, 1:4].max()
    assert peak < (1.3 * x.size + 2 * y.size) * FLOAT_BYTES


def test_chains_drop_what_they_no_longer_need():
    lines = ["input x[N]", "for i<N: a0[i] = x[i] + 1"]
    lines += [f"for i<N: a{k + 1}[i] = a{k}[i] * 0.5 + x[i]" for k in range(20)]
    x = normal(200_000)
    _, peak = run("\n".join([*lines, "output a20"]), {"x": x})
    assert peak < 4 * x.size * FLOAT_BYTES


def test_grouped_and_merged_axes_are_views():
    x, w = normal(2, 64, 500), normal(64, 16)
    text = (
        "input x[N, C, L]\ninput w[O, K]\nlet OG = O // (C // K)\n"
        "for n<N, o<O, l<L, c<K: y[n,o,l] += x[n, (o//OG)*K + c, l] * w[o,c]\noutput y"
    )
    (y,), peak = run(text, {"x": x, "w": w})
    want = np.einsum("ngcl,goc->ngol", x.reshape(2, 4, 16, 500), w.reshape(4, 16, 16)).reshape(2, 64, 500)
    np.testing.assert_allclose(y, want, atol=1e-10)
    assert peak < 2.5 * y.size * FLOAT_BYTES


def test_copies_of_whole_tensors_are_shared():
    x = normal(100_000)
    (y,), peak = run("input x[N]\nfor i<N: a[i] = x[i]\nfor i<N: b[i] = a[i]\nfor i<N: y[i] = b[i]\noutput y", {"x": x})
    assert peak < 0.5 * x.size * FLOAT_BYTES
    np.testing.assert_array_equal(y, x)


def test_integer_products_are_exact_and_frugal():
    rng = np.random.default_rng(0)
    x, w = rng.integers(-128, 128, (2, 200, 300)).astype(np.int8)
    text = "input x[N, K]\ninput w[M, K]\nfor n<N, m<M: y[n,m] = sum(k<K: i32(x[n,k]) * i32(w[m,k]))\noutput y"
    (y,), peak = run(text, {"x": x, "w": w}, dtypes={"x": "i8", "w": "i8"})
    np.testing.assert_array_equal(y, x.astype(np.int64) @ w.astype(np.int64).T)
    assert peak < 200 * 200 * 300  # one byte for each point of the domain would be more


def test_adaptive_maxima_take_their_own_windows():
    x = normal(64, 50, 50)
    text = (
        "input x[C, H, W]\nfor c<C, p<7, q<7: y[c,p,q] = max(h<H, w<W where h >= (p*H)//7 and h < ((p+1)*H+6)//7 "
        "and w >= (q*W)//7 and w < ((q+1)*W+6)//7: x[c,h,w])\noutput y"
    )
    (y,), peak = run(text, {"x": x})
    assert y[3, 2, 6] == x[3, 14:22, 42:50].max()
    assert peak < 64 * 50 * 50 * 7 * FLOAT_BYTES


def test_refused_before_it_is_allocated():
    bound = bindings({"x": (2000,)})
    text = "program t\ninput x[N]\nfor i<N, j<N: a[i,j] = x[i] * x[j]\nfor i<N, j<N: b[i,j] = a[i,j] + 1\noutput b\n"
    program = load(text, bound)
    values = Values({"x": normal(2000)})
    both = 2 * 2000 * 2000 * FLOAT_BYTES
    tracemalloc.start()
    try:
        with pytest.raises(IRError, match="over the limit"):
            execute(program, values, limit_bytes=both - 1)
        assert tracemalloc.get_traced_memory()[1] < both
    finally:
        tracemalloc.stop()
    execute(program, values, limit_bytes=both)
