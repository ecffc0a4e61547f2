"""Syntax tree to text. Parsing the result gives an equal tree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from . import syntax as s

# binding strength, weakest first; a child weaker than its place gets parentheses
_CONDITIONAL, _OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _UNARY, _POWER, _ATOM = range(10)
_BINARY = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "//": _PRODUCT, "%": _PRODUCT, "**": _POWER}
_OPS = {"=": "=", "+": "+=", "*": "*="}


def show(program: s.Program) -> str:
    """Text of a whole program, one statement a line, four spaces an indent."""
    return "\n".join([f"program {program.name}", *_block(program.body, "")]) + "\n"


def show_expr(expr: s.Expr) -> str:
    return _expr(expr, _CONDITIONAL)


def _expr(expr: s.Expr, place: int) -> str:
    text, strength = _bare(expr)
    return text if strength >= place else f"({text})"


def _bare(expr: s.Expr) -> tuple[str, int]:
    match expr:
        case s.Number(value):
            return _number(value), _ATOM
        case s.String(value):
            return _quoted(value), _ATOM
        case s.Name(name):
            return name, _ATOM
        case s.Spread():
            return "...", _ATOM
        case s.TupleOf(items):
            return f"[{_list(items)}]", _ATOM
        case s.Subscript(name, index):
            return f"{name}[{_list(index)}]", _ATOM
        case s.Guarded(read, fill):
            return f"({_expr(read, _OR)} else {show_expr(fill)})", _ATOM
        case s.Call(name, args, options):
            return f"{name}({_list(args)}{_options(options)})", _ATOM
        case s.Reduction(name, heads, where, body):
            condition = "" if where is None else f" where {show_expr(where)}"
            return f"{name}({_heads(heads)}{condition}: {show_expr(body)})", _ATOM
        case _:
            return _operator(expr)


def _operator(expr: s.Unary | s.Binary | s.Comparison | s.Logic | s.Conditional) -> tuple[str, int]:
    match expr:
        case s.Unary(op, arg):
            return (f"not {_expr(arg, _NOT)}", _NOT) if op == "not" else (f"-{_expr(arg, _UNARY)}", _UNARY)
        case s.Binary("**", left, right):
            return f"{_expr(left, _ATOM)}**{_expr(right, _UNARY)}", _POWER
        case s.Binary(op, left, right):
            level = _BINARY[op]
            return f"{_expr(left, level)} {op} {_expr(right, level + 1)}", level
        case s.Comparison(first, rest):
            links = "".join(f" {op} {_expr(right, _SUM)}" for op, right in rest)
            return f"{_expr(first, _SUM)}{links}", _COMPARE
        case s.Logic(op, args):
            level = _OR if op == "or" else _AND
            return f" {op} ".join(_expr(arg, level + 1) for arg in args), level
        case s.Conditional(then, condition, orelse):
            return f"{_expr(then, _OR)} if {_expr(condition, _OR)} else {show_expr(orelse)}", _CONDITIONAL
        case _:
            assert_never(expr)


def _number(value: int | float) -> str:
    return "1e999" if value == float("inf") else repr(value)


def _quoted(value: str) -> str:
    return f"'{value}'" if '"' in value else f'"{value}"'


def _whole(expr: s.Expr) -> str:
    """An expression behind a statement's keyword: a list there would read as an index."""
    text = show_expr(expr)
    return f"({text})" if text.startswith("[") else text


def _list(items: tuple[s.Expr, ...]) -> str:
    return ", ".join(show_expr(item) for item in items)


def _options(options: tuple[s.Option, ...]) -> str:
    return f"; {', '.join(f'{o.name}={show_expr(o.value)}' for o in options)}" if options else ""


def _heads(heads: tuple[s.LoopHead, ...]) -> str:
    return ", ".join("..." if isinstance(h, s.Spread) else f"{h.name}<{_expr(h.extent, _SUM)}" for h in heads)


def _block(body: tuple[s.Stmt, ...], indent: str) -> Iterator[str]:
    for statement in body:
        yield from _statement(statement, indent)


def _typed(dtype: str | None) -> str:
    return "" if dtype is None else f" : {dtype}"


def _statement(statement: s.Stmt, indent: str) -> Iterator[str]:
    match statement:
        case s.For(heads, where, body):
            condition = "" if where is None else f" where {show_expr(where)}"
            head = f"{indent}for {_heads(heads)}{condition}:"
            if len(body) == 1 and isinstance(body[0], s.Assign):
                yield f"{head} {_simple(body[0])}"
                return
            yield head
            yield from _block(body, indent + "    ")
        case s.Repeat(names, low, high, body):
            items = show_expr(low) if high is None else f"{show_expr(low)}..{show_expr(high)}"
            loop = names[0] if len(names) == 1 else f"({', '.join(names)})"
            yield f"{indent}repeat {loop} in {items}:"
            yield from _block(body, indent + "    ")
        case s.If():
            yield from _if(statement, indent)
        case s.ScanStmt(iterator, extent, reverse, carries, body):
            pairs = ", ".join(f"{name} = {show_expr(value)}" for name, value in carries)
            carry = f" carry {pairs}" if pairs else ""
            order = "reverse " if reverse else ""
            yield f"{indent}scan {order}{iterator}<{_expr(extent, _SUM)}{carry}:"
            yield from _block(body, indent + "    ")
        case s.Def():
            yield f"{indent}{signature(statement)}:"
            yield from _block(statement.body, indent + "    ")
        case _:
            yield indent + _simple(statement)


def signature(definition: s.Def) -> str:
    """`def name(x[B, D]; k, eps=1e-05)`."""
    tensors = ", ".join(p.name if p.shape is None else f"{p.name}[{_list(p.shape)}]" for p in definition.parameters)
    options = ", ".join(
        o.name if o.default is None else f"{o.name}={show_expr(o.default)}" for o in definition.options
    )
    return f"def {definition.name}({tensors}{'; ' + options if options else ''})"


def _if(statement: s.If, indent: str) -> Iterator[str]:
    word = "if?" if statement.runtime else "if"
    for condition, body in statement.arms:
        yield f"{indent}{word} {show_expr(condition)}:"
        yield from _block(body, indent + "    ")
        word = "elif"
    if statement.orelse:
        yield f"{indent}else:"
        yield from _block(statement.orelse, indent + "    ")


def _simple(statement: s.Stmt) -> str:  # noqa: C901 - one case a statement
    match statement:
        case s.Input(name, key, shape, dtype, low, high, unique):
            source = "" if key is None else f" = {_quoted(key)}"
            bounds = "" if low is None or high is None else f" in {show_expr(low)}..{show_expr(high)}"
            return f"input {name}{source}[{_list(shape)}]{_typed(dtype)}{bounds}{' unique' if unique else ''}"
        case s.Param(name, key, shape, dtype):
            return f"param {name} = {_quoted(key)}[{_list(shape)}]{_typed(dtype)}"
        case s.Attr(name, key, default):
            return f"attr {name} = {_quoted(key)}" + ("" if default is None else f" or {_expr(default, _OR)}")
        case s.Draw(name, shape, first, last, dtype):
            stack = "" if first is None or last is None else f" = {show_expr(first)}..({show_expr(last)}) "
            return f"draw {name}{stack}[{_list(shape)}]{_typed(dtype)}"
        case s.Let(name, value):
            return f"let {name} = {show_expr(value)}"
        case s.TensorDecl(name, shape, dtype, init):
            start = "" if init is None else f" = {show_expr(init)}"
            return f"tensor {name}[{_list(shape)}]{_typed(dtype)}{start}"
        case s.ShapeDecl(name, shape):
            return f"shape {name}[{_list(shape)}]"
        case s.ViewDecl(name, heads, read):
            return f"view {name}[{_heads(heads)}] = {show_expr(read)}"
        case s.Require(condition):
            return f"require {_whole(condition)}"
        case s.FactDecl(claim):
            return f"fact {_whole(claim)}"
        case s.OutputDecl():
            return _output(statement)
        case s.Assign(target, op, value):
            return f"{_bare(target)[0]} {_OPS.get(op, op + '=')} {show_expr(value)}"
        case s.Unpack(names, value):
            return f"({', '.join(names)}) = {show_expr(value)}"
        case s.Next(name, value):
            return f"next {name} = {show_expr(value)}"
        case s.EmitStmt(name, value):
            return f"emit {name} = {show_expr(value)}"
        case s.Return(values):
            return f"return {_list(values)}"
        case s.For() | s.Repeat() | s.If() | s.ScanStmt() | s.Def():
            raise AssertionError("a block is not a simple statement")
        case _:
            assert_never(statement)


def _output(output: s.OutputDecl) -> str:
    if output.slot != "result":
        return f"output {output.slot} {_quoted(output.key or '')} = {show_expr(output.value)}{_typed(output.dtype)}"
    match output.value:
        case s.TupleOf((first, _, *_) as values):
            shown = f"{_whole(first)}, {_list(values[1:])}"
        case value:
            shown = _whole(value)
    text = f"output {shown}{_typed(output.dtype)}"
    if output.unordered is not None:
        text += f" unordered along {show_expr(output.unordered)}"
        text += f" with {', '.join(output.companions)}" if output.companions else ""
    if output.indexes is not None:
        source, axis, giving = output.indexes
        text += f" indexes {source} along {show_expr(axis)} giving {giving}"
    return text
