"""Composite factors of contractions become statements of their own, so that a contraction multiplies plain operands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..ir import indices
from ..ir.program import (
    AllOf,
    Apply,
    Cast,
    Condition,
    Declare,
    Expr,
    Nest,
    Program,
    Read,
    Scan,
    Statement,
    Tensor,
)
from .factors import dtype_of, factorise
from .space import space_of


def hoist(program: Program) -> Program:
    """The same program with composite factors in statements of their own."""
    tensors = dict(program.tensors)
    body = tuple(_statements(program.body, tensors))
    return Program(program.name, tensors, body, program.outputs, program.ranges, program.facts, program.decisions,
                   program.sizes)


def _statements(body: Sequence[Statement], tensors: dict[str, Tensor]) -> Iterator[Statement]:
    for statement in body:
        match statement:
            case Nest(combine="+"):
                yield from _nest(statement, tensors)
            case Scan():
                yield Scan(statement.iterator, statement.trip, statement.reverse, statement.carries, statement.emits,
                           tuple(_statements(statement.body, tensors)), statement.source)
            case _:
                yield statement


def _nest(nest: Nest, tensors: dict[str, Tensor]) -> Iterator[Statement]:
    fixed = {name for index in nest.at for name in indices.iterators(index)}
    loops = {loop.name for loop in nest.loops}
    product = factorise(nest.value, frozenset(loops - fixed), tensors)
    reading = [factor for factor in product.factors if next(indices.reads(factor), None) is not None]
    replaced: dict[Expr, Read] = {}
    if len(reading) >= 2:
        for factor in dict.fromkeys(reading):
            found = None if _plain(factor) else _separate(factor, nest, tensors)
            if found is not None:
                declare, own, read = found
                yield declare
                yield own
                replaced[factor] = read
    value = _replace(nest.value, replaced) if replaced else nest.value
    yield Nest(nest.loops, nest.where, nest.target, nest.at, nest.combine, value, nest.source)


def _plain(expr: Expr) -> bool:
    return isinstance(expr, Read) or (isinstance(expr, Cast) and _plain(expr.arg))


def _separate(factor: Expr, nest: Nest, tensors: dict[str, Tensor]) -> tuple[Declare, Nest, Read] | None:
    """A statement for one factor; None when its points cannot be told without the other iterators."""
    used = indices.expr_iterators(factor)
    own = tuple(loop for loop in nest.loops if loop.name in used)
    outer = used - {loop.name for loop in nest.loops}
    if outer or any(not indices.iterators(loop.extent) <= {other.name for other in own} for loop in own):
        return None
    kept: list[Condition] = []
    for part in indices.conjuncts(nest.where):
        touched = indices.condition_iterators(part)
        if touched <= used:
            kept.append(part)
        elif touched & used:
            return None
    where = None if not kept else kept[0] if len(kept) == 1 else AllOf(tuple(kept))
    name = _fresh(f"{nest.target}~factor", tensors)
    shape = tuple(size for _, size in space_of(own).sizes)
    tensors[name] = Tensor(name, shape, dtype_of(factor, tensors))
    at = tuple(indices.iterator(loop.name) for loop in own)
    return Declare(name, None, nest.source), Nest(own, where, name, at, "=", factor, nest.source), Read(name, at)


def _fresh(name: str, tensors: dict[str, Tensor]) -> str:
    number, found = 1, name
    while found in tensors:
        number += 1
        found = f"{name}.{number}"
    return found


def _replace(expr: Expr, values: dict[Expr, Read]) -> Expr:
    if expr in values:
        return values[expr]
    match expr:
        case Apply(op, args, dtype):
            return Apply(op, tuple(_replace(arg, values) for arg in args), dtype)
        case Cast(arg, dtype):
            return Cast(_replace(arg, values), dtype)
        case _:
            return expr


