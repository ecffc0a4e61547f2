"""Index simplification that needs the iterators' ranges."""

from __future__ import annotations

from collections.abc import Mapping

from .. import indices as ix
from ..program import Atom, Div, Fetch, Index, Iter, Loop, Mod, Read

Ranges = Mapping[str, tuple[int, int]]


def ranges_of(loops: tuple[Loop, ...], outer: Ranges) -> dict[str, tuple[int, int]]:
    """Inclusive box of iterators; an empty loop counts as the single value 0."""
    ranges = dict(outer)
    for loop in loops:
        ranges[loop.name] = range_of(loop.extent, ranges)
    return ranges


def range_of(extent: Index, ranges: Ranges) -> tuple[int, int]:
    """Inclusive range of an iterator of that extent."""
    return 0, max(most(extent, ranges) - 1, 0)


def most(extent: Index, ranges: Ranges) -> int:
    """Largest value of an extent, at least 0."""
    bounds = ix.interval(extent, ranges)
    return 0 if bounds is None else max(bounds[1], 0)


def simplify(index: Index, ranges: Ranges) -> Index:
    """Drops // and % that do nothing on these ranges: (4*i + j)//4 is i for j<4, j%8 is j for j<8."""
    if ix.is_affine(index):
        return index
    result = ix.constant(index.const)
    for atom, coefficient in index.terms:
        result = ix.add(result, ix.scale(_atom(atom, ranges), coefficient))
    return result


def _atom(atom: Atom, ranges: Ranges) -> Index:
    match atom:
        case Iter(name):
            return ix.iterator(name)
        case Fetch(Read(tensor, index, fill)):
            inner = tuple(simplify(part, ranges) for part in index)
            return Index(((Fetch(Read(tensor, inner, fill)), 1),))
        case Div(arg, by):
            return _div(simplify(arg, ranges), by, ranges)
        case Mod(arg, by):
            return _mod(simplify(arg, ranges), by, ranges)


def _div(arg: Index, by: int, ranges: Ranges) -> Index:
    bounds = ix.interval(arg, ranges)
    if bounds is not None and bounds[0] // by == bounds[1] // by:
        return ix.constant(bounds[0] // by)
    whole = ix.of_terms({atom: c for atom, c in arg.terms if c % by == 0}, arg.const - arg.const % by)
    rest = ix.subtract(arg, whole)
    bounds = ix.interval(rest, ranges)
    if bounds is not None and bounds[0] >= 0 and bounds[1] < by:
        return ix.of_terms({atom: c // by for atom, c in whole.terms}, whole.const // by)
    return _nested_div(ix.floor_div(arg, by))


def _nested_div(index: Index) -> Index:
    """(i//4)//8 is i//32."""
    match index:
        case Index(((Div(Index(((Div(inner, first), 1),), 0), second), 1),), 0):
            return ix.floor_div(inner, first * second)
        case _:
            return index


def _mod(arg: Index, by: int, ranges: Ranges) -> Index:
    bounds = ix.interval(arg, ranges)
    if bounds is not None and bounds[0] // by == bounds[1] // by:
        return ix.subtract(arg, ix.constant(bounds[0] // by * by))
    rest = ix.of_terms({atom: c for atom, c in arg.terms if c % by}, arg.const % by)
    bounds = ix.interval(rest, ranges)
    if bounds is not None and bounds[0] >= 0 and bounds[1] < by:
        return rest
    return ix.modulo(arg, by)
