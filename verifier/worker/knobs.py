"""What can be turned to make a program small: literals of its source and axes of its inputs, and their groups."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from ..types import Mode
from . import configs
from .attempts import Attempt, input_shapes
from .faults import Guard, UserError
from .load import File, execute, passed_arguments
from .modes import Placed
from .source import Spot

SMALL = 8
PRIMES = (5, 7, 11, 13, 3, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67)
FACTORS = (2, 3, 4, 6, 8, 12, 16, 24, 32)
_BATCH = re.compile(r"(^|[._])(batch(_?size)?|bs|bsz|n_?batch)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Knob:
    """Something to turn: a literal of the source or an axis of an input. `lone`: an input extent is just its value;
    `extent`: it governs some input axis; `spatial`: the third one or a later one; `data`: written in get_inputs, but
    no extent there."""

    label: str
    value: int
    lone: bool
    batch: bool
    where: str
    spatial: bool = False
    data: bool = False
    extent: bool = False


@dataclass(slots=True)
class Group:
    """Knobs that have one value. `factor` divides every value tried for them; `fixed`: seen not to move."""

    knobs: tuple[Knob, ...]
    value: int
    factor: int = 1
    fixed: bool = False

    @property
    def full(self) -> int:
        return self.knobs[0].value

    @property
    def batch(self) -> bool:
        return any(knob.batch for knob in self.knobs)


def active(knob: Knob) -> bool:
    return knob.where != "body" and (knob.value > SMALL or (knob.lone and knob.value > 1) or knob.batch)


def grouped(knobs: Iterable[Knob]) -> list[Group]:
    """Groups by value; batch knobs of one value are a group of their own. What is data only is no group: a range of
    values says no size unless a size has that value."""
    found: dict[tuple[int, bool], list[Knob]] = {}
    for knob in knobs:
        found.setdefault((knob.value, knob.batch), []).append(knob)
    sizes = {key: members for key, members in found.items() if not all(knob.data for knob in members)}
    return [Group(tuple(members), value) for (value, _), members in sizes.items()]


def multiples_of(factor: int) -> Iterator[int]:
    return (factor * q for q in (1, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71))


def factor_of(value: int) -> int:
    """Largest divisor that is no prime of its own right: 24 -> 8, 15 -> 5 … 1 for primes."""
    if value in PRIMES or value == 1:
        return 1
    return max((factor for factor in (*FACTORS, 5, 7) if value % factor == 0 and value > factor), default=1)


def near(value: int, factor: int, used: set[int], full: int) -> Iterator[int]:
    """A few unused values a little above, with the same factor."""
    fitting = [item for item in multiples_of(factor) if value < item <= max(full, 2 * value) and item not in used]
    yield from fitting[:2]


def others(group: Group, used: set[int], index: int) -> Iterator[int]:
    value, factor = group.value, group.factor
    if value == 1:
        return
    multiples = list(multiples_of(factor))[1:]
    ceiling = max(2 * value, 5)
    above = [item for item in multiples if value < item <= ceiling]
    below = [item for item in reversed(multiples) if value > item > value // 2]
    ordered = above + below if index == 1 else above[1:] + above[:1] + below
    yield from (item for item in ordered if item not in used)


def knobs_of(file: File, mode: Mode, full: Attempt) -> tuple[Knob, ...]:
    passed = _passed(file, mode)
    base = input_shapes(file, {}) if not file.inputs else None
    knobs: list[Knob] = []
    covered: set[tuple[str, int]] = set()
    for spot in file.spots:
        if spot.where == "default" and spot.label.split(".")[1] in passed:
            continue
        axes = _axes(file, spot, base) if spot.where != "body" else None
        covered |= set(axes or ())
        lone = any(alone for alone in (axes or {}).values())
        leading = base is not None and bool(axes) and (next(iter(base), ""), 0) in (axes or {})
        batch = lone and (leading or bool(_BATCH.search(spot.label)))
        spatial = any(axis >= 2 for _, axis in axes or ())
        data = spot.where == "inputs" and axes is not None and not axes
        knobs.append(Knob(spot.label, spot.value, lone, batch, spot.where, spatial, data, bool(axes)))
    knobs = _one_batch(knobs)
    return (*knobs, *_free_axes(full, base, covered), *configured(full))


def configured(full: Attempt) -> Iterator[Knob]:
    """The sizes of library configurations that the program asks for by name."""
    for name, found in full.configs.items():
        for number in configs.numbers(name, found.full):
            if number.role != "other":
                yield Knob(number.label, number.value, False, False, "config")


def _one_batch(knobs: list[Knob]) -> list[Knob]:
    """Where a literal is called batch, only such ones are; else the leading extent of the first input is."""
    if not any(knob.batch and _BATCH.search(knob.label) for knob in knobs):
        return knobs
    return [replace(knob, batch=knob.batch and bool(_BATCH.search(knob.label))) for knob in knobs]


def _passed(file: File, mode: Mode) -> frozenset[str]:
    try:
        with Placed("meta"), Guard("reading the constructor's arguments", file.folder):
            return passed_arguments(file, execute(file, {}))
    except UserError:
        return frozenset()


def _axes(file: File, spot: Spot, base: Mapping[str, tuple[int, ...]] | None) -> dict[tuple[str, int], bool] | None:
    """Input axes that follow this literal; True where the extent is the literal itself."""
    moved = input_shapes(file, {spot.label: spot.value + 1}) if base is not None else None
    if moved is None or base is None:
        return None
    axes: dict[tuple[str, int], bool] = {}
    for name, shape in base.items():
        for axis, (old, new) in enumerate(zip(shape, moved.get(name, ()), strict=False)):
            if old != new:
                axes[name, axis] = old == spot.value and new == spot.value + 1
    return axes


def _free_axes(
    full: Attempt, base: Mapping[str, tuple[int, ...]] | None, covered: set[tuple[str, int]]
) -> Iterator[Knob]:
    """Axes of inputs that no literal governs: the extents themselves can be changed."""
    positions = list(base) if base is not None else []
    for index, (name, shape) in enumerate(full.inputs.items()):
        governed = index < len(positions) and any(name == positions[index] for name, _ in covered)
        if governed or name not in full.redrawable:
            continue
        for axis, extent in enumerate(shape):
            if extent > 1:
                yield Knob(f"input.{name}.{axis}", extent, True, index == 0 and axis == 0, "shape")
