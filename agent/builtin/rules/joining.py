"""Tensors put together along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..model import Arg, Num, Op, Tensor
from ..numbers import literal
from ..writer import Writer
from .registry import rule
from .shapes import widened
from .texts import plus
from .views import View, show


@dataclass(frozen=True, slots=True)
class Piece:
    """A tensor read as `view` says; along the axis of joining it has `extent` elements."""

    source: Tensor
    view: View


def cast(text: str, source: Tensor, target: Tensor) -> str:
    """An element of `source` in the storage type of `target`."""
    return text if source.dtype == target.dtype else f"{target.dtype}({text})"


def number_for(w: Writer, op: Op, value: Arg, target: Tensor) -> str:
    """A number as an element of `target`."""
    constant = value.constant if isinstance(value, Num) else value
    if isinstance(value, Num) and constant is None:
        text = w.number(value, op)
        return (
            text if target.is_float or target.is_int and isinstance(value.values[0], int) else f"{target.dtype}({text})"
        )
    if not isinstance(constant, bool | int | float):
        raise op.fail("what is written is no number")
    if target.is_float:
        return literal(float(constant))
    return literal(bool(constant)) if target.is_bool else literal(int(constant))


def read(w: Writer, source: Tensor, indices: Sequence[str]) -> str:
    """`x[i, j]`."""
    return f"{w.of(source)}[{', '.join(indices)}]"


def domain(iterators: Sequence[str], sizes: Sequence[str]) -> str:
    return ", ".join(f"{iterator}<{size}" for iterator, size in zip(iterators, sizes, strict=True))


def join(w: Writer, op: Op, pieces: Sequence[Piece], axis: int) -> None:
    """One after the other along the axis: a tensor declared, and a nest for each."""
    first = pieces[0]
    whole = list(first.view.sizes)
    constant = op.out.dims[axis].constant
    summed = plus(*(piece.view.sizes[axis] for piece in pieces))
    whole[axis] = summed if constant is None else str(constant)
    if len(pieces) == 1 and first.source.dtype == op.out.dtype:
        show(w, op, first.source, first.view)
    elif _is_pair(pieces, axis):
        call = w.called(op, "cat", pieces[0].source, pieces[1].source, dim=axis)
        w.define(op, call, sizes=tuple(whole))
    else:
        name = w.tensor(op, whole)
        offset = "0"
        for piece in pieces:
            _put(w, op, name, piece, axis, offset)
            offset = plus(offset, piece.view.sizes[axis])


def _put(w: Writer, op: Op, name: str, piece: Piece, axis: int, offset: str) -> None:
    """One nest: the piece written at `offset`; an axis of one element has no iterator."""
    sizes = piece.view.sizes
    lone = sizes[axis] == "1"
    iterators = w.iterators(len(sizes), like=sizes)
    inside = [it if place != axis or not lone else "0" for place, it in enumerate(iterators)]
    at = [it if place != axis else plus(offset, inside[axis]) for place, it in enumerate(iterators)]
    loops = [(it, size) for it, size in zip(inside, sizes, strict=True) if it != "0"]
    value = cast(read(w, piece.source, piece.view.index(tuple(inside))), piece.source, op.out)
    head = f"for {', '.join(f'{it}<{size}' for it, size in loops)}: " if loops else ""
    w.line(f"{head}{name}[{', '.join(at)}] = {value}")


def _is_pair(pieces: Sequence[Piece], axis: int) -> bool:
    """Whether the prelude's cat joins them: two tensors of one type, as they are."""
    if len(pieces) != 2 or pieces[0].source.dtype != pieces[1].source.dtype:
        return False
    ranks = {len(piece.view.sizes) for piece in pieces} | {piece.source.rank for piece in pieces}
    return len(ranks) == 1 and (axis <= 3 or axis == pieces[0].source.rank - 1)


def _same(w: Writer, source: Tensor) -> View:
    return View(w.sizes(source), lambda its: its)


@rule("aten.cat", "aten.concat", "aten.concatenate")
def cat(w: Writer, op: Op) -> None:
    tensors = [tensor for tensor in op.tensors("tensors") if not _is_nothing(tensor, op.out.rank)]
    if not tensors:
        raise op.fail("nothing to join")
    join(w, op, [Piece(tensor, _same(w, tensor)) for tensor in tensors], op.axis("dim", op.out.rank))


def _is_nothing(tensor: Tensor, rank: int) -> bool:
    """torch.cat passes over tensors of shape [0]."""
    return tensor.rank == 1 and rank > 1 and tensor.dims[0].constant == 0


@rule("aten.stack")
def stack(w: Writer, op: Op) -> None:
    axis = op.axis("dim", op.out.rank)
    join(w, op, [Piece(tensor, _lifted(w, tensor, axis)) for tensor in op.tensors("tensors")], axis)


def _lifted(w: Writer, source: Tensor, axis: int) -> View:
    given = w.sizes(source)
    return View((*given[:axis], "1", *given[axis:]), lambda its: [*its[:axis], *its[axis + 1 :]])


@rule("aten.hstack")
def hstack(w: Writer, op: Op) -> None:
    pieces = [Piece(tensor, widened(w, tensor, max(tensor.rank, 1))) for tensor in op.tensors("tensors")]
    join(w, op, pieces, 0 if op.out.rank == 1 else 1)


@rule("aten.vstack", "aten.row_stack")
def vstack(w: Writer, op: Op) -> None:
    join(w, op, [Piece(tensor, widened(w, tensor, max(tensor.rank, 2))) for tensor in op.tensors("tensors")], 0)


@rule("aten.dstack")
def dstack(w: Writer, op: Op) -> None:
    join(w, op, [Piece(tensor, widened(w, tensor, max(tensor.rank, 3))) for tensor in op.tensors("tensors")], 2)


@rule("aten.column_stack")
def column_stack(w: Writer, op: Op) -> None:
    pieces = [Piece(t, widened(w, t, 2) if t.rank == 0 else _lifted(w, t, 1) if t.rank == 1 else _same(w, t))
              for t in op.tensors("tensors")]  # fmt: skip
    join(w, op, pieces, 1)


@rule("aten.block_diag")
def block_diag(w: Writer, op: Op) -> None:
    pieces = [Piece(tensor, widened(w, tensor, 2)) for tensor in op.tensors("tensors")]
    rows, columns = (plus(*(piece.view.sizes[axis] for piece in pieces)) for axis in (0, 1))
    name = w.tensor(op, [rows, columns], start="0" if not op.out.is_bool else "false")
    row = column = "0"
    for piece in pieces:
        i, j = w.iterators(2, like=piece.view.sizes)
        value = cast(read(w, piece.source, piece.view.index((i, j))), piece.source, op.out)
        w.line(f"for {domain((i, j), piece.view.sizes)}: {name}[{plus(row, i)}, {plus(column, j)}] = {value}")
        row, column = plus(row, piece.view.sizes[0]), plus(column, piece.view.sizes[1])
