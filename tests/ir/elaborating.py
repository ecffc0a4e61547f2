"""Helpers of the elaborator's tests: bindings from short texts, and elaborated programs as short texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import pytest
from solar_agent.ir import indices as ix
from solar_agent.ir.bindings import Bindings, Constant, TensorType
from solar_agent.ir.elaborate import elaborate
from solar_agent.ir.errors import IRError, Problem
from solar_agent.ir.parse import parse
from solar_agent.ir.program import (
    AllOf,
    AnyOf,
    Apply,
    Branch,
    Cast,
    Compare,
    Condition,
    Const,
    Declare,
    Expr,
    IndexValue,
    Loop,
    Nest,
    Opaque,
    Program,
    Read,
    Scan,
    Statement,
    View,
)

SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "mod": "%", "pow": "**", "lt": "<",
           "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=", "and": "and", "or": "or"}  # fmt: skip
COMBINES = {"=": "=", "+": "+=", "*": "*="}


def typed(text: str) -> TensorType:
    """`f32[2, 3]` or `2 3` (then f32)."""
    found = re.fullmatch(r"(?:(\w+)\[([\d, ]*)\]|([\d ]*))", text)
    assert found is not None, text
    sizes = re.findall(r"\d+", found.group(2) if found.group(1) else text)
    return TensorType(tuple(int(size) for size in sizes), found.group(1) or "f32")


def bound(
    inputs: Mapping[str, str] | None = None,
    state: Mapping[str, str] | None = None,
    draws: Sequence[str] = (),
    attrs: Mapping[str, Constant] | None = None,
) -> Bindings:
    return Bindings(
        {key: typed(text) for key, text in (inputs or {}).items()},
        {key: typed(text) for key, text in (state or {}).items()},
        tuple(typed(text) for text in draws),
        attrs or {},
    )


def built(
    text: str,
    inputs: Mapping[str, str] | None = None,
    state: Mapping[str, str] | None = None,
    draws: Sequence[str] = (),
    attrs: Mapping[str, Constant] | None = None,
) -> Program:
    return elaborate(parse(text), bound(inputs, state, draws, attrs))


def problems(
    text: str,
    inputs: Mapping[str, str] | None = None,
    state: Mapping[str, str] | None = None,
    draws: Sequence[str] = (),
    attrs: Mapping[str, Constant] | None = None,
) -> tuple[Problem, ...]:
    tree = parse(text)
    with pytest.raises(IRError) as caught:
        elaborate(tree, bound(inputs, state, draws, attrs))
    for problem in caught.value.problems:
        assert problem.line == 0 or problem.text == tree.lines[problem.line - 1].strip() or not problem.text
    return caught.value.problems


def lines(program: Program) -> list[str]:
    """The body, one line a statement."""
    return list(_body(program, program.body, ""))


def shape(program: Program, name: str) -> tuple[int, ...]:
    return program.tensors[name].shape


def dtype(program: Program, name: str) -> str:
    return program.tensors[name].dtype


def result(program: Program, at: int = 0) -> str:
    """Id of an output's tensor."""
    tensor = program.outputs[at].tensor
    assert tensor is not None
    return tensor


def result_type(program: Program, at: int = 0) -> str:
    return program.outputs[at].dtype


def _body(program: Program, body: tuple[Statement, ...], indent: str) -> Iterator[str]:
    for statement in body:
        yield from (indent + line for line in _statement(program, statement))


def _statement(program: Program, statement: Statement) -> Iterator[str]:
    match statement:
        case Declare(tensor, init, _):
            made = program.tensors[tensor]
            start = "" if init is None else f" = {init if isinstance(init, str) else init.value}"
            yield f"tensor {tensor}{list(made.shape)} : {made.dtype}{start}"
        case Nest(loops, where, target, at, combine, value, _):
            condition = "" if where is None else f" where {show_condition(where)}"
            head = f"for {_loops(loops)}{condition}: " if loops else ""
            op = COMBINES.get(combine, f"{combine}=")
            yield f"{head}{target}{_index(at)} {op} {show(value)}"
        case View(tensor, loops, read, _):
            yield f"view {tensor}[{_loops(loops)}] = {show(read)}"
        case Scan(iterator, trip, reverse, carries, emits, body, _):
            carried = ", ".join(f"{c.inner} = {c.init} next {c.next} final {c.final}" for c in carries)
            emitted = ", ".join(f"{e.outer} of {e.inner}" for e in emits)
            order = "reverse " if reverse else ""
            yield f"scan {order}{iterator}<{trip} carry {carried or 'nothing'} emit {emitted or 'nothing'}:"
            yield from _body(program, body, "    ")
        case Branch(condition, then, orelse, joins, _):
            yield f"if? {condition}:"
            yield from _body(program, then, "    ")
            yield "else:"
            yield from _body(program, orelse, "    ")
            yield from (f"join {out} = {a} or {b}" for a, b, out in joins)
        case Opaque(kind, inputs, outputs, params, _):
            given = "".join(f"; {name}={value}" for name, value in params)
            yield f"({', '.join(outputs)}) = {kind}({', '.join(inputs)}{given})"


def _loops(loops: tuple[Loop, ...]) -> str:
    return ", ".join(f"{loop.name}<{ix.show(loop.extent)}" for loop in loops)


def _index(parts: tuple[ix.Index, ...]) -> str:
    return f"[{', '.join(ix.show(part) for part in parts)}]"


def show(expr: Expr) -> str:
    match expr:
        case Const(value, _):
            return repr(value)
        case IndexValue(index):
            return f"<{ix.show(index)}>"
        case Read(tensor, index, None):
            return tensor + _index(index)
        case Read(tensor, index, fill):
            return f"({tensor}{_index(index)} else {fill.value!r})"
        case Cast(arg, to):
            return f"{to}({show(arg)})"
        case Apply(op, (left, right), _) if op in SYMBOLS:
            return f"({show(left)} {SYMBOLS[op]} {show(right)})"
        case Apply(op, args, _):
            return f"{op}({', '.join(show(arg) for arg in args)})"


def show_condition(condition: Condition) -> str:
    match condition:
        case Compare(index, relation):
            return f"{ix.show(index)} {relation} 0"
        case AllOf(args):
            return " and ".join(_grouped(arg) for arg in args)
        case AnyOf(args):
            return " or ".join(_grouped(arg) for arg in args)


def _grouped(condition: Condition) -> str:
    shown = show_condition(condition)
    return shown if isinstance(condition, Compare) else f"({shown})"
