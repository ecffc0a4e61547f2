"""Parts of a tensor along an axis: slices, picks, splits."""

from __future__ import annotations

from collections.abc import Sequence

from ..model import Num, Op, Tensor
from ..numbers import atom
from ..writer import Writer
from .registry import rule
from .texts import minus, plus, quotient, scaled
from .views import Index, View, show, view


def _near(w: Writer, source: Tensor) -> tuple[Tensor, ...]:
    return (source,) if source in w.known else ()


def _clamped(index: Num, size: Num) -> Num:
    """Python's meaning of a slice's end: negative ones count from the back, and none leaves the axis."""
    pairs = zip(index.values, size.values, strict=True)
    return Num(tuple(max(0, min(int(i + n if i < 0 else i), int(n))) for i, n in pairs))


def _bound(w: Writer, op: Op, given: Num, actual: Num, source: Tensor, axis: int) -> str:
    """A text for where a slice starts or ends, `actual` in all samples."""
    size, constant = source.dims[axis], given.constant
    if actual.constant is not None:
        return str(actual.constant)
    if actual.values == size.values:
        return w.sizes(source)[axis]
    if isinstance(constant, int):
        have = w.sizes(source)[axis]
        moved = minus(have, str(-constant))
        if constant >= 0:
            return f"min({have}, {constant})"
        return moved if actual.values == tuple(n + constant for n in size.values) else f"max({moved}, 0)"
    return w.number(actual, op, _near(w, source))


def part(
    w: Writer, op: Op, source: Tensor, axis: int, start: Num | None, end: Num | None, step: Num, extent: Num
) -> View:
    """source[..., start:end:step, ...] along an axis, which has `extent` elements."""
    size = source.dims[axis]
    first = _clamped(start, size) if start is not None else Num((0,) * len(size.values))
    last = _clamped(end, size) if end is not None else size
    low = _bound(w, op, start or first, first, source, axis)
    stride = w.number(step, op)
    sizes = list(w.sizes(source))
    if extent.constant is not None:
        sizes[axis] = str(extent.constant)
    elif extent.values != size.values:
        named = w.extent(op, extent) if _is_named(w, extent, size, end, last) else None
        ordered = all(a <= b for a, b in zip(first.values, last.values, strict=True))
        length = named or _length(low, stride, _bound(w, op, end or last, last, source, axis))
        sizes[axis] = length if named or ordered else f"max({length}, 0)"

    def index(its: tuple[str, ...]) -> Sequence[str]:
        found = list(its)
        found[axis] = plus(scaled(its[axis], stride), low)
        return found

    return View(tuple(sizes), index)


def _is_named(w: Writer, extent: Num, size: Num, end: Num | None, last: Num) -> bool:
    """Whether the extent is a size, and not just what is left of the axis by coincidence."""
    left = last.values == size.values or end is None or (isinstance(end.constant, int) and end.constant < 0)
    return not left and any(symbol.values == extent.values for symbol in w.symbols)


def _length(low: str, stride: str, high: str) -> str:
    """(end - start + step - 1)//step."""
    length = minus(high, low)
    return length if stride == "1" else quotient(plus(length, stride, "-1"), stride).replace(" // ", "//")


@view("aten.slice.Tensor")
def cut(w: Writer, op: Op) -> View:
    source = op.tensor("self")
    axis = op.axis("dim", source.rank)
    start = op.num("start") if op.args.get("start") is not None else None
    end = op.num("end") if op.args.get("end") is not None else None
    return part(w, op, source, axis, start, end, op.num("step"), op.out.dims[axis])


@view("solar.subscript.default")
def subscript(w: Writer, op: Op) -> View:
    """Slices and picks along all axes at once."""
    source, kept = op.tensor("self"), op.args["kept"]
    assert isinstance(kept, tuple)
    near = _near(w, source)
    starts = [w.number(number, op, near) for number in op.nums("starts")]
    steps = [w.number(number, op, near) for number in op.nums("steps")]

    def index(its: tuple[str, ...]) -> Sequence[str]:
        left = iter(its)
        parts = zip(starts, steps, kept, strict=True)
        return [plus(scaled(next(left), step), start) if keeps else start for start, step, keeps in parts]

    return View(w.extents_of(op, op.out.dims, near), index)


@view("aten.narrow.default")
def narrow(w: Writer, op: Op) -> View:
    source = op.tensor("self")
    axis = op.axis("dim", source.rank)
    start, length = op.num("start"), op.num("length")
    first = Num(tuple(i + n if i < 0 else i for i, n in zip(start.values, source.dims[axis].values, strict=True)))
    end = Num(tuple(a + b for a, b in zip(first.values, length.values, strict=True)))
    one = Num((1,) * len(end.values))
    return part(w, op, source, axis, start, end, one, op.out.dims[axis])


def picked(w: Writer, op: Op, source: Tensor, axis: int, index: Num) -> View:
    """source[..., index, ...] without the axis."""
    size = source.dims[axis]
    actual = Num(tuple(i + n if i < 0 else i for i, n in zip(index.values, size.values, strict=True)))
    at = _picked_at(w, op, source, axis, index, actual)
    given = w.sizes(source)
    return View((*given[:axis], *given[axis + 1 :]), lambda its: [*its[:axis], at, *its[axis:]])


def _picked_at(w: Writer, op: Op, source: Tensor, axis: int, index: Num, actual: Num) -> str:
    constant = index.constant
    if isinstance(constant, int) and constant < 0 and actual.constant is None:
        return minus(w.sizes(source)[axis], str(-constant))
    return w.number(actual, op, _near(w, source))


@view("aten.select.int")
def select(w: Writer, op: Op) -> View:
    source = op.tensor("self")
    return picked(w, op, source, op.axis("dim", source.rank), op.num("index"))


@rule("aten.unbind.int")
def unbind(w: Writer, op: Op) -> None:
    source = op.tensor("self")
    axis = op.axis("dim", source.rank)
    for position, result in enumerate(op.results):
        if result is not None:
            index = Num((position,) * len(source.dims[axis].values))
            show(w, op, source, picked(w, op, source, axis, index), result)


@rule("aten.split", "aten.split_with_sizes", "aten.unsafe_split", "aten.unsafe_split_with_sizes", "aten.chunk",
      "aten.unsafe_chunk", "aten.tensor_split.sections", "aten.tensor_split.indices")  # fmt: skip
def split(w: Writer, op: Op) -> None:
    source = op.tensor("self")
    pieces(w, op, source, op.axis("dim", source.rank))


@rule("aten.hsplit")
def hsplit(w: Writer, op: Op) -> None:
    pieces(w, op, op.tensor("self"), 1 if op.tensor("self").rank > 1 else 0)


@rule("aten.vsplit")
def vsplit(w: Writer, op: Op) -> None:
    pieces(w, op, op.tensor("self"), 0)


@rule("aten.dsplit")
def dsplit(w: Writer, op: Op) -> None:
    pieces(w, op, op.tensor("self"), 2)


def pieces(w: Writer, op: Op, source: Tensor, axis: int) -> None:
    """The results lie one after the other along the axis."""
    extents = []
    for result in op.results:
        if result is None:
            raise op.fail("a part that is missing")
        extents.append(result.dims[axis])
    texts = _piece_texts(w, op, source, axis, extents)
    offset = "0"
    for position, result in enumerate(op.results):
        assert result is not None
        size = texts[position]
        sizes = list(w.sizes(source))
        sizes[axis] = size
        show(w, op, source, View(tuple(sizes), _moved(axis, offset)), result)
        offset = plus(offset, size)


def _moved(axis: int, offset: str) -> Index:
    def index(its: tuple[str, ...]) -> Sequence[str]:
        return [plus(it, offset) if place == axis else it for place, it in enumerate(its)]

    return index


def _piece_texts(w: Writer, op: Op, source: Tensor, axis: int, extents: Sequence[Num]) -> list[str]:
    """Sizes of the parts; the last one is what is left where it has no expression of its own."""
    given = w.sizes(source)[axis]
    equal = all(extent.values == extents[0].values for extent in extents)
    if len(extents) == 1:
        return [given]
    if equal and extents[0].constant is None:
        named = next((symbol.text for symbol in w.symbols if symbol.values == extents[0].values), None)
        counted = "chunk" in op.name or op.name.endswith("sections")
        size = named if named is not None and not counted else f"{atom(given)}//{len(extents)}"
        return [size] * len(extents)
    texts = [w.extent(op, extent) for extent in extents[:-1]]
    constant = extents[-1].constant
    if constant is not None:
        return [*texts, str(constant)]
    known = next((symbol.text for symbol in w.symbols if symbol.values == extents[-1].values), None)
    left = given
    for text in texts:
        left = minus(left, text)
    return [*texts, known or left]
