"""Integer point sets: a box of iterators with constraints on quasi-affine indices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import gcd
from typing import TypeAlias

from ..ir import indices
from ..ir.program import AllOf, AnyOf, Compare, Condition, Div, Fetch, Index, Iter, Loop, Mod

Ranges: TypeAlias = Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Member:
    """The point `indices - low` is marked in the bitmap of `shape` (row-major, packed bits); `inside` False: is not."""

    indices: tuple[Index, ...]
    low: tuple[int, ...]
    shape: tuple[int, ...]
    bits: bytes
    inside: bool = True


Constraint: TypeAlias = Compare | AnyOf | Member


@dataclass(frozen=True, slots=True)
class Space:
    """Points of the box `0 <= name < size` that meet every constraint; relations are ">=", "==" and "!=" only."""

    sizes: tuple[tuple[str, int], ...]
    constraints: tuple[Constraint, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.sizes)

    @property
    def ranges(self) -> dict[str, tuple[int, int]]:
        return {name: (0, size - 1) for name, size in self.sizes}

    def with_constraints(self, extra: Iterable[Constraint]) -> Space:
        added = tuple(item for item in dict.fromkeys(extra) if item not in self.constraints)
        return Space(self.sizes, self.constraints + added) if added else self


def at_least(index: Index) -> Compare:
    """`index >= 0`."""
    return Compare(index, ">=")


def equals(index: Index, value: int = 0) -> Compare:
    return Compare(indices.add(index, indices.constant(-value)), "==")


def between(index: Index, low: int, high: int) -> tuple[Compare, Compare]:
    """`low <= index <= high`."""
    return (
        at_least(indices.add(index, indices.constant(-low))),
        at_least(indices.add(indices.scale(index, -1), indices.constant(high))),
    )


def canonical(compare: Compare) -> Compare:
    """The same comparison as `index >= 0`, `== 0` or `!= 0`."""
    index = compare.index
    match compare.relation:
        case "<":
            return at_least(indices.add(indices.scale(index, -1), indices.constant(-1)))
        case "<=":
            return at_least(indices.scale(index, -1))
        case ">":
            return at_least(indices.add(index, indices.constant(-1)))
        case _:
            return compare


def constraints_of(condition: Condition | None) -> tuple[Constraint, ...]:
    found: list[Constraint] = []
    for part in indices.conjuncts(condition):
        match part:
            case Compare():
                found.append(canonical(part))
            case AnyOf():
                found.append(part)
            case AllOf():
                raise AssertionError("conjunctions are flat here")
    return tuple(found)


def negate(constraint: Constraint) -> Constraint:
    match constraint:
        case Compare(index, ">="):
            return at_least(indices.add(indices.scale(index, -1), indices.constant(-1)))
        case Compare(index, relation):
            return Compare(index, "!=" if relation == "==" else "==")
        case Member(at, low, shape, bits, inside):
            return Member(at, low, shape, bits, not inside)
        case AnyOf(args):
            return AnyOf((AllOf(tuple(negate_condition(arg) for arg in args)),))


def negate_condition(condition: Condition) -> Condition:
    match condition:
        case Compare():
            found = negate(canonical(condition))
            assert isinstance(found, Compare)
            return found
        case AllOf(args):
            return AnyOf(tuple(negate_condition(arg) for arg in args))
        case AnyOf(args):
            return AllOf(tuple(negate_condition(arg) for arg in args))


def constraint_iterators(constraint: Constraint) -> frozenset[str]:
    match constraint:
        case Member(at):
            return frozenset(name for index in at for name in indices.iterators(index))
        case _:
            return indices.condition_iterators(constraint)


def has_fetch(index: Index) -> bool:
    return any(
        isinstance(atom, Fetch) or (isinstance(atom, Div | Mod) and has_fetch(atom.arg)) for atom, _ in index.terms
    )


def depends_on_data(constraint: Constraint | Condition) -> bool:
    match constraint:
        case Compare(index):
            return has_fetch(index)
        case AllOf(args) | AnyOf(args):
            return any(depends_on_data(arg) for arg in args)
        case Member():
            return False


def substitute(constraint: Constraint, values: Mapping[str, Index]) -> Constraint:
    match constraint:
        case Compare(index, relation):
            return Compare(indices.substitute(index, values), relation)
        case Member(at, low, shape, bits, inside):
            return Member(tuple(indices.substitute(index, values) for index in at), low, shape, bits, inside)
        case AnyOf(args):
            return AnyOf(tuple(_substitute_condition(arg, values) for arg in args))


def _substitute_condition(condition: Condition, values: Mapping[str, Index]) -> Condition:
    match condition:
        case Compare(index, relation):
            return Compare(indices.substitute(index, values), relation)
        case AllOf(args):
            return AllOf(tuple(_substitute_condition(arg, values) for arg in args))
        case AnyOf(args):
            return AnyOf(tuple(_substitute_condition(arg, values) for arg in args))


def decide(constraint: Constraint | Condition, ranges: Ranges) -> bool | None:
    """Whether a constraint holds at all points of a box, or at none; None where that is not seen."""
    match constraint:
        case Compare():
            return _decide_compare(canonical(constraint), ranges)
        case AllOf(args):
            seen = [decide(arg, ranges) for arg in args]
            return False if False in seen else (None if None in seen else True)
        case AnyOf(args):
            seen = [decide(arg, ranges) for arg in args]
            return True if True in seen else (None if None in seen else False)
        case Member():
            return None


def _decide_compare(compare: Compare, ranges: Ranges) -> bool | None:
    found = indices.interval(compare.index, ranges)
    if found is None:
        return None
    low, high = found
    if compare.relation == ">=":
        return True if low >= 0 else (False if high < 0 else None)
    equal = True if low == high == 0 else (False if low > 0 or high < 0 else None)
    return equal if compare.relation == "==" or equal is None else not equal


def implied(compare: Compare, known: Iterable[Constraint]) -> bool | None:
    """Whether one comparison follows from (True) or contradicts (False) a single known one over the same terms."""
    opposite = negate(compare)
    for other in known:
        if not isinstance(other, Compare):
            continue
        if other == compare or (_weaker(compare, other)):
            return True
        if other == opposite or (isinstance(opposite, Compare) and _weaker(opposite, other)):
            return False
    return None


def _weaker(compare: Compare, other: Compare) -> bool:
    """Whether `other` implies `compare`, both `>=` over the same terms."""
    if compare.relation != ">=" or compare.index.terms != other.index.terms:
        return False
    gap = compare.index.const - other.index.const
    return gap >= 0 if other.relation == ">=" else other.relation == "==" and gap >= 0


@lru_cache(maxsize=5_000)
def space_of(loops: tuple[Loop, ...], where: Condition | None = None) -> Space:
    """The iteration domain of loops; an extent that uses outer iterators becomes a bounding size and a constraint."""
    sizes: list[tuple[str, int]] = []
    ranges: dict[str, tuple[int, int]] = {}
    constraints: list[Constraint] = []
    for loop in loops:
        found = indices.interval(loop.extent, ranges)
        assert found is not None, "extents do not depend on data"
        size = max(found[1], 0)
        if found[0] != found[1]:
            constraints.append(at_least(indices.add(indices.subtract(loop.extent, indices.iterator(loop.name)),
                                                    indices.constant(-1))))
        sizes.append((loop.name, size))
        ranges[loop.name] = (0, max(size - 1, 0))
    return Space(tuple(sizes), tuple(constraints) + constraints_of(where))


def groups(names: Iterable[str], links: Iterable[Iterable[str]]) -> list[tuple[str, ...]]:
    """Connected components of names, each in the order given."""
    order = list(names)
    parent = {name: name for name in order}

    def root(name: str) -> str:
        while parent[name] != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    for link in links:
        members = list(link)
        for member in members[1:]:
            parent[root(member)] = root(members[0])
    found: dict[str, list[str]] = {}
    for name in order:
        found.setdefault(root(name), []).append(name)
    return [tuple(members) for members in found.values()]


def active(space: Space) -> tuple[Constraint, ...] | None:
    """Constraints that the box does not settle by itself, simplified; None when one of them never holds."""
    kept: list[Constraint] = []
    ranges = space.ranges
    for constraint in space.constraints:
        if depends_on_data(constraint):
            continue
        plain = without_division(constraint)
        settled = decide(plain, ranges)
        if settled is False:
            return None
        if settled is None and plain not in kept:
            kept.append(plain)
    return tuple(kept)


def without_division(constraint: Constraint) -> Constraint:
    """`c*(e//b) + k >= 0` says the same as an affine inequality on e."""
    if not isinstance(constraint, Compare) or constraint.relation != ">=" or len(constraint.index.terms) != 1:
        return constraint
    (atom, factor), shift = constraint.index.terms[0], constraint.index.const
    if not isinstance(atom, Div):
        return constraint
    if factor > 0:
        least = -(shift // factor)
        return without_division(at_least(indices.add(atom.arg, indices.constant(-least * atom.by))))
    most = shift // -factor
    bound = indices.constant(most * atom.by + atom.by - 1)
    return without_division(at_least(indices.subtract(bound, atom.arg)))


def reach(index: Index, sizes: Mapping[str, int]) -> tuple[int, int, int] | None:
    """Values (low, high, step) that an affine index takes over a whole box, when they form one progression."""
    if not indices.is_affine(index):
        return None
    terms = sorted(
        ((abs(c), sizes[atom.name]) for atom, c in index.terms if isinstance(atom, Iter) and sizes[atom.name] > 1)
    )
    found = indices.interval(index, {name: (0, size - 1) for name, size in sizes.items()})
    assert found is not None
    if not terms:
        return found[0], found[1], 1
    step = gcd(*(c for c, _ in terms))
    covered = 0
    for c, size in terms:
        if c // step > covered + 1:
            return None
        covered += c // step * (size - 1)
    return found[0], found[1], step
