"""A slow interpreter that visits every point: what the fast one is compared with. Floats stay unrounded (promoted)."""

from __future__ import annotations

import math

import numpy as np
from solar_agent.ir.dtypes import DTYPES, integer_range, kind
from solar_agent.ir.indices import condition_iterators, conjuncts, index_reads, iterators
from solar_agent.ir.ops import IDENTITY
from solar_agent.ir.program import (
    AllOf,
    AnyOf,
    Apply,
    Cast,
    Compare,
    Const,
    Declare,
    Div,
    Fetch,
    IndexValue,
    Iter,
    Mod,
    Nest,
    Read,
    Scan,
    View,
)


class WrongProgramError(Exception):
    pass


def to_type(value, dtype):
    """A Python number as `dtype` holds it."""
    match kind(dtype):
        case "bool":
            return bool(value)
        case "float":
            return float(value)
        case _:
            low, high = integer_range(dtype)
            if isinstance(value, float):
                wide = (-(2**31), 2**31 - 1) if DTYPES[dtype].bits < 32 or dtype == "i32" else (-(2**63), 2**63 - 1)
                whole = math.trunc(value) if math.isfinite(value) else wide[0]
                value = whole if wide[0] <= whole <= wide[1] else wide[0]
            return (int(value) - low) % (high - low + 1) + low


def constant(value, dtype):
    if kind(dtype) != "float" and value in (math.inf, -math.inf):
        return value > 0 if kind(dtype) == "bool" else integer_range(dtype)[value > 0]
    return to_type(value, dtype)


def index_value(index, point, store):
    total = index.const
    for atom, coefficient in index.terms:
        match atom:
            case Iter(name):
                value = point[name]
            case Div(arg, by):
                value = index_value(arg, point, store) // by
            case Mod(arg, by):
                value = index_value(arg, point, store) % by
            case Fetch(read):
                value = read_value(read, point, store)
        total += coefficient * value
    return total


def read_value(read, point, store):
    dtype, shape, elements = store[read.tensor]
    place = tuple(index_value(index, point, store) for index in read.index)
    if not all(0 <= i < n for i, n in zip(place, shape, strict=True)):
        if read.fill is None:
            raise WrongProgramError("out of bounds")
        return constant(read.fill.value, dtype)
    if place not in elements:
        raise WrongProgramError("unwritten")
    return elements[place]


def holds(condition, point, store):
    match condition:
        case Compare(index, relation):
            value = index_value(index, point, store)
            return {
                "<": value < 0, "<=": value <= 0, ">": value > 0, ">=": value >= 0, "==": value == 0, "!=": value != 0,
            }[relation]  # fmt: skip
        case AllOf(args):
            return all(holds(arg, point, store) for arg in args)
        case AnyOf(args):
            return any(holds(arg, point, store) for arg in args)


def dtype_of(expr, store):
    match expr:
        case Read(tensor, _, _):
            return store[tensor][0]
        case IndexValue():
            return "i64"
        case _:
            return expr.dtype


def value_of(expr, point, store):
    match expr:
        case Const(value, dtype):
            return constant(value, dtype)
        case IndexValue(index):
            return index_value(index, point, store)
        case Read():
            return read_value(expr, point, store)
        case Cast(arg, dtype):
            return to_type(value_of(arg, point, store), dtype)
        case Apply(op, args, dtype):
            values = [value_of(arg, point, store) for arg in args]
            return to_type(apply(op, values, dtype), dtype)


def apply(op, values, dtype):
    if op == "select":
        return values[1] if values[0] else values[2]
    if op in ("and", "or", "not"):
        truths = [bool(v) for v in values]
        return {"and": all(truths), "or": any(truths), "not": not truths[0]}[op]
    if op in ("lt", "le", "gt", "ge", "eq", "ne"):
        a, b = values
        if isinstance(a, float) or isinstance(b, float):
            a, b = float(a), float(b)
        return {"lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b, "eq": a == b, "ne": a != b}[op]
    values = [to_type(v, dtype) for v in values]
    if kind(dtype) == "float":
        return float_op(op, [np.float64(v) for v in values])
    return whole_op(op, values)


def float_op(op, v):
    functions = {
        "add": lambda: v[0] + v[1], "sub": lambda: v[0] - v[1], "mul": lambda: v[0] * v[1], "div": lambda: v[0] / v[1],
        "floordiv": lambda: np.floor_divide(v[0], v[1]), "mod": lambda: np.remainder(v[0], v[1]),
        "pow": lambda: np.power(v[0], v[1]), "neg": lambda: -v[0], "abs": lambda: abs(v[0]),
        "sign": lambda: float(v[0] > 0) - float(v[0] < 0), "min": lambda: np.minimum(v[0], v[1]),
        "max": lambda: np.maximum(v[0], v[1]), "floor": lambda: np.floor(v[0]), "ceil": lambda: np.ceil(v[0]),
        "round": lambda: np.rint(v[0]), "exp": lambda: np.exp(v[0]), "tanh": lambda: np.tanh(v[0]),
        "sigmoid": lambda: 1 / (1 + np.exp(-v[0])), "erf": lambda: math.erf(v[0]), "sqrt": lambda: np.sqrt(v[0]),
        "rsqrt": lambda: 1 / np.sqrt(v[0]), "log": lambda: np.log(v[0]),
    }  # fmt: skip
    return float(functions[op]())


def whole_op(op, v):
    functions = {
        "add": lambda: v[0] + v[1], "sub": lambda: v[0] - v[1], "mul": lambda: v[0] * v[1],
        "floordiv": lambda: v[0] // v[1] if v[1] else 0, "mod": lambda: v[0] % v[1] if v[1] else 0,
        "neg": lambda: -v[0], "abs": lambda: abs(v[0]), "sign": lambda: (v[0] > 0) - (v[0] < 0),
        "min": lambda: min(v), "max": lambda: max(v),
        "floor": lambda: v[0], "ceil": lambda: v[0], "round": lambda: v[0],
    }  # fmt: skip
    return functions[op]()


def points(loops, where, outer, store):
    def extend(point, rest):
        if not rest:
            ordered = sorted(conjuncts(where), key=lambda c: any(True for _ in condition_reads(c)))
            if all(holds(c, point, store) for c in ordered):
                yield point
            return
        for value in range(index_value(rest[0].extent, point, store)):
            yield from extend({**point, rest[0].name: value}, rest[1:])

    yield from extend(dict(outer), loops)


def condition_reads(condition):
    match condition:
        case Compare(index, _):
            yield from index_reads(index)
        case AllOf(args) | AnyOf(args):
            for arg in args:
                yield from condition_reads(arg)


def combined(combine, old, new, dtype):
    if isinstance(old, float) and (old != old or new != new) and combine in ("max", "min"):
        return math.nan
    with np.errstate(all="ignore"):
        match combine:
            case "+":
                result = np.float64(old) + new if kind(dtype) == "float" else old + new
            case "*":
                result = np.float64(old) * new if kind(dtype) == "float" else old * new
            case "max":
                result = max(old, new)
            case "min":
                result = min(old, new)
            case "and":
                result = bool(old) and bool(new)
            case "or":
                result = bool(old) or bool(new)
    return to_type(float(result) if kind(dtype) == "float" else result, dtype)


def same(a, b):
    return a == b or (a != a and b != b)


def run_nest(nest, store, outer):
    dtype, shape, elements = store[nest.target]
    before = {**store, nest.target: (dtype, shape, dict(elements))}
    if nest.combine in ("argmax", "argmin"):
        run_position(nest, store, before, outer)
        return
    hit = {}
    for point in points(nest.loops, nest.where, outer, before):
        place = tuple(index_value(index, point, before) for index in nest.at)
        if not all(0 <= i < n for i, n in zip(place, shape, strict=True)):
            raise WrongProgramError("write out of bounds")
        value = to_type(value_of(nest.value, point, before), dtype)
        if nest.combine == "=":
            if place in hit and not same(hit[place], value):
                raise WrongProgramError("written twice")
            hit[place] = elements[place] = value
        else:
            old = elements.get(place, constant(IDENTITY[nest.combine], dtype))
            elements[place] = combined(nest.combine, old, value, dtype)


def run_position(nest, store, before, outer):
    dtype, shape, elements = store[nest.target]
    names = {name for index in nest.at for name in iterators(index)}
    (reduced,) = [loop.name for loop in nest.loops if loop.name not in names]
    kept = tuple(loop for loop in nest.loops if loop.name in names)
    conditions = [c for c in conjuncts(nest.where) if reduced not in condition_iterators(c)]
    best = {}
    for point in points(nest.loops, nest.where, outer, before):
        place = tuple(index_value(index, point, before) for index in nest.at)
        if not all(0 <= i < n for i, n in zip(place, shape, strict=True)):
            raise WrongProgramError("write out of bounds")
        value = value_of(nest.value, point, before)
        if place not in best or better(nest.combine, value, best[place][0]):
            best[place] = (value, point[reduced])
    for point in points(kept, AllOf(tuple(conditions)) if conditions else None, outer, before):
        if tuple(index_value(index, point, before) for index in nest.at) not in best:
            raise WrongProgramError("argmax over nothing")
    elements.update({place: to_type(position, dtype) for place, (_, position) in best.items()})


def better(combine, new, old):
    if old != old:
        return False
    if new != new:
        return True
    return new > old if combine == "argmax" else new < old


def run(program, arrays):
    """Every tensor's elements by place, for the given external arrays by tensor id."""
    store = {}
    for name, tensor in program.tensors.items():
        if tensor.external is not None:
            values = arrays[name]
            cells = {place: to_type(values[place].item(), tensor.dtype) for place in np.ndindex(*tensor.shape)}
            store[name] = (tensor.dtype, tensor.shape, cells)
    with np.errstate(all="ignore"):
        run_body(program, program.body, store, {})
    return store


def run_body(program, body, store, outer):
    for statement in body:
        match statement:
            case Declare(name, init, _):
                tensor = program.tensors[name]
                places = list(np.ndindex(*tensor.shape))
                if init is None:
                    cells = {}
                elif isinstance(init, str):
                    cells = {p: to_type(v, tensor.dtype) for p, v in store[init][2].items()}
                else:
                    cells = {place: constant(init.value, tensor.dtype) for place in places}
                store[name] = (tensor.dtype, tensor.shape, cells)
            case Nest():
                run_nest(statement, store, outer)
            case View(name, loops, read, _):
                tensor = program.tensors[name]
                cells = {}
                for point in points(loops, None, outer, store):
                    place = tuple(point[loop.name] for loop in loops)
                    try:
                        cells[place] = read_value(read, point, store)
                    except WrongProgramError as error:
                        if str(error) != "unwritten":
                            raise
                store[name] = (tensor.dtype, tensor.shape, cells)
            case Scan():
                run_scan(program, statement, store, outer)


def run_scan(program, scan, store, outer):
    for carry in scan.carries:
        store[carry.inner] = store[carry.init]
    for emit in scan.emits:
        tensor = program.tensors[emit.outer]
        store[emit.outer] = (tensor.dtype, tensor.shape, {})
    for step in reversed(range(scan.trip)) if scan.reverse else range(scan.trip):
        run_body(program, scan.body, store, {**outer, scan.iterator: step})
        for emit in scan.emits:
            cells = store[emit.outer][2]
            cells.update({(step, *place): value for place, value in store[emit.inner][2].items()})
        following = [store[carry.next] for carry in scan.carries]
        for carry, value in zip(scan.carries, following, strict=True):
            store[carry.inner] = (value[0], value[1], dict(value[2]))
    for carry in scan.carries:
        store[carry.final] = store[carry.inner]


def outputs(program, store):
    result = []
    for output in program.outputs:
        if output.tensor is None:
            result.append(output.value)
            continue
        dtype, shape, cells = store[output.tensor]
        if len(cells) != math.prod(shape):
            raise WrongProgramError("unwritten output")
        array = np.zeros(shape, np.float64 if kind(dtype) == "float" else bool if kind(dtype) == "bool" else np.int64)
        for place, value in cells.items():
            array[place] = value
        result.append(array)
    return result
