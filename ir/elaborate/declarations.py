"""Declarations: what the text takes from the captured program, and what it gives back."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from .. import indices as ix
from .. import syntax as s
from ..bindings import Constant, TensorType
from ..dtypes import DTYPES, WEAK, Typed, kind
from ..errors import IRError
from ..program import Const, Declare, External, Fact, Loop, Nest, Output, Range, Read, Source, View
from .assign import assignable, bind, whole
from .constants import attribute, evaluate, integer, interpolate, is_known, missing
from .nest import Scope, add_loops, is_whole, read_of, tensor_id
from .scope import Builder, Frame, Known, PoisonedError, TensorRef
from .shapes import bind_shape, sizes
from .values import constant, strong, value

_KINDS = {"float", "int", "bool"}
_NEW_DTYPE = {"float": "f32", "int": "i64", "bool": "bool"}


def set_known(builder: Builder, frame: Frame, name: str, found: Constant, pos: s.Pos) -> None:
    match frame.names.get(name):
        case TensorRef():
            builder.fail(f"{name} is a tensor; a compile-time value needs another name", pos)
        case Known(value, fixed=True):
            builder.fail(f"{name} is already a size or repeat variable, {value!r}; this needs another name", pos)
        case _:
            pass
    if name in frame.iterators:
        builder.fail(f"{name} is an iterator here; a compile-time value needs another name", pos)
    frame.names[name] = Known(found)
    if frame.place == "top":
        frame.shared[name] = Known(found)


def run_attr(builder: Builder, frame: Frame, statement: s.Attr) -> None:
    key = interpolate(builder, frame, statement.key, statement.pos)
    found, given = attribute(builder, key)
    if (not found or given is None) and statement.default is not None:
        given = evaluate(builder, frame, statement.default)
    elif not found:
        builder.fail(_no_attribute(builder, key), statement.pos)
    set_known(builder, frame, statement.name, given, statement.pos)


def _no_attribute(builder: Builder, key: str) -> str:
    root, _, path = key.partition(".")
    if path in builder.bindings.state and root == "self":
        return f"{key!r} is a tensor: write param name = {path!r}[…]"
    if path in builder.bindings.inputs and root == "arg":
        return f"{key!r} is a tensor: write input {path}[…]"
    hint = "" if root in ("arg", "const", "self") else '; a path starts with "arg.", "const." or "self."'
    return missing(key, list(builder.bindings.attrs)) + hint


def _dtype(builder: Builder, written: str | None, pos: s.Pos) -> str | None:
    """Storage type that a declaration names; `float`, `int` and `bool` name only the kind."""
    if written is not None and written not in DTYPES and written not in _KINDS:
        builder.fail(f"unknown element type {written}; there are float, int, {', '.join(DTYPES)}", pos)
    return written


def _new_dtype(builder: Builder, written: str | None, pos: s.Pos) -> str | None:
    """Storage type of a tensor that the text makes: a kind stands for its usual type."""
    named = _dtype(builder, written, pos)
    return None if named is None else _NEW_DTYPE.get(named, named)


def _check_dtype(builder: Builder, name: str, actual: str, written: str | None, pos: s.Pos) -> None:
    named = _dtype(builder, written, pos)
    if named is not None and named not in (actual, kind(actual)):
        builder.fail(f"{name} is {actual}, not {named}", pos)


def _captured(builder: Builder, name: str, key: str, table: str, written: str | None, pos: s.Pos) -> TensorType:
    found = (builder.bindings.inputs if table == "input" else builder.bindings.state).get(key)
    if found is None:
        path = f"arg.{key}" if table == "input" else key if key.startswith("const.") else f"self.{key}"
        if path in builder.bindings.attrs:
            builder.fail(f"{key!r} is no tensor: write attr {name} = {path!r}", pos)
        known = list(builder.bindings.inputs if table == "input" else builder.bindings.state)
        builder.fail(missing(key, known), pos)
    _check_dtype(builder, name, found.dtype, written, pos)
    return found


def _external(
    builder: Builder, frame: Frame, name: str, key: str, table: Literal["input", "state"], found: TensorType, pos: s.Pos
) -> None:
    id_ = builder.externals.get((table, key))
    if id_ is None:
        external = External(table, key, found.strides, found.storage, found.offset)
        id_ = builder.external(name, found.shape, found.dtype, external).id
        builder.externals[table, key] = id_
    bind(builder, frame, name, TensorRef(id_), pos)


def run_input(builder: Builder, frame: Frame, statement: s.Input) -> None:
    key = statement.name if statement.key is None else interpolate(builder, frame, statement.key, statement.pos)
    found = _captured(builder, statement.name, key, "input", statement.dtype, statement.pos)
    _external(builder, frame, statement.name, key, "input", found, statement.pos)
    bind_shape(builder, frame, statement.shape, found.shape, f"input {statement.name}", statement.pos)
    if statement.low is not None or statement.unique:
        if kind(found.dtype) != "int":
            builder.fail(f"only an integer input has a range or is unique, {statement.name} is {found.dtype}",
                         statement.pos)  # fmt: skip
        builder.ranged.append((frame, statement, builder.externals["input", key], builder.source(statement.pos)))


def run_ranges(builder: Builder) -> None:
    """Ranges of inputs, once everything that they may name is bound."""
    for frame, statement, id_, source in builder.ranged:
        try:
            low, high = (
                None if bound is None else integer(builder, frame, bound, "a bound")
                for bound in (statement.low, statement.high)
            )
            if low is not None and high is not None and low >= high:
                builder.fail(f"the range {low}..{high} of {statement.name} is empty", statement.pos)
        except IRError as error:
            builder.note(error)
        except PoisonedError:
            pass
        else:
            builder.ranges.append(Range(id_, low, high, statement.unique, source))


def run_param(builder: Builder, frame: Frame, statement: s.Param) -> None:
    key = interpolate(builder, frame, statement.key, statement.pos)
    found = _captured(builder, statement.name, key, "state", statement.dtype, statement.pos)
    _external(builder, frame, statement.name, key, "state", found, statement.pos)
    bind_shape(builder, frame, statement.shape, found.shape, f'param {statement.name} = "{key}"', statement.pos)


def run_draw(builder: Builder, frame: Frame, statement: s.Draw) -> None:
    draws = builder.bindings.draws
    if not builder.once:
        builder.fail("a draw runs once: stack the draws of a scan before it, draw z = first..last [shape]",
                     statement.pos)  # fmt: skip
    if statement.first is None or statement.last is None:
        first, count = builder.draws, 0
        last = first + 1
    else:
        first = integer(builder, frame, statement.first, "the first draw")
        last = integer(builder, frame, statement.last, "the last draw")
        count = last - first
        if first < 0 or count < 1:
            builder.fail(f"the range of draws {first}..{last} is empty", statement.pos)
    if last > len(draws):
        builder.fail(f"the program draws {len(draws)} random tensors, so there is no draw {last - 1}", statement.pos)
    builder.draws = last
    one = draws[first]
    if any(draw.shape != one.shape or draw.dtype != one.dtype for draw in draws[first:last]):
        shapes = ", ".join(str(list(draw.shape)) for draw in draws[first:last])
        builder.fail(f"draws of different shapes cannot be stacked: {shapes}", statement.pos)
    _check_dtype(builder, statement.name, one.dtype, statement.dtype, statement.pos)
    shape = (count, *one.shape) if count else one.shape
    found = builder.external(statement.name, shape, one.dtype, External("draw", str(first), count=count))
    bind(builder, frame, statement.name, found, statement.pos)
    bind_shape(builder, frame, statement.shape, one.shape, f"draw {statement.name}", statement.pos)


def run_tensor(builder: Builder, frame: Frame, statement: s.TensorDecl) -> None:
    name, pos, source = statement.name, statement.pos, builder.source(statement.pos)
    assignable(builder, frame, name, pos)
    shape = sizes(builder, frame, statement.shape, name)
    dtype = _new_dtype(builder, statement.dtype, pos)
    start: Const | str | None = None
    typed: Typed | None = None
    if statement.init is not None and is_known(builder, frame, statement.init):
        scope = Scope(builder, frame, source, name)
        given = constant(scope, evaluate(builder, frame, statement.init), pos)
        assert isinstance(given.expr, Const)
        start, typed = given.expr, given.typed
        if dtype is not None and kind(dtype) != "float" and not is_whole(start.value):
            builder.fail(f"{name} is {dtype} and cannot hold {start.value}", pos)
    elif statement.init is not None:
        start = whole(builder, frame, statement.init, name).id
        typed = builder.typed(start)
        if builder.tensors[start].shape not in (shape, ()):
            builder.fail(f"{name} is {list(shape)}, but its start value is {list(builder.tensors[start].shape)}", pos)
    id_ = builder.local(name, shape, dtype)
    if dtype is None:
        _open_dtype(builder, id_, typed)
    _start(builder, id_, start, source)
    frame.names[name] = TensorRef(id_)
    frame.declared.add(name)


def _start(builder: Builder, id_: str, start: Const | str | None, source: Source) -> None:
    """Declares a tensor; a start value of another shape or type is written into it."""
    tensor = builder.tensors[id_]
    if start is None:
        builder.partial.add(id_)
    if not isinstance(start, str) or (builder.tensors[start].shape, builder.tensors[start].dtype) == (
        tensor.shape,
        tensor.dtype,
    ):
        if start in builder.partial:
            builder.partial.add(id_)
        builder.body.append(Declare(id_, start, source))
        return
    loops = tuple(Loop(f"i{axis}", ix.constant(size)) for axis, size in enumerate(tensor.shape))
    at = tuple(ix.iterator(loop.name) for loop in loops)
    read = Read(start, at if builder.tensors[start].shape else ())
    builder.body.append(Declare(id_, None, source))
    builder.body.append(Nest(loops, None, id_, at, "=", read, source))


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
    if not isinstance(statement.read, s.Subscript):
        builder.fail("a view is one read of a tensor, as in view y[j<N, i<M] = x[i, j]", statement.pos)
    found = read_of(scope, statement.read)
    if any(True for part in found.index for _ in ix.index_reads(part)):
        builder.fail("a view's index cannot read a tensor; write a nest", statement.pos)
    id_ = builder.local(statement.name, tuple(loop.extent.const for loop in loops), builder.typed(found.tensor).name)
    builder.body.append(View(id_, loops, found, scope.source))
    builder.shared.add(found.tensor)
    if found.tensor in builder.partial:
        builder.partial.add(id_)
    bind(builder, frame, statement.name, TensorRef(id_), statement.pos)


def run_fact(builder: Builder, frame: Frame, statement: s.FactDecl) -> None:
    """`fact m[0, i, j] == (j <= i)`: names that mean nothing else run over the axes that they index."""
    scope = Scope(builder, frame, builder.source(statement.pos), "fact")
    loops: dict[str, Loop] = {}
    target = _subject(builder, frame, statement.claim, loops)
    outside = None if target is None else builder.tensors[target].external
    if target is None or outside is None or outside.kind != "state":
        builder.fail("a fact is a claim about the elements of captured state, as in fact m[i, j] == (j <= i)",
                     statement.pos)  # fmt: skip
    for key, loop in loops.items():
        scope.add(key, loop.name, loop.extent)
    before = len(builder.body)
    found = value(scope, statement.claim)
    if found.typed.name != "bool" or len(builder.body) > before:
        builder.fail("a fact is a comparison without reductions", statement.pos)
    builder.facts.append(Fact(target, tuple(scope.loops.values()), found.expr, scope.source))


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
    if frame.place != "top":
        builder.fail("outputs are declared at top level", statement.pos)
    values = statement.value.items if isinstance(statement.value, s.TupleOf) else (statement.value,)
    if not values:
        builder.fail("an output is a tensor or one number", statement.pos)
    for expr in values:
        builder.outputs.append(_output(builder, frame, statement, expr))


def _output(builder: Builder, frame: Frame, statement: s.OutputDecl, expr: s.Expr) -> Output:
    key = "" if statement.key is None else interpolate(builder, frame, statement.key, statement.pos)
    dtype = _new_dtype(builder, statement.dtype, statement.pos)
    source = builder.source(statement.pos)
    if is_known(builder, frame, expr):
        number = evaluate(builder, frame, expr)
        if isinstance(number, tuple):
            builder.fail(f"an output is a tensor or one number, but this is {number!r}", statement.pos)
        return Output(statement.slot, key, None, number, dtype or "", source)
    name = expr.name if isinstance(expr, s.Name) else "output"
    id_ = whole(builder, frame, expr, name).id
    builder.shared.add(id_)
    _check_slot(builder, statement, key, id_)
    output = Output(statement.slot, key or name, id_, None, dtype or builder.typed(id_).name, source)
    if statement.unordered is not None:
        axis = _axis(builder, frame, statement.unordered, id_)
        ids = tuple(tensor_id(Scope(builder, frame, source, ""), n, statement.pos) for n in statement.companions)
        output = replace(output, unordered=(axis, ids))
    if statement.indexes is not None:
        output = replace(output, indexes=_indexes(builder, frame, statement, id_))
    return output


def _check_slot(builder: Builder, statement: s.OutputDecl, key: str, id_: str) -> None:
    """A mutated entry exists and keeps its shape."""
    if statement.slot == "result":
        return
    table = builder.bindings.state if statement.slot == "state" else builder.bindings.inputs
    if key not in table:
        builder.fail(missing(key, list(table)), statement.pos)
    shape = builder.tensors[id_].shape
    if table[key].shape != shape:
        builder.fail(f"{key!r} has shape {list(table[key].shape)}, but this is {list(shape)}", statement.pos)


def _indexes(builder: Builder, frame: Frame, statement: s.OutputDecl, id_: str) -> tuple[str, int, str]:
    assert statement.indexes is not None
    of, along, giving = statement.indexes
    scope = Scope(builder, frame, builder.source(statement.pos), "")
    of_id, giving_id = tensor_id(scope, of, statement.pos), tensor_id(scope, giving, statement.pos)
    if kind(builder.typed(id_).name) != "int":
        builder.fail(f"an index result holds integers, but this is {builder.typed(id_).name}", statement.pos)
    shapes = [list(builder.tensors[tensor].shape) for tensor in (id_, giving_id)]
    if shapes[0] != shapes[1]:
        builder.fail(f"the indices have shape {shapes[0]}, but {giving} has {shapes[1]}", statement.pos)
    return of_id, _axis(builder, frame, along, of_id), giving_id


def _axis(builder: Builder, frame: Frame, expr: s.Expr, id_: str) -> int:
    rank = len(builder.tensors[id_].shape)
    axis = integer(builder, frame, expr, "an axis")
    if not -rank <= axis < rank:
        builder.fail(f"there is no axis {axis}: the tensor has {rank}", expr.pos)
    return axis % rank
