"""Which trials are run: assignments of sizes crossed with distributions of values, the same for the same seed."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from .run import Step
from .types import Assignment, Distribution

ROUNDS = 2
OTHERS: tuple[Distribution, ...] = ("ties", "negative", "uniform", "large", "tiny", "positive")
SEED_STRIDE = 1000


def first_round(assignments: Sequence[Assignment], seed: int) -> tuple[Step, ...]:
    """Normal values at every assignment: structure shows here."""
    return tuple(Step(size, seed * SEED_STRIDE + size, "normal") for size in range(len(assignments)))


def later_rounds(assignments: Sequence[Assignment], seed: int, trials: int | None) -> tuple[Step, ...]:
    """The other distributions in turn, until `trials` promoted trials (default: two an assignment) are planned."""
    count = len(assignments)
    total = ROUNDS * count if trials is None else trials
    return tuple(
        Step(number % count, seed * SEED_STRIDE + number, OTHERS[(number - count) % len(OTHERS)])
        for number in range(count, total)
    )


def native(assignments: Sequence[Assignment], seed: int) -> Step:
    """In the program's own types, on values such as get_inputs gives."""
    return Step(smallest(assignments), seed * SEED_STRIDE + 900, "uniform", "native")


def extra(assignments: Sequence[Assignment], seed: int, distribution: Distribution) -> tuple[Step, ...]:
    """One more trial an assignment, for leaves that too few trials could judge."""
    offset = 500 if distribution == "positive" else 600
    return tuple(Step(size, seed * SEED_STRIDE + offset + size, distribution) for size in range(len(assignments)))


def elements(assignment: Assignment) -> int:
    return sum(prod(shape) for shape in assignment.inputs.values())


def smallest(assignments: Sequence[Assignment]) -> int:
    return min(range(len(assignments)), key=lambda size: elements(assignments[size]))
