"""F11: outputs that do not depend on the inputs: a constant is right, and faster than light.

Checks compare rounding errors with rounding errors, or call a constant fill verified."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from solar_agent.agent.findings import Findings
from solar_agent.agent.stages import analysed
from solar_agent.analysis.arch import load_arch
from solar_agent.analysis.bounds import bounds

from .lab import F32, Case, changed, opened, results

TEXT = """program normalised
input x[B, I]
param w = "project.weight"[O, I]
param c = "project.bias"[O]
attr eps = "self.norm.eps"
for b<B, o<O: h[b, o] = sum(i<I: x[b, i] * w[o, i]) + c[o]
for b<B: m[b] = sum(o<O: h[b, o]) / O
for b<B: v[b] = sum(o<O: (h[b, o] - m[b])**2) / O
for b<B, o<O: n[b, o] = (h[b, o] - m[b]) * rsqrt(v[b] + eps)
for b<B: mean[b] = sum(o<O: n[b, o]) / O
p = softmax(n)
for b<B: total[b] = sum(o<O: p[b, o])
output mean
output total
"""
FOLDED = """program folded
input x[B, I]
for b<B: mean[b] = 0.0
for b<B: total[b] = 1.0
output mean : f32
output total : f32
"""


@pytest.fixture(scope="module")
def case() -> Iterator[Case]:
    with opened("constant_output") as found:
        yield found


def test_the_outputs_are_called_independent_of_the_input(case: Case) -> None:
    """Any text with these constants passes: it is not verified, and not rejected, as it is right."""
    certificate = case.verify(FOLDED)
    assert "input-independent" in certificate.flags
    assert certificate.verdict == "verified-in-part"
    assert [leaf.status for leaf in certificate.leaves] == ["constant", "constant"]
    assert not certificate.failures
    assert certificate.feedback().count("one and the same value whatever the inputs") == 2


def test_what_computes_the_constants_as_the_original_does_is_verified(case: Case) -> None:
    certificate = case.verify(TEXT)
    assert "input-independent" in certificate.flags
    assert certificate.verdict == "verified"
    assert [leaf.status for leaf in certificate.leaves] == ["constant-followed", "constant-followed"]


@pytest.mark.parametrize("text", [TEXT, FOLDED], ids=["as-written", "folded"])
def test_rounding_errors_are_not_compared_with_one_another(case: Case, text: str) -> None:
    certificate = case.verify(text)
    assert "native-differs" not in certificate.flags
    assert not any("differs" in line for line in certificate.warnings)


def test_values_at_full_size(case: Case) -> None:
    """In float32 the mean of a normalised row is off by some 4e-8, the sum of its probabilities by some 1e-7."""
    found = results(case.trial(precision="native"))
    assert 0 < np.abs(found["0"]).max() < 1e-6
    assert 0 < np.abs(np.asarray(found["1"]) - 1).max() < 1e-6
    exact = results(case.trial(precision="promoted"))
    assert np.abs(exact["0"]).max() < 1e-15
    assert np.abs(np.asarray(exact["1"]) - 1).max() < 1e-15


def test_both_works_are_there(case: Case) -> None:
    written, folded = case.count(TEXT), case.count(FOLDED)
    assert written.macs == 16 * 64 * 32 == 32_768
    assert (folded.macs, folded.flops) == (0, 0)
    assert folded.fused_bytes == folded.output_bytes == 2 * 16 * F32 == 128
    assert written.output_bytes == 128


def test_both_bounds_are_given(case: Case) -> None:
    """As written, and with what comes out anyhow written down as constants."""
    found = Findings(
        file=Path("constant_output.py"), description=case.description, text=TEXT, certificate=case.verify(TEXT)
    )
    arch = load_arch("H100_PCIe")
    analysis = analysed(found, [arch], None).analysis
    assert analysis is not None
    bound = analysis.bounds[arch.name]
    assert bound.fused_s == bounds(case.program(TEXT), arch).fused_s
    assert bound.algebraic_s == pytest.approx(128 / arch.dram_bytes_per_s.per_s)
    assert bound.algebraic_s < bound.fused_s < bound.unfused_s
    (note,) = [line for line in bound.notes if "constants" in line]
    assert "`output mean, output total`" in note and "leave 0 multiply-adds" in note


def test_one_constant_output_leaves_the_work_of_the_other(case: Case) -> None:
    bound = bounds(case.program(TEXT), load_arch("H100_PCIe"), constant=[0])
    (note,) = [line for line in bound.notes if "constants" in line]
    assert "`output mean`" in note and "leave 32768 multiply-adds" in note


def test_the_input_is_reported_as_dead_in_the_folded_text(case: Case) -> None:
    assert case.verify(FOLDED).dead == ("x",)
    assert case.verify(FOLDED).unused_state == ("project.weight", "project.bias")
    assert case.verify(TEXT).dead == ()


@pytest.mark.parametrize(
    ("old", "new", "line", "leaf"),
    [
        pytest.param("mean[b] = 0.0", "mean[b] = 1e-3", 3, "0", id="not-zero"),
        pytest.param("total[b] = 1.0", "total[b] = 1.0001", 4, "1", id="not-one"),
    ],
)
def test_another_constant_is_rejected(case: Case, old: str, new: str, line: int, leaf: str) -> None:
    case.rejected(changed(FOLDED, old, new), f'"{leaf}"', f"line {line}")


def test_a_sum_that_is_left_out_is_rejected(case: Case) -> None:
    case.rejected(changed(TEXT, "sum(o<O: p[b, o])", "p[b, 0]"), '"1"', "line 12")
