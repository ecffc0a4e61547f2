"""Expressions inside a nest: indices, conditions, values, inline reductions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from .. import indices as ix
from .. import syntax as s
from ..bindings import Constant
from ..dtypes import DTYPES, RANK0, STRONG, WEAK, Typed, floating, kind, promote, summed
from ..ops import IDENTITY, SCALAR_OPS, Combine
from ..program import (
    AllOf,
    AnyOf,
    Apply,
    Cast,
    Compare,
    Condition,
    Const,
    Declare,
    Expr,
    Fetch,
    Index,
    IndexValue,
    Loop,
    Nest,
    Read,
    Relation,
    Source,
)
from .constants import choose, evaluate, is_known
from .scope import Builder, Frame, Known, Poison, PoisonedError, TensorRef
from .simplify import ranges_of, simplify

_BINARY = {"+": "add", "-": "sub", "*": "mul", "/": "div", "//": "floordiv", "%": "mod", "**": "pow"}
_RELATION = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
_FLIPPED: dict[Relation, Relation] = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
_REDUCTIONS: dict[str, Combine] = {"sum": "+", "prod": "*", "max": "max", "min": "min", "any": "or", "all": "and"}
_CASTS = {"int": "i64", "float": "f32"}
_DEFAULTS = {"bool": "bool", "int": "i64", "float": "f32", "complex": "c64"}


@dataclass(frozen=True, slots=True)
class Value:
    """An expression with its type during inference."""

    expr: Expr
    typed: Typed


@dataclass(slots=True)
class Scope:
    """One nest: its loops (source iterator name to loop), its `where`, and its inline reductions so far.

    `whole` holds the iterators of a whole-tensor statement and its shape: there a bare tensor name of that shape is
    read at them."""

    builder: Builder
    frame: Frame
    source: Source
    base: str
    loops: dict[str, Loop] = field(default_factory=dict)
    where: Condition | None = None
    spread: tuple[str, ...] | None = None
    whole: tuple[tuple[Index, ...], tuple[int, ...]] | None = None
    hoisted: dict[tuple[object, ...], Value] = field(default_factory=dict)

    def known(self, expr: s.Expr) -> bool:
        return is_known(self.builder, self.frame, expr, frozenset(self.loops) | frozenset(self.frame.iterators))

    def iterator(self, name: str) -> Index | None:
        if name in self.loops:
            return ix.iterator(self.loops[name].name)
        if name in self.frame.iterators:
            return ix.iterator(self.frame.iterators[name][0])
        return None

    def ranges(self) -> dict[str, tuple[int, int]]:
        """Box of all iterators in sight, inclusive ends."""
        outer = {name: (0, max(trip - 1, 0)) for name, trip in self.frame.iterators.values()}
        return ranges_of(tuple(self.loops.values()), outer)


def add_loops(scope: Scope, heads: tuple[s.LoopHead, ...]) -> tuple[Loop, ...]:
    """Elaborates iterators left to right and adds them to the scope."""
    added: list[Loop] = []
    for head in heads:
        if isinstance(head, s.Spread):
            added += _spread_loops(scope, head)
        else:
            added.append(_loop(scope, head))
    return tuple(added)


def _spread_loops(scope: Scope, head: s.Spread) -> list[Loop]:
    sizes = scope.frame.spread
    if sizes is None:
        scope.builder.fail("'...' has no sizes here: it stands for the '...' of a function's tensor shapes", head.pos)
    if scope.spread is not None:
        scope.builder.fail("'...' stands twice among the iterators", head.pos)
    loops = [Loop(f"_{axis}", ix.constant(size)) for axis, size in enumerate(sizes)]
    scope.loops.update({loop.name: loop for loop in loops})
    scope.spread = tuple(loop.name for loop in loops)
    return loops


def _loop(scope: Scope, head: s.Head) -> Loop:
    builder, name = scope.builder, head.name
    if scope.iterator(name) is not None:
        builder.fail(f"{name} is already an iterator here", head.pos)
    if isinstance(scope.frame.names.get(name), Known):
        builder.fail(f"{name} is a size or compile-time value; an iterator needs another name", head.pos)
    extent = simplify(index(scope, head.extent), scope.ranges())
    if not extent.terms and extent.const < 0:
        builder.fail(f"the extent of {name} is {extent.const}; an extent cannot be negative", head.pos)
    loop = Loop(name, extent)
    scope.loops[name] = loop
    return loop


# indices


def index(scope: Scope, expr: s.Expr) -> Index:
    """A quasi-affine index expression."""
    return simplify(_index(scope, expr), scope.ranges())


def _index(scope: Scope, expr: s.Expr) -> Index:  # noqa: C901 - one case a construct
    if scope.known(expr):
        return _known_index(scope, expr)
    match expr:
        case s.Name(name):
            found = scope.iterator(name)
            if found is not None:
                return found
            return _fetch(scope, expr)
        case s.Unary("-", arg):
            return ix.scale(_index(scope, arg), -1)
        case s.Binary(op, left, right) if op in ("+", "-"):
            a, b = _index(scope, left), _index(scope, right)
            return ix.add(a, b) if op == "+" else ix.subtract(a, b)
        case s.Binary("*", left, right):
            a, b = _index(scope, left), _index(scope, right)
            if a.terms and b.terms:
                scope.builder.fail("an index may multiply an iterator only by a compile-time integer", expr.pos)
            return ix.scale(a, b.const) if not b.terms else ix.scale(b, a.const)
        case s.Binary(op, left, right) if op in ("//", "%"):
            by = _index(scope, right)
            if by.terms or by.const <= 0:
                scope.builder.fail(f"an index may use {op} only by a positive compile-time integer", expr.pos)
            return (ix.floor_div if op == "//" else ix.modulo)(_index(scope, left), by.const)
        case s.Subscript() | s.Guarded():
            return _fetch(scope, expr)
        case s.Call("int", (arg,), ()):
            return _index(scope, arg)
        case s.Conditional(then, condition, orelse) if scope.known(condition):
            return _index(scope, then if choose(scope.builder, scope.frame, condition) else orelse)
        case _:
            scope.builder.fail("an index is made of iterators, compile-time integers, + - * // % and reads of int "
                               "tensors", expr.pos)  # fmt: skip


def _known_index(scope: Scope, expr: s.Expr) -> Index:
    value = evaluate(scope.builder, scope.frame, expr)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int):
        scope.builder.fail(f"an index must be an integer, but this is {value!r}", expr.pos)
    return ix.constant(int(value))


def _fetch(scope: Scope, expr: s.Expr) -> Index:
    found = value(scope, expr)
    if not isinstance(found.expr, Read):
        scope.builder.fail("an index may read an int tensor, nothing else", expr.pos)
    if kind(found.typed.name) not in ("int", "bool"):
        scope.builder.fail(f"{found.expr.tensor} is {found.typed.name}; an index must be an integer", expr.pos)
    return Index(((Fetch(found.expr), 1),))


# conditions


def condition(scope: Scope, expr: s.Expr) -> Condition:
    """A `where` condition over quasi-affine indices."""
    if scope.known(expr):
        outcome = bool(evaluate(scope.builder, scope.frame, expr))
        return Compare(ix.constant(0), "==" if outcome else "!=")
    match expr:
        case s.Comparison(first, rest):
            links = _links(scope, first, rest)
            return links[0] if len(links) == 1 else AllOf(links)
        case s.Logic("and", args):
            return AllOf(tuple(condition(scope, arg) for arg in args))
        case s.Logic("or", args):
            return AnyOf(tuple(condition(scope, arg) for arg in args))
        case s.Unary("not", arg):
            return negate(condition(scope, arg))
        case _:
            scope.builder.fail("a 'where' is made of comparisons of index expressions, joined by and, or", expr.pos)


def _links(scope: Scope, first: s.Expr, rest: tuple[tuple[str, s.Expr], ...]) -> tuple[Condition, ...]:
    links, left = list[Condition](), index(scope, first)
    for op, right_expr in rest:
        right = index(scope, right_expr)
        difference = simplify(ix.subtract(left, right), scope.ranges())
        if any(True for _ in ix.index_reads(difference)):
            scope.builder.fail("a 'where' cannot depend on a tensor's values; use select in the expression", first.pos)
        links.append(Compare(difference, op))  # type: ignore[arg-type]
        left = right
    return tuple(links)


def negate(condition: Condition) -> Condition:
    match condition:
        case Compare(inner, relation):
            return Compare(inner, _FLIPPED[relation])
        case AllOf(args):
            return AnyOf(tuple(negate(arg) for arg in args))
        case AnyOf(args):
            return AllOf(tuple(negate(arg) for arg in args))


# values


def value(scope: Scope, expr: s.Expr) -> Value:  # noqa: C901 - one case a construct
    """An expression of a nest, with its type."""
    if scope.known(expr):
        return constant(scope, evaluate(scope.builder, scope.frame, expr), expr.pos)
    match expr:
        case s.Name():
            return _name(scope, expr)
        case s.Subscript():
            return _read(scope, expr)
        case s.Guarded(read, fill):
            return _guarded(scope, read, fill, expr.pos)
        case s.Unary("-", arg):
            inner = value(scope, arg)
            if isinstance(inner.expr, IndexValue):
                return Value(IndexValue(ix.scale(inner.expr.index, -1)), inner.typed)
            return apply("neg", inner)
        case s.Unary("not", arg):
            return apply("not", value(scope, arg))
        case s.Binary():
            return _binary(scope, expr)
        case s.Comparison(first, rest):
            return _comparison(scope, first, rest)
        case s.Logic(op, args):
            return _chain(op, [value(scope, arg) for arg in args])
        case s.Conditional(then, test, orelse):
            if not scope.known(test):
                scope.builder.fail("'a if c else b' needs a compile-time c; use select(c, a, b)", expr.pos)
            return value(scope, then if choose(scope.builder, scope.frame, test) else orelse)
        case s.Call():
            return _call(scope, expr)
        case s.Reduction():
            return _reduction(scope, expr)
        case _:
            scope.builder.fail("this cannot stand in an expression", expr.pos)


def constant(scope: Scope, known: Constant, pos: s.Pos) -> Value:
    match known:
        case bool():
            return Value(Const(known, "bool"), Typed("bool", WEAK))
        case int():
            return Value(Const(known, "i64"), Typed("i64", WEAK))
        case float():
            return Value(Const(known, "f32"), Typed("f32", WEAK))
        case _:
            scope.builder.fail(f"a number is expected, but this is {known!r}", pos)


def tensor_id(scope: Scope, name: str, pos: s.Pos) -> str:
    entry = scope.frame.lookup(name)
    match entry:
        case TensorRef(id_):
            return id_
        case Poison():
            raise PoisonedError
        case Known(known):
            scope.builder.fail(f"{name} is the compile-time value {known!r}, not a tensor", pos)
        case None:
            evaluate(scope.builder, scope.frame, s.Name(name, pos=pos))
            raise AssertionError(name)


def _name(scope: Scope, expr: s.Name) -> Value:
    found = scope.iterator(expr.name)
    if found is not None:
        return Value(IndexValue(found), Typed("i64", WEAK))
    id_ = tensor_id(scope, expr.name, expr.pos)
    shape = scope.builder.tensors[id_].shape
    if not shape:
        return Value(Read(id_, ()), scope.builder.typed(id_))
    if scope.whole is not None and shape == scope.whole[1]:
        return Value(Read(id_, scope.whole[0]), scope.builder.typed(id_))
    scope.builder.fail(f"{expr.name} has shape {list(shape)}; here it needs an index, as in {expr.name}[…]", expr.pos)


def _read(scope: Scope, expr: s.Subscript) -> Value:
    if scope.iterator(expr.name) is not None:
        scope.builder.fail(f"{expr.name} is an iterator here, it cannot be indexed", expr.pos)
    id_ = tensor_id(scope, expr.name, expr.pos)
    shape = scope.builder.tensors[id_].shape
    parts = spread_index(scope, expr.index)
    if len(parts) != len(shape):
        scope.builder.fail(
            f"{expr.name} has {len(shape)} axes {list(shape)}, but {len(parts)} indices are given", expr.pos
        )
    return Value(Read(id_, parts), scope.builder.typed(id_))


def spread_index(scope: Scope, exprs: tuple[s.Expr, ...]) -> tuple[Index, ...]:
    """Indices of a subscript, `...` replaced by the iterators that it stands for."""
    parts: list[Index] = []
    for expr in exprs:
        if not isinstance(expr, s.Spread):
            parts.append(index(scope, expr))
        elif scope.spread is None:
            scope.builder.fail("'...' needs '...' among the iterators", expr.pos)
        else:
            parts += [ix.iterator(name) for name in scope.spread]
    return tuple(parts)


def _guarded(scope: Scope, read: s.Expr, fill: s.Expr, pos: s.Pos) -> Value:
    if not isinstance(read, s.Subscript):
        scope.builder.fail("(… else v) guards one read, as in (x[n, p - 1] else 0)", pos)
    inner = _read(scope, read)
    if not scope.known(fill):
        scope.builder.fail("the value after else of a guarded read must be known at compile time", pos)
    given = constant(scope, evaluate(scope.builder, scope.frame, fill), pos)
    assert isinstance(inner.expr, Read) and isinstance(given.expr, Const)
    if kind(inner.typed.name) != "float" and kind(given.typed.name) == "float" and not _whole(given.expr.value):
        scope.builder.fail(f"{read.name} is {inner.typed.name} and cannot hold {given.expr.value}", pos)
    return Value(replace(inner.expr, fill=Const(given.expr.value, inner.typed.name)), inner.typed)


def _whole(number: bool | int | float) -> bool:
    return isinstance(number, int) or number.is_integer()


def apply(op: str, *args: Value) -> Value:
    """Applies a scalar operator, with PyTorch's result type."""
    typed = args[0].typed
    if op == "select":
        typed = promote(args[1].typed, args[2].typed)
    else:
        for arg in args[1:]:
            typed = promote(typed, arg.typed)
    match SCALAR_OPS[op].result:
        case "float":
            typed = floating(typed)
        case "bool":
            typed = Typed("bool", typed.level)
        case "keep" | "promote":
            pass
    return Value(Apply(op, tuple(arg.expr for arg in args), typed.name), typed)


def _binary(scope: Scope, expr: s.Binary) -> Value:
    left, right = value(scope, expr.left), value(scope, expr.right)
    combined = _index_arithmetic(expr.op, left.expr, right.expr)
    if combined is not None:
        return Value(IndexValue(simplify(combined, scope.ranges())), Typed("i64", WEAK))
    return apply(_BINARY[expr.op], left, right)


def _index_arithmetic(op: str, left: Expr, right: Expr) -> Index | None:
    """Keeps arithmetic on iterators an index expression, where it stays quasi-affine."""
    a, b = _as_index(left), _as_index(right)
    if a is None or b is None or not (isinstance(left, IndexValue) or isinstance(right, IndexValue)):
        return None
    match op:
        case "+":
            return ix.add(a, b)
        case "-":
            return ix.subtract(a, b)
        case "*" if not a.terms or not b.terms:
            return ix.scale(a, b.const) if not b.terms else ix.scale(b, a.const)
        case "//" if not b.terms and b.const > 0:
            return ix.floor_div(a, b.const)
        case "%" if not b.terms and b.const > 0:
            return ix.modulo(a, b.const)
        case _:
            return None


def _as_index(expr: Expr) -> Index | None:
    match expr:
        case IndexValue(found):
            return found
        case Const(int() as number, "i64"):
            return ix.constant(number)
        case _:
            return None


def _comparison(scope: Scope, first: s.Expr, rest: tuple[tuple[str, s.Expr], ...]) -> Value:
    links, left = list[Value](), value(scope, first)
    for op, right_expr in rest:
        right = value(scope, right_expr)
        links.append(apply(_RELATION[op], left, right))
        left = right
    return _chain("and", links)


def _chain(op: str, values: list[Value]) -> Value:
    result = values[0]
    for item in values[1:]:
        result = apply(op, result, item)
    return result


def _call(scope: Scope, expr: s.Call) -> Value:
    name, builder = expr.name, scope.builder
    if (name in builder.defs and not builder.unit) or not (name in SCALAR_OPS or name in _CASTS or name in DTYPES):
        builder.fail(_not_scalar(scope, name), expr.pos)
    args = [value(scope, arg) for arg in expr.args]
    if name in _CASTS or name in DTYPES:
        if len(args) != 1:
            builder.fail(f"{name}() takes one argument", expr.pos)
        dtype = _CASTS.get(name, name)
        return Value(Cast(args[0].expr, dtype), Typed(dtype, max(args[0].typed.level, RANK0)))
    if name in ("min", "max"):
        if len(args) < 2:
            builder.fail(f"{name}(x) of one value: write {name}(a, b), or a reduction {name}(i<N: x[i])", expr.pos)
        return _chain(name, args)
    if len(args) != SCALAR_OPS[name].arity or expr.options:
        builder.fail(f"{name}() takes {SCALAR_OPS[name].arity} arguments, not {len(args)}", expr.pos)
    return apply(name, *args)


def _not_scalar(scope: Scope, name: str) -> str:
    from ..library import names

    if name in scope.builder.defs or name in names():
        return f"{name}() is a function of whole tensors; call it in a statement of its own, h = {name}(…), and read h"
    return f"unknown function {name}()"


# inline reductions


def _reduction(scope: Scope, expr: s.Reduction) -> Value:
    """Makes an inline reduction a nest of its own, over the enclosing iterators that occur in it."""
    combine = _REDUCTIONS.get(expr.name)
    if combine is None:
        scope.builder.fail(f"{expr.name}(i<N: …) is not a reduction; there are {', '.join(_REDUCTIONS)}", expr.pos)
    inner = Scope(
        scope.builder, scope.frame, scope.source, scope.base, dict(scope.loops), scope.where, scope.spread,
        None, scope.hoisted,
    )  # fmt: skip
    if any(isinstance(head, s.Spread) for head in expr.heads):
        inner.spread = None
    own = add_loops(inner, expr.heads)
    added = None if expr.where is None else condition(inner, expr.where)
    body = value(inner, expr.body)
    loops, where = _occurring(scope, own, added, body.expr)
    return _hoist(scope, loops, own, where, combine, body)


def _occurring(
    scope: Scope, own: tuple[Loop, ...], added: Condition | None, body: Expr
) -> tuple[tuple[Loop, ...], Condition | None]:
    """Enclosing loops that occur in a reduction, and the conditions on them. A loop whose extent needs an iterator
    that does not occur is widened to its largest extent."""
    used = set(ix.expr_iterators(body))
    for loop in own:
        used |= ix.iterators(loop.extent)
    if added is not None:
        used |= ix.condition_iterators(added)
    ranges = scope.ranges()
    outer = [_widened(loop, used, ranges) for loop in scope.loops.values() if loop.name in used]
    names = {loop.name for loop in outer} | {name for name, _ in scope.frame.iterators.values()}
    kept = [part for part in ix.conjuncts(scope.where) if ix.condition_iterators(part) <= names]
    kept += ix.conjuncts(added)
    where = None if not kept else kept[0] if len(kept) == 1 else AllOf(tuple(kept))
    return tuple(outer), where


def _widened(loop: Loop, used: set[str], ranges: Mapping[str, tuple[int, int]]) -> Loop:
    if ix.iterators(loop.extent) <= used:
        return loop
    bounds = ix.interval(loop.extent, ranges)
    assert bounds is not None
    return Loop(loop.name, ix.constant(max(bounds[1], 0)))


def _hoist(
    scope: Scope, outer: tuple[Loop, ...], own: tuple[Loop, ...], where: Condition | None, combine: Combine, body: Value
) -> Value:
    builder = scope.builder
    key = (outer, own, where, combine, body.expr)
    if key in scope.hoisted:
        return scope.hoisted[key]
    typed = reduced_type(combine, body.typed)
    ranges = ranges_of(outer, {name: (0, max(t - 1, 0)) for name, t in scope.frame.iterators.values()})
    shape = tuple(most(loop, ranges) for loop in outer)
    id_ = builder.local(f"{scope.base}~", shape, typed.name)
    builder.body.append(Declare(id_, identity(combine, typed.name), scope.source))
    at = tuple(ix.iterator(loop.name) for loop in outer)
    builder.body.append(Nest((*outer, *own), where, id_, at, combine, body.expr, scope.source))
    result = Value(Read(id_, at), Typed(typed.name, max(typed.level, RANK0) if not shape else STRONG))
    scope.hoisted[key] = result
    return result


def most(loop: Loop, ranges: Mapping[str, tuple[int, int]]) -> int:
    """Largest extent that a loop takes."""
    bounds = ix.interval(loop.extent, ranges)
    return 0 if bounds is None else max(bounds[1], 0)


def reduced_type(combine: Combine, typed: Typed) -> Typed:
    if combine in ("+", "*"):
        return summed(typed)
    if combine in ("and", "or"):
        return Typed("bool", typed.level)
    if combine in ("argmax", "argmin"):
        return Typed("i64", typed.level)
    return typed


def identity(combine: Combine, dtype: str) -> Const | None:
    """Start value of a reduction into a new tensor (None: unwritten, for = and arg-reductions)."""
    if combine in ("=", "argmax", "argmin"):
        return None
    start = IDENTITY[combine]
    if kind(dtype) == "int" and combine in ("max", "min"):
        from ..dtypes import integer_range

        low, high = integer_range(dtype)
        return Const(low if combine == "max" else high, dtype)
    return Const(start, dtype)


def strong(typed: Typed) -> str:
    """Storage type of a tensor that holds values of this type."""
    return _DEFAULTS[kind(typed.name)] if typed.level == WEAK else typed.name


