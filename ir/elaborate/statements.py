"""Statements in order: declarations, control that is decided while elaborating, outputs."""

from __future__ import annotations

import re
from typing import assert_never

from .. import syntax as s
from ..bindings import Constant
from ..errors import IRError
from ..show import show_expr
from . import assign, declarations
from .constants import choose, evaluate, integer
from .functions import is_function
from .recurrence import run_branch, run_emit, run_next, run_scan
from .scope import Builder, Frame, Known, Poison, PoisonedError

_MOST_REPEATS = 50_000
_STATEMENT_WORK = 20


def run(builder: Builder, frame: Frame, body: tuple[s.Stmt, ...]) -> None:
    """Elaborates statements; one that fails is noted, the names it would have made are poisoned, and it goes on."""
    for statement in body:
        if frame.returned is not None:
            return
        builder.spend(_STATEMENT_WORK)
        try:
            _statement(builder, frame, statement)
        except IRError as error:
            builder.note(error)
            _poison(frame, statement)
        except PoisonedError:
            _poison(frame, statement)


def _poison(frame: Frame, statement: s.Stmt) -> None:
    sizes = _sizes(statement)
    for name in (*_made(statement), *(size for size in sizes if size not in frame.names)):
        frame.names[name] = Poison()
    if isinstance(statement, s.Return):
        frame.returned = tuple(Poison() for _ in statement.values)


def _sizes(statement: s.Stmt) -> tuple[str, ...]:
    """Sizes that a statement would bind where they are not yet."""
    match statement:
        case s.Input(shape=shape) | s.Param(shape=shape) | s.Draw(shape=shape) | s.ShapeDecl(shape=shape):
            return tuple(expr.name for expr in shape if isinstance(expr, s.Name))
        case _:
            return ()


def _made(statement: s.Stmt) -> tuple[str, ...]:
    """Names that a statement would define."""
    match statement:
        case s.Input(name) | s.Param(name) | s.Draw(name) | s.ViewDecl(name):
            return (name,)
        case s.Attr(name) | s.Let(name) | s.TensorDecl(name):
            return (name,)
        case s.Assign(target):
            return (target.name,)
        case s.Unpack(names):
            return names
        case s.For(body=body) | s.Repeat(body=body):
            return tuple(name for inner in body for name in _made(inner))
        case s.If(arms=arms, orelse=orelse):
            bodies = [body for _, body in arms] + [orelse]
            return tuple(name for body in bodies for inner in body for name in _made(inner))
        case s.ScanStmt(carries=carries, body=body):
            emitted = tuple(inner.name for inner in body if isinstance(inner, s.EmitStmt))
            return (*(name for name, _ in carries), *emitted)
        case _:
            return ()


def _statement(builder: Builder, frame: Frame, statement: s.Stmt) -> None:  # noqa: C901 - one case a statement
    match statement:
        case s.Input():
            declarations.run_input(builder, frame, statement)
        case s.Param():
            declarations.run_param(builder, frame, statement)
        case s.Attr():
            declarations.run_attr(builder, frame, statement)
        case s.Draw():
            declarations.run_draw(builder, frame, statement)
        case s.Let(name, value):
            declarations.set_known(builder, frame, name, evaluate(builder, frame, value), statement.pos)
        case s.TensorDecl():
            declarations.run_tensor(builder, frame, statement)
        case s.ShapeDecl():
            declarations.run_shape(builder, frame, statement)
        case s.ViewDecl():
            declarations.run_view(builder, frame, statement)
        case s.Require(condition):
            if not choose(builder, frame, condition):
                builder.fail(f"not met at these sizes: {_with_values(frame, condition)}", statement.pos)
        case s.FactDecl():
            declarations.run_fact(builder, frame, statement)
        case s.OutputDecl():
            declarations.run_output(builder, frame, statement)
        case s.Assign():
            assign.run_assign(builder, frame, statement)
        case s.Unpack():
            assign.run_unpack(builder, frame, statement)
        case s.For():
            assign.run_for(builder, frame, statement)
        case s.Repeat():
            _repeat(builder, frame, statement)
        case s.If():
            _if(builder, frame, statement)
        case s.ScanStmt():
            run_scan(builder, frame, statement, run)
        case s.Next():
            run_next(builder, frame, statement)
        case s.EmitStmt():
            run_emit(builder, frame, statement)
        case s.Def():
            _def(builder, frame, statement)
        case s.Return():
            _return(builder, frame, statement)
        case _:
            assert_never(statement)


def _with_values(frame: Frame, condition: s.Expr) -> str:
    """A condition and the values of the names in it."""
    text = show_expr(condition)
    names = dict.fromkeys(re.findall(r"[^\W\d]\w*", re.sub(r"\"[^\"]*\"|'[^']*'", "", text)))
    values = [(name, frame.lookup(name)) for name in names]
    shown = ", ".join(f"{name} = {entry.value!r}" for name, entry in values if isinstance(entry, Known))
    return f"{text}, where {shown}" if shown else text


def _def(builder: Builder, frame: Frame, statement: s.Def) -> None:
    if builder.unit:
        return
    if builder.defs.get(statement.name) is None or frame.place != "top":
        builder.fail("a def stands at top level, not inside of a block", statement.pos)
    if builder.defs[statement.name] is not statement:
        builder.fail(f"{statement.name} is defined twice", statement.pos)
    names = [*(p.name for p in statement.parameters), *(o.name for o in statement.options)]
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        builder.fail(f"{statement.name}() has two arguments called {twice[0]}", statement.pos)


def _return(builder: Builder, frame: Frame, statement: s.Return) -> None:
    if not builder.calls:
        builder.fail("return stands in a function; at top level write output", statement.pos)
    match statement.values:
        case (s.Call() as single,) if is_function(builder, single.name):
            frame.returned = assign.results_of(builder, frame, single)
            return
    frame.returned = tuple(
        assign.whole(builder, frame, value, f"result{i or ''}") for i, value in enumerate(statement.values)
    )


def _if(builder: Builder, frame: Frame, statement: s.If) -> None:
    if statement.runtime:
        run_branch(builder, frame, statement, run)
        return
    for condition, body in statement.arms:
        if choose(builder, frame, condition):
            run(builder, frame, body)
            return
    run(builder, frame, statement.orelse)


def _repeat(builder: Builder, frame: Frame, statement: s.Repeat) -> None:
    for name in statement.names:
        if name in frame.names or name in frame.iterators:
            builder.fail(f"{name} already means something here; the repeat variable needs another name", statement.pos)
    for values in _rounds(builder, frame, statement):
        frame.names.update({n: Known(v, fixed=True) for n, v in zip(statement.names, values, strict=True)})
        builder.trail.append(", ".join(f"{n} = {v!r}" for n, v in zip(statement.names, values, strict=True)))
        known = len(builder.problems)
        try:
            run(builder, frame, statement.body)
        finally:
            builder.trail.pop()
        if len(builder.problems) > known or frame.returned is not None:
            break
    for name in statement.names:
        frame.names.pop(name, None)


def _rounds(builder: Builder, frame: Frame, statement: s.Repeat) -> list[tuple[Constant, ...]]:
    """The values of a repeat's variables, round by round."""
    if statement.high is not None:
        low = integer(builder, frame, statement.low, "the start of a repeat")
        high = integer(builder, frame, statement.high, "the end of a repeat")
        if high - low > _MOST_REPEATS:
            builder.fail(f"repeat runs {high - low} times; at most {_MOST_REPEATS} are unrolled", statement.pos)
        if len(statement.names) != 1:
            builder.fail("repeat over a range has one variable", statement.pos)
        return [(value,) for value in range(low, high)]
    items = evaluate(builder, frame, statement.low)
    if not isinstance(items, tuple):
        builder.fail(f"repeat needs a range low..high or a list, but this is {items!r}", statement.pos)
    rounds: list[tuple[Constant, ...]] = []
    for item in items:
        values = item if isinstance(item, tuple) and len(statement.names) > 1 else (item,)
        if len(values) != len(statement.names):
            builder.fail(f"repeat has {len(statement.names)} variables, but an item is {item!r}", statement.pos)
        rounds.append(values)
    return rounds
