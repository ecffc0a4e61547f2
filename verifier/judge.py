"""From the outcomes of all trials to one record for each leaf and one verdict."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from .certificate import Flag, LeafRecord, LeafStatus, Verdict
from .compare import CHANGE_LIMIT, NOISE, LeafResult, magnitude, scale_of
from .run import Outcome
from .types import Array, Leaf, LeafKind

ENOUGH = 2
SPREAD = 1e-6
Key = tuple[LeafKind, str]


def judged(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The trials in float64; those in the program's own types only for a program that cannot run in float64."""
    promoted = [run for run in outcomes if run.step.precision == "promoted"]
    return promoted or list(outcomes)


def leaf_keys(outcomes: Sequence[Outcome]) -> tuple[Key, ...]:
    return tuple(dict.fromkeys((result.leaf.kind, result.leaf.path) for run in outcomes for result in run.results))


def of_leaf(outcomes: Sequence[Outcome], key: Key) -> list[tuple[Outcome, LeafResult]]:
    """The comparisons that decide about one leaf."""
    return [
        (run, result)
        for run in judged(outcomes)
        for result in run.results
        if (result.leaf.kind, result.leaf.path) == key
    ]


def judge_leaf(outcomes: Sequence[Outcome], key: Key, full: Leaf | None) -> LeafRecord:
    runs = of_leaf(outcomes, key)
    counted = [result for _, result in runs if result.status != "undecided"]
    telling = informative_runs(runs)
    total = sum(result.elements for _, result in runs)
    leaf = full if full is not None else runs[0][1].leaf
    return LeafRecord(
        kind=key[0],
        path=key[1],
        dtype=leaf.dtype,
        shape=leaf.shape,
        status=_status(runs, telling),
        error=round_up(max((result.error for result in counted), default=0.0)),
        tolerance=round_up(max((result.tolerance for result in counted), default=0.0)),
        compared=math.floor(1000 * sum(result.compared for _, result in runs) / total) / 1000 if total else 1.0,
        informative_trials=len(telling),
    )


def _status(runs: list[tuple[Outcome, LeafResult]], telling: list[Outcome]) -> LeafStatus:
    if any(result.status == "different" for _, result in runs):
        return "different"
    promoted = len(runs)
    sizes = {run.step.size for run, _ in runs}
    if len(telling) >= min(ENOUGH, promoted) and len({run.step.size for run in telling}) >= min(ENOUGH, len(sizes)):
        return "verified"
    if is_input_independent(runs):
        return "constant"
    return "not-compared"


def informative_runs(runs: Iterable[tuple[Outcome, LeafResult]]) -> list[Outcome]:
    """Trials that could have failed. Leaves of one element are judged together: their values have to vary."""
    equal = [(run, result) for run, result in runs if result.status == "equal" and not result.noise]
    telling = [run for run, result in equal if result.informative]
    single = [(run, result) for run, result in equal if result.elements == 1 and not result.informative]
    values = [float(np.asarray(result.leaf.value).item()) for _, result in single]
    finite = [value for value in values if math.isfinite(value)]
    if finite and max(finite) - min(finite) > SPREAD * max(abs(value) for value in finite):
        telling += [run for (run, _), value in zip(single, values, strict=True) if math.isfinite(value)]
    return telling


def is_input_independent(runs: Sequence[tuple[Outcome, LeafResult]]) -> bool:
    """Two unrelated draws at the same sizes gave the same leaf, at every size that was drawn twice."""
    by_size: dict[int, list[tuple[Outcome, LeafResult]]] = {}
    for run, result in runs:
        by_size.setdefault(run.step.size, []).append((run, result))
    pairs = [group[:2] for group in by_size.values() if len(group) > 1]
    return bool(pairs) and all(_same_value(first, second) for first, second in pairs)


def _same_value(first: tuple[Outcome, LeafResult], second: tuple[Outcome, LeafResult]) -> bool:
    a, b = first[1].leaf, second[1].leaf
    if not (isinstance(a.value, np.ndarray) and isinstance(b.value, np.ndarray)):
        return False
    if a.value.dtype.kind != "f":
        return bool(np.array_equal(a.value, b.value))
    if _is_zero(first) and _is_zero(second):
        return True
    return max(a.change, b.change) <= CHANGE_LIMIT and _close(a.value, b.value)


def _is_zero(run: tuple[Outcome, LeafResult]) -> bool:
    trial, leaf = run[0].trial, run[1].leaf
    top = magnitude(np.asarray(leaf.value))
    origins = (*trial.inputs.values(), *trial.state.values())
    return not top or (leaf.change > CHANGE_LIMIT and top <= NOISE * scale_of(origins))


def _close(a: Array, b: Array) -> bool:
    left, right = a.astype(np.float64), b.astype(np.float64)
    return bool(np.allclose(left, right, rtol=1e-9, atol=1e-9 * magnitude(left), equal_nan=True))


def round_up(value: float) -> float:
    """One significant digit, never less than `value`."""
    if value <= 0 or not math.isfinite(value):
        return value if math.isfinite(value) else 1e300
    step = 10.0 ** math.floor(math.log10(value))
    return float(f"{math.ceil(round(value / step, 9)) * step:.0e}")


def flags_of(outcomes: Sequence[Outcome], spent: bool) -> tuple[Flag, ...]:
    flags: list[Flag] = []
    if any(run.trial.draws for run in outcomes):
        flags.append("stochastic")
    if any(is_input_independent(of_leaf(outcomes, key)) for key in leaf_keys(outcomes)):
        flags.append("input-independent")
    decisive = judged(outcomes)
    if decisive and decisive[0].step.precision == "native":
        flags.append("native-only")
    elif any(run.step.precision == "native" and not run.passed for run in outcomes):
        flags.append("native-differs")
    if any(result.unrounded for run in outcomes for result in run.results):
        flags.append("rounding-unverified")
    if spent:
        flags.append("budget-spent")
    return tuple(flags)


def verdict_of(leaves: Sequence[LeafRecord], failed: bool, complete: bool, data_dependent: bool) -> Verdict:
    """`complete`: every decision of the full size was tried, the native check agreed, and no trial is missing."""
    good = [leaf for leaf in leaves if leaf.status in ("verified", "constant-followed")]
    fair = [leaf for leaf in leaves if leaf.status in ("verified", "constant-followed", "constant")]
    if failed or not fair:
        return "unverified"
    if data_dependent:
        return "specialised"
    return "verified" if complete and len(good) == len(leaves) else "verified-in-part"
