"""F01: multiply-adds of a transposed convolution with groups, stride and cropped taps.

Counters take its weight for [out, in / groups, ...] or count output instead of input positions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .lab import F32, Case, changed, opened

GATHER = """program upsample
input image[N, C, H, W]
param w = "grow.weight"[C, M, R, S]
attr groups = "self.grow.groups"
attr step = "self.grow.stride.0"
attr pad = "self.grow.padding.0"
attr extra = "self.grow.output_padding.0"
let K = C // groups
let P = (H - 1)*step - 2*pad + R + extra
let Q = (W - 1)*step - 2*pad + S + extra
for n<N, o<M*groups, p<P, q<Q, k<K, r<R, s<S where (p + pad - r) % step == 0 and (q + pad - s) % step == 0:
    y[n, o, p, q] += (image[n, o//M*K + k, (p + pad - r)//step, (q + pad - s)//step] else 0) * w[o//M*K + k, o%M, r, s]
output y
"""
SCATTER = GATHER.split("for n<N")[0] + """tensor y[N, M*groups, P, Q] = 0
for n<N, c<C, h<H, v<W, m<M, r<R, s<S where step*h + r >= pad and step*h + r < P + pad and step*v + s >= pad and step*v + s < Q + pad:
    y[n, c//K*M + m, step*h + r - pad, step*v + s - pad] += image[n, c, h, v] * w[c, m, r, s]
output y
"""  # noqa: E501
PRELUDE = """program upsample
input image[N, C, H, W]
output ConvTranspose2d(image; name="grow")
"""
TEXTS = {"gather": GATHER, "scatter": SCATTER, "prelude": PRELUDE}
POSITIONS = 2 * 12 * 2  # batch, input channels, output channels of a group
TAPS = 5 * 3 * 7 * 3  # rows times their taps, columns times theirs
KEPT = (5 * 3 - 1) * (7 * 3 - 1)  # padding 1 cuts the first tap of the first row and of the first column


@pytest.fixture(scope="module")
def case() -> Iterator[Case]:
    with opened("transposed_conv") as found:
        yield found


@pytest.mark.parametrize("name", TEXTS)
def test_right_texts_are_verified(case: Case, name: str) -> None:
    (leaf,) = case.accepted(TEXTS[name]).leaves
    assert (leaf.shape, leaf.dtype) == ((2, 8, 10, 14), "f32")


@pytest.mark.parametrize("name", TEXTS)
def test_exact_and_nominal_work(case: Case, name: str) -> None:
    found = case.count(TEXTS[name])
    assert found.macs == POSITIONS * KEPT == 13_440
    assert found.macs_nominal == POSITIONS * TAPS == 15_120  # input positions times taps, never 60,480
    assert found.flops == 2 * found.macs


@pytest.mark.parametrize("name", TEXTS)
def test_bytes(case: Case, name: str) -> None:
    found = case.count(TEXTS[name])
    assert found.input_bytes == 2 * 12 * 5 * 7 * F32 == 3_360
    assert found.weight_bytes == 12 * 2 * 3 * 3 * F32 == 864
    assert found.output_bytes == 2 * 8 * 10 * 14 * F32 == 8_960
    assert found.fused_bytes == 3_360 + 864 + 8_960 == 13_184


def test_a_missing_divisibility_guard_is_noticed(case: Case) -> None:
    guard = " where (p + pad - r) % step == 0 and (q + pad - s) % step == 0"
    certificate = case.rejected(changed(GATHER, guard, ""), "line 12", "differs from the original")
    assert certificate.failures[0].statement == 12


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("image[n, o//M*K + k,", "image[n, k,", id="groups-forgotten"),
        pytest.param("p + pad - r)//step", "p - r)//step", id="padding-forgotten"),
        pytest.param("o%M, r, s]", "o%M, s, r]", id="kernel-transposed"),
    ],
)
def test_other_faults_of_a_transposed_convolution_are_noticed(case: Case, old: str, new: str) -> None:
    case.rejected(changed(GATHER, old, new), "line 12")
