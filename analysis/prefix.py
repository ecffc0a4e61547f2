"""Running sums in disguise: `sum(j<T-i: x[i+j])` is a sum over k = i + j from i on, whose terms do not use i."""

from __future__ import annotations

from collections.abc import Iterator

from ..ir import indices
from ..ir.program import (
    AllOf,
    AnyOf,
    Apply,
    Cast,
    Compare,
    Condition,
    Const,
    Expr,
    Fetch,
    Index,
    IndexValue,
    Iter,
    Loop,
    Nest,
    Read,
)
from .image import is_lone
from .space import at_least, decide, space_of


def as_running(nest: Nest) -> Nest:
    """The same nest over the position instead of the distance, where its terms then use no output iterator."""
    if nest.combine in ("=", "argmax", "argmin"):
        return nest
    written = {name for index in nest.at for name in indices.iterators(index)}
    lone = {name for index in nest.at if is_lone(index) for name in indices.iterators(index)}
    used = indices.expr_iterators(nest.value)
    for inner in nest.loops:
        if inner.name in written or inner.name not in used:
            continue
        for outer in nest.loops:
            if outer.name in lone & used:
                found = _moved(nest, inner, outer)
                if found is not None:
                    return found
    return nest


def _moved(nest: Nest, inner: Loop, outer: Loop) -> Nest | None:
    sign = _common_sign(nest.value, inner.name, outer.name)
    if sign is None or any(inner.name in indices.iterators(loop.extent) for loop in nest.loops):
        return None
    ranges = space_of(nest.loops, None).ranges
    shift = indices.scale(indices.iterator(outer.name), sign)
    low = indices.interval(shift, ranges)
    high = indices.interval(indices.add(inner.extent, shift), ranges)
    if low is None or high is None or high[1] <= low[0]:
        return None
    name = f"{inner.name}+{outer.name}"
    old = indices.add(indices.subtract(indices.iterator(name), shift), indices.constant(low[0]))
    size = high[1] - low[0]
    box = {**ranges, name: (0, size - 1)}
    ends = [at_least(old), at_least(indices.add(indices.subtract(inner.extent, old), indices.constant(-1)))]
    open_ends = [end for end in ends if decide(end, box) is not True]
    if len(open_ends) != 1:
        return None
    values = {inner.name: old}
    kept = [_condition(part, values) for part in indices.conjuncts(nest.where)]
    conditions = (*kept, *open_ends)
    loops = tuple(Loop(name, indices.constant(size)) if loop is inner else loop for loop in nest.loops)
    where = conditions[0] if len(conditions) == 1 else AllOf(conditions)
    value = indices.substitute_in(nest.value, values)
    return Nest(loops, where, nest.target, nest.at, nest.combine, value, nest.source)


def _condition(condition: Condition, values: dict[str, Index]) -> Condition:
    match condition:
        case Compare(index, relation):
            return Compare(indices.substitute(index, values), relation)
        case AllOf(args):
            return AllOf(tuple(_condition(arg, values) for arg in args))
        case AnyOf(args):
            return AnyOf(tuple(_condition(arg, values) for arg in args))


def _common_sign(value: Expr, inner: str, outer: str) -> int | None:
    """s where both iterators occur only together, as a multiple of inner + s*outer."""
    signs: set[int] = set()
    for index in _all_indices(value):
        if not {inner, outer} & indices.iterators(index):
            continue
        factors = {atom.name: c for atom, c in index.terms if isinstance(atom, Iter)}
        nested = {n for atom, _ in index.terms if not isinstance(atom, Iter) for n in indices.iterators(
            Index(((atom, 1),)))}
        a, b = factors.get(inner, 0), factors.get(outer, 0)
        if not a or abs(a) != abs(b) or {inner, outer} & nested:
            return None
        signs.add(1 if a == b else -1)
    return signs.pop() if len(signs) == 1 else None


def _all_indices(expr: Expr) -> Iterator[Index]:
    match expr:
        case Read(_, index, _):
            for part in index:
                yield part
                for atom, _ in part.terms:
                    if isinstance(atom, Fetch):
                        yield from _all_indices(atom.read)
        case Apply(_, args, _):
            for arg in args:
                yield from _all_indices(arg)
        case Cast(arg, _):
            yield from _all_indices(arg)
        case IndexValue(index_):
            yield index_
        case Const():
            return
