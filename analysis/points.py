"""Exact number of points of a set, in closed form or by enumeration of small groups.

Nothing here enumerates the product of a domain: a set is split into groups of iterators that share no constraint,
and within a group the longest iterator is solved for in closed form wherever its constraints allow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, reduce
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..ir import indices
from ..ir.program import AllOf, AnyOf, Atom, Compare, Condition, Div, Fetch, Index, Iter, Mod
from .space import (
    Constraint,
    Member,
    Space,
    active,
    canonical,
    constraint_iterators,
    constraints_of,
    groups,
    negate_condition,
)

ENUMERATION_LIMIT = 200_000_000
CHUNK = 2_000_000

Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]


class TooLarge(Exception):
    """A point set that can neither be counted in closed form nor enumerated within the limit."""


approximations: list[str] = []


def count(space: Space) -> int:
    """Number of points: exact, or, when a group is too large for that, its whole box, noted in `approximations`."""
    try:
        return _count(space)
    except TooLarge as problem:
        approximations.append(str(problem))
        return _count(space, rough=True)


@lru_cache(maxsize=20_000)
def _count(space: Space, rough: bool = False) -> int:
    if any(size <= 0 for _, size in space.sizes):
        return 0
    constraints = active(space)
    if constraints is None:
        return 0
    sizes = dict(space.sizes)
    links = [constraint_iterators(constraint) for constraint in constraints]
    total = 1
    for group in groups(space.names, links):
        inside = tuple(c for c, link in zip(constraints, links, strict=True) if link & set(group))
        box = tuple((name, sizes[name]) for name in group)
        try:
            total *= _count_group(box, inside)
        except TooLarge:
            if not rough:
                raise
            total *= prod(size for _, size in box)
        if not total:
            return 0
    return total


@lru_cache(maxsize=20_000)
def _count_group(sizes: tuple[tuple[str, int], ...], constraints: tuple[Constraint, ...]) -> int:
    if not constraints:
        return prod(size for _, size in sizes)
    ordered = sorted(sizes, key=lambda item: -item[1])
    for name, size in ordered:
        if all(_solvable(c, name) for c in constraints) and _few_exclusions(constraints, name):
            rest = tuple(item for item in sizes if item[0] != name)
            return sum(_solve(name, size, constraints, env) for env in enumerate_box(rest))
    choice = next((c for c in constraints if isinstance(c, AnyOf)), None)
    if choice is not None and prod(size for _, size in sizes) > CHUNK:
        rest_of = tuple(c for c in constraints if c is not choice)
        return sum(count(Space(sizes, (*rest_of, *arm))) for arm in exclusive(choice))
    return sum(int(np.count_nonzero(holds_all(constraints, env, shape))) for env, shape in _with_shapes(sizes))


def exclusive(choice: AnyOf) -> Iterator[tuple[Constraint, ...]]:
    """The arms of an alternative, each without the points of the ones before it."""
    for position, arm in enumerate(choice.args):
        before = (negate_condition(earlier) for earlier in choice.args[:position])
        yield constraints_of(AllOf((arm, *before)))


def _with_shapes(sizes: tuple[tuple[str, int], ...]) -> Iterator[tuple[dict[str, Ints], tuple[int, ...]]]:
    for env in enumerate_box(sizes):
        yield env, np.broadcast_shapes(*(value.shape for value in env.values()))


def enumerate_box(
    sizes: Sequence[tuple[str, int]], limit: int = ENUMERATION_LIMIT
) -> Iterator[dict[str, Ints]]:
    """Open grids over a box, in pieces of bounded size. Raises TooLarge above the limit."""
    total = prod(size for _, size in sizes)
    if total > limit:
        raise TooLarge(f"{total} points of {', '.join(name for name, _ in sizes)}")
    if not total:
        return
    if not sizes:
        yield {}
        return
    (first, length), *rest = sorted(sizes, key=lambda item: -item[1])
    step = max(1, CHUNK // max(1, total // length))
    rank = len(rest) + 1
    fixed = {
        name: np.arange(size, dtype=np.int64).reshape([-1 if axis == k + 1 else 1 for axis in range(rank)])
        for k, (name, size) in enumerate(rest)
    }
    for low in range(0, length, step):
        head = np.arange(low, min(low + step, length), dtype=np.int64)
        yield {first: head.reshape([-1] + [1] * (rank - 1)), **fixed}


def values(index: Index, env: Mapping[str, Ints]) -> Ints:
    result: Ints = np.asarray(index.const, dtype=np.int64)
    for atom, factor in index.terms:
        result = result + factor * _atom_values(atom, env)
    return result


def _atom_values(atom: Atom, env: Mapping[str, Ints]) -> Ints:
    match atom:
        case Iter(name):
            return env[name]
        case Div(arg, by):
            return values(arg, env) // by
        case Mod(arg, by):
            return values(arg, env) % by
        case Fetch():
            raise TypeError("an indirect index has no value without data")


def holds(constraint: Constraint | Condition, env: Mapping[str, Ints]) -> Bools:
    match constraint:
        case Compare():
            plain = canonical(constraint)
            value = values(plain.index, env)
            found: Any = value >= 0 if plain.relation == ">=" else (
                value == 0 if plain.relation == "==" else value != 0)
            return np.asarray(found)
        case AllOf(args):
            return reduce(np.logical_and, (holds(arg, env) for arg in args))
        case AnyOf(args):
            return reduce(np.logical_or, (holds(arg, env) for arg in args))
        case Member():
            return _is_member(constraint, env)


@lru_cache(maxsize=256)
def _bitmap(bits: bytes, shape: tuple[int, ...]) -> Bools:
    flat = np.unpackbits(np.frombuffer(bits, dtype=np.uint8), count=prod(shape))
    return flat.astype(np.bool_).reshape(shape)


def _is_member(member: Member, env: Mapping[str, Ints]) -> Bools:
    inside: Any = True
    position: list[Ints] = []
    for index, low, size in zip(member.indices, member.low, member.shape, strict=True):
        offset = values(index, env) - low
        inside = inside & (offset >= 0) & (offset < size)
        position.append(np.clip(offset, 0, size - 1))
    marked: Bools = inside & _bitmap(member.bits, member.shape)[tuple(position)]
    return marked if member.inside else ~marked


def holds_all(constraints: Sequence[Constraint], env: Mapping[str, Ints], shape: tuple[int, ...]) -> Bools:
    result = np.ones(shape, dtype=np.bool_)
    for constraint in constraints:
        result &= holds(constraint, env)
    return result


def _coefficient(index: Index, name: str) -> int | None:
    """Factor of an iterator that occurs only linearly; None when it also occurs inside // or %."""
    factor = 0
    for atom, c in index.terms:
        if isinstance(atom, Iter) and atom.name == name:
            factor = c
        elif name in indices.iterators(Index(((atom, 1),))):
            return None
    return factor


def _residue(constraint: Constraint, name: str) -> tuple[int, Index, int] | None:
    """`(a*name + rest) % m == r` with a = ±1, as (m, the index that must be 0 modulo m, a)."""
    if not isinstance(constraint, Compare) or constraint.relation != "==" or len(constraint.index.terms) != 1:
        return None
    (atom, factor), shift = constraint.index.terms[0], constraint.index.const
    if not isinstance(atom, Mod) or shift % factor:
        return None
    a = _coefficient(atom.arg, name)
    if a is None or abs(a % atom.by) not in (1, atom.by - 1) or not 0 <= -shift // factor < atom.by:
        return None
    return atom.by, indices.add(atom.arg, indices.constant(shift // factor)), a


def _solvable(constraint: Constraint, name: str) -> bool:
    if name not in constraint_iterators(constraint):
        return True
    if not isinstance(constraint, Compare):
        return False
    return _coefficient(constraint.index, name) is not None or _residue(constraint, name) is not None


def _few_exclusions(constraints: Sequence[Constraint], name: str) -> bool:
    mine = [c for c in constraints if name in constraint_iterators(c) and isinstance(c, Compare)]
    excluded = sum(c.relation == "!=" for c in mine)
    residues = sum(_coefficient(c.index, name) is None for c in mine)
    return excluded + residues <= 1


def _solve(name: str, size: int, constraints: Sequence[Constraint], env: dict[str, Ints]) -> int:
    """Number of points over a grid of the other iterators, `name` being solved for."""
    shape = np.broadcast_shapes(*(value.shape for value in env.values())) if env else ()
    low: Ints = np.zeros(shape, dtype=np.int64)
    high: Ints = np.full(shape, size - 1, dtype=np.int64)
    alive: Bools = np.ones(shape, dtype=np.bool_)
    modulus, residue = 1, np.zeros(shape, dtype=np.int64)
    excluded: list[tuple[int, Ints]] = []
    for constraint in constraints:
        if name not in constraint_iterators(constraint):
            alive = alive & holds(constraint, env)
            continue
        assert isinstance(constraint, Compare)
        factor = _coefficient(constraint.index, name)
        if factor is None:
            found = _residue(constraint, name)
            assert found is not None
            modulus, index, a = found
            rest = values(_without(index, name), env)
            residue = (-rest if a % modulus == 1 % modulus else rest) % modulus + np.zeros(shape, dtype=np.int64)
            continue
        rest = values(_without(constraint.index, name), env)
        if constraint.relation == ">=":
            if factor > 0:
                low = np.maximum(low, -(rest // factor))
            else:
                high = np.minimum(high, rest // -factor)
        elif constraint.relation == "==":
            point = -rest // factor
            alive = alive & (rest % abs(factor) == 0)
            low, high = np.maximum(low, point), np.minimum(high, point)
        else:
            excluded.append((factor, rest))
    first = low + (residue - low) % modulus
    number = np.where(alive & (first <= high), (high - first) // modulus + 1, 0)
    for factor, rest in excluded:
        point = -rest // factor
        number = number - (alive & (rest % abs(factor) == 0) & (point >= low) & (point <= high))
    return int(np.sum(number))


def _without(index: Index, name: str) -> Index:
    return Index(tuple((atom, c) for atom, c in index.terms if not (isinstance(atom, Iter) and atom.name == name)),
                 index.const)
