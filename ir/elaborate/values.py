"""Values of a nest's expressions, their types, and inline reductions."""

from __future__ import annotations

from collections import Counter
from difflib import get_close_matches

from .. import indices as ix
from .. import syntax as s
from ..bindings import Constant
from ..dtypes import DTYPES, RANK0, STRONG, WEAK, Typed, floating, integer_range, kind, promote, summed
from ..ops import IDENTITY, SCALAR_OPS, Combine
from ..program import Apply, Cast, Condition, Const, Declare, Expr, Index, IndexValue, Loop, Nest, Read
from .constants import choose, evaluate
from .nest import Scope, Value, add_loops, both, condition, guarded, read_of, tensor_id
from .simplify import most, ranges_of, simplify

_BINARY = {"+": "add", "-": "sub", "*": "mul", "/": "div", "//": "floordiv", "%": "mod", "**": "pow"}
_RELATION = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
_REDUCTIONS: dict[str, Combine] = {"sum": "+", "prod": "*", "max": "max", "min": "min", "any": "or", "all": "and"}
_CASTS = {"int": "i64", "float": "f32"}
_DEFAULTS = {"bool": "bool", "int": "i64", "float": "f32", "complex": "c64"}
_SIGNS = {*_BINARY.values(), *_RELATION.values(), "neg", "and", "or", "not"} - {"pow"}
_OPERATORS = SCALAR_OPS.keys() - _SIGNS


def value(scope: Scope, expr: s.Expr) -> Value:  # noqa: C901 - one case a construct
    """An expression of a nest, with its type."""
    if scope.known(expr):
        return constant(scope, evaluate(scope.builder, scope.frame, expr), expr.pos)
    match expr:
        case s.Name():
            return _name(scope, expr)
        case s.Subscript():
            return _stored(scope, read_of(scope, expr))
        case s.Guarded():
            return _stored(scope, guarded(scope, expr))
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


def _stored(scope: Scope, read: Read) -> Value:
    return Value(read, scope.builder.typed(read.tensor))


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


def apply(op: str, *args: Value) -> Value:
    """Applies a scalar operator, with PyTorch's result type."""
    typed = args[0].typed
    if op == "select":
        typed = promote(args[1].typed, args[2].typed)
        typed = Typed(typed.name, max(typed.level, args[0].typed.level))
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
        return Value(IndexValue(simplify(combined, scope.box)), Typed("i64", WEAK))
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
    if builder.own(name) is not None or not (name in _OPERATORS or name in _CASTS or name in DTYPES):
        builder.fail(_not_scalar(scope, name), expr.pos)
    if expr.options:
        builder.fail(f"{name}() works element by element and has no options", expr.options[0].pos)
    args = [value(scope, arg) for arg in expr.args]
    if name in ("min", "max"):
        if len(args) < 2:
            builder.fail(f"{name}(x) of one value: write {name}(a, b), or a reduction {name}(i<N: x[i])", expr.pos)
        return _chain(name, args)
    arity = SCALAR_OPS[name].arity if name in _OPERATORS else 1
    if len(args) != arity:
        builder.fail(f"{name}() takes {arity} argument{'' if arity == 1 else 's'}, not {len(args)}", expr.pos)
    if name.startswith("bit_") and any(kind(arg.typed.name) not in ("int", "bool") for arg in args):
        builder.fail(f"{name}() is of whole numbers or bools", expr.pos)
    if name not in _OPERATORS:
        dtype = _CASTS.get(name, name)
        return Value(Cast(args[0].expr, dtype), Typed(dtype, max(args[0].typed.level, RANK0)))
    return apply(name, *args)


def _not_scalar(scope: Scope, name: str) -> str:
    from ..library import names, offered_names

    if name in scope.builder.defs or name in names():
        return f"{name}() is a function of whole tensors; call it in a statement of its own, h = {name}(…), and read h"
    known = [*_OPERATORS, *_CASTS, *DTYPES, *_REDUCTIONS, *scope.builder.defs, *offered_names()]
    near = get_close_matches(name, known, 3, 0.7)
    if name in _REDUCTIONS:
        return f"{name}() of one value: a reduction names its iterators, as in {name}(i<N: x[i])"
    return f"unknown function {name}(){'; did you mean ' if near else ''}{' or '.join(near)}{'?' if near else ''}"


# inline reductions


def _reduction(scope: Scope, expr: s.Reduction) -> Value:
    """Makes an inline reduction a nest of its own, over the enclosing iterators that occur in it."""
    combine = _REDUCTIONS.get(expr.name)
    if combine is None:
        scope.builder.fail(f"{expr.name}(i<N: …) is not a reduction; there are {', '.join(_REDUCTIONS)}", expr.pos)
    inner = scope.inner(keep=True)
    if any(isinstance(head, s.Spread) for head in expr.heads):
        inner.spread = None
    own = add_loops(inner, expr.heads)
    added = None if expr.where is None else condition(inner, expr.where)
    inner.where = both(scope.where, added)
    body = value(inner, expr.body)
    outer, where = _occurring(scope, own, both(None, added), body.expr)
    return _hoist(scope, outer, own, where, combine, body)


def _occurring(
    scope: Scope, own: tuple[Loop, ...], added: Condition | None, body: Expr
) -> tuple[tuple[Loop, ...], Condition | None]:
    """Enclosing loops that occur in a reduction, and the conditions on them.

    Leaving a loop out drops what it says about those that stay: a condition on both, an extent that used it (the loop
    is widened to its largest extent), or that it has no step for some of their steps. Where the body could then read
    outside of what is there, it stays."""
    used = set(ix.expr_iterators(body)) | {name for name, _ in scope.frame.iterators.values()}
    for loop in own:
        used |= ix.iterators(loop.extent)
    if added is not None:
        used |= ix.condition_iterators(added)
    while True:
        outer = tuple(_widened(scope, loop, used) for loop in scope.loops.values() if loop.name in used)
        names = used | {loop.name for loop in outer}
        parts = ix.conjuncts(scope.where)
        lost = _lost(scope, used, [part for part in parts if not ix.condition_iterators(part) <= names])
        if lost <= used or not _risky(scope, outer, own, body):
            break
        used |= lost
    where = None if added is None else added
    for part in reversed([part for part in parts if ix.condition_iterators(part) <= names]):
        where = both(part, where)
    return outer, where


def _widened(scope: Scope, loop: Loop, used: set[str]) -> Loop:
    if ix.iterators(loop.extent) <= used:
        return loop
    return Loop(loop.name, ix.constant(most(loop.extent, scope.box)))


def _lost(scope: Scope, used: set[str], dropped: list[Condition]) -> set[str]:
    """Iterators without which the loops of `used` may reach points that the nest does not have."""
    lost = {name for part in dropped for name in ix.condition_iterators(part)}
    widened = [loop for loop in scope.loops.values() if loop.name in used and not ix.iterators(loop.extent) <= used]
    hung_on = Counter(name for loop in widened for name in ix.iterators(loop.extent))
    varying = {loop.name for loop in scope.loops.values() if loop.extent.terms}
    for loop in widened:
        inside = ix.iterators(loop.extent)
        alone = len(inside) == 1 and not inside & varying and all(hung_on[name] == 1 for name in inside)
        if not alone or not ix.is_affine(loop.extent):
            lost |= inside
    for loop in scope.loops.values():
        bounds = ix.interval(loop.extent, scope.box)
        if loop.name not in used and (bounds is None or bounds[0] < 1):
            lost.add(loop.name)
    return lost


def _risky(scope: Scope, outer: tuple[Loop, ...], own: tuple[Loop, ...], body: Expr) -> bool:
    """Whether the body, over these loops, may read out of bounds or an element that was never written."""
    builder = scope.builder
    steps = {name: scope.box[name] for name, _ in scope.frame.iterators.values()}
    box = ranges_of((*outer, *own), steps)
    for read in ix.reads(body):
        if read.tensor in builder.partial:
            return True
        if read.fill is None:
            bounds = [ix.interval(part, box) for part in read.index]
            shape = builder.tensors[read.tensor].shape
            if any(b is None or b[0] < 0 or b[1] >= size for b, size in zip(bounds, shape, strict=True)):
                return True
    return False


def _hoist(
    scope: Scope, outer: tuple[Loop, ...], own: tuple[Loop, ...], where: Condition | None, combine: Combine, body: Value
) -> Value:
    builder = scope.builder
    key = (outer, own, where, combine, body.expr)
    found = scope.hoisted.get(key)
    if found is None:
        typed = reduced_type(combine, body.typed)
        shape = tuple(most(loop.extent, scope.box) for loop in outer)
        id_ = builder.local(f"{scope.base}~", shape, typed.name)
        builder.body.append(Declare(id_, identity(combine, typed.name), scope.source))
        at = tuple(ix.iterator(loop.name) for loop in outer)
        builder.body.append(Nest((*outer, *own), where, id_, at, combine, body.expr, scope.source))
        found = Value(Read(id_, at), Typed(typed.name, STRONG if shape else RANK0))
        scope.hoisted[key] = found
    return found


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
    if combine in ("max", "min") and kind(dtype) == "bool":
        return Const(combine == "min", dtype)
    if combine in ("max", "min") and kind(dtype) == "int":
        low, high = integer_range(dtype)
        return Const(low if combine == "max" else high, dtype)
    return Const(IDENTITY[combine], dtype)


def strong(typed: Typed) -> str:
    """Storage type of a tensor that holds values of this type."""
    return _DEFAULTS[kind(typed.name)] if typed.level == WEAK else typed.name
