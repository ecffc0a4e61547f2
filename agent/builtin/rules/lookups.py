"""Where numbers belong among sorted boundaries."""

from __future__ import annotations

from ..model import Num, Op, Tensor
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
