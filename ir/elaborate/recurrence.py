"""`scan` and `if?`: control that stays in the program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from .. import indices as ix
from .. import syntax as s
from ..dtypes import Typed, promote
from ..program import Branch, Carry, Declare, Emit, Loop, Nest, Read, Scan, Source, Statement
from .assign import assignable, bind, whole
from .constants import integer, is_known
from .scope import Builder, Entry, Frame, Known, PoisonedError, TensorRef

Runner = Callable[[Builder, Frame, tuple[s.Stmt, ...]], None]
_MOST_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class _Body:
    """One elaboration of a scan's body: what is carried in (name to id), what comes out."""

    frame: Frame
    carried: dict[str, str]
    statements: list[Statement]

    def following(self, name: str) -> str:
        """Id of what a carry is after a step."""
        assert self.frame.nexts is not None
        return self.frame.nexts.get(name, self.carried[name])


def run_scan(builder: Builder, frame: Frame, statement: s.ScanStmt, run: Runner) -> None:
    """A sequential loop: its body is elaborated once and kept as a node with its trip count."""
    trip = _trip(builder, frame, statement)
    starts: dict[str, str] = {}
    for name, expr in statement.carries:
        if name in starts:
            builder.fail(f"{name} is carried twice", statement.pos)
        starts[name] = whole(builder, frame, expr, name).id
    iterator = builder.fresh(f"@{statement.iterator}")
    types = {name: builder.expected(id_) for name, id_ in starts.items()}
    for _ in range(_MOST_ROUNDS):
        mark = builder.mark()
        body = _body(builder, frame, statement, run, starts, types, (iterator, trip))
        steady = {name: builder.typed(body.following(name)).name for name in starts}
        if steady == types:
            break
        builder.rewind(mark)
        types = steady
    else:
        builder.fail("the types of what this scan carries change from step to step; write casts", statement.pos)
    for name, expr in statement.carries:
        starts[name] = _started(builder, frame, expr, starts[name], types[name], builder.source(statement.pos))
    _finish(builder, frame, statement, (iterator, trip), starts, body)


def _trip(builder: Builder, frame: Frame, statement: s.ScanStmt) -> int:
    trip = integer(builder, frame, statement.extent, "the trip count of a scan")
    if trip < 0:
        builder.fail(f"the trip count of a scan is {trip}; it cannot be negative", statement.pos)
    if statement.iterator in frame.iterators or statement.iterator in frame.names:
        builder.fail(f"{statement.iterator} already means something here; the scan's iterator needs another name",
                     statement.pos)  # fmt: skip
    return trip


def _body(
    builder: Builder, frame: Frame, statement: s.ScanStmt, run: Runner, starts: dict[str, str], types: dict[str, str],
    iterator: tuple[str, int],
) -> _Body:  # fmt: skip
    inner = frame.fork("scan")
    inner.frozen -= starts.keys()
    inner.iterators[statement.iterator] = iterator
    inner.nexts, inner.emits = {}, {}
    inner.carried = {name: builder.tensors[id_].shape for name, id_ in starts.items()}
    carried = {name: builder.local(name, builder.tensors[id_].shape, types[name]) for name, id_ in starts.items()}
    inner.names.update({name: TensorRef(id_) for name, id_ in carried.items()})
    statements = _apart(builder, inner, statement.body, run)
    return _Body(inner, carried, statements)


def _apart(builder: Builder, inner: Frame, body: tuple[s.Stmt, ...], run: Runner) -> list[Statement]:
    """Elaborates statements into a list of their own."""
    known, once = len(builder.problems), builder.once
    outer, builder.body = builder.body, []
    builder.once = False
    try:
        run(builder, inner, body)
    finally:
        made, builder.body = builder.body, outer
        builder.once = once
    if len(builder.problems) > known:
        raise PoisonedError
    return made


def _started(builder: Builder, frame: Frame, expr: s.Expr, id_: str, dtype: str, source: Source) -> str:
    """The start of a carry, in the type that is carried: one whose type was open takes it, else it is converted."""
    if id_ in builder.pending:
        builder.settle(id_, Typed(dtype))
    elif is_known(builder, frame, expr):
        builder.tensors[id_] = replace(builder.tensors[id_], dtype=dtype)
    return converted(builder, builder.body, id_, dtype, source)


def converted(builder: Builder, body: list[Statement], id_: str, dtype: str, source: Source) -> str:
    """Id of a tensor's values in a storage type; a nest at the end of `body` makes them where they are not."""
    tensor = builder.tensors[id_]
    if builder.typed(id_).name == dtype:
        return id_
    copy = builder.local(tensor.name.partition(".")[0], tensor.shape, dtype)
    loops = tuple(Loop(f"i{axis}", ix.constant(size)) for axis, size in enumerate(tensor.shape))
    at = tuple(ix.iterator(loop.name) for loop in loops)
    body.append(Declare(copy, None, source))
    body.append(Nest(loops, None, copy, at, "=", Read(id_, at), source))
    return copy


def _finish(
    builder: Builder, frame: Frame, statement: s.ScanStmt, loop: tuple[str, int], starts: dict[str, str], body: _Body
) -> None:
    carries: list[Carry] = []
    for name, id_ in body.carried.items():
        tensor = builder.tensors[id_]
        final = builder.local(name, tensor.shape, tensor.dtype)
        carries.append(Carry(id_, starts[name], body.following(name), final))
        bind(builder, frame, name, TensorRef(final), statement.pos)
    emits: list[Emit] = []
    for name, id_ in (body.frame.emits or {}).items():
        dtype = builder.typed(id_).name
        out = builder.local(name, (loop[1], *builder.tensors[id_].shape), dtype)
        emits.append(Emit(id_, out))
        bind(builder, frame, name, TensorRef(out), statement.pos)
    builder.body.append(
        Scan(
            loop[0], loop[1], statement.reverse, tuple(carries), tuple(emits), tuple(body.statements),
            builder.source(statement.pos),
        )
    )  # fmt: skip


def run_next(builder: Builder, frame: Frame, statement: s.Next) -> None:
    name = statement.name
    if frame.nexts is None:
        builder.fail(f"next stands in the body of a scan{_not_in_arm(frame)}", statement.pos)
    if name not in frame.carried:
        builder.fail(f"{name} is not carried: write scan … carry {name} = …", statement.pos)
    if name in frame.nexts:
        builder.fail(f"next {name} is given twice", statement.pos)
    id_ = whole(builder, frame, statement.value, name).id
    shape, wanted = builder.tensors[id_].shape, frame.carried[name]
    if shape != wanted:
        builder.fail(f"next {name} has shape {list(shape)}, but the carry starts as {list(wanted)}", statement.pos)
    frame.nexts[name] = id_
    builder.shared.add(id_)


def run_emit(builder: Builder, frame: Frame, statement: s.EmitStmt) -> None:
    if frame.emits is None:
        builder.fail(f"emit stands in the body of a scan{_not_in_arm(frame)}", statement.pos)
    if statement.name in frame.emits:
        builder.fail(f"{statement.name} is emitted twice", statement.pos)
    frame.emits[statement.name] = whole(builder, frame, statement.value, statement.name).id
    builder.shared.add(frame.emits[statement.name])


def _not_in_arm(frame: Frame) -> str:
    return ", not in an arm of if?: give both arms the same name and use that" if frame.place == "branch" else ""


def run_branch(builder: Builder, frame: Frame, statement: s.If, run: Runner) -> None:
    """`if? c:`: both arms are elaborated; names that both define, with equal shapes, escape."""
    condition, body = statement.arms[0]
    chosen = whole(builder, frame, condition, "condition").id
    shape = builder.tensors[chosen].shape
    if shape:
        builder.fail(f"if? needs a rank-0 tensor, but this has shape {list(shape)}", condition.pos)
    builder.typed(chosen)
    held = {entry.id for name in frame.declared if isinstance(entry := frame.names[name], TensorRef)}
    for id_ in held:
        builder.typed(id_)
    builder.shared |= held
    arms: list[tuple[Frame, list[Statement]]] = []
    failed = False
    for part in (body, statement.orelse):
        inner = frame.fork("branch")
        try:
            arms.append((inner, _apart(builder, inner, part, run)))
        except PoisonedError:
            failed = True
    if failed:
        raise PoisonedError
    joins = _joins(builder, frame, statement, arms)
    then, orelse = (tuple(made) for _, made in arms)
    builder.body.append(Branch(chosen, then, orelse, joins, builder.source(statement.pos)))


def _joins(
    builder: Builder, frame: Frame, statement: s.If, arms: list[tuple[Frame, list[Statement]]]
) -> tuple[tuple[str, str, str], ...]:
    (then, _), (orelse, _) = arms
    joins: list[tuple[str, str, str]] = []
    for name in then.names:
        ids = _differing(builder, name, then.names[name], orelse.names.get(name), statement.pos)
        if ids is None:
            continue
        dtype = promote(builder.typed(ids[0]), builder.typed(ids[1])).name
        left, right = (
            converted(builder, made, id_, dtype, builder.source(statement.pos))
            for id_, (_, made) in zip(ids, arms, strict=True)
        )
        out = builder.local(name, builder.tensors[left].shape, dtype)
        if ids[0] in builder.partial or ids[1] in builder.partial:
            builder.partial.add(out)
        assignable(builder, frame, name, statement.pos)
        frame.names[name] = TensorRef(out)
        joins.append((left, right, out))
    return tuple(joins)


def _differing(
    builder: Builder, name: str, then: Entry, orelse: Entry | None, pos: s.Pos
) -> tuple[str, str] | None:
    """The tensors that a name means after the one and the other arm, where they differ."""
    if then == orelse or orelse is None:
        return None
    if isinstance(then, Known) or isinstance(orelse, Known):
        builder.fail(f"{name} is a compile-time value that differs between the arms of if?", pos)
    if not (isinstance(then, TensorRef) and isinstance(orelse, TensorRef)):
        return None
    shapes = [list(builder.tensors[entry.id].shape) for entry in (then, orelse)]
    if shapes[0] != shapes[1]:
        builder.fail(f"{name} has shape {shapes[0]} in one arm and {shapes[1]} in the other", pos)
    return then.id, orelse.id
