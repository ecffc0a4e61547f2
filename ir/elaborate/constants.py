"""Compile-time values: everything that is known once sizes and attributes are."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from difflib import get_close_matches

from .. import syntax as s
from ..bindings import Constant
from ..errors import IRError
from ..parse import parse_expression
from .scope import Builder, Frame, Known, Poison, PoisonedError, TensorRef

_WORDS: dict[str, Constant] = {
    "inf": math.inf, "pi": math.pi, "True": True, "true": True, "False": False, "false": False, "None": None,
}  # fmt: skip
_MATH: dict[str, Callable[[float], float]] = {
    "exp": math.exp, "log": math.log, "log1p": math.log1p, "expm1": math.expm1, "sqrt": math.sqrt,
    "rsqrt": lambda x: 1 / math.sqrt(x), "tanh": math.tanh, "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "erf": math.erf, "sin": math.sin, "cos": math.cos, "abs": abs, "floor": math.floor, "ceil": math.ceil,
    "round": round, "sign": lambda x: (x > 0) - (x < 0), "int": int, "float": float,
}  # fmt: skip
_KEYED = {"has", "is_none"}
_MEASURES = {"rank", "numel"}
_BRACES = re.compile(r"\{([^{}]*)\}")


def is_known(  # noqa: C901 - one case a construct
    builder: Builder, frame: Frame, expr: s.Expr, iterators: frozenset[str] = frozenset()
) -> bool:
    """Whether an expression needs no tensor element and no iterator."""

    def all_known(*parts: s.Expr) -> bool:
        return all(is_known(builder, frame, part, iterators) for part in parts)

    match expr:
        case s.Number() | s.String():
            return True
        case s.Name(name):
            return name not in iterators and (name in _WORDS or isinstance(frame.lookup(name), Known))
        case s.TupleOf(items):
            return all_known(*items)
        case s.Subscript(name, index):
            return isinstance(frame.lookup(name), Known) and all_known(*index)
        case s.Unary(_, arg):
            return all_known(arg)
        case s.Binary(_, left, right):
            return all_known(left, right)
        case s.Comparison(first, rest):
            return all_known(first, *(right for _, right in rest))
        case s.Logic(_, args):
            return all_known(*args)
        case s.Conditional(then, condition, orelse):
            return all_known(condition) and all_known(then, orelse)
        case s.Call(name, (s.Name(tensor),), ()) if name in _MEASURES and name not in builder.defs:
            return isinstance(frame.lookup(tensor), TensorRef)
        case s.Call(name, args, options):
            known = name in _MATH or name in _KEYED or name in ("len", "min", "max", "pow")
            return known and not options and name not in builder.defs and all_known(*args)
        case _:
            return False


def evaluate(builder: Builder, frame: Frame, expr: s.Expr) -> Constant:
    """The value of a compile-time expression.

    Raises IRError where it is none, or where its arithmetic fails."""
    match expr:
        case s.Number(value):
            return value
        case s.String(text):
            return interpolate(builder, frame, text, expr.pos)
        case s.Name(name):
            return _name(builder, frame, name, expr.pos)
        case s.TupleOf(items):
            return tuple(evaluate(builder, frame, item) for item in items)
        case s.Subscript():
            return _item(builder, frame, expr)
        case s.Unary(op, arg):
            value = evaluate(builder, frame, arg)
            return not value if op == "not" else -_number(builder, value, arg)
        case s.Binary():
            return _binary(builder, frame, expr)
        case s.Comparison():
            return _comparison(builder, frame, expr)
        case s.Logic(op, args):
            return _logic(builder, frame, op, args)
        case s.Conditional(then, condition, orelse):
            return evaluate(builder, frame, then if choose(builder, frame, condition) else orelse)
        case s.Call():
            return _call(builder, frame, expr)
        case _:
            builder.fail("a compile-time value is expected here", expr.pos)


def choose(builder: Builder, frame: Frame, condition: s.Expr) -> bool:
    """Outcome of a compile-time condition; it is recorded among the program's decisions."""
    outcome = bool(evaluate(builder, frame, condition))
    builder.decide(condition.pos, builder.line_text(condition.pos.line) if not builder.unit else "condition", outcome)
    return outcome


def integer(builder: Builder, frame: Frame, expr: s.Expr, what: str) -> int:
    value = evaluate(builder, frame, expr)
    if isinstance(value, bool) or not isinstance(value, int):
        if isinstance(value, float) and value.is_integer():
            return int(value)
        builder.fail(f"{what} must be an integer, but is {value!r}", expr.pos)
    return value


def interpolate(builder: Builder, frame: Frame, text: str, pos: s.Pos) -> str:
    """Fills `{expr}` in a string."""

    def fill(match: re.Match[str]) -> str:
        return str(evaluate(builder, frame, parse_expression(match.group(1))))

    try:
        return _BRACES.sub(fill, text)
    except IRError as error:
        builder.fail(error.problems[0].message, pos)


def attribute(builder: Builder, key: str) -> tuple[bool, Constant]:
    """Whether a captured plain value of that path exists, and it. Index 0.. of a plain number gives that number."""
    attrs = builder.bindings.attrs
    if key in attrs:
        return True, attrs[key]
    parent, _, last = key.rpartition(".")
    if last.isdigit() and isinstance(attrs.get(parent), int | float):
        return True, attrs[parent]
    return False, None


def missing(key: str, present: list[str]) -> str:
    """Message for a path that was not captured, with near matches."""
    tail = key.rpartition(".")[2]
    near = get_close_matches(key, present, 3, 0.6) or [name for name in present if name.endswith("." + tail)][:3]
    hint = f"; did you mean {', '.join(repr(name) for name in near)}?" if near else ""
    return f"{key!r} is not in the captured program{hint}"


def _name(builder: Builder, frame: Frame, name: str, pos: s.Pos) -> Constant:
    entry = frame.lookup(name)
    match entry:
        case Known(value):
            return value
        case Poison():
            raise PoisonedError
        case None:
            if name in _WORDS:
                return _WORDS[name]
            near = get_close_matches(name, list(frame.names), 2, 0.7)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            builder.fail(f"{name} is not defined here{hint}", pos)
        case _:
            builder.fail(f"{name} is a tensor; a compile-time value is expected here", pos)


def _item(builder: Builder, frame: Frame, expr: s.Subscript) -> Constant:
    value = _name(builder, frame, expr.name, expr.pos)
    for index in expr.index:
        position = integer(builder, frame, index, "an index")
        if isinstance(value, int | float):
            continue
        if not isinstance(value, tuple) or not -len(value) <= position < len(value):
            builder.fail(f"{expr.name} has no item {position}: it is {value!r}", expr.pos)
        value = value[position]
    return value


def _number(builder: Builder, value: Constant, expr: s.Expr) -> int | float:
    if isinstance(value, int | float):
        return value
    builder.fail(f"a number is expected, but this is {value!r}", expr.pos)


def _binary(builder: Builder, frame: Frame, expr: s.Binary) -> int | float:
    left = _number(builder, evaluate(builder, frame, expr.left), expr.left)
    right = _number(builder, evaluate(builder, frame, expr.right), expr.right)
    return arithmetic(builder, expr.op, left, right, expr.pos)


def arithmetic(builder: Builder, op: str, left: int | float, right: int | float, pos: s.Pos) -> int | float:
    try:
        match op:
            case "+":
                return left + right
            case "-":
                return left - right
            case "*":
                return left * right
            case "/":
                return left / right
            case "//":
                return left // right
            case "%":
                return left % right
            case _:
                return _power(builder, left, right, pos)
    except ZeroDivisionError:
        builder.fail(f"division by zero: {left} {op} {right}", pos)
    except OverflowError:
        builder.fail(f"the result of {left} {op} {right} is too large", pos)


def _power(builder: Builder, left: int | float, right: int | float, pos: s.Pos) -> int | float:
    if isinstance(left, int) and abs(right) > 64 and abs(left) > 1:
        return float(left) ** right
    value = left**right
    if isinstance(value, complex):
        builder.fail(f"{left}**{right} is not a real number", pos)
    return value  # type: ignore[no-any-return]


def _comparison(builder: Builder, frame: Frame, expr: s.Comparison) -> bool:
    left = evaluate(builder, frame, expr.first)
    for op, right_expr in expr.rest:
        right = evaluate(builder, frame, right_expr)
        if not compare(builder, op, left, right, expr.pos):
            return False
        left = right
    return True


def compare(builder: Builder, op: str, left: Constant, right: Constant, pos: s.Pos) -> bool:
    if op in ("==", "!="):
        return (left == right) == (op == "==")
    if isinstance(left, int | float) and isinstance(right, int | float):
        return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[op]
    builder.fail(f"{left!r} {op} {right!r} cannot be compared", pos)


def _logic(builder: Builder, frame: Frame, op: str, args: tuple[s.Expr, ...]) -> Constant:
    value: Constant = op == "and"
    for arg in args:
        value = evaluate(builder, frame, arg)
        if bool(value) == (op == "or"):
            return value
    return value


def _call(builder: Builder, frame: Frame, expr: s.Call) -> Constant:
    if expr.name in _KEYED:
        return _keyed(builder, frame, expr)
    if expr.name in _MEASURES and len(expr.args) == 1:
        return _measure(builder, frame, expr.name, expr.args[0])
    args = [evaluate(builder, frame, arg) for arg in expr.args]
    if expr.name == "len" and len(args) == 1:
        value = attribute(builder, args[0])[1] if isinstance(args[0], str) else args[0]
        if isinstance(value, tuple):
            return len(value)
        builder.fail(f"len() needs a list or a tuple, but this is {value!r}", expr.pos)
    numbers = [_number(builder, value, arg) for value, arg in zip(args, expr.args, strict=True)]
    if expr.name in ("min", "max") and numbers:
        value = min(numbers) if expr.name == "min" else max(numbers)
        builder.decide(expr.pos, f"{expr.name}()", numbers.index(value))
        return value
    if expr.name == "pow" and len(numbers) == 2:
        return arithmetic(builder, "**", numbers[0], numbers[1], expr.pos)
    if expr.name in _MATH and len(numbers) == 1:
        try:
            return _MATH[expr.name](numbers[0])
        except (ValueError, OverflowError, ZeroDivisionError) as error:
            builder.fail(f"{expr.name}({numbers[0]}): {error}", expr.pos)
    builder.fail(f"{expr.name}() with {len(args)} arguments is not a compile-time function", expr.pos)


def _measure(builder: Builder, frame: Frame, name: str, arg: s.Expr) -> int:
    """`rank(x)`, the number of axes of a tensor, or `numel(x)`, its number of elements."""
    entry = frame.lookup(arg.name) if isinstance(arg, s.Name) else None
    if not isinstance(entry, TensorRef):
        builder.fail(f"{name}() takes the name of a tensor", arg.pos)
    shape = builder.tensors[entry.id].shape
    return len(shape) if name == "rank" else math.prod(shape)


def _keyed(builder: Builder, frame: Frame, expr: s.Call) -> bool:
    key = evaluate(builder, frame, expr.args[0]) if len(expr.args) == 1 else None
    if not isinstance(key, str):
        builder.fail(f'{expr.name}() takes one path in quotes, as in {expr.name}("conv.bias")', expr.pos)
    found, value = attribute(builder, key)
    if expr.name == "has":
        outcome = key in builder.bindings.state or (found and value is not None)
    else:
        outcome = value is None and key not in builder.bindings.state
    builder.decide(expr.pos, f"{expr.name}()", outcome)
    return outcome


