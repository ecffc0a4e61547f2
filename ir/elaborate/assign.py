"""Assignments: nests, and statements on whole tensors."""

from __future__ import annotations

from .. import indices as ix
from .. import syntax as s
from ..dtypes import Typed, promote
from ..ops import Combine
from ..program import AllOf, Declare, Index, Iter, Loop, Nest
from .constants import choose, is_known
from .functions import call, is_function
from .nest import (
    Scope,
    Value,
    add_loops,
    condition,
    identity,
    most,
    reduced_type,
    spread_index,
    strong,
    tensor_id,
    value,
)
from .scope import Builder, Entry, Frame, Known, TensorRef
from .simplify import ranges_of

_COMBINES: dict[str, Combine] = {
    "=": "=", "+": "+", "*": "*", "max": "max", "min": "min", "and": "and", "or": "or", "argmax": "argmax",
    "argmin": "argmin",
}  # fmt: skip


def run_for(builder: Builder, frame: Frame, statement: s.For, scope: Scope | None = None) -> None:
    """Elaborates `for …:`, each assignment of the block a nest of its own."""
    base = scope or Scope(builder, frame, builder.source(statement.pos), "t")
    add_loops(base, statement.heads)
    if statement.where is not None:
        added = condition(base, statement.where)
        base.where = added if base.where is None else AllOf((base.where, added))
    for inner in statement.body:
        match inner:
            case s.Assign():
                _nest(builder, frame, base, inner)
            case s.For():
                run_for(builder, frame, inner, _copy(base))
            case _:
                builder.fail("a nest holds assignments only, as in y[n] = x[n]", inner.pos)


def _copy(scope: Scope) -> Scope:
    return Scope(scope.builder, scope.frame, scope.source, scope.base, dict(scope.loops), scope.where, scope.spread)


def _nest(builder: Builder, frame: Frame, base: Scope, statement: s.Assign) -> None:
    scope = _copy(base)
    scope.source = builder.source(statement.pos)
    scope.base = statement.target.name
    found = value(scope, statement.value)
    index = spread_index(scope, statement.target.index) if isinstance(statement.target, s.Subscript) else ()
    combine = _COMBINES[statement.op]
    id_ = _target(scope, statement, index, combine, found)
    loops = tuple(scope.loops.values())
    if combine in ("argmax", "argmin"):
        _check_arg_reduction(scope, loops, index, statement.pos)
    builder.body.append(Nest(loops, scope.where, id_, index, combine, found.expr, scope.source))


def _check_arg_reduction(scope: Scope, loops: tuple[Loop, ...], index: tuple[Index, ...], pos: s.Pos) -> None:
    kept = {name for part in index for name in ix.iterators(part)}
    reduced = [loop.name for loop in loops if loop.name not in kept]
    if len(reduced) != 1:
        scope.builder.fail(f"argmax= and argmin= reduce exactly one iterator, here {reduced or 'none'}", pos)


def _target(
    scope: Scope, statement: s.Assign, index: tuple[Index, ...], combine: Combine, found: Value
) -> str:
    """The tensor that an assignment writes: a declared one, or a new one with the iterators' extents."""
    builder, frame, name = scope.builder, scope.frame, statement.target.name
    if isinstance(frame.names.get(name), Known):
        builder.fail(f"{name} is a size or compile-time value; a tensor needs another name", statement.pos)
    if scope.iterator(name) is not None:
        builder.fail(f"{name} is an iterator here; a tensor needs another name", statement.pos)
    if name in frame.frozen and name not in frame.declared:
        builder.fail(f"{name} is declared outside this scan; its body may only write names of its own", statement.pos)
    written = reduced_type(combine, found.typed)
    if name in frame.declared:
        return _declared(scope, name, index, written, statement.pos)
    names = [_plain(part) for part in index]
    if None in names or len(set(names)) != len(names):
        builder.fail(f"declare {name} first (tensor {name}[…]): its index is not a list of distinct iterators",
                     statement.pos)  # fmt: skip
    ranges = ranges_of((), {n: (0, max(t - 1, 0)) for n, t in frame.iterators.values()})
    extents: dict[str, int] = {n: hi + 1 for n, (_, hi) in ranges.items()}
    for loop in scope.loops.values():
        extents[loop.name] = most(loop, ranges)
        ranges[loop.name] = (0, max(extents[loop.name] - 1, 0))
    dtype = strong(written)
    id_ = builder.local(name, tuple(extents[str(n)] for n in names), dtype)
    builder.body.append(Declare(id_, identity(combine, dtype), scope.source))
    frame.names[name] = TensorRef(id_)
    return id_


def _plain(index: Index) -> str | None:
    match index:
        case Index(((Iter(name), 1),), 0):
            return name
        case _:
            return None


def _declared(scope: Scope, name: str, index: tuple[Index, ...], written: Typed, pos: s.Pos) -> str:
    builder = scope.builder
    id_ = tensor_id(scope, name, pos)
    rank = len(builder.tensors[id_].shape)
    if len(index) != rank:
        shape = list(builder.tensors[id_].shape)
        builder.fail(f"{name} has {rank} axes {shape}, but {len(index)} indices are given", pos)
    if id_ in builder.pending:
        start = builder.pending[id_]
        builder.settle(id_, Typed(strong(written if start is None else promote(start, written))))
    return id_


# statements on whole tensors


def run_assign(builder: Builder, frame: Frame, statement: s.Assign) -> None:
    """`y = expression` on whole tensors, or a single element assignment without iterators."""
    name, declared = statement.target.name, statement.target.name in frame.declared
    element = isinstance(statement.target, s.Subscript) and (statement.target.index or declared)
    if element or (statement.op != "=" and (declared or isinstance(statement.target, s.Subscript))):
        _nest(builder, frame, Scope(builder, frame, builder.source(statement.pos), name), statement)
        return
    if statement.op != "=":
        builder.fail("a reduction needs iterators: for i<N: y[] += x[i]", statement.pos)
    result = whole(builder, frame, statement.value, name)
    shape = builder.tensors[result.id].shape
    if isinstance(statement.target, s.Subscript) and shape:
        builder.fail(f"{name}[] has no axes, but the right side has shape {list(shape)}", statement.pos)
    bind(builder, frame, name, result, statement.pos)


def bind(builder: Builder, frame: Frame, name: str, entry: Entry, pos: s.Pos) -> None:
    """Makes a name mean a tensor from here on."""
    if isinstance(frame.names.get(name), Known):
        builder.fail(f"{name} is a size or compile-time value; a tensor needs another name", pos)
    frame.names[name] = entry
    frame.declared.discard(name)


def run_unpack(builder: Builder, frame: Frame, statement: s.Unpack) -> None:
    if not isinstance(statement.value, s.Call):
        builder.fail("(a, b) = … needs a call with several results", statement.pos)
    results = results_of(builder, frame, statement.value)
    if len(results) != len(statement.names):
        given = f"{statement.value.name}() gives {len(results)} results"
        builder.fail(f"{given}, not {len(statement.names)}", statement.pos)
    for name, result in zip(statement.names, results, strict=True):
        bind(builder, frame, name, result, statement.pos)


def whole_id(builder: Builder, frame: Frame, expr: s.Expr, name: str) -> str:
    """Id of the tensor that a whole-tensor expression makes (an alias makes none)."""
    entry = whole(builder, frame, expr, name)
    assert isinstance(entry, TensorRef)
    return entry.id


def whole(builder: Builder, frame: Frame, expr: s.Expr, name: str) -> TensorRef:
    """A whole-tensor expression: pointwise work on tensors of one shape and scalars, with calls anywhere."""
    match expr:
        case s.Name() if not is_known(builder, frame, expr):
            return TensorRef(tensor_id(Scope(builder, frame, builder.source(expr.pos), name), expr.name, expr.pos))
        case s.Conditional(then, test, orelse) if is_known(builder, frame, test):
            return whole(builder, frame, then if choose(builder, frame, test) else orelse, name)
        case s.Call() if is_function(builder, expr.name):
            return _single(builder, frame, expr)
        case _:
            return _pointwise(builder, frame, expr, name)


def results_of(builder: Builder, frame: Frame, expr: s.Call) -> tuple[TensorRef, ...]:
    """All results of a call whose arguments are whole-tensor expressions."""
    return call(builder, frame, expr, lambda arg, name: whole_id(builder, frame, arg, name))


def _single(builder: Builder, frame: Frame, expr: s.Call) -> TensorRef:
    results = results_of(builder, frame, expr)
    if len(results) != 1:
        builder.fail(f"{expr.name}() gives {len(results)} results: write (a, b) = {expr.name}(…)", expr.pos)
    return results[0]


def _pointwise(builder: Builder, frame: Frame, expr: s.Expr, name: str) -> TensorRef:
    """Runs the calls inside first, then one nest over the common shape."""
    local = frame.fork()
    local.declared = frame.declared
    plain = _without_calls(builder, frame, local, expr)
    shapes = {builder.tensors[id_].shape for id_ in _whole_names(local, plain)} - {()}
    if len(shapes) > 1:
        listed = ", ".join(f"{n} {list(builder.tensors[e.id].shape)}" for n, e in _named(local, plain))
        builder.fail(f"a statement on whole tensors needs equal shapes or scalars, but here are {listed}; "
                     "write the nest with iterators", expr.pos)  # fmt: skip
    shape = next(iter(shapes), ())
    iterators = tuple(f"i{axis}" for axis in range(len(shape)))
    at = tuple(ix.iterator(i) for i in iterators)
    scope = Scope(builder, local, builder.source(expr.pos), name, whole=(at, shape))
    scope.loops = {i: Loop(i, ix.constant(size)) for i, size in zip(iterators, shape, strict=True)}
    found = value(scope, plain)
    id_ = builder.local(name, shape, strong(found.typed))
    builder.body.append(Declare(id_, None, scope.source))
    builder.body.append(Nest(tuple(scope.loops.values()), None, id_, at, "=", found.expr, scope.source))
    return TensorRef(id_)


def _named(frame: Frame, expr: s.Expr) -> list[tuple[str, TensorRef]]:
    found: dict[str, TensorRef] = {}
    for name in _bare_names(expr):
        entry = frame.lookup(name)
        if isinstance(entry, TensorRef):
            found[name] = entry
    return list(found.items())


def _whole_names(frame: Frame, expr: s.Expr) -> list[str]:
    return [entry.id for _, entry in _named(frame, expr)]


def _bare_names(expr: s.Expr) -> list[str]:
    """Names that stand without an index outside inline reductions."""
    match expr:
        case s.Name(name):
            return [name]
        case s.Unary(_, arg):
            return _bare_names(arg)
        case s.Binary(_, left, right):
            return _bare_names(left) + _bare_names(right)
        case s.Comparison(first, rest):
            return _bare_names(first) + [n for _, right in rest for n in _bare_names(right)]
        case s.Call("rank" | "numel", _, _):
            return []
        case s.Logic(_, args) | s.Call(_, args, _):
            return [n for arg in args for n in _bare_names(arg)]
        case s.Conditional(then, _, orelse):
            return _bare_names(then) + _bare_names(orelse)
        case _:
            return []


def _without_calls(builder: Builder, frame: Frame, local: Frame, expr: s.Expr) -> s.Expr:
    """Replaces calls of functions by the names of their results."""

    def inner(part: s.Expr) -> s.Expr:
        return _without_calls(builder, frame, local, part)

    match expr:
        case s.Call(name, args, options) if is_function(builder, name):
            temporary = f"{name}()@{expr.pos.line}:{expr.pos.column}"
            local.names[temporary] = _single(builder, frame, expr)
            return s.Name(temporary, pos=expr.pos)
        case s.Call(name, args, options):
            return s.Call(name, tuple(inner(arg) for arg in args), options, pos=expr.pos)
        case s.Unary(op, arg):
            return s.Unary(op, inner(arg), pos=expr.pos)
        case s.Binary(op, left, right):
            return s.Binary(op, inner(left), inner(right), pos=expr.pos)
        case s.Comparison(first, rest):
            return s.Comparison(inner(first), tuple((op, inner(r)) for op, r in rest), pos=expr.pos)
        case s.Logic(op, args):
            return s.Logic(op, tuple(inner(arg) for arg in args), pos=expr.pos)
        case s.Conditional(then, test, orelse) if is_known(builder, frame, test):
            return inner(then if choose(builder, frame, test) else orelse)
        case _:
            return expr
