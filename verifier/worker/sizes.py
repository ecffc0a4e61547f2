"""Small sizes for a program: its integer literals are given other values, and what runs is kept.

The search starts from the full sizes, which the meta device runs without memory. Literals of equal value move together
until they are seen to be independent; values are distinct primes where the program allows it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from math import lcm, prod

from ..types import Assignment, Limits, Mode
from .attempts import Attempt, Attempts, alike, broadcast
from .faults import Refused
from .knobs import (
    FACTORS,
    PRIMES,
    SMALL,
    Group,
    Knob,
    active,
    factor_of,
    grouped,
    knobs_of,
    multiples_of,
    near,
    others,
)
from .load import File
from .miniature import STYLES, miniatures
from .paths import Way, chooses, same_way, way_of
from .smalls import vary

_FINE = 40
_HEAVY = 4 << 20
_TOO_HEAVY = 8 << 20
_GROUP_S = 2.0
_ROOMY = 100_000
_ROOMY_S = 0.4
_SLOW_S = 0.2
_LARGE_INPUTS = 128 << 10
_LARGE_RESULTS = 1 << 20
_EXTENT = re.compile(r"window|patch|block|chunk|kernel|pool|size|len|group|head|width|height", re.IGNORECASE)
_WINDOW = re.compile(r"window|block|chunk", re.IGNORECASE)


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
        self._knobs = knobs_of(file, mode, self._full)
        self._strict = bool(self._full.structure)
        self._base: Mapping[str, int] = {}
        self._mode: Mode = mode
        self._full_way: Way | None = None
        self._plans = self._planned()
        self._groups = grouped(knob for knob in self._knobs if active(knob) and not self._is_planned(knob))

    def _without_meta(self) -> None:
        """The meta device cannot run forward (it reads values): only real runs count."""
        self._attempts.meta_works = False
        self._attempts._done.clear()

    def _planned(self) -> tuple[dict[str, int], ...]:
        """Changes of library configurations, and of the inputs' extents with them, that the program runs with; empty
        where it has none, or runs with none of those that were thought of."""
        if not self._full.configs:
            return ()
        facts = {name: found.full for name, found in self._full.configs.items()}
        extents = {knob.label: knob.value for knob in self._knobs if knob.extent and not knob.batch}
        for style in STYLES:
            plans = miniatures(facts, extents, style)
            self._groups = [Group((k,), 3 if k.value > 3 else k.value) for k in self._knobs if k.batch]
            if all(self._ok({**self._changes(), **plan}) for plan in plans):
                return self._with_batches(plans)
        return ()

    def _with_batches(self, plans: Sequence[dict[str, int]]) -> tuple[dict[str, int], ...]:
        """A program of batch 1 is run with other ones too, apart from the second plan."""
        lone = [knob.label for knob in self._knobs if knob.batch and knob.value == 1]
        if not lone:
            return tuple(plans)
        more = [{**plan, **dict.fromkeys(lone, many)} for plan, many in zip(plans, (3, 1, 2), strict=True)]
        return tuple(wider if self._ok(wider) else plan for plan, wider in zip(plans, more, strict=True))

    def _is_planned(self, knob: Knob) -> bool:
        return bool(self._plans) and (knob.where == "config" or (knob.extent and not knob.batch))

    def _at_plan(self, index: int) -> None:
        if self._plans:
            self._base = self._plans[index]

    def run(self) -> tuple[Assignment, ...]:
        self._at_plan(0)
        self._shrink()
        if not self._ok(self._changes()):
            raise Refused(f"no small sizes were found at which the program runs: {self._full.reason}")
        together = [replace(group) for group in self._groups]
        self._split()
        if not self._attempts.real(self._changes()).ok:
            self._groups = together
        self._fewer()
        first = self._changes()
        found = [first]
        for index in (1, 2):
            self._at_plan(index)
            other = self._variant(first, index)
            if other not in found:
                found.append(other)
        return self._finished(self._with_smalls(found))

    def _fewer(self) -> None:
        """A batch of two, where runs are slow."""
        if self._is_slow():
            for group in self._groups:
                if group.batch and group.value > 2:
                    self._try([(group, 2)])

    def _is_slow(self) -> bool:
        """By the time of a run, or, for what has not been run, by the size of its inputs."""
        attempt = self._attempts.at(self._changes())
        if attempt.seconds is not None:
            return attempt.seconds > _SLOW_S
        return attempt.ok and sum(prod(shape) for shape in attempt.inputs.values()) > _LARGE_INPUTS

    def _has_large_results(self, changes: Mapping[str, int]) -> bool:
        return sum(prod(shape) for shape in self._attempts.at(changes).results) > _LARGE_RESULTS

    def _with_smalls(self, found: Sequence[Mapping[str, int]]) -> list[Mapping[str, int]]:
        """Small numbers vary too: in the last assignment, or in one of their own."""
        rest = [knob for knob in self._knobs if len({changes.get(knob.label, knob.value) for changes in found}) == 1]
        varied = vary(self._attempts, self._ok, found[0], [knob for knob in rest if knob.label not in found[0]])
        smalls = {label: value for label, value in varied.items() if label not in found[0]}
        if not smalls:
            return list(found)
        if len(found) > 2:
            last = {**found[-1], **smalls}
            if self._ok(last) and not self._has_large_results(last) and self._attempts.real(last).ok:
                return [*found[:-1], last]
        return [*found, varied]

    # -- trying ---------------------------------------------------------------------------------------------------

    def _ok(self, changes: Mapping[str, int]) -> bool:
        attempt = self._attempts.at(changes)
        if not attempt.ok or broadcast(self._full.inputs, attempt.inputs):
            return False
        if not self._strict:
            return True
        mixed = any(wanted and not is_so for wanted, is_so in zip(self._full.leads, attempt.leads, strict=False))
        return not mixed and alike(self._full, attempt)

    def _changes(self) -> dict[str, int]:
        moved = {knob.label: group.value for group in self._groups for knob in group.knobs if group.value != knob.value}
        return {**self._base, **moved}

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
        if not any(self._try(self._at_once(rank)) for rank in range(4)):
            self._in_windows()
            self._one_by_one(5.0)
            self._shrink_stuck()
            self._one_by_one(3.0)
        self._refine()
        self._shrink_heavy()

    def _in_windows(self) -> None:
        """All groups small together, those that are multiples of a window in the ratio in which the window is."""
        windows = [knob for knob in self._still if 3 < knob.value <= 2 * SMALL and _WINDOW.search(knob.label)]
        for knob in windows[:1]:
            helper = Group((knob,), knob.value, fixed=True)
            counted = [group for group in self._groups if group.full % knob.value == 0 and group.full > knob.value]
            rest = [(group, value) for group, value in self._at_once(1) if group not in counted]
            self._groups.append(helper)
            for small in (3, 4, 2):
                moves = [(group, group.full // knob.value * small) for group in counted if not group.batch]
                if small < knob.value and (
                    self._try([(helper, small), *moves, *rest]) or self._try([(helper, small), *moves])
                ):
                    return
            self._groups.remove(helper)

    def _one_by_one(self, reserve_s: float) -> None:
        for most in (4, 40):
            for group in sorted(self._groups, key=lambda group: (not group.batch, -group.value)):
                small = group.value <= min(_FINE, group.full - 1) or group.full <= SMALL
                if self._attempts.time_left > reserve_s and not small:
                    self._shrink_one(group, most)

    def _at_once(self, rank: int) -> list[tuple[Group, int]]:
        """All groups small together, larger ones staying larger. Rank 0: primes; 1: multiples of the small literals
        that divide the full value; 2: also of the next smaller group where that divides it; 3: all halved alike."""
        used = {knob.value for knob in self._still}
        moves: list[tuple[Group, int]] = []
        last = 4
        for group in sorted(self._groups, key=lambda group: group.full):
            if group.batch:
                value = group.full if group.full <= 3 else 3
            elif group.full <= SMALL and group.full not in used:
                value = group.full
            else:
                factor = self._rank_factor(group, moves, rank)
                value = next((v for v in multiples_of(factor) if v > last and v not in used), group.full)
                value = min(value, group.full) if rank < 3 else max(group.full >> self._shift(), 1)
                last = max(last, value)
            used.add(value)
            moves.append((group, value))
        return moves

    @property
    def _still(self) -> list[Knob]:
        return [knob for knob in self._knobs if not active(knob) and knob.where != "body"]

    def _rank_factor(self, group: Group, moves: Sequence[tuple[Group, int]], rank: int) -> int:
        if rank == 0:
            return 1
        factor = 1
        for knob in self._still:
            if 1 < knob.value <= 2 * SMALL and group.full % knob.value == 0 and lcm(factor, knob.value) <= 32:
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
            if group.full <= SMALL or group.value in PRIMES or self._attempts.time_left < 3:
                continue
            used = self._used(group)
            fitting = [prime for prime in PRIMES if prime < group.full and prime not in used]
            any(self._try([(group, prime)]) for prime in fitting[:2])

    def _choices(self, group: Group, used: Iterable[int]) -> Iterator[int]:
        """Values to try, best first: unused primes, multiples of what divides the full value, halvings, more primes."""
        full, taken = group.full, set(used)
        if full <= SMALL:
            yield from (value for value in (full, 2, 3, 5, 7, 4, 6) if value not in taken)
            return
        primes = [prime for prime in PRIMES if prime < full and prime not in taken]
        factors = [factor for factor in FACTORS if full % factor == 0]
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
        smalls = [knob for knob in self._still if 2 < knob.value <= 2 * SMALL and _EXTENT.search(knob.label)]
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
            self._lower(lambda knob: 1 < knob.value <= SMALL and knob.where in ("const", "init", "default"))
        if self._elements() > _TOO_HEAVY:
            inner = grouped(knob for knob in self._knobs if knob.where == "body" and knob.value > 2 * SMALL)
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
        for knob in [knob for knob in self._knobs if wanted(knob) and not active(knob)]:
            helper = Group((knob,), knob.value)
            self._groups.append(helper)
            elements = self._elements()
            for value in (2, 1):  # two, so that a first layer unlike the others still has another behind it
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
            group.factor = 1 if group.full <= SMALL else factor_of(group.value)
            for knob in reversed(group.knobs) if group.knobs[0].where != "body" else ():
                if self._attempts.time_left < 1:
                    return
                if len(group.knobs) > 1:
                    self._split_off(group, knob)
        self._merge()
        for group in self._groups:
            self._probe(group)

    def _merge(self) -> None:
        """Groups that have one value and only move together become one: broadcasting would otherwise let one of them
        become 1 alone, which is another program."""
        for group in list(self._groups):
            peers = [other for other in self._groups if other is not group and other.value == group.value > 1]
            if group not in self._groups or not peers or self._attempts.time_left < 1:
                continue
            here = group.value
            value = next(near(here, group.factor, {other.value for other in self._groups}, 4 * here), here)
            if self._try([(group, value)]):
                group.value = here
                continue
            for peer in peers:
                if self._try([(group, value), (peer, value)]):
                    peer.value = group.value = here
                    group.knobs += peer.knobs
                    self._groups.remove(peer)
                    break

    def _probe(self, group: Group) -> None:
        """Find out whether a group that kept its full value can move at all."""
        if group.fixed or group.batch or group.value != group.full:
            return
        if group.full > SMALL or self._attempts.time_left < 1:
            group.fixed = True
            return
        here = group.value
        options = [value for value in range(group.full + 1, group.full + 24) if value not in self._used(group)]
        group.fixed = not any(self._try([(group, value)]) for value in options[:2])
        group.value = here

    def _split_off(self, group: Group, knob: Knob) -> None:
        alone = Group((knob,), group.value, group.factor)
        kept = group.knobs
        group.knobs = tuple(other for other in group.knobs if other is not knob)
        self._groups.append(alone)
        used = {other.value for other in self._groups}
        prime = list(near(group.value, 1, used, knob.value))[:1]
        for value in (*prime, *near(group.value, group.factor, used, knob.value)):
            if self._try([(alone, value)]):
                alone.factor = factor_of(value)
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
            value = group.value if group.fixed else next(iter(others(group, used, index)), group.value)
            if group.batch and value > 3 and group.value == 2 and 3 not in used:
                value = 3
            used.add(value)
            moves.append((group, value))
        if not self._try(moves):
            for group, value in sorted(moves, key=lambda move: not move[0].batch):
                if self._attempts.time_left < 0.5 and not group.batch:
                    break
                if not group.fixed and not self._try([(group, value)]) and value != 1:
                    any(self._try([(group, other)]) for other in self._fallbacks(group, index))
        self._lighten(base)
        if index == 2:
            self._roomier()
        self._straighten(base)
        found = self._changes()
        for group, value in base:
            group.value = value
        return found

    def _straighten(self, base: Sequence[tuple[Group, int]]) -> None:
        """Take changes back, largest first, while the program takes another way than at its full size; all of them
        stay where that does not help."""
        if not chooses(self._file) or self._plans or self._on_the_way():
            return
        moved = [(group, group.value) for group in self._groups]
        for group, value in sorted(base, key=lambda pair: pair[1] - pair[0].value):
            if group.value != value and not group.batch and self._try([(group, value)]) and self._on_the_way():
                return
        for group, value in moved:
            group.value = value

    def _on_the_way(self) -> bool:
        if self._full_way is None:
            self._full_way = way_of(self._file, self._mode, {}) or {}
        way = way_of(self._file, self._mode, self._changes()) if self._full_way else None
        return way is None or same_way(self._full_way, way)

    def _lighten(self, base: Sequence[tuple[Group, int]]) -> None:
        """Take growth back, largest first, while a run is slow."""
        for group, value in sorted(base, key=lambda pair: pair[1] - pair[0].value):
            seconds = self._attempts.at(self._changes()).seconds
            if seconds is None or seconds < _SLOW_S:
                return
            if group.value > value:
                self._try([(group, value)])

    def _roomier(self) -> None:
        """Spatial extents large enough that deep networks do not shrink them to 1, where that runs quickly."""
        spatial = [group for group in self._groups if group.full >= 128 and any(k.spatial for k in group.knobs)]
        before = [(group, group.value) for group in spatial]
        moves = []
        for group, size in zip(spatial, (41, 37, 43, 47), strict=False):
            fitting = [value for value in multiples_of(group.factor) if value >= size]
            moves.append((group, min(fitting[0] if fitting else group.value, group.full)))
        attempt = self._attempts.at(self._changes())
        if not moves or attempt.elements < _ROOMY or not self._try(moves):
            return
        seconds = self._attempts.at(self._changes()).seconds
        if seconds is not None and seconds > _ROOMY_S or self._has_large_results(self._changes()):
            for group, value in before:
                group.value = value

    def _fallbacks(self, group: Group, index: int) -> Iterator[int]:
        wider = Group(group.knobs, group.value, factor_of(group.value))
        yield from list(others(wider, self._used(group), index))[:2]
        if group.full > SMALL:
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
            knob.label for knob in offered if len({changes.get(knob.label, knob.value) for changes, _ in usable}) == 1
        )
        return tuple(self._assignment(changes, attempt, still) for changes, attempt in usable)

    def _assignment(self, changes: Mapping[str, int], attempt: Attempt, still: tuple[str, ...]) -> Assignment:
        shown = ", ".join(f"{label.removeprefix('const.')}={value}" for label, value in changes.items())
        batch = [changes.get(knob.label, knob.value) for knob in self._knobs if knob.batch]
        leading = [shape[0] for shape in attempt.inputs.values() if shape]
        one = bool(batch) and all(value == 1 for value in batch) or bool(leading) and leading[0] == 1
        return Assignment(shown or "its own sizes", dict(changes), dict(attempt.inputs), one, still)
