"""Where numbers belong among sorted boundaries; bags of rows of a table."""

from __future__ import annotations

from ..model import Num, Op, Tensor
from ..numbers import atom
from ..writer import Writer
from .joining import read
from .registry import rule


@rule("aten.bucketize")
def bucketize(w: Writer, op: Op) -> None:
    _located(w, op, op.tensor("boundaries"), op.flag("right"))


@rule("aten.searchsorted")
def searchsorted(w: Writer, op: Op) -> None:
    if op.args.get("sorter") is not None:
        raise op.fail("boundaries in the order of another tensor")
    side = op.args.get("side")
    _located(w, op, op.tensor("sorted_sequence"), op.flag("right") or side == "right")


def _located(w: Writer, op: Op, boundaries: Tensor, right: bool) -> None:
    """How many boundaries are below: not above (`right`) or not at least the value; NaN is above all of them."""
    value = op.args["self"]
    sizes = w.extents_of(op, op.out.dims, [value] if isinstance(value, Tensor) else [])
    its = w.iterators(op.out.rank, like=sizes)
    size = w.sizes(boundaries)[-1]
    (j,) = w.iterators(1, avoid=its, like=(size,))
    leading = its[:-1] if boundaries.rank > 1 else ()
    bound = read(w, boundaries, (*leading, j))
    wanted = read(w, value, its) if isinstance(value, Tensor) else w.scalar(value if isinstance(value, Num) else "", op)
    found = f"sum({j}<{size}: int(not ({bound} {'>' if right else '>='} {wanted})))"
    if op.flag("out_int32"):
        found = f"i32({found})"
    w.nest(op, tuple(zip(its, sizes, strict=True)), found)


_BAGS = ("sum", "mean", "max")


@rule("aten.embedding_bag")
def embedding_bag(w: Writer, op: Op) -> None:
    """Rows of a table put together, bag by bag, where all bags are equally long."""
    table, places = op.tensor("weight"), op.tensor("indices")
    mode, weights = op.fixed("mode"), op.maybe("per_sample_weights")
    if op.args.get("padding_idx") is not None or op.flag("include_last_offset"):
        raise op.fail("bags of which rows are left out, or with an end of their own")
    size = atom(w.number(_bag_size(w, op, places), op))
    bags, width = w.extent(op, op.out.dims[0]), w.sizes(table)[1]
    b, d, j = w.iterators(3, like=(bags, width, size))
    at = f"{b}*{size} + {j}"
    element = f"{w.of(table)}[{w.of(places)}[{at}], {d}]"
    if weights is not None:
        scaled = w.fresh("scaled")
        w.line(f"for {b}<{bags}, {j}<{size}, {d}<{width}: {scaled}[{b}, {j}, {d}] = {element} * {w.of(weights)}[{at}]")
        element = f"{scaled}[{b}, {j}, {d}]"
    reduced = f"{'max' if _BAGS[mode] == 'max' else 'sum'}({j}<{size}: {element})"
    w.nest(op, ((b, bags), (d, width)), f"{reduced} / {size}" if _BAGS[mode] == "mean" else reduced)


def _bag_size(w: Writer, op: Op, places: Tensor) -> Num:
    """The distance of the offsets, which count up from 0 in equal steps to the last of the places."""
    origin = w.origins.get(op.tensor("offsets"))
    if origin is None or origin.name != "aten.arange.start_step":
        raise op.fail("bags whose extents depend on values")
    step = origin.num("step")
    full = zip(op.out.dims[0].values, step.values, places.dims[0].values, strict=True)
    if origin.num("start").constant != 0 or any(count * size != length or size < 1 for count, size, length in full):
        raise op.fail("bags of different lengths")
    return step
