"""Axes permuted, added, removed and repeated without copying."""

from __future__ import annotations

from collections.abc import Sequence

from ..model import Num, Op, Tensor
from ..writer import Writer
from .registry import rule
from .texts import minus, plus, quotient, scaled
from .views import Index, View, show, source_of, view


def permuted(w: Writer, source: Tensor, order: Sequence[int]) -> View:
    """Axis k of the result is axis order[k] of the source."""
    given = w.sizes(source)
    place = {axis: position for position, axis in enumerate(order)}
    return View(tuple(given[axis] for axis in order), lambda its: [its[place[axis]] for axis in range(len(order))])


def swapped(w: Writer, source: Tensor, first: int, second: int) -> View:
    order = list(range(source.rank))
    if source.rank:
        order[first], order[second] = order[second], order[first]
    return permuted(w, source, order)


@view("aten.permute")
def permute(w: Writer, op: Op) -> View:
    source = op.tensor("self")
    return permuted(w, source, op.axes("dims", source.rank))


@view("aten.transpose.int")
def transpose(w: Writer, op: Op) -> View:
    return _swap_named(w, op, "dim0", "dim1")


@view("aten.swapdims")
def swapdims(w: Writer, op: Op) -> View:
    return _swap_named(w, op, "dim0", "dim1")


@view("aten.swapaxes")
def swapaxes(w: Writer, op: Op) -> View:
    return _swap_named(w, op, "axis0", "axis1")


def _swap_named(w: Writer, op: Op, first: str, second: str) -> View:
    source = op.tensor("self")
    return swapped(w, source, op.axis(first, source.rank), op.axis(second, source.rank))


@view("aten.t", "aten.numpy_T")
def reversed_axes(w: Writer, op: Op) -> View:
    source = op.tensor("self")
    return permuted(w, source, range(source.rank)[::-1])


@view("aten.mT", "aten.mH", "aten.adjoint", "aten.matrix_H")
def last_two(w: Writer, op: Op) -> View:
    source = op.tensor("self")
    return swapped(w, source, source.rank - 2, source.rank - 1) if source.rank >= 2 else permuted(w, source, [0])


@view("aten.movedim.int", "aten.movedim.intlist", "aten.moveaxis.int", "aten.moveaxis.intlist")
def movedim(w: Writer, op: Op) -> View:
    source = op.tensor("self")
    moved = op.axes("source", source.rank)
    targets = op.axes("destination", source.rank)
    order: dict[int, int] = dict(zip(targets, moved, strict=True))
    rest = iter(axis for axis in range(source.rank) if axis not in moved)
    return permuted(w, source, [order[k] if k in order else next(rest) for k in range(source.rank)])


def dropped(w: Writer, op: Op, axes: Sequence[int]) -> View:
    """Without these axes of size 1."""
    source = op.tensor("self")
    kept = [axis for axis in range(source.rank) if axis not in axes]
    if len(kept) != op.out.rank:
        raise op.fail("axes that have size 1 at some sizes only")
    given = w.sizes(source)
    return View(
        tuple(given[axis] for axis in kept),
        lambda its: ["0" if axis in axes else its[kept.index(axis)] for axis in range(source.rank)],
    )


@view("aten.squeeze.default")
def squeeze(w: Writer, op: Op) -> View:
    source = op.tensor("self")
    return dropped(w, op, [axis for axis, dim in enumerate(source.dims) if dim.is_one])


@view("aten.squeeze.dim", "aten.squeeze.dims")
def squeeze_axes(w: Writer, op: Op) -> View:
    source = op.tensor("self")
    named = [] if op.args["dim"] == () else list(op.axes("dim", max(source.rank, 1)))
    return dropped(w, op, [axis for axis in named if source.rank and source.dims[axis].is_one])


@view("aten.unsqueeze")
def unsqueeze(w: Writer, op: Op) -> View:
    source = op.tensor("self")
    axis = op.axis("dim", source.rank + 1)
    given = w.sizes(source)
    return View((*given[:axis], "1", *given[axis:]), lambda its: [*its[:axis], *its[axis + 1 :]])


def broadcast(w: Writer, op: Op, source: Tensor, dims: Sequence[Num], like: Sequence[Tensor] = ()) -> View:
    """`source` read at every place of a tensor of sizes `dims`."""
    start = len(dims) - source.rank
    given = w.sizes(source)
    near = [tensor for tensor in like if tensor in w.known or tensor in w.extents]
    sizes: list[str] = []
    fixed: list[bool] = []
    for axis, dim in enumerate(dims):
        own = source.dims[axis - start] if axis >= start else None
        kept = own is not None and own.values == dim.values
        if own is not None and not kept and not own.is_one:
            raise op.fail("an axis that is broadcast at some sizes and equal at others")
        sizes.append(given[axis - start] if kept else w.extent(op, dim, near))
        fixed.append(not kept)

    def index(its: tuple[str, ...]) -> Sequence[str]:
        return ["0" if fixed[start + axis] else its[start + axis] for axis in range(source.rank)]

    return View(tuple(sizes), index, repeats=any(fixed))


@view("aten.expand", "aten.broadcast_to")
def expand(w: Writer, op: Op) -> View:
    return broadcast(w, op, op.tensor("self"), op.out.dims)


@view("aten.expand_as")
def expand_as(w: Writer, op: Op) -> View:
    return broadcast(w, op, op.tensor("self"), op.out.dims, [op.tensor("other")])


@rule("aten.broadcast_tensors")
def broadcast_tensors(w: Writer, op: Op) -> None:
    tensors = op.tensors("tensors")
    for source, result in zip(tensors, op.results, strict=True):
        if result is not None:
            show(w, op, source, broadcast(w, op, source, result.dims, tensors), result)


@rule("aten.atleast_1d.Sequence", "aten.atleast_2d.Sequence", "aten.atleast_3d.Sequence")
def atleast(w: Writer, op: Op) -> None:
    for source, result in zip(op.tensors("tensors"), op.results, strict=True):
        if result is not None:
            show(w, op, source, widened(w, source, result.rank), result)


def widened(w: Writer, source: Tensor, rank: int) -> View:
    """Axes of size 1 added as numpy does: before a row, around one for three axes, after a matrix for three."""
    given = w.sizes(source)
    before = {(0, 1): 1, (0, 2): 2, (0, 3): 3, (1, 2): 1, (1, 3): 1}.get((source.rank, rank), 0)
    after = rank - source.rank - before
    return View((*("1",) * before, *given, *("1",) * after), lambda its: its[before : before + source.rank])


@rule("aten.meshgrid.default", "aten.meshgrid.indexing")
def meshgrid(w: Writer, op: Op) -> None:
    tensors = op.tensors("tensors")
    turned = op.args.get("indexing") == "xy" and len(tensors) >= 2
    axes = [1, 0, *range(2, len(tensors))] if turned else list(range(len(tensors)))
    extents = {axis: w.sizes(t)[0] if t.rank else "1" for axis, t in zip(axes, tensors, strict=True)}
    sizes = tuple(extents[axis] for axis in range(len(tensors)))
    for axis, source, result in zip(axes, tensors, op.results, strict=True):
        if result is not None:
            show(w, op, source, View(sizes, _single(axis, source.rank)), result)


def _single(axis: int, rank: int) -> Index:
    """The one iterator that is read along; a number has none."""
    return lambda its: its[axis : axis + 1][:rank]


def diagonal_view(w: Writer, op: Op, source: Tensor, offset: int, first: int, second: int) -> View:
    """The diagonal of two axes, as the last axis."""
    given = w.sizes(source)
    kept = [axis for axis in range(source.rank) if axis not in (first, second)]
    extent = op.out.dims[-1]
    near = (source,) if source in w.known else ()
    size = _diagonal_size(source, given, extent, offset, first, second) or w.extent(op, extent, near)

    def index(its: tuple[str, ...]) -> Sequence[str]:
        found = {axis: its[place] for place, axis in enumerate(kept)}
        found[first] = f"{its[-1]} + {-offset}" if offset < 0 else its[-1]
        found[second] = f"{its[-1]} + {offset}" if offset > 0 else its[-1]
        return [found[axis] for axis in range(source.rank)]

    return View((*(given[axis] for axis in kept), size), index)


def _diagonal_size(
    source: Tensor, given: Sequence[str], extent: Num, offset: int, first: int, second: int
) -> str | None:
    if extent.constant is not None:
        return str(extent.constant)
    texts, columns = [], []
    for axis, shift in ((first, min(offset, 0)), (second, -max(offset, 0))):
        left = tuple(size + shift for size in source.dims[axis].values)
        texts.append(f"{given[axis]} - {-shift}" if shift else given[axis])
        columns.append(left)
        if left == extent.values:
            return texts[-1]
    shorter = tuple(min(sizes) for sizes in zip(*columns, strict=True))
    return f"min({', '.join(texts)})" if shorter == extent.values else None


@view("aten.diagonal.default")
def diagonal(w: Writer, op: Op) -> View:
    source = op.tensor("self")
    first, second = op.axis("dim1", source.rank), op.axis("dim2", source.rank)
    return diagonal_view(w, op, source, op.fixed("offset"), first, second)


@view("aten.linalg_diagonal.default")
def linalg_diagonal(w: Writer, op: Op) -> View:
    source = op.tensor("A")
    first, second = op.axis("dim1", source.rank), op.axis("dim2", source.rank)
    return diagonal_view(w, op, source, op.fixed("offset"), first, second)


@view("aten.unfold")
def unfold(w: Writer, op: Op) -> View:
    source = op.tensor("self")
    near = (source,) if source in w.known else ()
    axis = op.axis("dimension", source.rank)
    size, step = w.number(op.num("size"), op), w.number(op.num("step"), op)
    count = _windows(w, op, source, axis, size, step) or w.extent(op, op.out.dims[axis], near)
    sizes = [*w.sizes(source), size]
    sizes[axis] = count
    gaps = all(a >= b for a, b in zip(op.num("step").values, op.num("size").values, strict=True))

    def index(its: tuple[str, ...]) -> Sequence[str]:
        found = list(its[:-1])
        found[axis] = plus(scaled(its[axis], step), its[-1])
        return found

    return View(tuple(sizes), index, repeats=not gaps)


def _windows(w: Writer, op: Op, source: Tensor, axis: int, size: str, step: str) -> str | None:
    """(N - size)//step + 1."""
    if op.out.dims[axis].constant is not None:
        return None
    return plus(quotient(minus(w.sizes(source)[axis], size), step), "1").replace(" // ", "//")


@view("aten.real", "aten.conj", "aten.resolve_conj", "aten.resolve_neg", "aten.conj_physical")
def real(w: Writer, op: Op) -> View:
    source = source_of(op)
    if source.dtype.startswith("c"):
        raise op.fail("complex numbers")
    return View(w.sizes(source), lambda its: its)


@rule("aten.imag", "aten.view_as_real", "aten.view_as_complex")
def imaginary(_w: Writer, op: Op) -> None:
    raise op.fail("complex numbers")


@rule("aten.as_strided", "aten.as_strided_copy", "aten.as_strided_scatter")
def as_strided(_w: Writer, op: Op) -> None:
    raise op.fail("a tensor read by strides of its memory")
