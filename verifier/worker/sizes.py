"""Small sizes for a program: its integer literals are given other values, and what runs is kept.

The search starts from the full sizes, which the meta device runs without memory. Literals of equal value move together
until they are seen to be independent; values are distinct primes where the program allows it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import lcm

from ..types import Assignment, Limits, Mode
from .attempts import Attempt, Attempts, input_shapes
from .faults import Guard, Refused, UserError
from .load import File, execute, passed_arguments
from .modes import Placed
from .source import Spot

_SMALL = 8
_PRIMES = (5, 7, 11, 13, 3, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67)
_FACTORS = (2, 3, 4, 6, 8, 12, 16, 24, 32)
_FINE = 40
_HEAVY = 4 << 20
_TOO_HEAVY = 16 << 20
_GROUP_S = 2.0
_ROOMY = 100_000
_ROOMY_S = 0.4
_EXTENT = re.compile(r"window|patch|block|chunk|kernel|pool|size|len|group|head|width|height", re.IGNORECASE)
_WINDOW = re.compile(r"window|block|chunk", re.IGNORECASE)
_BATCH = re.compile(r"(^|[._])(batch(_?size)?|bs|bsz|n_?batch)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Knob:
    """Something to turn: a literal of the source or an axis of an input. `lone`: an input extent is just its value;
    `spatial`: it is an extent of the third axis or a later one."""

    label: str
    value: int
    lone: bool
    batch: bool
    where: str
    spatial: bool = False


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


def find_assignments(file: File, mode: Mode, limits: Limits) -> tuple[Assignment, ...]:
    """At least three assignments where the program has anything to vary, one with batch 1 where that runs."""
    search = _Search(file, mode, time.process_time() + limits.search_s)
    return search.run()


class _Search:
    def __init__(self, file: File, mode: Mode, deadline: float) -> None:
        self._file = file
        self._attempts = Attempts(file, mode, deadline)
        self._full = self._attempts.at({})
        if not self._full.ok and not self._full.seconds:
            self._without_meta()
        self._knobs = _knobs(file, mode, self._full)
        self._groups = _grouped(knob for knob in self._knobs if _active(knob))
        self._strict = self._full.ok

    def _without_meta(self) -> None:
        """The meta device cannot run forward (it reads values): only real runs count."""
        self._attempts.meta_works = False
        self._attempts._done.clear()

    def run(self) -> tuple[Assignment, ...]:
        self._shrink()
        if not self._ok(self._changes()):
            raise Refused(f"no small sizes were found at which the program runs: {self._full.reason}")
        self._split()
        first = self._changes()
        found = [first]
        for index in (1, 2):
            other = self._variant(first, index)
            if other not in found:
                found.append(other)
        return self._finished(found)

    # -- trying ---------------------------------------------------------------------------------------------------

    def _ok(self, changes: Mapping[str, int]) -> bool:
        attempt = self._attempts.at(changes)
        if not attempt.ok or not self._strict:
            return attempt.ok
        mixed = any(wanted and not is_so for wanted, is_so in zip(self._full.leads, attempt.leads, strict=False))
        return attempt.structure == self._full.structure and not mixed

    def _changes(self) -> dict[str, int]:
        return {
            knob.label: group.value for group in self._groups for knob in group.knobs if group.value != knob.value
        }

    def _try(self, values: Sequence[tuple[Group, int]]) -> bool:
        """Move these groups to these values; they stay there when the program runs."""
        before = [(group, group.value) for group, _ in values]
        for group, value in values:
            group.value = value
        if self._ok(self._changes()):
            return True
        for group, value in before:
            group.value = value
        return False

    # -- shrinking ------------------------------------------------------------------------------------------------

    def _shrink(self) -> None:
        if not any(self._at_once(rank) for rank in range(4)):
            self._one_by_one(5.0)
            self._shrink_stuck()
            self._one_by_one(3.0)
        self._refine()
        self._shrink_heavy()

    def _one_by_one(self, reserve_s: float) -> None:
        for most in (4, 40):
            for group in sorted(self._groups, key=lambda group: (not group.batch, -group.value)):
                small = group.value <= min(_FINE, group.full - 1) or group.full <= _SMALL
                if self._attempts.time_left > reserve_s and not small:
                    self._shrink_one(group, most)

    def _at_once(self, rank: int) -> bool:
        """All groups small together, larger ones staying larger. Rank 0: primes; 1: multiples of the small literals
        that divide the full value; 2: also of the next smaller group where that divides it; 3: all halved alike."""
        used = {knob.value for knob in self._still}
        moves: list[tuple[Group, int]] = []
        last = 4
        for group in sorted(self._groups, key=lambda group: group.full):
            if group.batch:
                value = group.full if group.full <= 3 else 3
            elif group.full <= _SMALL and group.full not in used:
                value = group.full
            else:
                factor = self._rank_factor(group, moves, rank)
                value = next((v for v in _multiples(factor) if v > last and v not in used), group.full)
                value = min(value, group.full) if rank < 3 else max(group.full >> self._shift(), 1)
                last = max(last, value)
            used.add(value)
            moves.append((group, value))
        return self._try(moves)

    @property
    def _still(self) -> list[Knob]:
        return [knob for knob in self._knobs if not _active(knob) and knob.where != "body"]

    def _rank_factor(self, group: Group, moves: Sequence[tuple[Group, int]], rank: int) -> int:
        if rank == 0:
            return 1
        factor = 1
        for knob in self._still:
            if 1 < knob.value <= 2 * _SMALL and group.full % knob.value == 0 and lcm(factor, knob.value) <= 32:
                factor = lcm(factor, knob.value)
        if rank >= 2:
            below = [(other.full, value) for other, value in moves if group.full % other.full == 0 and not other.batch]
            if below and lcm(factor, below[-1][1]) <= 64:
                factor = lcm(factor, below[-1][1])
        return factor

    def _shift(self) -> int:
        largest = max((group.full for group in self._groups), default=1)
        return max(largest.bit_length() - 6, 0)

    def _refine(self) -> None:
        """Primes instead of multiples, for each group that does with one."""
        for group in sorted(self._groups, key=lambda group: group.full):
            if group.full <= _SMALL or group.value in _PRIMES or self._attempts.time_left < 3:
                continue
            used = self._used(group)
            fitting = [prime for prime in _PRIMES if prime < group.full and prime not in used]
            any(self._try([(group, prime)]) for prime in fitting[:2])

    def _choices(self, group: Group, used: Iterable[int]) -> Iterator[int]:
        """Values to try, best first: unused primes, multiples of what divides the full value, halvings, more primes."""
        full, taken = group.full, set(used)
        if full <= _SMALL:
            yield from (value for value in (full, 2, 3, 5, 7, 4, 6) if value not in taken)
            return
        primes = [prime for prime in _PRIMES if prime < full and prime not in taken]
        factors = [factor for factor in _FACTORS if full % factor == 0]
        rich = [value for step in (12, 8) if full % step == 0 for value in (step, 2 * step, 3 * step, 5 * step)]
        multiples = sorted({f * q for f in factors for q in (1, 2, 3, 5) if 4 < f * q < full})
        halves = [full >> shift for shift in range(full.bit_length() - 2, 0, -1) if full % (1 << shift) == 0]
        others = [value for value in (*rich, *multiples, *halves) if 4 < value < full and value not in taken]
        yield from dict.fromkeys((*primes[:2], *others, *primes[2:]))

    def _used(self, group: Group) -> set[int]:
        return {other.value for other in self._groups if other is not group}

    def _shrink_one(self, group: Group, most: int = 40) -> bool:
        enough = self._attempts.time_left - _GROUP_S
        for value in islice(self._choices(group, self._used(group)), most):
            if self._attempts.time_left < max(enough, 2):
                return False
            if value < group.value and self._try([(group, value)]):
                return True
            together = self._in_ratio(group, value)
            if value < group.value and len(together) > 1 and self._try(together):
                return True
        return False

    def _in_ratio(self, group: Group, value: int) -> list[tuple[Group, int]]:
        """The move together with the groups whose values are multiples of this one's."""
        multiples = [other for other in self._groups if other is not group and other.value % group.value == 0]
        return [(group, value), *((other, other.value // group.value * value) for other in multiples)]

    def _shrink_stuck(self) -> None:
        """Groups that stay large alone may move together with a small number (a window, a patch)."""
        stuck = [group for group in self._groups if group.value > 2 * _FINE and group.value == group.full]
        smalls = [knob for knob in self._still if 2 < knob.value <= 2 * _SMALL and _EXTENT.search(knob.label)]
        smalls.sort(key=lambda knob: not _WINDOW.search(knob.label))
        for group in stuck:
            for knob in smalls:
                if self._attempts.time_left < 3 or group.value != group.full:
                    break
                self._shrink_with(group, knob)

    def _shrink_with(self, group: Group, knob: Knob) -> None:
        helper = Group((knob,), knob.value, fixed=True)
        self._groups.append(helper)
        for small in (4, 2, 3):
            for value in [value for value in (64, 32, 48, 96, 24, 36) if value < group.full]:
                if self._attempts.time_left < 3:
                    break
                moves = [(helper, small), (group, value)]
                if small != knob.value and self._try(moves) and self._attempts.real(self._changes()).ok:
                    return
                helper.value, group.value = knob.value, group.full
        self._groups.remove(helper)

    def _shrink_heavy(self) -> None:
        """Too much state for a quick run: repeat counts and the like go down; then literals inside constructors."""
        if self._elements() > _HEAVY:
            self._lower(lambda knob: 1 < knob.value <= _SMALL and knob.where in ("const", "init", "default"))
        if self._elements() > _TOO_HEAVY:
            inner = _grouped(knob for knob in self._knobs if knob.where == "body" and knob.value > 2 * _SMALL)
            self._groups += inner
            used: set[int] = set()
            moves = []
            for group in inner:
                value = next(value for value in (6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26) if value not in used)
                used.add(value)
                moves.append((group, value))
            if not self._try(moves):
                for group in inner:
                    self._shrink_one(group)

    def _elements(self) -> int:
        return self._attempts.at(self._changes()).elements

    def _lower(self, wanted: object) -> None:
        assert callable(wanted)
        for knob in [knob for knob in self._knobs if wanted(knob) and not _active(knob)]:
            helper = Group((knob,), knob.value)
            self._groups.append(helper)
            elements = self._elements()
            for value in (1, 2):
                if value < knob.value and self._attempts.time_left > 2 and self._try([(helper, value)]):
                    break
            if self._elements() >= elements * 0.98:  # not a count: leave it
                helper.value = knob.value
            if helper.value == knob.value:
                self._groups.remove(helper)

    # -- independence ---------------------------------------------------------------------------------------------

    def _split(self) -> None:
        """Give the members of a group values of their own, as far as the program runs with them."""
        for group in list(self._groups):
            group.factor = 1 if group.full <= _SMALL else _factor(group.value)
            for knob in group.knobs[1:]:
                if self._attempts.time_left < 1:
                    return
                self._split_off(group, knob)
        for group in self._groups:
            self._probe(group)

    def _probe(self, group: Group) -> None:
        """Find out whether a group that kept its full value can move at all."""
        if group.fixed or group.batch or group.value != group.full:
            return
        if group.full > _SMALL or self._attempts.time_left < 1:
            group.fixed = True
            return
        here = group.value
        options = [value for value in (group.full + 2, 3, 2, 5) if value not in (here, *self._used(group))]
        group.fixed = not any(self._try([(group, value)]) for value in options[:2])
        group.value = here

    def _split_off(self, group: Group, knob: Knob) -> None:
        alone = Group((knob,), group.value, group.factor)
        kept = group.knobs
        group.knobs = tuple(other for other in group.knobs if other is not knob)
        self._groups.append(alone)
        used = {other.value for other in self._groups}
        for value in _near(group.value, group.factor, used, knob.value):
            if self._try([(alone, value)]):
                return
        self._groups.remove(alone)
        group.knobs = kept

    def _variant(self, first: Mapping[str, int], index: int) -> dict[str, int]:
        """Other values for as many groups as will move; in variant 1 the batch is 1."""
        base = [(group, group.value) for group in self._groups]
        used: set[int] = set()
        moves = []
        for group in self._groups:
            if index == 1 and group.batch:
                moves.append((group, 1))
                continue
            value = group.value if group.fixed else next(iter(_others(group, used, index)), group.value)
            used.add(value)
            moves.append((group, value))
        if not self._try(moves):
            for group, value in sorted(moves, key=lambda move: not move[0].batch):
                if self._attempts.time_left < 0.5 and not group.batch:
                    break
                if not group.fixed and not self._try([(group, value)]) and value != 1:
                    any(self._try([(group, other)]) for other in self._fallbacks(group, index))
        if index == 2:
            self._roomier()
        found = self._changes()
        for group, value in base:
            group.value = value
        return found

    def _roomier(self) -> None:
        """Spatial extents large enough that deep networks do not shrink them to 1, where that runs quickly."""
        spatial = [group for group in self._groups if group.full >= 128 and any(k.spatial for k in group.knobs)]
        before = [(group, group.value) for group in spatial]
        moves = []
        for group, size in zip(spatial, (41, 37, 43, 47), strict=False):
            fitting = [value for value in _multiples(group.factor) if value >= size]
            moves.append((group, min(fitting[0] if fitting else group.value, group.full)))
        attempt = self._attempts.at(self._changes())
        if not moves or attempt.elements < _ROOMY or not self._try(moves):
            return
        seconds = self._attempts.at(self._changes()).seconds
        if seconds is not None and seconds > _ROOMY_S:
            for group, value in before:
                group.value = value

    def _fallbacks(self, group: Group, index: int) -> Iterator[int]:
        wider = Group(group.knobs, group.value, _factor(group.value))
        yield from list(_others(wider, self._used(group), index))[:2]
        if group.full > _SMALL:
            yield from (value for value in (2 * group.value, 3 * group.value) if value not in self._used(group))

    # -- results --------------------------------------------------------------------------------------------------

    def _finished(self, found: Sequence[Mapping[str, int]]) -> tuple[Assignment, ...]:
        usable = [(changes, self._attempts.real(changes)) for changes in found]
        usable = [(changes, attempt) for changes, attempt in usable if attempt.ok]
        if not usable:
            reason = self._attempts.real(found[0]).reason
            raise Refused(f"no small sizes were found at which the program runs: {reason}")
        offered = [knob for knob in self._knobs if knob.where != "body"]
        still = tuple(
            knob.label
            for knob in offered
            if len({changes.get(knob.label, knob.value) for changes, _ in usable}) == 1
        )
        return tuple(self._assignment(changes, attempt, still) for changes, attempt in usable)

    def _assignment(self, changes: Mapping[str, int], attempt: Attempt, still: tuple[str, ...]) -> Assignment:
        shown = ", ".join(f"{label.removeprefix('const.')}={value}" for label, value in changes.items())
        batch = [changes.get(knob.label, knob.value) for knob in self._knobs if knob.batch]
        leading = [shape[0] for shape in attempt.inputs.values() if shape]
        one = bool(batch) and all(value == 1 for value in batch) or bool(leading) and leading[0] == 1
        return Assignment(shown or "its own sizes", dict(changes), dict(attempt.inputs), one, still)


def _active(knob: Knob) -> bool:
    return knob.where != "body" and (knob.value > _SMALL or (knob.lone and knob.value > 1) or knob.batch)


def _grouped(knobs: Iterable[Knob]) -> list[Group]:
    """Groups by value; batch knobs of one value are a group of their own."""
    found: dict[tuple[int, bool], list[Knob]] = {}
    for knob in knobs:
        found.setdefault((knob.value, knob.batch), []).append(knob)
    return [Group(tuple(members), value) for (value, _), members in found.items()]


def _multiples(factor: int) -> Iterator[int]:
    return (factor * q for q in (1, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71))


def _factor(value: int) -> int:
    """Largest divisor that is no prime of its own right: 24 -> 8, 15 -> 5 … 1 for primes."""
    if value in _PRIMES or value == 1:
        return 1
    return max((factor for factor in (*_FACTORS, 5, 7) if value % factor == 0 and value > factor), default=1)


def _near(value: int, factor: int, used: set[int], full: int) -> Iterator[int]:
    """A few unused values a little above, with the same factor."""
    fitting = [item for item in _multiples(factor) if value < item <= max(full, 2 * value) and item not in used]
    yield from fitting[:2]


def _others(group: Group, used: set[int], index: int) -> Iterator[int]:
    value, factor = group.value, group.factor
    if value == 1:
        return
    multiples = list(_multiples(factor))[1:]
    ceiling = max(2 * value, 5)
    above = [item for item in multiples if value < item <= ceiling]
    below = [item for item in reversed(multiples) if value > item > value // 2]
    ordered = above + below if index == 1 else above[1:] + above[:1] + below
    yield from (item for item in ordered if item not in used)


def _knobs(file: File, mode: Mode, full: Attempt) -> tuple[Knob, ...]:
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
        leading = base is not None and bool(axes) and (next(iter(base), ""), 0) in axes
        batch = lone and (leading or bool(_BATCH.search(spot.label)))
        spatial = any(axis >= 2 for _, axis in axes or ())
        knobs.append(Knob(spot.label, spot.value, lone, batch, spot.where, spatial))
    knobs = _one_batch(knobs)
    return (*knobs, *_free_axes(full, base, covered))


def _one_batch(knobs: list[Knob]) -> list[Knob]:
    """Where a literal is called batch, only such ones are; else the leading extent of the first input is."""
    if not any(knob.batch and _BATCH.search(knob.label) for knob in knobs):
        return knobs
    return [
        replace(knob, batch=knob.batch and bool(_BATCH.search(knob.label)))
        for knob in knobs
    ]


def _passed(file: File, mode: Mode) -> frozenset[str]:
    try:
        with Placed("meta"), Guard("reading the constructor's arguments", file.folder):
            return passed_arguments(file, execute(file, {}))
    except UserError:
        return frozenset()


def _axes(
    file: File, spot: Spot, base: Mapping[str, tuple[int, ...]] | None
) -> dict[tuple[str, int], bool] | None:
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
