"""What the trial in the program's own types says beyond the comparison: results that are nothing but rounding errors
there, and roundings of the original that the text does not make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..ir.dtypes import DTYPES
from ..ir.execute import execute
from ..ir.program import Program
from .compare import NATIVE_TOLERANCE, Floats, LeafResult, Rules, magnitude, pair, scale_of, show_path
from .dataflow import flow_of
from .feedback import show_source
from .run import Outcome, rules_of
from .types import Array

EXPLAINED = 0.9
COARSE_GAP, FINE_GAP = 3e-5, 3e-4
"""Share of a result's norm from which on its distance to the exact one is taken for roundings: a text with types
narrower than float32, and one without."""


def reviewed(outcome: Outcome, promoted: Sequence[Outcome]) -> Outcome:
    """A trial in the program's own types, seen with those in float64 of the same text."""
    if outcome.program is None or not outcome.results:
        return outcome
    rules = rules_of(outcome.program, outcome.trial)
    results = tuple(_without_noise(result, promoted, rules) for result in outcome.results)
    return replace(outcome, results=_with_roundings(replace(outcome, results=results), rules))


def _without_noise(result: LeafResult, promoted: Sequence[Outcome], rules: Rules) -> LeafResult:
    """Rounding errors of zero cannot be compared with one another; both sides only have to be small."""
    key = (result.leaf.kind, result.leaf.path)
    before = [other for run in promoted for other in run.results if (other.leaf.kind, other.leaf.path) == key]
    if result.status != "different" or not before or not all(other.noise for other in before):
        return result
    arrays = [value for value in (result.ours, result.leaf.value) if isinstance(value, np.ndarray | np.generic)]
    allowed = NATIVE_TOLERANCE.get(rules.coarsest, 1.0) * scale_of(rules.origins)
    if len(arrays) < 2 or any(magnitude(np.asarray(array)) > allowed for array in arrays):
        return result
    return replace(result, status="undecided", noise=True, reason="nothing but rounding errors of zero on both sides")


def _with_roundings(outcome: Outcome, rules: Rules) -> tuple[LeafResult, ...]:
    """Marks the leaves that the text's roundings bring no nearer to the original's."""
    program, trial = outcome.program, outcome.trial
    assert program is not None
    with np.errstate(all="ignore"):
        exact = execute(program, trial.values(), precision="promoted").outputs
    pairs = pair(program.outputs, trial.leaves).pairs
    coarse = rules.coarsest in DTYPES and DTYPES[rules.coarsest].bits < 32
    least = COARSE_GAP if coarse else FINE_GAP
    return tuple(
        replace(result, unrounded=_is_unexplained(result, np.asarray(exact[position]), least))
        for (position, _), result in zip(pairs, outcome.results, strict=True)
    )


def _is_unexplained(result: LeafResult, exact: Array, least: float) -> bool:
    if result.status != "equal" or result.leaf.shape is None:
        return False
    expected, ours = np.asarray(result.leaf.value), np.asarray(result.ours)
    if expected.dtype.kind != "f" or exact.dtype.kind != "f" or expected.shape != exact.shape:
        return False
    kept = np.isfinite(expected) & np.isfinite(ours) & np.isfinite(exact)
    size = _norm(expected[kept])
    gap, left = _norm(expected[kept] - exact[kept]), _norm(expected[kept] - ours[kept])
    return bool(gap > least * size and left > EXPLAINED * gap)


def missing_rounding(program: Program, result: LeafResult) -> str:
    """The warning about a leaf whose roundings are not in the text."""
    told = f"{show_path(result.leaf)}: the original rounds to a narrow type where the text does not"
    output = result.output
    if output is None or output.tensor is None:
        return told
    sources = flow_of(program).sources(frozenset([output.tensor]))
    written = show_source(sources[-1] if sources else output.source)
    return f"{told}; write the rounding, as in bf16(...), where the original makes it (before or in {written})"


def _norm(values: Floats) -> float:
    return float(np.linalg.norm(values.astype(np.float64).ravel()))
