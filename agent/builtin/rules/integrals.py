"""Sums of trapezoids along an axis."""

from __future__ import annotations

from ..model import Num, Op, Tensor
from ..writer import Writer
from .losses import one_type
from .registry import rule
from .walks import bracket, temporary, walk


@rule("aten.trapezoid", "aten.cumulative_trapezoid")
def trapezoid(w: Writer, op: Op) -> None:
    y = op.tensor("y")
    if not y.is_float or not y.rank:
        raise op.fail("of integers")
    dim = op.axis("dim", y.rank)
    pieces = _pieces(w, op, y, dim)
    at = walk(w, pieces, [dim])
    ((it, size),) = at.reduced
    if op.name.startswith("aten.trapezoid"):
        w.nest(op, at.outer, at.fold("sum", at.read(w.of(pieces))))
        return
    (j,) = w.iterators(1, avoid=at.at)
    before = bracket([j if axis == dim else i for axis, i in enumerate(at.at)])
    w.nest(op, tuple(zip(at.at, at.sizes, strict=True)), f"sum({j}<{it} + 1: {w.of(pieces)}{before})")


def _pieces(w: Writer, op: Op, y: Tensor, dim: int) -> Tensor:
    """The area between each two points: half the sum of their values, times their distance."""
    sizes = list(w.sizes(y))
    sizes[dim] = f"{sizes[dim]} - 1"
    its = w.iterators(y.rank, like=sizes)
    after = [f"{it} + 1" if axis == dim else it for axis, it in enumerate(its)]
    both = f"({w.of(y)}{bracket(its)} + {w.of(y)}{bracket(after)})"
    if "x" in op.args:
        x = op.tensor("x")
        one_type(op, x, y)
        text = f"{_distance(w, op, x, y, dim, its)} * {both} / 2"
    else:
        text = f"{both} * ({w.scalar(op.num('dx'), op)} / 2)"
    dims = [Num(tuple(v - 1 for v in d.values)) if axis == dim else d for axis, d in enumerate(y.dims)]
    pieces = temporary(dims, y.dtype, "pieces")
    w.nest(op, tuple(zip(its, sizes, strict=True)), text, tensor=pieces)
    return pieces


def _distance(w: Writer, op: Op, x: Tensor, y: Tensor, dim: int, its: tuple[str, ...]) -> str:
    """x of its own axis alone, or of y's shape."""
    own = its[dim]
    if x.rank == 1 and x.dims[0].values == y.dims[dim].values:
        return f"({w.of(x)}[{own} + 1] - {w.of(x)}[{own}])"
    if [d.values for d in x.dims] != [d.values for d in y.dims]:
        raise op.fail("points that are broadcast")
    after = [f"{it} + 1" if it == own else it for it in its]
    return f"({w.of(x)}{bracket(after)} - {w.of(x)}{bracket(its)})"
