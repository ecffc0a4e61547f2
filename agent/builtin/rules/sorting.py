"""Order along an axis: sort, argsort, topk, k-th values, medians. The last axis has them; others are moved there."""

from __future__ import annotations

from collections.abc import Callable

from ..model import Num, Op, Tensor
from ..writer import Writer
from .reductions import unflattened
from .registry import rule
from .walks import bracket, from_last, temporary, to_last, walk


def _results(op: Op) -> tuple[Tensor, Tensor]:
    values, indices = op.results
    assert values is not None and indices is not None
    values.hint = values.hint or op.name.split(".")[1]
    indices.hint = indices.hint or "order"
    return values, indices


def _ordered(w: Writer, op: Op, x: Tensor, dim: int, call: str, length: Num, results: tuple[Tensor, Tensor]) -> None:
    """`(values, indices) = call` along `dim`; {0} in `call` stands for the operand."""
    moved = to_last(w, op, x, dim)
    dims = (*moved.dims[:-1], length)
    sizes = (*w.sizes(moved)[:-1], w.extent(op, length, [moved]))
    made = [temporary(dims, result.dtype, result.hint) for result in results]
    for tensor in made:
        w.name(tensor, w.result(tensor), sizes)
    w.line(f"({w.of(made[0])}, {w.of(made[1])}) = {call.format(w.of(moved))}")
    for tensor, result in zip(made, results, strict=True):
        from_last(w, op, tensor, dim, result)


def _scalar(w: Writer, op: Op, x: Tensor, values: Tensor, indices: Tensor) -> None:
    w.alias(op, x, values)
    w.define(op, "i64(0)", indices)


@rule("aten.sort.default", "aten.sort.stable")
def sort(w: Writer, op: Op) -> None:
    x = op.tensor("self")
    values, indices = _results(op)
    if not x.rank:
        _scalar(w, op, x, values, indices)
        return
    dim = op.axis("dim", x.rank)
    descending = "; descending=1" if op.flag("descending") else ""
    _ordered(w, op, x, dim, f"sort({{0}}{descending})", x.dims[dim], (values, indices))


@rule("aten.msort")
def msort(w: Writer, op: Op) -> None:
    x = op.tensor("self")
    order = temporary(x.dims, "i64", "order")
    op.out.hint = op.out.hint or "sorted"
    _ordered(w, op, x, 0, "sort({0})", x.dims[0], (op.out, order))


@rule("aten.argsort")
def argsort(w: Writer, op: Op) -> None:
    x = op.tensor("self")
    if not x.rank:
        w.define(op, "i64(0)")
        return
    dim = op.axis("dim", x.rank)
    moved = to_last(w, op, x, dim)
    descending = "; descending=1" if op.flag("descending") else ""
    order = temporary(moved.dims, "i64", "order")
    w.define(op, f"argsort({w.of(moved)}{descending})", order, w.sizes(moved))
    from_last(w, op, order, dim)


@rule("aten.topk.default")
def topk(w: Writer, op: Op) -> None:
    """The smallest are the first of an ascending sort."""
    x = op.tensor("self")
    values, indices = _results(op)
    if not x.rank:
        _scalar(w, op, x, values, indices)
        return
    dim = op.axis("dim", x.rank)
    k = w.option(op.num("k"), op)
    if op.flag("largest"):
        _ordered(w, op, x, dim, f"topk({{0}}; k={k})", values.dims[dim], (values, indices))
    elif x.is_float:
        _smallest(w, op, x, dim, k, (values, indices))
    else:
        raise op.fail("the smallest integers")


def _smallest(w: Writer, op: Op, x: Tensor, dim: int, k: str, results: tuple[Tensor, Tensor]) -> None:
    """topk of the negated operand."""
    values, indices = results
    negated = temporary(x.dims, x.dtype, "negated")
    w.define(op, f"-{w.of(x)}", negated, w.extents.get(x))
    below = temporary(values.dims, x.dtype, "below")
    _ordered(w, op, negated, dim, f"topk({{0}}; k={k})", values.dims[dim], (below, indices))
    w.define(op, f"-{w.of(below)}", values, w.extents.get(below))


@rule("aten.kthvalue.default")
def kthvalue(w: Writer, op: Op) -> None:
    number = op.num("k")
    constant = number.constant
    k = str(int(constant) - 1) if constant is not None else f"{w.number(number, op)} - 1"
    _picked(w, op, lambda size: k)


@rule("aten.median.dim")
def median_along(w: Writer, op: Op) -> None:
    _picked(w, op, lambda size: f"({size} - 1) // 2")


def _picked(w: Writer, op: Op, place: Callable[[str], str]) -> None:
    """One of the sorted elements along the axis."""
    x = op.tensor("self")
    values, indices = _results(op)
    if not x.rank:
        _scalar(w, op, x, values, indices)
        return
    dim = op.axis("dim", x.rank)
    made = [temporary(x.dims, result.dtype, f"sorted_{result.hint}") for result in (values, indices)]
    _ordered(w, op, x, dim, "sort({0})", x.dims[dim], (made[0], made[1]))
    sizes = list(w.sizes(made[0]))
    index = place(sizes[dim])
    keep = bool(op.args.get("keepdim", False))
    left = [size for axis, size in enumerate(sizes) if axis != dim]
    if keep:
        left.insert(dim, "1")
    for tensor, result in zip(made, (values, indices), strict=True):
        w.view(op, tensor, lambda its: _placed(its, dim, index, keep), left, result)


def _placed(its: tuple[str, ...], dim: int, index: str, keep: bool) -> list[str]:
    return [*its[:dim], index, *its[dim + keep :]]


@rule("aten.median.default")
def median(w: Writer, op: Op) -> None:
    """The lower median of all elements."""
    x = op.tensor("self")
    at = walk(w, x, range(x.rank))
    flat = x
    if x.rank != 1:
        flat = temporary((x.dims[0] if x.rank else Num((1,)),), x.dtype, "flat")
        w.view(op, x, lambda its: unflattened(its[0], at.sizes), [at.count], flat)
    names = (w.fresh("sorted"), w.fresh("order"))
    w.line(f"({', '.join(names)}) = sort({w.of(flat)})")
    w.nest(op, (), f"{names[0]}{bracket([f'({at.count} - 1) // 2'])}")


@rule("aten.mode", "aten.nanmedian", "aten.quantile", "aten.nanquantile")
def refused(w: Writer, op: Op) -> None:
    raise op.fail("not covered")
