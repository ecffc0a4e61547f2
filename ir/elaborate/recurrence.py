"""`scan` and `if?`: control that stays in the program."""

from __future__ import annotations

from collections.abc import Callable

from .. import syntax as s
from ..dtypes import kind
from ..program import Branch, Carry, Emit, Scan, Statement, Tensor
from .assign import bind, whole
from .constants import integer
from .scope import Builder, Entry, Frame, Known, TensorRef

Runner = Callable[[Builder, Frame, tuple[s.Stmt, ...]], None]


def run_scan(builder: Builder, frame: Frame, statement: s.ScanStmt, run: Runner) -> None:
    """A sequential loop: its body is elaborated once and kept as a node with its trip count."""
    trip = integer(builder, frame, statement.extent, "the trip count of a scan")
    if trip < 0:
        builder.fail(f"the trip count of a scan is {trip}; it cannot be negative", statement.pos)
    if statement.iterator in frame.iterators or statement.iterator in frame.names:
        builder.fail(f"{statement.iterator} already means something here; the scan's iterator needs another name",
                     statement.pos)  # fmt: skip
    starts = {name: whole(builder, frame, expr, name).id for name, expr in statement.carries}
    inner = frame.fork(frozen=True)
    iterator = builder.fresh(f"@{statement.iterator}")
    inner.iterators[statement.iterator] = (iterator, trip)
    inner.nexts, inner.emits = {}, {}
    carried = {name: _like(builder, id_, name) for name, id_ in starts.items()}
    for name, id_ in carried.items():
        inner.names[name] = TensorRef(id_)
    known = len(builder.problems)
    outer, builder.body = builder.body, []
    try:
        run(builder, inner, statement.body)
    finally:
        body, builder.body = builder.body, outer
    if len(builder.problems) > known:
        builder.fail("the scan's body has errors", statement.pos)
    _finish(builder, frame, statement, (iterator, trip), starts, carried, inner, tuple(body))


def _like(builder: Builder, id_: str, name: str) -> str:
    builder.typed(id_)
    tensor = builder.tensors[id_]
    return builder.local(name, tensor.shape, tensor.dtype)


def _finish(
    builder: Builder, frame: Frame, statement: s.ScanStmt, loop: tuple[str, int], starts: dict[str, str],
    carried: dict[str, str], inner: Frame, body: tuple[Statement, ...],
) -> None:  # fmt: skip
    assert inner.nexts is not None and inner.emits is not None
    carries: list[Carry] = []
    for name, id_ in carried.items():
        following = inner.nexts.get(name, id_)
        shape, wanted = builder.tensors[following].shape, builder.tensors[id_].shape
        if shape != wanted:
            builder.fail(f"next {name} has shape {list(shape)}, but the carry starts as {list(wanted)}", statement.pos)
        _retype(builder, id_, builder.typed(following).name)
        final = _like(builder, id_, name)
        carries.append(Carry(id_, starts[name], following, final))
        bind(builder, frame, name, TensorRef(final), statement.pos)
    emits: list[Emit] = []
    for name, id_ in inner.emits.items():
        dtype = builder.typed(id_).name
        out = builder.local(name, (loop[1], *builder.tensors[id_].shape), dtype)
        emits.append(Emit(id_, out))
        bind(builder, frame, name, TensorRef(out), statement.pos)
    builder.body.append(
        Scan(loop[0], loop[1], statement.reverse, tuple(carries), tuple(emits), body, builder.source(statement.pos))
    )


def _retype(builder: Builder, id_: str, dtype: str) -> None:
    """A carry that starts as an int literal and goes on as a float holds floats."""
    tensor = builder.tensors[id_]
    if kind(tensor.dtype) in ("int", "bool") and kind(dtype) == "float":
        builder.tensors[id_] = Tensor(id_, tensor.shape, dtype)


def run_next(builder: Builder, frame: Frame, statement: s.Next) -> None:
    if frame.nexts is None:
        builder.fail("next stands in the body of a scan", statement.pos)
    frame.nexts[statement.name] = whole(builder, frame, statement.value, statement.name).id


def run_emit(builder: Builder, frame: Frame, statement: s.EmitStmt) -> None:
    if frame.emits is None:
        builder.fail("emit stands in the body of a scan", statement.pos)
    frame.emits[statement.name] = whole(builder, frame, statement.value, statement.name).id


def run_branch(builder: Builder, frame: Frame, statement: s.If, run: Runner) -> None:
    """`if? c:`: both arms are elaborated; names that both define, with equal shapes, escape."""
    condition, body = statement.arms[0]
    chosen = whole(builder, frame, condition, "condition").id
    shape = builder.tensors[chosen].shape
    if shape:
        builder.fail(f"if? needs a rank-0 tensor, but this has shape {list(shape)}", condition.pos)
    then_frame, then = _arm(builder, frame, body, run)
    else_frame, orelse = _arm(builder, frame, statement.orelse, run)
    joins: list[tuple[str, str, str]] = []
    for name in [*then_frame.names, *(n for n in else_frame.names if n not in then_frame.names)]:
        join = _join(builder, frame, name, then_frame.names.get(name), else_frame.names.get(name), statement.pos)
        if join is not None:
            joins.append(join)
    builder.body.append(Branch(chosen, then, orelse, tuple(joins), builder.source(statement.pos)))


def _arm(
    builder: Builder, frame: Frame, body: tuple[s.Stmt, ...], run: Runner
) -> tuple[Frame, tuple[Statement, ...]]:
    inner = frame.fork(frozen=True)
    outer, builder.body = builder.body, []
    try:
        run(builder, inner, body)
    finally:
        made, builder.body = builder.body, outer
    return inner, tuple(made)


def _join(
    builder: Builder, frame: Frame, name: str, then: Entry | None, orelse: Entry | None, pos: s.Pos
) -> tuple[str, str, str] | None:
    if then == orelse or then is None or orelse is None:
        return None
    if isinstance(then, Known) or isinstance(orelse, Known):
        builder.fail(f"{name} is a compile-time value that differs between the arms of if?", pos)
    if not (isinstance(then, TensorRef) and isinstance(orelse, TensorRef)):
        return None
    a, b = builder.tensors[then.id], builder.tensors[orelse.id]
    if a.shape != b.shape:
        builder.fail(f"{name} has shape {list(a.shape)} in one arm and {list(b.shape)} in the other", pos)
    builder.typed(then.id), builder.typed(orelse.id)
    out = builder.local(name, a.shape, builder.tensors[then.id].dtype)
    bind(builder, frame, name, TensorRef(out), pos)
    return then.id, orelse.id, out
