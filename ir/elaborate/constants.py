"""Compile-time values: everything that is known once sizes and attributes are."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Container, Iterator
from difflib import get_close_matches

from .. import syntax as s
from ..bindings import Constant
from ..dtypes import DTYPES, integer_range, kind
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
_PLAIN = {*_MATH, "len", "min", "max", "pow", "select"}
_KEYED = {"has", "is_none"}
_MEASURES = {"rank", "numel"}
_BRACES = re.compile(r"\{([^{}]*)\}")
_LARGEST = 1 << 200
_MOST_ITEMS = 10_000
_POINT_WORK = 5


def is_known(  # noqa: C901 - one case a construct
    builder: Builder, frame: Frame, expr: s.Expr, iterators: Container[str] = ()
) -> bool:
    """Whether an expression needs no tensor element and no iterator."""
    match expr:
        case s.Number() | s.String():
            return True
        case s.Name(name):
            return name not in iterators and (isinstance(frame.lookup(name), Known) or _is_word(frame, name))
        case s.TupleOf(items):
            return all(is_known(builder, frame, item, iterators) for item in items)
        case s.Subscript(name, index):
            known = name not in iterators and isinstance(frame.lookup(name), Known)
            return known and all(is_known(builder, frame, part, iterators) for part in index)
        case s.Unary(_, arg):
            return is_known(builder, frame, arg, iterators)
        case s.Binary(_, left, right):
            return is_known(builder, frame, left, iterators) and is_known(builder, frame, right, iterators)
        case s.Comparison(first, rest):
            return is_known(builder, frame, first, iterators) and all(
                is_known(builder, frame, right, iterators) for _, right in rest
            )
        case s.Logic(_, args):
            return all(is_known(builder, frame, arg, iterators) for arg in args)
        case s.Conditional(then, condition, orelse):
            return all(is_known(builder, frame, part, iterators) for part in (condition, then, orelse))
        case s.Call(name, (s.Name(tensor),), ()) if name in _MEASURES and builder.own(name) is None:
            return isinstance(frame.lookup(tensor), TensorRef)
        case s.Call(name, args, options):
            known = (name in _PLAIN or name in _KEYED) and not options and builder.own(name) is None
            return known and all(is_known(builder, frame, arg, iterators) for arg in args)
        case s.Reduction(heads=heads):
            inner = None if any(isinstance(head, s.Spread) for head in heads) else _inside(frame, heads)
            return inner is not None and _reduction_known(builder, frame, expr, inner, iterators)
        case _:
            return False


def _is_word(frame: Frame, name: str) -> bool:
    return name in _WORDS and frame.lookup(name) is None


def _inside(frame: Frame, heads: tuple[s.LoopHead, ...]) -> Frame:
    """The frame of a compile-time reduction's body, its iterators at 0."""
    inner = frame.scratch()
    inner.names.update({head.name: Known(0) for head in heads if isinstance(head, s.Head)})
    return inner


def _reduction_known(
    builder: Builder, frame: Frame, expr: s.Reduction, inner: Frame, iterators: Container[str]
) -> bool:
    own = {head.name for head in expr.heads if isinstance(head, s.Head)}
    if any(name in iterators or frame.lookup(name) is not None for name in own):
        return False
    parts = [head.extent for head in expr.heads if isinstance(head, s.Head)] + [expr.body]
    return all(is_known(builder, inner, part, iterators) for part in [*parts, *([expr.where] if expr.where else [])])


def evaluate(builder: Builder, frame: Frame, expr: s.Expr) -> Constant:  # noqa: C901 - one case a construct
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
            found = tuple(evaluate(builder, frame, item) for item in items)
            _check_size(builder, found, expr.pos)
            return found
        case s.Subscript():
            return _item(builder, frame, expr)
        case s.Unary(op, arg):
            inner = evaluate(builder, frame, arg)
            return not inner if op == "not" else -_number(builder, inner, arg)
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
        case s.Reduction():
            return _reduce(builder, frame, expr)
        case _:
            builder.fail("a compile-time value is expected here", expr.pos)


def _check_size(builder: Builder, value: Constant, pos: s.Pos) -> None:
    """Refuses values of absurdly many items or characters."""
    waiting, items = [value], 0
    while waiting and items <= _MOST_ITEMS:
        item = waiting.pop()
        items += len(item) if isinstance(item, str) else 1
        waiting += item if isinstance(item, tuple) else ()
    if items > _MOST_ITEMS:
        builder.fail(f"a value of more than {_MOST_ITEMS:,} items", pos)


def choose(builder: Builder, frame: Frame, condition: s.Expr) -> bool:
    """Outcome of a compile-time condition; it is recorded among the program's decisions."""
    outcome = bool(evaluate(builder, frame, condition))
    builder.decide(condition.pos, builder.line_text(condition.pos.line) if not builder.unit else "condition", outcome)
    return outcome


def _reduce(builder: Builder, frame: Frame, expr: s.Reduction) -> Constant:
    """A reduction over compile-time values, point by point."""
    if expr.name not in _FOLDS:
        builder.fail(f"{expr.name}(i<N: …) is not a reduction; there are {', '.join(_FOLDS)}", expr.pos)
    found = list(_points(builder, frame.scratch(), expr, 0))
    if not found and expr.name in ("min", "max"):
        return math.inf if expr.name == "min" else -math.inf
    return _checked(builder, _FOLDS[expr.name](found), expr.pos)


_FOLDS: dict[str, Callable[[list[int | float]], int | float]] = {
    "sum": sum, "prod": math.prod, "max": max, "min": min, "any": any, "all": all,
}  # fmt: skip


def _points(builder: Builder, inner: Frame, expr: s.Reduction, depth: int) -> Iterator[int | float]:
    builder.spend(_POINT_WORK)
    if depth == len(expr.heads):
        if expr.where is None or evaluate(builder, inner, expr.where):
            yield _number(builder, evaluate(builder, inner, expr.body), expr.body)
        return
    head = expr.heads[depth]
    if isinstance(head, s.Spread):
        builder.fail("'...' has no place in a compile-time reduction", head.pos)
    if inner.lookup(head.name) is not None and depth == 0:
        builder.fail(f"{head.name} already means something here; an iterator needs another name", head.pos)
    extent = integer(builder, inner, head.extent, "an extent")
    for value in range(extent):
        inner.names[head.name] = Known(value)
        yield from _points(builder, inner, expr, depth + 1)


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
        filled = _BRACES.sub(fill, text)
    except IRError as error:
        builder.fail(error.problems[0].message, pos)
    _check_size(builder, filled, pos)
    return filled


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
    if near:
        hint = f"; did you mean {', '.join(repr(name) for name in near)}?"
    else:
        hint = f"; there is {', '.join(repr(name) for name in present)}" if 0 < len(present) <= 8 else ""
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
        return _checked(builder, _arithmetic(op, left, right), pos)
    except ZeroDivisionError:
        builder.fail(f"division by zero: {left} {op} {right}", pos)
    except OverflowError:
        builder.fail(f"the result of {left} {op} {right} is too large", pos)


def _arithmetic(op: str, left: int | float, right: int | float) -> int | float | complex:
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
            vast = abs(left) > 1 and abs(right) > 256
            power: int | float | complex = float(left) ** right if vast else left**right
            return power


def _checked(builder: Builder, value: int | float | complex, pos: s.Pos) -> int | float:
    if isinstance(value, complex):
        builder.fail("the result is not a real number", pos)
    if isinstance(value, int) and abs(value) > _LARGEST:
        builder.fail("the result is too large", pos)
    return value


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
        return _length(builder, args[0], expr.pos)
    numbers = [_number(builder, value, arg) for value, arg in zip(args, expr.args, strict=True)]
    match expr.name, numbers:
        case "min" | "max", [_, _, *_]:
            value = min(numbers) if expr.name == "min" else max(numbers)
            builder.decide(expr.pos, f"{expr.name}()", numbers.index(value))
            return value
        case "select", [condition, then, orelse]:
            builder.decide(expr.pos, "select()", bool(condition))
            return then if condition else orelse
        case "pow", [left, right]:
            return arithmetic(builder, "**", left, right, expr.pos)
        case name, [number] if name in _MATH:
            try:
                return _checked(builder, _MATH[name](number), expr.pos)
            except (ValueError, OverflowError, ZeroDivisionError) as error:
                builder.fail(f"{name}({number}): {error}", expr.pos)
        case name, [number] if name in DTYPES:
            return _cast(builder, name, number, expr.pos)
    builder.fail(f"{expr.name}() with {len(args)} arguments is not a compile-time function", expr.pos)


def _cast(builder: Builder, name: str, number: int | float, pos: s.Pos) -> int | float:
    """A conversion to a storage type, where its result does not depend on whether roundings are on."""
    if name == "bool":
        return bool(number)
    if kind(name) == "int" and math.isfinite(number):
        low, high = integer_range(name)
        return (int(number) - low) % (high - low + 1) + low
    if name in ("f32", "f64"):
        return float(number)
    builder.fail(f"{name}({number}) is no compile-time value: write the rounding where the number is used", pos)


def _length(builder: Builder, value: Constant, pos: s.Pos) -> int:
    """Items of a tuple, of the tuple at a path, or of the list of modules at a path."""
    if isinstance(value, str):
        found, at = attribute(builder, value)
        below = [key.removeprefix(f"{value}.") for key in builder.bindings.attrs if key.startswith(f"{value}.")]
        items = {key.partition(".")[0] for key in below if key.partition(".")[0].isdigit()}
        if not found and items:
            return len(items)
        if not found:
            builder.fail(missing(value, list(builder.bindings.attrs)), pos)
        value = at
    if isinstance(value, tuple):
        return len(value)
    builder.fail(f"len() needs a list or a tuple, but this is {value!r}", pos)


def _measure(builder: Builder, frame: Frame, name: str, arg: s.Expr) -> int:
    """`rank(x)`, the number of axes of a tensor, or `numel(x)`, its number of elements."""
    entry = frame.lookup(arg.name) if isinstance(arg, s.Name) else None
    if isinstance(entry, Poison):
        raise PoisonedError
    if not isinstance(entry, TensorRef):
        builder.fail(f"{name}() takes the name of a tensor", arg.pos)
    shape = builder.tensors[entry.id].shape
    return len(shape) if name == "rank" else math.prod(shape)


def _keyed(builder: Builder, frame: Frame, expr: s.Call) -> bool:
    """`has` asks for a captured tensor, a value that is not None, or a module; `is_none` for a value that is None."""
    key = evaluate(builder, frame, expr.args[0]) if len(expr.args) == 1 else None
    if not isinstance(key, str):
        builder.fail(f'{expr.name}() takes one path in quotes, as in {expr.name}("conv.bias")', expr.pos)
    found, value = attribute(builder, key)
    present = value is not None or (not found and _captured(builder, key))
    if expr.name == "is_none" and not found and not present:
        builder.fail(missing(key, [*builder.bindings.attrs, *builder.bindings.state]), expr.pos)
    outcome = present if expr.name == "has" else not present
    builder.decide(expr.pos, f"{expr.name}()", outcome)
    return outcome


def _captured(builder: Builder, key: str) -> bool:
    """Whether a path is that of a captured tensor, of an argument, or of a module that holds something."""
    names = builder.bindings
    return (
        key in names.state
        or key in names.inputs
        or key.removeprefix("arg.") in names.inputs
        or key.removeprefix("self.") in names.state
        or bool(builder.below(key))
    )
