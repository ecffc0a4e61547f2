"""Reshapes: neighbouring axes merged and split, group by group."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..model import Num, Op, Tensor, Untranslatable
from ..writer import Writer
from .texts import flat, share, times, unflat
from .views import View, view

_ZERO = 999_999_937


@dataclass(frozen=True, slots=True)
class Group:
    """Axes of the source and of the result that hold the same elements in the same order."""

    sources: tuple[int, ...]
    results: tuple[int, ...]


def grouped(op: Op, sources: Sequence[Num], results: Sequence[Num]) -> list[Group]:
    """The finest grouping whose products agree in all samples; axes of size 1 in all of them are left out."""
    first = [axis for axis, dim in enumerate(sources) if not dim.is_one]
    second = [axis for axis, dim in enumerate(results) if not dim.is_one]
    ends = {product: place for place, product in enumerate(_prefixes([results[axis] for axis in second]))}
    groups = []
    start = other = 0
    for place, product in enumerate(_prefixes([sources[axis] for axis in first])):
        end = ends.get(product)
        if end is not None and end >= other:
            groups.append(Group(tuple(first[start : place + 1]), tuple(second[other : end + 1])))
            start, other = place + 1, end + 1
    if start != len(first) or other != len(second):
        raise op.fail("a reshape of an empty tensor into other axes")
    return groups


def _prefixes(dims: Sequence[Num]) -> list[tuple[int, ...]]:
    """Products of the first axes; an empty axis counts as a number that no size has."""
    columns = [[int(value) or _ZERO for value in dim.values] for dim in dims]
    return [tuple(math.prod(items) for items in zip(*columns[: n + 1], strict=True)) for n in range(len(columns))]


def reshape_view(w: Writer, op: Op, source: Tensor, dims: Sequence[Num], free: int | None = None) -> View:
    """`source` with the axes `dims`; `free`: the axis whose size was given as -1."""
    given = w.sizes(source)
    groups = grouped(op, source.dims, dims)
    sizes = ["1"] * len(dims)
    for group in groups:
        for axis, size in zip(group.results, _group_sizes(w, op, source, dims, group, free), strict=True):
            sizes[axis] = size
    _refuse_empty(op, source, dims, groups)

    def index(iterators: tuple[str, ...]) -> Sequence[str]:
        found = ["0"] * source.rank
        for group in groups:
            outer = [sizes[axis] for axis in group.results]
            inner = [given[axis] for axis in group.sources]
            position = flat([iterators[axis] for axis in group.results], outer)
            for axis, part in zip(group.sources, unflat(position, inner), strict=True):
                found[axis] = part
        return found

    return View(tuple(sizes), index)


def _refuse_empty(op: Op, source: Tensor, dims: Sequence[Num], groups: Sequence[Group]) -> None:
    for group in groups:
        axes = [source.dims[axis] for axis in group.sources] + [dims[axis] for axis in group.results]
        if len(axes) > 2 and any(0 in dim.values for dim in axes):
            raise op.fail("a reshape of an empty tensor into other axes")


def _group_sizes(w: Writer, op: Op, source: Tensor, dims: Sequence[Num], group: Group, free: int | None) -> list[str]:
    """Sizes of the results' axes: names and constants first, what is then left once is the rest of the product."""
    given = w.sizes(source)
    near = {source.dims[axis].values: given[axis] for axis in group.sources}
    if len(group.results) == 1:
        return [times(*(given[axis] for axis in group.sources))]
    found: dict[int, str | None] = {}
    for axis in group.results:
        constant = dims[axis].constant
        values = dims[axis].values
        found[axis] = str(constant) if constant is not None else near.get(values) or _named(w, op, dims[axis])
    if free in found and dims[free].constant is None and any(text is None for text in found.values()):
        found[free] = None
    if sum(text is None for text in found.values()) > 1:
        _numbered(w, op, source, dims, found, free)
    rest = [text for text in found.values() if text is not None]
    left = share([given[axis] for axis in group.sources], rest)
    return [text or left for text in found.values()]


def _named(w: Writer, op: Op, dim: Num) -> str | None:
    """A size, or an attribute, that is this number."""
    name = next((symbol.text for symbol in w.symbols if symbol.values == dim.values), None)
    if name is None and any(symbol.values == dim.values for _, symbol in w.attributes.near(op.path)):
        return w.number(dim, op)
    return name


def _seen(w: Writer, dim: Num) -> str | None:
    """What the extent of an earlier tensor that is this number is written as."""
    for tensor, sizes in reversed(w.extents.items()):
        for other, text in zip(tensor.dims, sizes, strict=True):
            if other.values == dim.values:
                return text
    return None


def _numbered(
    w: Writer, op: Op, source: Tensor, dims: Sequence[Num], found: dict[int, str | None], free: int | None
) -> None:
    """Expressions for the sizes that are open, all but one: the free one, else the hardest."""
    open_axes = [axis for axis, text in found.items() if text is None and axis != free]
    spare = [] if free in found and found[free] is None else [None]
    near = (source,) if source in w.known else ()
    for axis in open_axes:
        found[axis] = _seen(w, dims[axis])
    for axis in [axis for axis in open_axes if found[axis] is None]:
        others = [other for other in open_axes if other != axis and found[other] is None]
        if not others and spare:
            return
        try:
            found[axis] = w.number(dims[axis], op, near)
        except Untranslatable:
            if not spare:
                raise
            spare.pop()


def _free(op: Op, name: str, shift: int = 0) -> int | None:
    """The axis whose size is -1."""
    sizes = op.nums(name)
    return next((axis + shift for axis, size in enumerate(sizes) if size.constant == -1), None)


@view("aten.view.default", "aten._unsafe_view")
def view_sizes(w: Writer, op: Op) -> View:
    return reshape_view(w, op, op.tensor("self"), op.out.dims, _free(op, "size"))


@view("aten.reshape")
def reshape(w: Writer, op: Op) -> View:
    return reshape_view(w, op, op.tensor("self"), op.out.dims, _free(op, "shape"))


@view("aten.flatten.using_ints", "aten.ravel", "aten._reshape_alias", "aten.atleast_1d.default",
      "aten.atleast_2d.default", "aten.atleast_3d.default", "aten.view_as", "aten.reshape_as")  # fmt: skip
def plain(w: Writer, op: Op) -> View:
    return reshape_view(w, op, op.tensor("self"), op.out.dims)


@view("aten.unflatten.int")
def unflatten(w: Writer, op: Op) -> View:
    return reshape_view(
        w, op, op.tensor("self"), op.out.dims, _free(op, "sizes", op.axis("dim", op.tensor("self").rank))
    )


@view("aten.view.dtype")
def other_type(w: Writer, op: Op) -> View:
    source = op.tensor("self")
    if source.dtype != op.out.dtype:
        raise op.fail("the bits of one storage type read as another")
    return View(w.sizes(source), lambda iterators: iterators)
