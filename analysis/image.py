"""Which elements of a tensor an access touches: images of point sets.

A part is a set of constraints over the tensor's axes, named "@0", "@1", …, inside the box of its shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import TypeAlias

import numpy as np

from ..ir import indices
from ..ir.program import Compare, Div, Index, Iter, Mod
from .points import Bools, Ints, TooLarge, count, enumerate_box, holds_all, values
from .space import (
    Constraint,
    Member,
    Space,
    active,
    at_least,
    between,
    constraint_iterators,
    decide,
    depends_on_data,
    equals,
    groups,
    has_fetch,
    reach,
    substitute,
    without_division,
)

BITMAP_LIMIT = 50_000_000
IMAGE_LIMIT = 30_000_000

Part: TypeAlias = frozenset[Constraint]
WHOLE: Part = frozenset()


def axis(position: int) -> str:
    return f"@{position}"


@dataclass(frozen=True, slots=True)
class Image:
    """Touched elements, or None for none; `exact` False means a superset."""

    part: Part | None
    exact: bool = True


def box_of(shape: Sequence[int], part: Part = WHOLE) -> Space:
    ordered = tuple(sorted(part, key=repr)) if len(part) > 1 else tuple(part)
    return Space(tuple((axis(k), size) for k, size in enumerate(shape)), ordered)


@lru_cache(maxsize=20_000)
def image(space: Space, index: tuple[Index, ...], shape: tuple[int, ...]) -> Image:
    """Elements `index` of a tensor of that shape touched from the points of `space`; out of bounds ones are left out.

    An index read from a tensor may point anywhere along its axis: the axis is taken whole and the result inexact."""
    if any(size <= 0 for _, size in space.sizes) or not prod(shape):
        return Image(None)
    fixed = [k for k, e in enumerate(index) if not has_fetch(e)]
    exact = len(fixed) == len(index)
    split = _split_constraints(space, index, fixed)
    if split is None:
        return Image(None)
    found, rest = split
    sizes = dict(space.sizes)
    links = [constraint_iterators(c) for c in rest] + [indices.iterators(index[k]) for k in fixed]
    for group in groups(space.names, links):
        members = set(group)
        piece = _group_image(
            tuple((name, sizes[name]) for name in group),
            tuple(c for c in rest if constraint_iterators(c) & members),
            tuple((k, index[k], shape[k]) for k in fixed if indices.iterators(index[k]) & members),
        )
        if piece.part is None:
            return piece
        found.extend(piece.part)
        exact = exact and piece.exact
    for k in fixed:
        if not index[k].terms:
            found.extend(progression(k, index[k].const, index[k].const, 1, shape[k]))
    return _finish(found, shape, exact)


def _finish(found: Sequence[Constraint], shape: tuple[int, ...], exact: bool) -> Image:
    kept = active(box_of(shape).with_constraints(found))
    return Image(None) if kept is None else Image(frozenset(kept), exact)


def _split_constraints(
    space: Space, index: Sequence[Index], fixed: Sequence[int]
) -> tuple[list[Constraint], list[Constraint]] | None:
    """Constraints that can be said of an axis, and those left on the iterators; None when one never holds."""
    found: list[Constraint] = []
    rest: list[Constraint] = []
    ranges = space.ranges
    for constraint in space.constraints:
        if depends_on_data(constraint):
            continue
        settled = decide(without_division(constraint), ranges)
        if settled is False:
            return None
        if settled is None:
            moved = _transfer(constraint, index, fixed)
            (rest if moved is None else found).append(without_division(constraint) if moved is None else moved)
    return found, rest


def _transfer(constraint: Constraint, index: Sequence[Index], fixed: Sequence[int]) -> Constraint | None:
    """The same constraint on an axis, where it only speaks of that axis's (not lone) index."""
    if not isinstance(constraint, Compare):
        return None
    for k in fixed:
        for sign in (1, -1):
            if len(index[k].terms) == len(constraint.index.terms) and not is_lone(index[k]):
                gap = indices.subtract(constraint.index, indices.scale(index[k], sign))
                if not gap.terms:
                    moved = indices.add(indices.scale(indices.iterator(axis(k)), sign), gap)
                    return Compare(moved, constraint.relation)
    return None


Axis: TypeAlias = tuple[int, Index, int]


@lru_cache(maxsize=20_000)
def _group_image(
    sizes: tuple[tuple[str, int], ...], constraints: tuple[Constraint, ...], axes: tuple[Axis, ...]
) -> Image:
    """Image of one group of linked iterators on the axes that use them: (axis, index, size) each."""
    space = Space(sizes, constraints)
    if not axes:
        return Image(WHOLE if not constraints or count(space) else None)
    if not constraints:
        free = _unconstrained(dict(sizes), axes)
        if free is not None:
            return Image(frozenset(free))
    lone = _lone(dict(sizes), axes)
    if lone is not None:
        renamed = _rename(space, axes, lone)
        if renamed is not None:
            return renamed
    return _enumerated(space, axes)


def _unconstrained(sizes: Mapping[str, int], axes: Sequence[Axis]) -> list[Constraint] | None:
    if len(axes) == 1:
        (k, index, size), = axes
        found = reach(index, sizes)
        return None if found is None else progression(k, *found, size)
    return _digits(sizes, axes)


def progression(k: int, low: int, high: int, step: int, size: int) -> list[Constraint]:
    """Constraints that keep axis k to low, low+step, …, high."""
    name = indices.iterator(axis(k))
    found: list[Constraint] = []
    if low == high:
        return [equals(name, low)] if size != 1 or low else []
    if low > 0:
        found.append(between(name, low, high)[0])
    if high < size - 1:
        found.append(between(name, low, high)[1])
    if step > 1:
        found.append(equals(indices.modulo(indices.add(name, indices.constant(-low)), step)))
    return found


def _digits(sizes: Mapping[str, int], axes: Sequence[Axis]) -> list[Constraint] | None:
    """Axes that are the digits of one number: `i//(H*W), (i//W) % H, i % W` cover a whole box when i covers 0..N-1."""
    parsed = [_digit(index) for _, index, _ in axes]
    if any(item is None for item in parsed):
        return None
    digits = sorted(((item, place) for place, item in enumerate(parsed) if item is not None), key=lambda d: d[0][1])
    base = digits[0][0][0]
    found = reach(base, sizes)
    if found is None or found[0] != 0 or found[2] != 1 or any(item[0] != base for item, _ in digits):
        return None
    weight = 1
    result: list[Constraint] = []
    for (_, place_value, radix), place in digits:
        if place_value != weight:
            return None
        k, _, size = axes[place]
        top = (found[1] // weight) + 1 if radix is None else radix
        result.extend(progression(k, 0, top - 1, 1, size))
        weight *= top
    return result if weight == found[1] + 1 else None


def _digit(index: Index) -> tuple[Index, int, int | None] | None:
    """`(base // value) % radix` as (base, value, radix); no radix: the leading digit."""
    radix: int | None = None
    value = 1
    if index.const == 0 and len(index.terms) == 1 and index.terms[0][1] == 1 and isinstance(index.terms[0][0], Mod):
        radix = index.terms[0][0].by
        index = index.terms[0][0].arg
    if index.const == 0 and len(index.terms) == 1 and index.terms[0][1] == 1 and isinstance(index.terms[0][0], Div):
        value = index.terms[0][0].by
        index = index.terms[0][0].arg
    return (index, value, radix) if indices.is_affine(index) else None


def _lone(sizes: Mapping[str, int], axes: Sequence[Axis]) -> dict[str, Index] | None:
    """For axes that are each one distinct iterator plus a constant: the iterators in terms of the axes."""
    found: dict[str, Index] = {}
    for k, index, _ in axes:
        if not is_lone(index):
            return None
        (atom, sign), = index.terms
        if not isinstance(atom, Iter) or atom.name in found:
            return None
        found[atom.name] = indices.scale(
            indices.add(indices.iterator(axis(k)), indices.constant(-index.const)), sign
        )
    return found


def _rename(space: Space, axes: Sequence[Axis], lone: Mapping[str, Index]) -> Image | None:
    constraints: list[Constraint] | None = list(space.constraints)
    for name, size in space.sizes:
        if name not in lone and constraints is not None:
            constraints = _eliminate(name, size, constraints)
    if constraints is None:
        return None
    moved = [substitute(constraint, lone) for constraint in constraints]
    sizes = dict(space.sizes)
    for k, index, size in axes:
        found = reach(index, sizes)
        assert found is not None
        moved.extend(progression(k, *found, size))
    return Image(frozenset(moved))


def _eliminate(name: str, size: int, constraints: Sequence[Constraint]) -> list[Constraint] | None:
    """Constraints on the other iterators for which some 0 <= name < size exists; None when not exactly known."""
    lows, highs = [indices.constant(0)], [indices.constant(size - 1)]
    kept: list[Constraint] = []
    for constraint in constraints:
        if name not in constraint_iterators(constraint):
            kept.append(constraint)
            continue
        bound = unit_bound(constraint, name)
        if bound is None:
            return None
        lower, upper = bound
        lows.extend([] if lower is None else [lower])
        highs.extend([] if upper is None else [upper])
    kept.extend(at_least(indices.subtract(high, low)) for low in lows for high in highs)
    return kept


def unit_bound(constraint: Constraint, name: str) -> tuple[Index | None, Index | None] | None:
    """Lower and upper bound on an iterator with coefficient ±1."""
    if not isinstance(constraint, Compare) or constraint.relation == "!=":
        return None
    factor = dict(constraint.index.terms).get(Iter(name), 0)
    rest = Index(tuple(t for t in constraint.index.terms if t[0] != Iter(name)), constraint.index.const)
    if abs(factor) != 1 or name in indices.iterators(rest):
        return None
    bound = indices.scale(rest, -factor)
    if constraint.relation == "==":
        return bound, bound
    return (bound, None) if factor > 0 else (None, bound)


def _enumerated(space: Space, axes: Sequence[Axis]) -> Image:
    needed = {name for _, index, _ in axes for name in indices.iterators(index)}
    needed |= {name for c in space.constraints for name in constraint_iterators(c)}
    sizes = tuple(item for item in space.sizes if item[0] in needed)
    hull = [_hull(index, size, space) for _, index, size in axes]
    if any(low > high for low, high in hull):
        return Image(None)
    extents = tuple(high - low + 1 for low, high in hull)
    try:
        if prod(extents) > BITMAP_LIMIT:
            raise TooLarge(f"{prod(extents)} elements of a bitmap")
        marked = np.zeros(prod(extents), dtype=np.bool_)
        for env in enumerate_box(sizes, IMAGE_LIMIT):
            _mark(marked, env, space.constraints, axes, hull, extents)
    except TooLarge:
        hulled = [progression(k, *ends, 1, size) for (k, _, size), ends in zip(axes, hull, strict=True)]
        return Image(frozenset(c for piece in hulled for c in piece), exact=False)
    return _from_bitmap(marked.reshape(extents), axes, [low for low, _ in hull])


def _hull(index: Index, size: int, space: Space) -> tuple[int, int]:
    found = indices.interval(index, space.ranges)
    assert found is not None
    return max(found[0], 0), min(found[1], size - 1)


def _mark(
    marked: Bools,
    env: Mapping[str, Ints],
    constraints: Sequence[Constraint],
    axes: Sequence[Axis],
    hull: Sequence[tuple[int, int]],
    extents: Sequence[int],
) -> None:
    shape = np.broadcast_shapes(*(value.shape for value in env.values()))
    keep = holds_all(constraints, env, shape)
    flat = np.zeros(shape, dtype=np.int64)
    for (_, index, _), (low, high), extent in zip(axes, hull, extents, strict=True):
        value = values(index, env)
        keep &= (value >= low) & (value <= high)
        flat = flat * extent + (value - low)
    marked[flat[keep]] = True


def _from_bitmap(marked: Bools, axes: Sequence[Axis], low: Sequence[int]) -> Image:
    if not marked.any():
        return Image(None)
    if marked.ndim == 1:
        return Image(frozenset(axis_constraints(marked, axes[0][0], low[0], axes[0][2])))
    others = [tuple(a for a in range(marked.ndim) if a != k) for k in range(marked.ndim)]
    lines: list[Bools] = [np.asarray(marked.any(axis=rest)) for rest in others]
    if prod(int(line.sum()) for line in lines) == int(marked.sum()):
        return Image(frozenset(
            c for line, (k, _, size), start in zip(lines, axes, low, strict=True)
            for c in axis_constraints(line, k, start, size)
        ))
    at = tuple(indices.iterator(axis(k)) for k, _, _ in axes)
    return Image(frozenset({Member(at, tuple(low), marked.shape, np.packbits(marked).tobytes())}))


def axis_constraints(marked: Bools, k: int, low: int, size: int) -> list[Constraint]:
    """Constraints that keep axis k to the marked positions low, low+1, …; a progression is written as such."""
    (points,) = np.nonzero(marked)
    first, last = int(points[0]), int(points[-1])
    steps = np.unique(np.diff(points))
    if len(steps) <= 1:
        return progression(k, first + low, last + low, int(steps[0]) if len(steps) else 1, size)
    trimmed = marked[first : last + 1]
    at = (indices.iterator(axis(k)),)
    return [Member(at, (first + low,), trimmed.shape, np.packbits(trimmed).tobytes())]


def is_lone(index: Index) -> bool:
    return len(index.terms) == 1 and isinstance(index.terms[0][0], Iter) and abs(index.terms[0][1]) == 1
