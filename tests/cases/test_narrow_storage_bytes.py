"""F04: eight-bit storage: bytes at each tensor's own type, the peak of the arithmetic, the rounding between.

Counters use one element size for everything, or a peak that the arithmetic does not run at."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from solar_agent.analysis.arch import load_arch
from solar_agent.analysis.bounds import Bounds, bounds

from .lab import F32, Case, changed, opened

F8 = 1
ROUNDED = "bf16(sum(i<I: bf16(x[b, i]) * bf16(w[o, i])))"
TEXT = f"""program quantised
input x[B, I]
param w = "codes"[O, I]
param s = "scale"[O]
for b<B, o<O: p[b, o] = {ROUNDED}
for b<B, o<O: y[b, o] = f32(p[b, o]) * s[o]
output y
"""
UNROUNDED = {
    "none": changed(TEXT, ROUNDED, "sum(i<I: f32(x[b, i]) * f32(w[o, i]))"),
    "factors-only": changed(TEXT, ROUNDED, "sum(i<I: bf16(x[b, i]) * bf16(w[o, i]))"),
}
PEAK = "multiply-adds in bf16 at H100_PCIe's bf16 peak of its matrix units, 756.4 TFLOP/s"


@pytest.fixture(scope="module")
def case() -> Iterator[Case]:
    with opened("fp8_linear") as found:
        yield found


def on_h100(case: Case, precision: str | None = None) -> Bounds:
    return bounds(case.program(TEXT), load_arch("H100_PCIe"), precision)


def test_a_text_that_rounds_where_the_original_does_is_verified(case: Case) -> None:
    certificate = case.accepted(TEXT)
    assert certificate.flags == ()
    types = {name: entry.dtype for name, entry in case.description.bindings.inputs.items()}
    state = {name: entry.dtype for name, entry in case.description.bindings.state.items()}
    assert (types, state) == ({"x": "e4m3"}, {"codes": "e4m3", "scale": "f32"})


def test_bytes_at_each_tensors_own_type(case: Case) -> None:
    found = case.count(TEXT)
    assert found.macs == 32 * 64 * 128 == 262_144
    assert found.input_bytes == 32 * 128 * F8 == 4_096
    assert found.weight_bytes == 64 * 128 * F8 + 64 * F32 == 8_192 + 256
    assert found.output_bytes == 32 * 64 * F32 == 8_192
    assert found.fused_bytes == 20_736  # with four bytes an element for all: 57,600


def test_the_report_names_the_peak_that_the_arithmetic_runs_at(case: Case) -> None:
    found = on_h100(case)
    assert PEAK in found.assumptions
    assert not any("f8 peak" in line or "e4m3" in line for line in found.assumptions)
    multiply = next(row for row in found.per_statement if row.line == 5)
    assert multiply.compute_s == pytest.approx(2 * 262_144 / 756.4e12)
    assert found.fused_s == pytest.approx(20_736 / 2.039e12)


def test_eight_bit_arithmetic_is_a_labelled_alternative(case: Case) -> None:
    """Legal, since both operands are exact eight-bit values; what is stored stays as it is."""
    found = on_h100(case, "fp8:")
    assert found.precision == "fp8:"
    assert "floating-point arithmetic in e4m3, storage in the program's own types" in found.assumptions
    assert "multiply-adds in e4m3 at H100_PCIe's f8 peak of its matrix units, 1513 TFLOP/s" in found.assumptions
    assert PEAK not in found.assumptions
    assert found.fused_s == pytest.approx(20_736 / 2.039e12)


@pytest.mark.parametrize("name", UNROUNDED)
def test_a_missing_rounding_is_flagged(case: Case, name: str) -> None:
    """In float64 the texts agree; the run in the program's own types tells them apart."""
    certificate = case.verify(UNROUNDED[name])
    assert "rounding-unverified" in certificate.flags
    (warning,) = [line for line in certificate.warnings if "rounds to a narrow type" in line]
    assert "the result" in warning and "line 6: for b<B, o<O: y[b, o]" in warning


def test_the_rounding_is_really_there(case: Case) -> None:
    outcome = case.attempt(TEXT, precision="native")
    (result,) = outcome.results
    unrounded = case.attempt(UNROUNDED["none"], precision="native").results[0]
    assert result.error < 1e-3 < unrounded.error < 2**-7  # bf16 keeps eight bits


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        pytest.param("f32(p[b, o]) * s[o]", "f32(p[b, o])", "is `scale` missing", id="no-scale"),
        pytest.param("* s[o]", "* s[b % O]", "line 6", id="scale-by-row-of-x"),
    ],
)
def test_wrong_scales_are_noticed(case: Case, old: str, new: str, hint: str) -> None:
    case.rejected(changed(TEXT, old, new), hint, "the result")
