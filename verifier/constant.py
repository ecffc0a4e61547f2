"""Results that are one and the same whatever the inputs: a text is right about them when it computes what they are
computed from.

In the original the last values that still depend on the inputs, before a constant result, are found from two unrelated
trials; each must be among the tensors that the text computes its result from. Figures that no reordering of elements
changes stand for a value, as a text may arrange a tensor in its own way."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from . import judge
from .dataflow import flow_of
from .run import Outcome, run
from .types import Array, Assignment, Feeding, Reference, ReferenceFailed

_CLOSE = 1e-9
_NOISE = 1e-12


def followed(reference: Reference, assignments: Sequence[Assignment], outcomes: Sequence[Outcome], path: str) -> bool:
    """Does the text compute what the constant result at `path` is computed from, at every size that was drawn twice?"""
    sizes: dict[int, list[Outcome]] = {}
    for outcome in judge.judged(outcomes):
        if outcome.step.precision == "promoted" and outcome.passed:
            sizes.setdefault(outcome.step.size, []).append(outcome)
    pairs = [group[:2] for group in sizes.values() if len(group) > 1]
    return bool(pairs) and all(_followed_in(reference, assignments, pair, path) for pair in pairs)


def _followed_in(reference: Reference, assignments: Sequence[Assignment], pair: Sequence[Outcome], path: str) -> bool:
    try:
        first, second = (
            reference.feeding(assignments[run.step.size], run.step.seed, run.step.distribution) for run in pair
        )
    except ReferenceFailed:
        return False
    if path not in first.leaves or first.feeds != second.feeds:
        return False
    wanted = frontier(first, second, first.leaves[path])
    theirs = _computed(pair[0], path)
    return bool(wanted) and all(any(_same(first.values[value], own) for own in theirs) for value in wanted)


def frontier(first: Feeding, second: Feeding, leaf: int) -> frozenset[int]:
    """Values that differ between the two trials and feed, through none that differs, the result."""
    found, seen, todo = set(), set(), [leaf]
    while todo:
        value = todo.pop()
        if value in seen:
            continue
        seen.add(value)
        if _same(first.values[value], second.values[value]):
            todo += first.feeds[value]
        else:
            found.add(value)
    return frozenset(found)


def _computed(outcome: Outcome, path: str) -> list[tuple[float, ...]]:
    """Figures of the tensors that the text computes the result from."""
    assert outcome.program is not None
    named = [result for result in outcome.results if result.leaf.kind == "result" and result.leaf.path == path]
    tensors = run(outcome.program, outcome.trial, keep=True).tensors
    behind = flow_of(outcome.program).behind(
        result.output.tensor for result in named if result.output is not None and result.output.tensor is not None
    )
    own = [name for name in behind if outcome.program.tensors[name].external is None]
    return [figures(tensors[name]) for name in own if name in tensors]


def figures(array: Array) -> tuple[float, ...]:
    """Count, least, greatest, and sums of the first three powers."""
    flat = np.asarray(array).astype(np.float64).reshape(-1)
    if not flat.size:
        return (0.0,)
    with np.errstate(all="ignore"):
        powers = (flat.sum(), (flat * flat).sum(), (flat * flat * flat).sum())
    return (float(flat.size), float(flat.min()), float(flat.max()), *(float(power) for power in powers))


def _same(a: Sequence[float], b: Sequence[float]) -> bool:
    """The same value in another order: sums are compared on the scale of what was added up."""
    if len(a) != len(b) or a[0] != b[0]:
        return False
    if len(a) == 1:
        return False  # only counted: nothing is known of it
    count, top = a[0], max(abs(a[1]), abs(a[2]), abs(b[1]), abs(b[2]))
    scales = (top, top, count * top, count * top**2, count * top**3)
    return all(
        abs(x - y) <= _CLOSE * scale + _NOISE or (x == y) or (x != x and y != y)
        for x, y, scale in zip(a[1:], b[1:], scales, strict=True)
    )
