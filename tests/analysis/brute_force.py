"""Counts points one by one: constants of single elements forwards, demanded elements backwards. For small programs."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from typing import Any

from solar_agent.analysis.cells import fold
from solar_agent.ir.ops import IDENTITY
from solar_agent.ir.program import (
    AllOf,
    AnyOf,
    Apply,
    Cast,
    Compare,
    Condition,
    Const,
    Declare,
    Div,
    Expr,
    Fetch,
    Index,
    IndexValue,
    Iter,
    Mod,
    Nest,
    Program,
    Read,
    View,
)

Env = dict[str, int]
Element = tuple[str, tuple[int, ...]]


def index_value(index: Index, env: Env) -> int:
    total = index.const
    for atom, factor in index.terms:
        match atom:
            case Iter(name):
                total += factor * env[name]
            case Div(arg, by):
                total += factor * (index_value(arg, env) // by)
            case Mod(arg, by):
                total += factor * (index_value(arg, env) % by)
            case Fetch():
                raise NotImplementedError("indirect access")
    return total


def holds(condition: Condition | None, env: Env) -> bool:
    match condition:
        case None:
            return True
        case Compare(index, relation):
            value = index_value(index, env)
            return {"<": value < 0, "<=": value <= 0, ">": value > 0, ">=": value >= 0, "==": value == 0,
                    "!=": value != 0}[relation]
        case AllOf(args):
            return all(holds(arg, env) for arg in args)
        case AnyOf(args):
            return any(holds(arg, env) for arg in args)


def points(nest: Nest | View) -> Iterator[Env]:
    def extend(env: Env, position: int) -> Iterator[Env]:
        if position == len(nest.loops):
            if isinstance(nest, View) or holds(nest.where, env):
                yield dict(env)
            return
        loop = nest.loops[position]
        for value in range(index_value(loop.extent, env)):
            yield from extend({**env, loop.name: value}, position + 1)

    return extend({}, 0)


class Brute:
    """`live[line]`: points of the nests of that line that do something; `needed`: demanded elements."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.known: dict[Element, float] = {}
        self.live: dict[int, int] = defaultdict(int)
        self.needed: set[Element] = set()
        self.steps: list[list[tuple[Element, frozenset[Element], int, bool]]] = []
        self.forward()
        self.backward()

    def forward(self) -> None:
        for statement in self.program.body:
            match statement:
                case Declare(tensor, init, _):
                    for at in product(*(range(n) for n in self.program.tensors[tensor].shape)):
                        if isinstance(init, Const):
                            self.known[tensor, at] = float(init.value)
                        elif isinstance(init, str):
                            self.copy((tensor, at), (init, at))
                case Nest():
                    self.nest(statement)
                case View(tensor, loops, read, source):
                    at = tuple(Index(((Iter(loop.name), 1),)) for loop in loops)
                    self.nest(Nest(loops, None, tensor, at, "=", read, source))
                case _:
                    raise NotImplementedError(type(statement).__name__)

    def copy(self, target: Element, origin: Element) -> None:
        if origin in self.known:
            self.known[target] = self.known[origin]
        self.steps.append([(target, frozenset({origin}), 0, True)])

    def nest(self, nest: Nest) -> None:
        done: list[tuple[Element, frozenset[Element], int, bool]] = []
        results: dict[Element, float | None] = {}
        for env in points(nest):
            target = (nest.target, tuple(index_value(index, env) for index in nest.at))
            value, reads = self.term(nest.value, env)
            if nest.combine != "=" and value is not None and value == IDENTITY.get(nest.combine):
                continue
            results[target] = value if nest.combine == "=" else None
            done.append((target, frozenset(reads), nest.source.line, nest.combine == "="))
        for target, value in results.items():
            self.known.pop(target, None)
            if value is not None:
                self.known[target] = value
        self.steps.append(done)

    def term(self, expr: Expr, env: Env) -> tuple[float | None, set[Element]]:
        """Value where it follows from constants, else what has to be read for it."""
        match expr:
            case Const(value, _):
                return float(value), set()
            case IndexValue(index):
                return float(index_value(index, env)), set()
            case Cast(arg, _):
                return self.term(arg, env)
            case Read(tensor, index, fill):
                at = tuple(index_value(part, env) for part in index)
                shape = self.program.tensors[tensor].shape
                if not all(0 <= x < n for x, n in zip(at, shape, strict=True)):
                    assert fill is not None, f"{tensor}{at} out of bounds"
                    return float(fill.value), set()
                value = self.known.get((tensor, at))
                return value, set() if value is not None else {(tensor, at)}
            case Apply(op, args, dtype):
                return self.apply(op, [self.term(arg, env) for arg in args], dtype)

    def apply(self, op: str, args: list[tuple[float | None, set[Element]]], dtype: str) -> Any:
        values = [value for value, _ in args]
        if None not in values:
            return float(fold(Apply(op, tuple(Const(v or 0.0, "f64") for v in values), dtype)).value), set()
        if op == "select" and values[0] is not None:
            return args[1] if values[0] else args[2]
        for mine, other in ((0, 1), (1, 0)):
            if len(values) != 2 or values[mine] is None:
                continue
            v = values[mine]
            if op == "mul" and v in (0, 1):
                return (0.0, set()) if v == 0 else args[other]
            if op == "add" and (v == 0 or math.isinf(v)):
                return args[other] if v == 0 else args[mine]
            if op in ("max", "min") and math.isinf(v):
                weakest = -math.inf if op == "max" else math.inf
                return args[other] if v == weakest else args[mine]
            if op in ("and", "or"):
                return (v, set()) if bool(v) == (op == "or") else args[other]
        if op == "div" and (values[0] == 0 or values[1] == 1):
            return (0.0, set()) if values[0] == 0 else args[0]
        if op == "sub" and values[1] == 0:
            return args[0]
        if op == "sub" and values[0] is not None and math.isinf(values[0]):
            return args[0]
        return None, set().union(*(reads for _, reads in args))

    def backward(self) -> None:
        pending: set[Element] = set()
        for output in self.program.outputs:
            if output.tensor is not None:
                shape = self.program.tensors[output.tensor].shape
                pending |= {(output.tensor, at) for at in product(*(range(n) for n in shape))}
        self.needed |= pending
        for done in reversed(self.steps):
            wanted = [item for item in done if item[0] in pending]
            pending -= {target for target, _, _, assigns in wanted if assigns}
            for _, reads, line, _ in wanted:
                self.live[line] += 1
                pending |= reads
                self.needed |= reads

    def external_elements(self) -> int:
        return len({(tensor, at) for tensor, at in self.needed if self.program.tensors[tensor].external is not None})
