"""F05: integer division, remainders of both signs, true division, wrapping casts, counts, a dictionary of results.

Translations truncate where the program floors, divide integers as integers, or let a cast saturate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from solar_agent.analysis.arch import Rate, load_arch
from solar_agent.analysis.bounds import bounds
from solar_agent.verifier.plan import first_round

from .lab import Case, changed, opened, results

TEXT = """program signs
input x = "numbers"[B, N] : int
input mask[B, N] : bool
for b<B, n<N: floored[b, n] = x[b, n] // 3
for b<B, n<N: truncated[b, n] = i32(x[b, n] / 3)
for b<B, n<N: rest[b, n] = x[b, n] % -4
for b<B, n<N: half[b, n] = x[b, n] / 2
for b<B, n<N: count[b] += int(mask[b, n] and x[b, n] > 0)
for b<B, n<N: wrapped[b, n] = i8(x[b, n]) * 2
output floored
output truncated
output rest
output half
output count
output wrapped
"""
X = [-7, -1, 0, 5, 100, -128]
RIGHT: dict[str, tuple[str, list[float]]] = {
    "floor": ("i32", [-3, -1, 0, 1, 33, -43]),
    "trunc": ("i32", [-2, 0, 0, 1, 33, -42]),
    "mod": ("i32", [-3, -1, 0, -3, 0, 0]),  # the sign of the divisor -4
    "half": ("f32", [-3.5, -0.5, 0, 2.5, 50, -64]),
    "count": ("i64", [1]),  # 100: positive and kept; 5 is masked out
    "wrap": ("i8", [-14, -2, 0, 10, -56, 0]),  # 200 - 256, -256 + 256
}
BUGS = {
    "floor-truncates": ("x[b, n] // 3", "i32(x[b, n] / 3)", 4, "floor"),
    "trunc-floors": ("i32(x[b, n] / 3)", "x[b, n] // 3", 5, "trunc"),
    "mod-of-the-other-sign": ("x[b, n] % -4", "x[b, n] % 4", 6, "mod"),
    "half-in-integers": ("x[b, n] / 2", "f32(x[b, n] // 2)", 7, "half"),
    "cast-saturates": ("i8(x[b, n]) * 2", "i8(max(min(x[b, n], 127), -128)) * 2", 9, "wrap"),
}


@pytest.fixture(scope="module")
def case() -> Iterator[Case]:
    with opened("integer_signs") as found:
        yield found


def test_a_right_text_is_verified_without_any_tolerance(case: Case) -> None:
    certificate = case.accepted(TEXT)
    assert [(leaf.path, leaf.dtype) for leaf in certificate.leaves] == [(k, dtype) for k, (dtype, _) in RIGHT.items()]
    exact = [leaf for leaf in certificate.leaves if leaf.dtype != "f32"]
    assert [leaf.tolerance for leaf in exact] == [0.0] * 5


def test_values_and_types_of_every_leaf(case: Case) -> None:
    outcome = case.attempt(TEXT)
    assert outcome.trial.inputs["numbers"].tolist() == [X]
    for result, (path, (dtype, values)) in zip(outcome.results, RIGHT.items(), strict=True):
        assert (result.leaf.path, result.leaf.dtype, result.status) == (path, dtype, "equal")
        assert np.ravel(results(outcome.trial)[path]).tolist() == values  # what the original gives
        assert np.ravel(result.ours).tolist() == values  # what the text gives
        assert result.output is not None and result.output.dtype == dtype


def test_trials_draw_negatives_and_numbers_past_eight_bits(case: Case) -> None:
    assignments = case.reference.assignments()
    steps = first_round(assignments, 0)
    drawn = [case.reference.trial(assignments[s.size], s.seed, s.distribution, s.precision).inputs for s in steps]
    numbers = np.concatenate([inputs["numbers"].ravel() for inputs in drawn])
    assert (numbers < 0).any() and (numbers > 127).any() and (numbers < -128).any()
    assert all(inputs["numbers"].dtype == np.int32 and inputs["mask"].dtype == np.bool_ for inputs in drawn)


@pytest.mark.parametrize("name", BUGS)
def test_each_of_the_five_bugs_is_noticed(case: Case, name: str) -> None:
    old, new, line, leaf = BUGS[name]
    certificate = case.rejected(changed(TEXT, old, new), f"line {line}", f'"{leaf}"')
    assert [failure.tensor for failure in certificate.failures] == [leaf]


def test_types_are_checked_at_full_size(case: Case) -> None:
    wide = changed(TEXT, "i8(x[b, n]) * 2", "x[b, n] * 2")
    case.rejected(wide, '"wrap" at full size: expected i8[1, 6], got i32[1, 6]')


def test_integer_work_is_no_floating_point_work(case: Case) -> None:
    found = case.count(TEXT)
    assert (found.macs, found.macs_nominal) == (0, 0)
    assert found.input_bytes == 6 * 4 + 6  # int32 numbers and one byte a bool
    assert found.output_bytes == 6 * (3 * 4 + 4 + 1) + 8


def test_integers_run_at_the_integer_rate(case: Case) -> None:
    """A device whose matrix units and float units are endlessly fast, and whose integer units are slow."""
    fast, slow = Rate(1e30, "toy"), Rate(1e3, "toy")
    h100 = load_arch("H100_PCIe")
    arch = replace(h100, matrix_flops_per_s={"bf16": fast}, vector_flops_per_s={"f32": fast, "i32": slow},
                   special_ops_per_s=fast)  # fmt: skip
    found = bounds(case.program(TEXT), arch)
    assert found.binding == "vector units"
    half = next(row for row in found.per_statement if row.line == 7)
    wrapped = next(row for row in found.per_statement if row.line == 9)
    assert half.compute_s < 1e-20  # in float32
    assert wrapped.compute_s == pytest.approx(6 / 1e3)  # six products at the slow rate
    assert not any("matrix units" in line and "multiply-adds in" in line for line in found.assumptions)
