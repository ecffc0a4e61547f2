"""Declarations: what the text takes from the captured program, and what it gives back."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from .. import indices as ix
from .. import syntax as s
from ..bindings import Constant, TensorType
from ..dtypes import DTYPES, WEAK, Typed, kind
from ..program import Const, Declare, External, Fact, Loop, Output, Range, Read, View
from .assign import bind, whole
from .constants import attribute, evaluate, integer, interpolate, is_known, missing
from .nest import Scope, add_loops, constant, strong, tensor_id, value
from .scope import Builder, Frame, Known, TensorRef
from .shapes import bind_shape, constant_or_none, sizes

_KINDS = {"float", "int", "bool"}
_NEW_DTYPE = {"float": "f32", "int": "i64", "bool": "bool"}


def set_known(builder: Builder, frame: Frame, name: str, found: Constant, pos: s.Pos) -> None:
    if isinstance(frame.names.get(name), TensorRef):
        builder.fail(f"{name} is a tensor; a compile-time value needs another name", pos)
    if name in frame.iterators:
        builder.fail(f"{name} is an iterator here", pos)
    frame.names[name] = Known(found)
    if frame.is_top:
        frame.shared[name] = Known(found)


def run_attr(builder: Builder, frame: Frame, statement: s.Attr) -> None:
    key = interpolate(builder, frame, statement.key, statement.pos)
    found, given = attribute(builder, key)
    if (not found or given is None) and statement.default is not None:
        given = evaluate(builder, frame, statement.default)
    elif not found:
        hint = "" if key.partition(".")[0] in ("arg", "const", "self") else (
            '; a path starts with "arg.", "const." or "self."'
        )  # fmt: skip
        builder.fail(missing(key, list(builder.bindings.attrs)) + hint, statement.pos)
    set_known(builder, frame, statement.name, given, statement.pos)


def _dtype(builder: Builder, written: str | None, pos: s.Pos) -> str | None:
    """Storage type that a declaration names; `float`, `int` and `bool` name only the kind."""
    if written is not None and written not in DTYPES and written not in _KINDS:
        builder.fail(f"unknown element type {written}; there are float, int, {', '.join(DTYPES)}", pos)
    return written


def _captured(builder: Builder, name: str, key: str, table: str, written: str | None, pos: s.Pos) -> TensorType:
    found = (builder.bindings.inputs if table == "input" else builder.bindings.state).get(key)
    if found is None:
        known = list(builder.bindings.inputs if table == "input" else builder.bindings.state)
        builder.fail(missing(key, known), pos)
    dtype = _dtype(builder, written, pos)
    actual = kind(found.dtype) if dtype in _KINDS else found.dtype
    if dtype is not None and actual != dtype:
        builder.fail(f"{name} is {found.dtype}, not {dtype}", pos)
    return found


def _external(
    builder: Builder, frame: Frame, name: str, key: str, table: Literal["input", "state"], found: TensorType, pos: s.Pos
) -> None:
    for entry_id, tensor in builder.tensors.items():
        outside = tensor.external
        if outside is not None and outside.kind == table and outside.key == key and not entry_id.endswith("~"):
            bind(builder, frame, name, TensorRef(entry_id), pos)
            return
    external = External(table, key, found.strides, found.storage, found.offset)
    bind(builder, frame, name, builder.external(name, found.shape, found.dtype, external), pos)


def run_input(builder: Builder, frame: Frame, statement: s.Input) -> None:
    key = statement.key or statement.name
    found = _captured(builder, statement.name, key, "input", statement.dtype, statement.pos)
    _external(builder, frame, statement.name, key, "input", found, statement.pos)
    bind_shape(builder, frame, statement.shape, found.shape, f"input {statement.name}", statement.pos)
    if statement.low is not None or statement.unique:
        _range(builder, frame, statement)


def _range(builder: Builder, frame: Frame, statement: s.Input) -> None:
    id_ = tensor_id(Scope(builder, frame, builder.source(statement.pos), ""), statement.name, statement.pos)
    if kind(builder.tensors[id_].dtype) != "int":
        builder.fail("only an integer input can be given a range or called unique", statement.pos)
    low = constant_or_none(builder, frame, statement.low)
    high = constant_or_none(builder, frame, statement.high)
    builder.ranges.append(Range(id_, low, high, statement.unique, builder.source(statement.pos)))


def run_param(builder: Builder, frame: Frame, statement: s.Param) -> None:
    key = interpolate(builder, frame, statement.key, statement.pos)
    found = _captured(builder, statement.name, key, "state", statement.dtype, statement.pos)
    _external(builder, frame, statement.name, key, "state", found, statement.pos)
    bind_shape(builder, frame, statement.shape, found.shape, f'param {statement.name} = "{key}"', statement.pos)


def run_draw(builder: Builder, frame: Frame, statement: s.Draw) -> None:
    draws = builder.bindings.draws
    if statement.first is None or statement.last is None:
        first, count = builder.draws, 0
        last = first + 1
    else:
        first = integer(builder, frame, statement.first, "the first draw")
        last = integer(builder, frame, statement.last, "the last draw")
        count = last - first
    if last > len(draws) or first >= last:
        builder.fail(f"the program draws {len(draws)} random tensors, so there is no draw {last - 1}", statement.pos)
    builder.draws = last
    one = draws[first]
    if any(draw.shape != one.shape or draw.dtype != one.dtype for draw in draws[first:last]):
        builder.fail("draws of different shapes cannot be stacked", statement.pos)
    shape = (count, *one.shape) if count else one.shape
    found = builder.external(statement.name, shape, one.dtype, External("draw", str(first), count=count))
    bind(builder, frame, statement.name, found, statement.pos)
    bind_shape(builder, frame, statement.shape, one.shape, f"draw {statement.name}", statement.pos)


def run_tensor(builder: Builder, frame: Frame, statement: s.TensorDecl) -> None:
    name, pos = statement.name, statement.pos
    if isinstance(frame.names.get(name), Known):
        builder.fail(f"{name} is a size or compile-time value; a tensor needs another name", pos)
    shape = sizes(builder, frame, statement.shape, name)
    written = _dtype(builder, statement.dtype, pos)
    dtype = _NEW_DTYPE.get(written, written) if written is not None else None
    init: Const | str | None = None
    typed: Typed | None = None
    if statement.init is not None and is_known(builder, frame, statement.init):
        scope = Scope(builder, frame, builder.source(pos), name)
        given = constant(scope, evaluate(builder, frame, statement.init), pos)
        assert isinstance(given.expr, Const)
        init, typed = given.expr, given.typed
    elif statement.init is not None:
        init = whole(builder, frame, statement.init, name).id
        typed = builder.typed(init)
        if builder.tensors[init].shape not in (shape, ()):
            builder.fail(f"{name} is {list(shape)}, but its start value is {list(builder.tensors[init].shape)}", pos)
    id_ = builder.local(name, shape, dtype)
    if dtype is None:
        _open_dtype(builder, id_, typed)
    builder.body.append(Declare(id_, init, builder.source(pos)))
    frame.names[name] = TensorRef(id_)
    frame.declared.add(name)


def _open_dtype(builder: Builder, id_: str, typed: Typed | None) -> None:
    """Leaves the dtype to the first write, unless the start value settles it."""
    if typed is not None and typed.level != WEAK:
        builder.settle(id_, Typed(strong(typed)))
    else:
        builder.pending[id_] = typed


def run_shape(builder: Builder, frame: Frame, statement: s.ShapeDecl) -> None:
    id_ = tensor_id(Scope(builder, frame, builder.source(statement.pos), ""), statement.name, statement.pos)
    bind_shape(builder, frame, statement.shape, builder.tensors[id_].shape, statement.name, statement.pos)


def run_view(builder: Builder, frame: Frame, statement: s.ViewDecl) -> None:
    scope = Scope(builder, frame, builder.source(statement.pos), statement.name)
    loops = add_loops(scope, statement.heads)
    if any(loop.extent.terms for loop in loops):
        builder.fail("the extents of a view are compile-time values", statement.pos)
    found = value(scope, statement.read)
    if not isinstance(found.expr, Read):
        builder.fail("a view is one read of a tensor", statement.pos)
    id_ = builder.local(statement.name, tuple(loop.extent.const for loop in loops), strong(found.typed))
    builder.body.append(View(id_, loops, found.expr, scope.source))
    bind(builder, frame, statement.name, TensorRef(id_), statement.pos)


def run_fact(builder: Builder, frame: Frame, statement: s.FactDecl) -> None:
    """`fact m[0, i, j] == (j <= i)`: names that mean nothing else run over the axes that they index."""
    scope = Scope(builder, frame, builder.source(statement.pos), "fact")
    loops: dict[str, Loop] = {}
    target = _subject(builder, frame, statement.claim, loops)
    if target is None:
        builder.fail("a fact is a claim about the elements of a captured tensor", statement.pos)
    scope.loops = loops
    found = value(scope, statement.claim)
    if found.typed.name != "bool":
        builder.fail("a fact is a comparison", statement.pos)
    builder.facts.append(Fact(target, tuple(loops.values()), found.expr, scope.source))


def _subject(builder: Builder, frame: Frame, expr: s.Expr, loops: dict[str, Loop]) -> str | None:
    """Finds the captured tensor of a claim, and the iterators that its index introduces."""
    match expr:
        case s.Subscript(name, index):
            entry = frame.lookup(name)
            if not isinstance(entry, TensorRef) or len(index) != len(builder.tensors[entry.id].shape):
                return None
            for part, size in zip(index, builder.tensors[entry.id].shape, strict=True):
                if isinstance(part, s.Name) and frame.lookup(part.name) is None:
                    loops.setdefault(part.name, Loop(part.name, ix.constant(size)))
            return entry.id
        case s.Comparison(first, rest):
            parts = [first, *(right for _, right in rest)]
        case s.Binary(_, left, right):
            parts = [left, right]
        case s.Unary(_, arg):
            parts = [arg]
        case s.Logic(_, args) | s.Call(_, args, _):
            parts = list(args)
        case _:
            parts = []
    found = [_subject(builder, frame, part, loops) for part in parts]
    return next((id_ for id_ in found if id_ is not None), None)


def run_output(builder: Builder, frame: Frame, statement: s.OutputDecl) -> None:
    if builder.calls or not (frame.is_top or not frame.iterators):
        builder.fail("outputs are declared at top level", statement.pos)
    values = statement.value.items if isinstance(statement.value, s.TupleOf) else (statement.value,)
    for expr in values:
        builder.outputs.append(_output(builder, frame, statement, expr))


def _output(builder: Builder, frame: Frame, statement: s.OutputDecl, expr: s.Expr) -> Output:
    key = "" if statement.key is None else interpolate(builder, frame, statement.key, statement.pos)
    written = _dtype(builder, statement.dtype, statement.pos)
    dtype = _NEW_DTYPE.get(written, written) if written is not None else None
    source = builder.source(statement.pos)
    if is_known(builder, frame, expr):
        number = evaluate(builder, frame, expr)
        if isinstance(number, tuple):
            builder.fail("an output is a tensor or one number", statement.pos)
        return Output(statement.slot, key, None, number, dtype or "", source)
    name = expr.name if isinstance(expr, s.Name) else "output"
    id_ = whole(builder, frame, expr, name).id
    output = Output(statement.slot, key or name, id_, None, dtype or builder.typed(id_).name, source)
    if statement.unordered is not None:
        axis = _axis(builder, frame, statement.unordered, id_)
        ids = tuple(tensor_id(Scope(builder, frame, source, ""), n, statement.pos) for n in statement.companions)
        output = replace(output, unordered=(axis, ids))
    if statement.indexes is not None:
        of, along, giving = statement.indexes
        scope = Scope(builder, frame, source, "")
        of_id = tensor_id(scope, of, statement.pos)
        axis = _axis(builder, frame, along, of_id)
        output = replace(output, indexes=(of_id, axis, tensor_id(scope, giving, statement.pos)))
    return output


def _axis(builder: Builder, frame: Frame, expr: s.Expr, id_: str) -> int:
    rank = len(builder.tensors[id_].shape)
    axis = integer(builder, frame, expr, "an axis")
    if not -rank <= axis < rank:
        builder.fail(f"there is no axis {axis}: the tensor has {rank}", expr.pos)
    return axis % rank
