"""Writes into a part of a tensor: the whole as it was, then the part."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..model import Arg, Num, Op, Tensor
from ..writer import Writer
from .joining import cast, domain, number_for
from .registry import rule
from .shapes import diagonal_view
from .views import View, show, view_of


@rule("solar.write")
def write(w: Writer, op: Op) -> None:
    """`value` takes the place of what the view operators of `chain`, one after the other, read from `self`."""
    chain: object = op.args["chain"]
    if not isinstance(chain, tuple):
        raise op.fail("no chain of views")
    written(w, op, op.tensor("self"), op.args["value"], [step for step in chain if isinstance(step, Op)])


def written(w: Writer, op: Op, base: Tensor, value: Arg, chain: Sequence[Op]) -> None:
    given = w.sizes(base)
    views = _views(w, op, given, chain)
    sizes = views[-1].sizes if views else given
    dims = chain[-1].out.dims if chain else base.dims
    iterators = w.iterators(len(sizes), like=sizes)
    at: Sequence[str] = iterators
    for found in reversed(views):
        at = found.index(tuple(at))
    if isinstance(value, Tensor) and _covers(base, dims, iterators, at, value):
        _renamed(w, op, base, value)
        return
    new = element(w, op, value, dims, iterators, base)
    name = whole(w, op, base)
    head = f"for {domain(iterators, sizes)}: " if iterators else ""
    w.line(f"{head}{name}[{', '.join(at)}] = {new}")


def element(w: Writer, op: Op, value: Arg, dims: Sequence[Num], iterators: Sequence[str], base: Tensor) -> str:
    """What is written: an element of a tensor, broadcast, or a number; in the type of `base`."""
    if isinstance(value, Tensor):
        return cast(w.indices(value, dims, iterators, op), value, base)
    return number_for(w, op, value, base)


def _views(w: Writer, op: Op, given: tuple[str, ...], chain: Sequence[Op]) -> list[View]:
    """The views of a chain; tensors between have sizes, but no names."""
    found = []
    for step in chain:
        source = step.tensor("A" if "A" in step.args else "self")
        w.extents.setdefault(source, given)
        view = view_of(w, step)
        if view.repeats:
            raise op.fail(f"a write through {step.name}, whose elements share memory")
        given = view.sizes
        w.extents[step.out] = given
        found.append(view)
    return found


def _covers(base: Tensor, dims: Sequence[Num], iterators: Sequence[str], at: Sequence[str], value: Tensor) -> bool:
    """Whether every element is overwritten in its place, by a value of the same shape."""
    shape = [dim.values for dim in base.dims]
    same = [dim.values for dim in value.dims] == shape and len(dims) == len(shape)
    return same and all(part == it or dim.is_one for part, it, dim in zip(at, iterators, base.dims, strict=True))


def _renamed(w: Writer, op: Op, base: Tensor, value: Tensor) -> None:
    if value.dtype == base.dtype:
        w.alias(op, value)
    else:
        w.define(op, cast(w.of(value), value, base), sizes=w.sizes(value))


def whole(w: Writer, op: Op, base: Tensor) -> str:
    """A new tensor that starts as `base`, to be written into; it is named after it."""
    name = w.fresh(re.sub(r"_?\d+$", "", w.of(base)))
    sizes = w.sizes(base)
    w.line(f"tensor {name}[{', '.join(sizes)}] = {w.of(base)}")
    w.name(op.out, name, sizes)
    return name


def _scattered(w: Writer, op: Op, view: str) -> None:
    """`src` written through one view operator with the same arguments."""
    base, src = op.tensor("self"), op.tensor("src")
    kept = {key: value for key, value in op.args.items() if key != "src"}
    step = Op(view, kept, (Tensor(src.dims, base.dtype),), op.where, op.path)
    written(w, op, base, src, [step])


@rule("aten.slice_scatter")
def slice_scatter(w: Writer, op: Op) -> None:
    _scattered(w, op, "aten.slice.Tensor")


@rule("aten.select_scatter")
def select_scatter(w: Writer, op: Op) -> None:
    _scattered(w, op, "aten.select.int")


@rule("aten.diagonal_scatter")
def diagonal_scatter(w: Writer, op: Op) -> None:
    _scattered(w, op, "aten.diagonal.default")


@rule("aten.diag_embed")
def diag_embed(w: Writer, op: Op) -> None:
    rank = op.out.rank
    _on_diagonal(w, op, op.fixed("offset"), op.axis("dim1", rank), op.axis("dim2", rank))


@rule("aten.diagflat")
def diagflat(w: Writer, op: Op) -> None:
    if op.tensor("self").rank != 1:
        raise op.fail("a diagonal of a tensor with several axes")
    _on_diagonal(w, op, op.fixed("offset"), 0, 1)


def _on_diagonal(w: Writer, op: Op, offset: int, first: int, second: int) -> None:
    """Zeros with the last axis of `self` along the diagonal of two axes of the result."""
    source = op.tensor("self")
    given = w.sizes(source)
    iterators = w.iterators(len(given), like=given)
    rest = iter(zip(iterators[:-1], given[:-1], strict=True))
    last, side = iterators[-1], w.extent(op, op.out.dims[first], (source,))
    row, column = (f"{last} + {shift}" if shift > 0 else last for shift in (-offset, offset))
    at, sizes = [], []
    for axis in range(op.out.rank):
        place = (row, side) if axis == first else (column, side) if axis == second else next(rest)
        at.append(place[0])
        sizes.append(place[1])
    name = w.tensor(op, sizes, start="false" if source.is_bool else "0.0" if source.is_float else "0")
    w.line(f"for {domain(iterators, given)}: {name}[{', '.join(at)}] = {w.of(source)}[{', '.join(iterators)}]")


@rule("aten.diag")
def diag(w: Writer, op: Op) -> None:
    source = op.tensor("self")
    offset = op.fixed("diagonal")
    if source.rank == 1:
        _on_diagonal(w, op, offset, 0, 1)
        return
    step = Op("aten.diagonal.default", op.args, op.results, op.where, op.path)
    show(w, op, source, diagonal_view(w, step, source, offset, 0, 1))


@rule("aten.fill_diagonal")
def fill_diagonal(w: Writer, op: Op) -> None:
    base = op.tensor("self")
    equal = all(dim.values == base.dims[0].values for dim in base.dims)
    wide = base.rank == 2 and all(a <= b for a, b in zip(base.dims[0].values, base.dims[1].values, strict=True))
    if not equal and not wide:
        raise op.fail("a diagonal of a matrix with more rows than columns")
    value = number_for(w, op, op.num("fill_value"), base)
    name = whole(w, op, base)
    size = w.sizes(base)[0]
    (it,) = w.iterators(1, like=(size,))
    w.line(f"for {it}<{size}: {name}[{', '.join([it] * base.rank)}] = {value}")
