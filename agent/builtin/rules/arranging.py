"""Copies of a tensor in another order: flipped, rolled, repeated."""

from __future__ import annotations

from collections.abc import Sequence

from ..model import Num, Op, Tensor
from ..writer import Writer
from .registry import rule
from .texts import flat, minus, plus, quotient, remainder, times, unflat
from .views import View, show


def _each(w: Writer, op: Op, source: Tensor, changed: dict[int, str]) -> None:
    """Axes read at other places: `{0}` stands for the iterator."""
    show(w, op, source, View(w.sizes(source), lambda its: [
        changed[axis].format(it) if axis in changed else it for axis, it in enumerate(its)
    ]))  # fmt: skip


def flipped(w: Writer, op: Op, source: Tensor, axes: Sequence[int]) -> None:
    given = w.sizes(source)
    _each(w, op, source, {axis: plus(f"{given[axis]} - {{0}}", "-1") for axis in axes})


@rule("aten.flip")
def flip(w: Writer, op: Op) -> None:
    source = op.tensor("self")
    named = [op.settled(number, "dims") for number in op.nums("dims")]
    flipped(w, op, source, [axis % source.rank for axis in named] if source.rank else [])


@rule("aten.fliplr")
def fliplr(w: Writer, op: Op) -> None:
    flipped(w, op, op.tensor("self"), [1])


@rule("aten.flipud")
def flipud(w: Writer, op: Op) -> None:
    flipped(w, op, op.tensor("self"), [0])


@rule("aten.roll")
def roll(w: Writer, op: Op) -> None:
    source = op.tensor("self")
    shifts = [_signed(w, op, number) for number in op.nums("shifts")]
    dims = [op.settled(number, "dims") for number in op.nums("dims")]
    given = w.sizes(source)
    if not dims:
        _rolled_flat(w, op, source, shifts)
        return
    total: dict[int, str] = {}
    for axis, shift in zip(dims, shifts, strict=True):
        place = axis % source.rank
        total[place] = plus(total[place], shift) if place in total else shift
    show(w, op, source, View(given, lambda its: [
        remainder(minus(it, total[axis]), given[axis]) if axis in total and given[axis] != "1" else it
        for axis, it in enumerate(its)
    ]))  # fmt: skip


def _signed(w: Writer, op: Op, number: Num) -> str:
    """Shifts to the front are found by their size."""
    if number.constant is None and max(number.values) <= 0:
        return minus("0", w.number(Num(tuple(-value for value in number.values)), op))
    return w.number(number, op)


def _rolled_flat(w: Writer, op: Op, source: Tensor, shifts: Sequence[str]) -> None:
    if len(shifts) != 1:
        raise op.fail("several shifts of the flattened tensor")
    given = w.sizes(source)

    def index(its: tuple[str, ...]) -> Sequence[str]:
        return unflat(f"({remainder(minus(flat(its, given), shifts[0]), times(*given))})", given)

    show(w, op, source, View(given, index))


@rule("aten.rot90")
def rot90(w: Writer, op: Op) -> None:
    source = op.tensor("self")
    first, second = (op.settled(number, "dims") % source.rank for number in op.nums("dims"))
    turns = op.fixed("k") % 4
    given = w.sizes(source)
    sizes = list(given)
    if turns % 2:
        sizes[first], sizes[second] = given[second], given[first]

    def index(its: tuple[str, ...]) -> Sequence[str]:
        found = list(its)
        i, j = its[first], its[second]
        if turns == 1:
            found[first], found[second] = j, plus(minus(given[second], i), "-1")
        elif turns == 2:
            found[first], found[second] = plus(minus(given[first], i), "-1"), plus(minus(given[second], j), "-1")
        elif turns == 3:
            found[first], found[second] = plus(minus(given[first], j), "-1"), i
        return found

    show(w, op, source, View(tuple(sizes), index))


@rule("aten.repeat")
def repeat(w: Writer, op: Op) -> None:
    _tiled(w, op, op.tensor("self"), "repeats")


@rule("aten.tile")
def tile(w: Writer, op: Op) -> None:
    _tiled(w, op, op.tensor("self"), "dims")


def _tiled(w: Writer, op: Op, source: Tensor, name: str) -> None:
    given = w.sizes(source)
    counts = ["1"] * (op.out.rank - len(op.nums(name))) + [w.number(number, op) for number in op.nums(name)]
    start = op.out.rank - source.rank
    own = ["1"] * start + list(given)
    sizes = []
    for dim, size, count in zip(op.out.dims, own, counts, strict=True):
        sizes.append(str(dim.constant) if dim.constant is not None else times(size, count))

    def index(its: tuple[str, ...]) -> Sequence[str]:
        return [
            its[start + axis] if counts[start + axis] == "1" else remainder(its[start + axis], size)
            for axis, size in enumerate(given)
        ]

    show(w, op, source, View(tuple(sizes), index, repeats=True))


@rule("aten.repeat_interleave.self_int")
def repeat_interleave(w: Writer, op: Op) -> None:
    source = op.tensor("self")
    count = w.number(op.num("repeats"), op)
    given = w.sizes(source)
    if op.args.get("dim") is None:
        size = op.out.dims[0].constant
        sizes = (str(size) if size is not None else times(*given, count),)
        show(w, op, source, View(sizes, lambda its: unflat(quotient(its[0], count), given), repeats=True))
        return
    axis = op.axis("dim", source.rank)
    constant = op.out.dims[axis].constant
    longer = list(given)
    longer[axis] = str(constant) if constant is not None else times(given[axis], count)
    show(w, op, source, View(tuple(longer), lambda its: [
        quotient(it, count) if place == axis else it for place, it in enumerate(its)
    ], repeats=True))  # fmt: skip


@rule("aten.repeat_interleave.self_Tensor", "aten.repeat_interleave.Tensor")
def repeat_by_values(_w: Writer, op: Op) -> None:
    raise op.fail("a shape that depends on values")
