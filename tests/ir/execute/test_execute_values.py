"""Scalar operators, casts, opaque primitives: what single numbers become."""

from __future__ import annotations

import math

import numpy as np
import pytest
from solar_agent.ir.bindings import Bindings, TensorType
from solar_agent.ir.errors import IRError
from solar_agent.ir.execute import Values, execute
from solar_agent.ir.execute.opaque import order_of
from solar_agent.ir.execute.rounding import cast
from solar_agent.ir.execute.scalar import erf, power, sigmoid, sign
from solar_agent.ir.load import load

from .lab import bindings


def run(text, values, dtypes=None, **options):
    dtypes = dtypes or {}
    bound = bindings({name: (array.shape, dtypes.get(name, "f32")) for name, array in values.items()})
    return execute(load(f"program t\n{text}\n", bound), Values(values), **options).outputs


def test_erf_is_accurate_everywhere():
    x = np.concatenate([np.linspace(-7, 7, 20001), np.logspace(-300, 1, 500), -np.logspace(-8, 1, 500)])
    want = np.array([math.erf(value) for value in x])
    nonzero = want != 0
    assert np.max(np.abs(erf(x) - want)[nonzero] / np.abs(want[nonzero])) < 5e-16
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(erf(np.array([np.inf, -np.inf, np.nan, 0.0])), [1, -1, np.nan, 0])


def test_sigmoid_at_the_ends():
    with np.errstate(over="ignore"):
        assert sigmoid(np.array([-1000.0, 0.0, 1000.0])).tolist() == [0.0, 0.5, 1.0]
    np.testing.assert_allclose(sigmoid(np.array([-700.0])), [math.exp(-700)], rtol=1e-15)


def test_sign_of_nan_and_integer_powers():
    assert sign(np.array([np.nan, -2.0, 0.0, 3.0])).tolist() == [0, -1, 0, 1]
    assert power(np.array([2, -1, 1, 5]), np.array([-1, -3, -2, 2])).tolist() == [0, -1, 1, 25]


@pytest.mark.parametrize("dtype", ["i64", "i8"])
def test_bits_of_whole_numbers(dtype):
    a, b = np.array([-128, 127, -1, 5, 0]), np.array([3, -2, 64, 12, -128])
    heads = "input a[N] : int\ninput b[N] : int\n"
    text = heads + "y = bit_and(a, b)\nz = bit_or(a, b)\nu = bit_xor(a, b)\noutput y\noutput z\noutput u"
    got = run(text, {"a": a, "b": b}, {"a": dtype, "b": dtype})
    for mine, want in zip(got, (a & b, a | b, a ^ b), strict=True):
        np.testing.assert_array_equal(mine, want)


def test_bits_of_floats_are_refused():
    with pytest.raises(IRError, match="whole numbers"):
        run("input a[N]\ny = bit_and(a, 1)\noutput y", {"a": np.ones(3)})


ROUNDED = {
    "f32": ([0.1, 1e39, -1e39], [0.10000000149011612, np.inf, -np.inf]),
    "f16": ([0.1, 65519.0, 65520.0], [0.0999755859375, 65504.0, np.inf]),
    "bf16": ([0.1, 1.00390625, 1.01171875, np.nan], [0.10009765625, 1.0, 1.015625, np.nan]),
    "e4m3": ([0.1, 448.0, 464.0, 1e9, -np.inf, 2.0**-10, 3 * 2.0**-11], [0.1015625, 448, 448, 448, -448, 0, 2.0**-9]),
    "e5m2": ([0.1, 57344.0, 61439.0, 61440.0, np.inf], [0.09375, 57344.0, 57344.0, np.inf, np.inf]),
    "e2m1": ([0.2, 0.25, 0.75, 2.5, 5.0, 100.0], [0.0, 0.0, 1.0, 2.0, 4.0, 6.0]),
    "e8m0": ([1.4, 1.5, 3.0, 0.0, np.inf], [1.0, 2.0, 4.0, 2.0**-127, np.nan]),
}


@pytest.mark.parametrize("dtype", ROUNDED)
def test_rounding_formats(dtype):
    values, want = ROUNDED[dtype]
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(cast(np.array(values), dtype, True), want)
        np.testing.assert_array_equal(cast(np.array(values), dtype, False), values)


def test_rounding_formats_agree_with_torch():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    values = np.concatenate(
        [rng.standard_normal(20000) * np.exp(rng.uniform(-20, 12, 20000)), np.arange(-500, 500) * 2.0**-12, [0.0, -0.0]]
    )
    pairs = {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "e5m2": "float8_e5m2", "e8m0": "float8_e8m0fnu"}
    with np.errstate(all="ignore"):
        for name, theirs in pairs.items():
            want = torch.tensor(values).to(getattr(torch, theirs)).double().numpy()
            np.testing.assert_array_equal(cast(values, name, True), want, err_msg=name)
        small = values[np.abs(values) < 448]
        want = torch.tensor(small).to(torch.float8_e4m3fn).double().numpy()
        np.testing.assert_array_equal(cast(small, "e4m3", True), want)


def test_casts_to_integers_truncate_then_wrap():
    values = np.array([-1.7, 2.9, 300.0, -300.0, 3e9, np.nan, 1e20])
    with np.errstate(all="ignore"):
        assert cast(values, "i8", False).tolist() == [-1, 2, 44, -44, 0, 0, 0]
        assert cast(values, "u8", False).tolist() == [255, 2, 44, 212, 0, 0, 0]
        assert cast(values, "i32", True).tolist() == [-1, 2, 300, -300, -(2**31), -(2**31), -(2**31)]
        assert cast(values, "i64", False).tolist()[4:] == [3 * 10**9, -(2**63), -(2**63)]
        assert cast(np.array([2.0**63, 5.5]), "u64", False).tolist() == [2**63, 5]
    assert cast(np.array([7, 8, -9]), "i4", False).tolist() == [7, -8, 7]
    assert cast(np.array([17, -1]), "u4", False).tolist() == [1, 15]


def test_roundings_only_count_in_native_runs():
    x = np.array([0.1, 1.2345678901])
    text = "input x[N]\nfor i<N: y[i] = f32(bf16(x[i])) * 2\noutput y"
    np.testing.assert_array_equal(run(text, {"x": x})[0], x * 2)
    np.testing.assert_array_equal(run(text, {"x": x}, precision="native")[0], [0.2001953125, 2.46875])


def test_casts_of_factors_in_native_products():
    rng = np.random.default_rng(1)
    x, w = rng.standard_normal((3, 4)), rng.standard_normal((4, 5))
    text = "input x[N, K]\ninput w[K, M]\nfor i<N, j<M: y[i,j] = bf16(sum(k<K: bf16(x[i,k]) * bf16(w[k,j])))\noutput y"
    rounded = cast(cast(x, "bf16", True) @ cast(w, "bf16", True), "bf16", True)
    np.testing.assert_array_equal(run(text, {"x": x, "w": w}, precision="native")[0], rounded)
    np.testing.assert_allclose(run(text, {"x": x, "w": w})[0], x @ w)


def test_floor_division_and_remainder():
    x = np.array([-7, -1, 0, 5, 100, -128], np.int32)
    text = "input x[N]\nfor i<N: y[i] = x[i] // 3\nfor i<N: z[i] = x[i] % -4\nfor i<N: h[i] = x[i] / 2\n"
    floor, mod, half = run(text + "output y\noutput z\noutput h", {"x": x}, {"x": "i32"})
    assert floor.tolist() == [-3, -1, 0, 1, 33, -43] and floor.dtype == np.int32
    assert mod.tolist() == [-3, -1, 0, -3, 0, 0]
    assert half.tolist() == [-3.5, -0.5, 0, 2.5, 50, -64]


def test_wrap_of_narrow_integers():
    x = np.array([-7, -1, 0, 5, 100, -128], np.int32)
    (wrapped,) = run("input x[N]\nfor i<N: y[i] = i8(x[i]) * 2\noutput y", {"x": x}, {"x": "i32"})
    assert wrapped.tolist() == [-14, -2, 0, 10, -56, 0] and wrapped.dtype == np.int8


def test_min_and_max_propagate_nan():
    x = np.array([1.0, np.nan, 3.0])
    text = "input x[N]\nfor i<N: y[i] = max(x[i], 2)\nfor i<N: z[] max= x[i]\nfor i<N: k[] argmax= x[i]\n"
    y, z, k = run(text + "output y\noutput z\noutput k", {"x": x})
    np.testing.assert_array_equal(y, [2, np.nan, 3])
    assert np.isnan(z) and k == 1


def test_order_is_stable_both_ways():
    x = np.array([1.0, np.nan, 3.0, 1.0, 3.0, np.nan, -np.inf])
    assert order_of(x, descending=False).tolist() == [6, 0, 3, 2, 4, 1, 5]
    assert order_of(x, descending=True).tolist() == [1, 5, 2, 4, 0, 3, 6]


def test_opaque_primitives():
    x = np.array([[3.0, 1.0, 3.0, 2.0], [0.0, 0.0, -1.0, 5.0]])
    v, i = run("input x[N, M]\n(v, i) = topk(x; k=3)\noutput v\noutput i", {"x": x})
    assert v.tolist() == [[3, 3, 2], [5, 0, 0]] and i.tolist() == [[0, 2, 3], [3, 0, 1]]
    v, i = run("input x[N, M]\n(v, i) = sort(x; descending=1)\noutput v\noutput i", {"x": x})
    assert i.tolist() == [[0, 2, 3, 1], [3, 0, 1, 2]]
    (j,) = run("input x[N, M]\nj = argsort(x)\noutput j", {"x": x})
    assert j.tolist() == [[1, 3, 0, 2], [2, 0, 1, 3]] and j.dtype == np.int64


def test_transforms():
    rng = np.random.default_rng(0)
    x, z = rng.standard_normal((2, 3, 6))
    re, im = run("input x[N, M]\ninput z[N, M]\n(r, i) = fft(x, z)\noutput r\noutput i", {"x": x, "z": z})
    np.testing.assert_allclose(re + 1j * im, np.fft.fft(x + 1j * z))
    re, im = run("input x[N, M]\ninput z[N, M]\n(r, i) = ifft(x, z)\noutput r\noutput i", {"x": x, "z": z})
    np.testing.assert_allclose(re + 1j * im, np.fft.ifft(x + 1j * z))
    re, im = run("input x[N, M]\n(r, i) = rfft(x; n=8)\noutput r\noutput i", {"x": x})
    np.testing.assert_allclose(re + 1j * im, np.fft.rfft(x, 8))


def test_branch_takes_one_arm():
    text = "input x[N]\nfor i<N: s[] += x[i]\nc = s > 0\nif? c:\n    y = x * 2\nelse:\n    y = x - 1\noutput y"
    assert run(text, {"x": np.array([1.0, 2.0])})[0].tolist() == [2, 4]
    assert run(text, {"x": np.array([-1.0, -2.0])})[0].tolist() == [-2, -3]


def test_a_view_keeps_what_it_saw():
    text = "input x[N]\ntensor y[N] = x\nview f[i<N] = y[N-1-i]\nfor i<N: y[i] = 0\noutput y\noutput f"
    y, f = run(text, {"x": np.array([1.0, 2.0, 3.0])})
    assert y.tolist() == [0, 0, 0] and f.tolist() == [3, 2, 1]


def test_inputs_are_never_written():
    x = np.array([1.0, 2.0, 3.0])
    (y,) = run("input x[N]\ntensor y[N] = x\nfor i<N: y[i] += 1\noutput y", {"x": x})
    assert x.tolist() == [1, 2, 3] and y.tolist() == [2, 3, 4]


def test_keep_gives_every_tensor():
    bound = bindings({"x": (3,)})
    program = load("program t\ninput x[N]\nfor i<N: a[i] = x[i] + 1\nfor i<N: y[i] = a[i] * 2\noutput y\n", bound)
    values = Values({"x": np.arange(3.0)})
    assert execute(program, values).tensors == {}
    kept = execute(program, values, keep=True).tensors
    assert kept["a"].tolist() == [1, 2, 3] and kept["x"].tolist() == [0, 1, 2]


def test_draws_are_taken_in_order_and_stacked():
    drawn = tuple(TensorType((3,), "f32") for _ in range(4))
    text = "program t\ninput x[N]\ndraw h[N]\ndraw z = 1..1+3 [N]\n"
    text += "for i<N: y[i] = x[i] + h[i] + sum(k<3: z[k,i] * k)\noutput y\n"
    program = load(text, Bindings({"x": TensorType((3,), "f32")}, {}, drawn))
    draws = [np.full(3, 10.0**k) for k in range(4)]
    (y,) = execute(program, Values({"x": np.zeros(3)}, {}, draws)).outputs
    assert y.tolist() == [1 + 0 * 10 + 100 + 2 * 1000] * 3
