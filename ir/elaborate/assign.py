"""Assignments: nests, and statements on whole tensors."""

from __future__ import annotations

from dataclasses import replace

from .. import indices as ix
from .. import syntax as s
from ..dtypes import Typed, promote
from ..ops import Combine
from ..program import Const, Declare, Index, Iter, Loop, Nest, Read
from .constants import choose, is_known
from .functions import call, is_function
from .nest import Scope, Value, add_loops, both, condition, spread_index, tensor_id
from .scope import Builder, Frame, Known, TensorRef
from .simplify import most
from .values import identity, reduced_type, strong, value

_COMBINES: dict[str, Combine] = {
    "=": "=", "+": "+", "*": "*", "max": "max", "min": "min", "and": "and", "or": "or", "argmax": "argmax",
    "argmin": "argmin",
}  # fmt: skip


def run_for(builder: Builder, frame: Frame, statement: s.For, scope: Scope | None = None) -> None:
    """Elaborates `for …:`, each assignment of the block a nest of its own."""
    base = scope or Scope(builder, frame, builder.source(statement.pos), "t")
    add_loops(base, statement.heads)
    if statement.where is not None:
        base.where = both(base.where, condition(base, statement.where))
    for inner in statement.body:
        match inner:
            case s.Assign():
                _nest(builder, frame, base, inner)
            case s.For():
                run_for(builder, frame, inner, base.inner())
            case _:
                builder.fail("a nest holds assignments only, as in y[n] = x[n]", inner.pos)


def _nest(builder: Builder, frame: Frame, base: Scope, statement: s.Assign) -> None:
    scope = base.inner(source=builder.source(statement.pos), base=statement.target.name)
    found = value(scope, statement.value)
    index = spread_index(scope, statement.target.index) if isinstance(statement.target, s.Subscript) else ()
    combine = _COMBINES[statement.op]
    loops = tuple(scope.loops.values())
    if combine in ("argmax", "argmin"):
        _check_arg_reduction(scope, loops, index, statement.pos)
    name = statement.target.name
    _check_target(scope, name, statement.pos)
    written = reduced_type(combine, found.typed)
    if name in frame.declared:
        literal = combine == "=" and isinstance(found.expr, Const)
        id_ = _declared(scope, name, index, written, statement.pos, literal=literal)
    else:
        shape = _extents(scope, name, index, statement.pos)
        if combine == "=" and retarget(scope, found, index, shape):
            return
        id_ = _made(scope, name, shape, strong(written), combine)
    builder.body.append(Nest(loops, scope.where, id_, index, combine, found.expr, scope.source))


def _check_arg_reduction(scope: Scope, loops: tuple[Loop, ...], index: tuple[Index, ...], pos: s.Pos) -> None:
    kept = {name for part in index for name in ix.iterators(part)}
    reduced = [loop.name for loop in loops if loop.name not in kept]
    if len(reduced) != 1:
        shown = ", ".join(reduced) or "none"
        scope.builder.fail(f"argmax= and argmin= reduce exactly one iterator, here: {shown}", pos)


def _check_target(scope: Scope, name: str, pos: s.Pos) -> None:
    if name in scope.loops:
        scope.builder.fail(f"{name} is an iterator here; a tensor needs another name", pos)
    assignable(scope.builder, scope.frame, name, pos)


def assignable(builder: Builder, frame: Frame, name: str, pos: s.Pos) -> None:
    """Refuses to give a tensor the name of something else, or that of a tensor outside of this scan."""
    entry = frame.names.get(name)
    if isinstance(entry, Known):
        what = "a size or repeat variable" if entry.fixed else "a compile-time value"
        builder.fail(f"{name} is {what}, {entry.value!r}; a tensor needs another name", pos)
    if name in frame.iterators:
        builder.fail(f"{name} is an iterator here; a tensor needs another name", pos)
    if name in frame.frozen:
        builder.fail(f"{name} is made outside this scan, whose body may assign only names of its own: carry it "
                     f"(carry {name} = {name}, next {name} = …) or use another name", pos)  # fmt: skip


def _extents(scope: Scope, name: str, index: tuple[Index, ...], pos: s.Pos) -> tuple[int, ...]:
    """Shape of a tensor that a nest makes: the extents of the iterators on the left."""
    names = [_plain(part) for part in index]
    extents = {loop.name: most(loop.extent, scope.box) for loop in scope.loops.values()}
    found = tuple(extents[iterator] for iterator in names if iterator in extents)
    if len(found) == len(index) and len(set(names)) == len(names):
        return found
    if any(iterator is not None and iterator not in extents for iterator in names):
        scope.builder.fail(f"{name}[…] is indexed by the scan's iterator: emit collects what each step makes", pos)
    scope.builder.fail(f"declare {name} first (tensor {name}[…]): its index is not a list of distinct iterators", pos)


def _made(scope: Scope, name: str, shape: tuple[int, ...], dtype: str, combine: Combine) -> str:
    builder = scope.builder
    id_ = builder.local(name, shape, dtype)
    start = identity(combine, dtype)
    if start is None and (scope.where is not None or any(loop.extent.terms for loop in scope.loops.values())):
        builder.partial.add(id_)
    builder.body.append(Declare(id_, start, scope.source))
    scope.frame.names[name] = TensorRef(id_)
    return id_


def retarget(scope: Scope, found: Value, index: tuple[Index, ...], shape: tuple[int, ...]) -> bool:
    """`y[…] = sum(…: …)` writes the reduction straight into y, where that is all the statement does."""
    builder, body = scope.builder, scope.builder.body
    if not isinstance(found.expr, Read) or found.expr.fill is not None or scope.where is not None or len(body) < 2:
        return False
    declare, nest = body[-2:]
    if not isinstance(declare, Declare) or not isinstance(nest, Nest) or nest.target != found.expr.tensor:
        return False
    covers = {_plain(part) for part in found.expr.index} == {_plain(part) for part in index}
    box = len(scope.loops) == len(index) and not any(loop.extent.terms for loop in scope.loops.values())
    if not covers or not box or found not in scope.hoisted.values():
        return False
    del body[-2:], builder.tensors[nest.target]
    id_ = builder.local(scope.base, shape, found.typed.name)
    body.append(Declare(id_, declare.init, scope.source))
    body.append(replace(nest, target=id_, at=index))
    scope.frame.names[scope.base] = TensorRef(id_)
    return True


def _plain(index: Index) -> str | None:
    match index:
        case Index(((Iter(name), 1),), 0):
            return name
        case _:
            return None


def _declared(
    scope: Scope, name: str, index: tuple[Index, ...], written: Typed, pos: s.Pos, *, literal: bool
) -> str:
    """Id of a declared tensor that is about to be written; one that others hold is copied first.

    The first write settles an element type that is open, unless it writes a literal."""
    builder = scope.builder
    id_ = tensor_id(scope, name, pos)
    shape = builder.tensors[id_].shape
    if len(index) != len(shape):
        given = f"{len(index)} {'index is' if len(index) == 1 else 'indices are'} given"
        builder.fail(f"{name} has {len(shape)} axes {list(shape)}, but {given}", pos)
    if id_ in builder.pending:
        start = builder.pending[id_]
        typed = written if start is None else promote(start, written)
        if literal:
            builder.pending[id_] = typed
        else:
            builder.settle(id_, Typed(strong(typed)))
    if id_ not in builder.shared:
        return id_
    builder.typed(id_)
    copy = builder.local(name, shape, builder.tensors[id_].dtype)
    if id_ in builder.partial:
        builder.partial.add(copy)
    builder.body.append(Declare(copy, id_, scope.source))
    scope.frame.names[name] = TensorRef(copy)
    return copy


# statements on whole tensors


def run_assign(builder: Builder, frame: Frame, statement: s.Assign) -> None:
    """`y = expression` on whole tensors, or a single element assignment without iterators."""
    name, declared = statement.target.name, statement.target.name in frame.declared
    element = isinstance(statement.target, s.Subscript) and (statement.target.index or declared)
    if element or (statement.op != "=" and (declared or isinstance(statement.target, s.Subscript))):
        _nest(builder, frame, Scope(builder, frame, builder.source(statement.pos), name), statement)
        return
    if statement.op != "=":
        shown = {"+": "+", "*": "*"}.get(statement.op)
        hint = f"write {name} = {name} {shown} …, or " if shown and isinstance(frame.lookup(name), TensorRef) else ""
        builder.fail(f"a reduction needs iterators: {hint}for i<N: {name}[] {statement.op}= x[i]", statement.pos)
    assignable(builder, frame, name, statement.pos)
    result = whole(builder, frame, statement.value, name)
    shape = builder.tensors[result.id].shape
    if isinstance(statement.target, s.Subscript) and shape:
        builder.fail(f"{name}[] has no axes, but the right side has shape {list(shape)}", statement.pos)
    bind(builder, frame, name, result, statement.pos)


def bind(builder: Builder, frame: Frame, name: str, entry: TensorRef, pos: s.Pos) -> None:
    """Makes a name mean a tensor from here on."""
    assignable(builder, frame, name, pos)
    frame.names[name] = entry
    frame.declared.discard(name)
    if any(frame.names.get(other) == entry for other in frame.declared):
        builder.shared.add(entry.id)


def run_unpack(builder: Builder, frame: Frame, statement: s.Unpack) -> None:
    if not isinstance(statement.value, s.Call):
        builder.fail("(a, b) = … needs a call with several results", statement.pos)
    results = results_of(builder, frame, statement.value)
    if len(results) != len(statement.names):
        given = f"{statement.value.name}() gives {len(results)} result{'' if len(results) == 1 else 's'}"
        builder.fail(f"{given}, not {len(statement.names)}", statement.pos)
    for name, result in zip(statement.names, results, strict=True):
        bind(builder, frame, name, result, statement.pos)


def whole(builder: Builder, frame: Frame, expr: s.Expr, name: str) -> TensorRef:
    """A whole-tensor expression: pointwise work on tensors of one shape and scalars, with calls anywhere."""
    match expr:
        case s.Name() if not is_known(builder, frame, expr, frame.iterators):
            scope = Scope(builder, frame, builder.source(expr.pos), name)
            if scope.iterator(expr.name) is not None:
                return _pointwise(builder, frame, expr, name)
            return TensorRef(tensor_id(scope, expr.name, expr.pos))
        case s.Conditional(then, test, orelse) if is_known(builder, frame, test, frame.iterators):
            return whole(builder, frame, then if choose(builder, frame, test) else orelse, name)
        case s.Call() if is_function(builder, expr.name):
            return _single(builder, frame, expr)
        case _:
            return _pointwise(builder, frame, expr, name)


def results_of(builder: Builder, frame: Frame, expr: s.Call) -> tuple[TensorRef, ...]:
    """All results of a call whose arguments are whole-tensor expressions."""
    return call(builder, frame, expr, lambda arg, name: whole(builder, frame, arg, name).id)


def _single(builder: Builder, frame: Frame, expr: s.Call) -> TensorRef:
    results = results_of(builder, frame, expr)
    if len(results) != 1:
        builder.fail(f"{expr.name}() gives {len(results)} results: write (a, b) = {expr.name}(…)", expr.pos)
    return results[0]


def _pointwise(builder: Builder, frame: Frame, expr: s.Expr, name: str) -> TensorRef:
    """Runs the calls inside first, then one nest over the common shape."""
    local = frame.scratch()
    plain = _without_calls(builder, frame, local, expr)
    tensors = _named(local, plain)
    shapes = {builder.tensors[ref.id].shape for _, ref in tensors} - {()}
    if len(shapes) > 1:
        listed = ", ".join(f"{n.partition('@')[0]} {list(builder.tensors[ref.id].shape)}" for n, ref in tensors)
        builder.fail(f"a statement on whole tensors needs equal shapes or scalars, but here are {listed}; "
                     "write the nest with iterators", expr.pos)  # fmt: skip
    shape = next(iter(shapes), ())
    scope = Scope(builder, local, builder.source(expr.pos), name)
    loops = tuple(scope.add(f"%{axis}", f"i{axis}", ix.constant(size)) for axis, size in enumerate(shape))
    at = tuple(ix.iterator(loop.name) for loop in loops)
    scope.whole = (at, shape)
    found = value(scope, plain)
    if retarget(scope, found, at, shape):
        entry = local.names[name]
        assert isinstance(entry, TensorRef)
        return entry
    id_ = builder.local(name, shape, strong(found.typed))
    builder.body.append(Declare(id_, None, scope.source))
    builder.body.append(Nest(loops, None, id_, at, "=", found.expr, scope.source))
    return TensorRef(id_)


def _named(frame: Frame, expr: s.Expr) -> list[tuple[str, TensorRef]]:
    found: dict[str, TensorRef] = {}
    for name in _bare_names(expr):
        entry = frame.lookup(name)
        if isinstance(entry, TensorRef):
            found[name] = entry
    return list(found.items())


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
