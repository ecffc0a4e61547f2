"""Which trials are run: assignments of sizes crossed with distributions of values, the same for the same seed."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from .run import Step
from .types import Assignment, Distribution

ROUNDS = 2
OTHERS: tuple[Distribution, ...] = ("negative", "uniform", "ties", "large", "tiny", "positive")
SEED_STRIDE = 1000


def first_round(assignments: Sequence[Assignment], seed: int) -> tuple[Step, ...]:
    """Normal values at every assignment: structure shows here."""
    return tuple(Step(size, seed * SEED_STRIDE + size, "normal") for size in range(len(assignments)))


def later_rounds(assignments: Sequence[Assignment], seed: int, trials: int | None) -> tuple[Step, ...]:
    """The other distributions in turn, until `trials` promoted trials (default: two an assignment, and each
    distribution at least once) are planned; those beyond two an assignment are small."""
    count = len(assignments)
    total = max(ROUNDS * count, count + len(OTHERS)) if trials is None else trials
    least = smallest(assignments)
    return tuple(
        Step(
            number % count if trials is not None or number < ROUNDS * count else least,
            seed * SEED_STRIDE + number,
            OTHERS[(number - count) % len(OTHERS)],
        )
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
