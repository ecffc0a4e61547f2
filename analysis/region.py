"""Unions of parts of a tensor: adding, merging, counting, taking apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np

from ..ir.program import Index
from .image import WHOLE, Image, Part, axis, axis_constraints, box_of, progression, unit_bound
from .points import Bools, count, holds_all
from .space import Constraint, constraint_iterators, depends_on_data, negate, substitute

PARTS_LIMIT = 8
PIECES_LIMIT = 64
AXIS_LIMIT = 4_000_000


@dataclass(frozen=True, slots=True)
class Region:
    """A union of parts of a tensor; no parts: nothing. `exact` False means a superset of what is meant."""

    shape: tuple[int, ...]
    parts: tuple[Part, ...] = ()
    exact: bool = True

    @property
    def whole(self) -> bool:
        return self.parts == (WHOLE,)


def whole_region(shape: tuple[int, ...]) -> Region:
    return Region(shape, (WHOLE,) if prod(shape) else ())


def count_parts(shape: tuple[int, ...], parts: Sequence[Part]) -> int:
    """Number of elements in a union of parts."""
    if WHOLE in parts:
        return prod(shape)
    total = 0
    for number in range(1, len(parts) + 1):
        for chosen in combinations(parts, number):
            size = count(box_of(shape, frozenset().union(*chosen)))
            total += size if number % 2 else -size
    return total


def elements(region: Region) -> int:
    return count_parts(region.shape, region.parts)


def add_part(region: Region, piece: Image) -> Region:
    """The union of a region and one more image; neighbouring parts are merged."""
    if piece.part is None or region.whole:
        return region
    if piece.part == WHOLE:
        return Region(region.shape, (WHOLE,), region.exact and piece.exact)
    exact = region.exact and piece.exact
    parts = list(region.parts)
    if any(piece.part >= other for other in parts):
        return region
    new = piece.part
    merging = True
    while merging:
        merging = False
        for other in parts:
            merged = _merge(new, other, region.shape)
            if merged is not None:
                parts.remove(other)
                new, merging = merged, True
                break
    parts.append(new)
    if len(parts) > PARTS_LIMIT:
        return Region(region.shape, (_common(parts),), exact=False)
    return Region(region.shape, tuple(parts), exact)


def add_region(left: Region, right: Region) -> Region:
    for part in right.parts:
        left = add_part(left, Image(part, right.exact))
    return left


def _common(parts: Sequence[Part]) -> Part:
    return frozenset.intersection(*parts)


def _merge(left: Part, right: Part, shape: tuple[int, ...]) -> Part | None:
    """One part that is the union of two, when they differ along a single axis or one lies in the other."""
    if left <= right:
        return left
    if right <= left:
        return right
    different = {name for c in left ^ right for name in constraint_iterators(c)}
    if len(different) != 1 or any(len(constraint_iterators(c)) != 1 for c in left ^ right):
        return None
    (name,) = different
    k = int(name[1:])
    if shape[k] > AXIS_LIMIT:
        return _merge_ranges(left, right, name, shape[k])
    env = {name: np.arange(shape[k], dtype=np.int64)}
    lines = [holds_all([c for c in side if constraint_iterators(c) == {name}], env, (shape[k],))
             for side in (left, right)]
    common = frozenset(c for c in left & right if constraint_iterators(c) != {name})
    either: Bools = np.logical_or(lines[0], lines[1])
    return common | frozenset(axis_constraints(either, k, 0, shape[k]))


def _merge_ranges(left: Part, right: Part, name: str, size: int) -> Part | None:
    """As `_merge` for a long axis: only plain intervals that touch."""
    common = frozenset(c for c in left & right if constraint_iterators(c) != {name})
    intervals = [_interval([c for c in side if constraint_iterators(c) == {name}], name, size)
                 for side in (left, right)]
    if None in intervals:
        return None
    (low, high), (other_low, other_high) = sorted(item for item in intervals if item is not None)
    if other_low > high + 1:
        return None
    return common | frozenset(progression(int(name[1:]), low, max(high, other_high), 1, size))


def _interval(constraints: Iterable[Constraint], name: str, size: int) -> tuple[int, int] | None:
    low, high = 0, size - 1
    for constraint in constraints:
        bound = unit_bound(constraint, name)
        if bound is None:
            return None
        low = low if bound[0] is None else max(low, bound[0].const)
        high = high if bound[1] is None else min(high, bound[1].const)
    return low, high


def disjoint(region: Region) -> list[tuple[Constraint, ...]]:
    """The same elements as conjunctions that do not overlap (all of the tensor, where that takes too many)."""
    result: list[tuple[Constraint, ...]] = []
    for position, part in enumerate(region.parts):
        pieces: list[tuple[Constraint, ...]] = [tuple(sorted(part, key=repr))]
        for earlier in region.parts[:position]:
            pieces = [
                (*piece, *rest)
                for piece in pieces
                for rest in complement(earlier)
                if count(box_of(region.shape, frozenset((*piece, *rest))))
            ]
        result.extend(pieces)
        if len(result) > PIECES_LIMIT:
            return [()]
    return result


def complement(part: Part) -> list[tuple[Constraint, ...]]:
    """Everything outside a part, as conjunctions that do not overlap."""
    ordered = sorted(part, key=repr)
    return [(*ordered[:k], negate(constraint)) for k, constraint in enumerate(ordered)]


def restrict(index: Sequence[Index], piece: Iterable[Constraint]) -> tuple[Constraint, ...]:
    """A constraint on a tensor's axes as one on the iterators of the access `index`."""
    at = {axis(k): item for k, item in enumerate(index)}
    return tuple(
        moved for constraint in piece for moved in (substitute(constraint, at),) if not depends_on_data(moved)
    )
