"""What comes from outside: tensors by their keys, and the claims that the text makes about them."""

from __future__ import annotations

import numpy as np

from ..dtypes import kind
from ..errors import IRError
from ..indices import reads, show
from ..program import Apply, Cast, Const, Expr, External, Fact, Index, IndexValue, Program, Range, Read, Tensor
from .compile import expr_node, make_context
from .domain import bounding_piece, with_digits
from .memory import Memory
from .nodes import materialised
from .scalar import truth
from .values import NUMPY_TYPES, Array, Values, problem_at, to_integer


def load_externals(program: Program, values: Values, memory: Memory) -> None:
    for tensor in program.tensors.values():
        if tensor.external is not None:
            memory.given(tensor.name, _external(tensor, tensor.external, values))


def _external(tensor: Tensor, external: External, values: Values) -> Array:
    match external.kind:
        case "input" | "state":
            table = values.inputs if external.kind == "input" else values.state
            if external.key not in table:
                raise IRError.at(f"no value was given for {external.kind} {external.key!r} (tensor {tensor.name})")
            array = np.asarray(table[external.key])
        case "draw":
            array = _drawn(tensor, external, values)
    if array.shape != tensor.shape:
        given = f"{external.kind} {external.key!r} has shape {array.shape}"
        raise IRError.at(f"{given}, tensor {tensor.name} has {tensor.shape}")
    return _in_type(array, tensor.dtype)


def _drawn(tensor: Tensor, external: External, values: Values) -> Array:
    first, count = int(external.key), max(external.count, 1)
    if first + count > len(values.draws):
        wanted = f"tensor {tensor.name} wants draws {first} to {first + count - 1}"
        raise IRError.at(f"{wanted}, {len(values.draws)} were given")
    drawn = [np.asarray(array) for array in values.draws[first : first + count]]
    return np.stack(drawn) if external.count > 0 else drawn[0]


def _in_type(array: Array, dtype: str) -> Array:
    target = NUMPY_TYPES[dtype]
    if array.dtype == target:
        return array
    if kind(dtype) == "int":
        return to_integer(array, dtype)
    return array.astype(target)


def check_ranges(program: Program, memory: Memory) -> None:
    for claim in program.ranges:
        values = memory[claim.tensor].data()
        low, high = claim.low, claim.high
        outside = np.zeros(values.shape, np.bool_)
        if low is not None:
            outside |= values < low
        if high is not None:
            outside |= values >= high
        if outside.any():
            _report_range(claim, values, outside)
        if claim.unique and values.size:
            ordered = np.sort(values.reshape(-1, values.shape[-1] if values.ndim else 1), axis=-1)
            if (ordered[:, 1:] == ordered[:, :-1]).any():
                raise problem_at(claim.source, f"input {claim.tensor} is declared unique but repeats a value")


def _report_range(claim: Range, values: Array, outside: Array) -> None:
    place = np.unravel_index(int(outside.argmax()), values.shape)
    where = ", ".join(str(int(i)) for i in place)
    low = "" if claim.low is None else claim.low
    high = "" if claim.high is None else claim.high
    raise problem_at(
        claim.source,
        f"input {claim.tensor}[{where}] is {values[place]}, outside of the declared range {low}..{high} (end excluded)",
    )


def check_facts(program: Program, memory: Memory) -> None:
    for fact in program.facts:
        piece = bounding_piece(fact.loops, None, {})
        piece = None if piece is None else with_digits(piece, _indices(fact.claim))
        if piece is None:
            continue
        ctx = make_context(piece, memory, fact.source, native=False)
        wrong = ~truth(materialised(expr_node(ctx, fact.claim)))
        point = ctx.violation(wrong, ctx.whole())
        if point is not None:
            _report_fact(fact, {loop.name: point[loop.name] for loop in fact.loops})


def _indices(expr: Expr) -> list[Index]:
    match expr:
        case Read(_, index, _):
            return list(index)
        case Apply(_, args, _):
            return [index for arg in args for index in _indices(arg)]
        case Cast(arg, _):
            return _indices(arg)
        case IndexValue(index):
            return [index]
        case Const():
            return []


def _report_fact(fact: Fact, point: dict[str, int]) -> None:
    where = ", ".join(f"{name} = {value}" for name, value in point.items())
    names = sorted({f"{r.tensor}[{', '.join(show(i) for i in r.index)}]" for r in reads(fact.claim)})
    at = f" at {where}" if where else ""
    raise problem_at(fact.source, f"the fact about {fact.tensor} ({', '.join(names)}) is false{at}")
