"""Order along an axis: sort, argsort, topk, k-th values, medians. The last axis has them; others are moved there."""

from __future__ import annotations

from collections.abc import Callable

from ..model import Num, Op, Tensor
from ..writer import Writer
from .reductions import unflattened
from .registry import rule
from .walks import from_last, temporary, to_last, walk


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
    flat, count = _flat(w, op, op.tensor("self"))
    name = _sorted(w, flat)
    w.nest(op, (), f"{name}[({count} - 1) // 2]")


def _flat(w: Writer, op: Op, x: Tensor) -> tuple[Tensor, str]:
    """All elements along one axis, and how many they are."""
    at = walk(w, x, range(x.rank))
    if x.rank == 1:
        return x, at.count
    flat = temporary((x.dims[0] if x.rank else Num((1,)),), x.dtype, "flat")
    w.view(op, x, lambda its: unflattened(its[0], at.sizes), [at.count], flat)
    return flat, at.count


def _sorted(w: Writer, x: Tensor) -> str:
    values, order = w.fresh("sorted"), w.fresh("order")
    w.line(f"({values}, {order}) = sort({w.of(x)})")
    return values


@rule("aten.quantile.scalar")
def quantile(w: Writer, op: Op) -> None:
    """Between the two sorted elements around the place q * (n - 1)."""
    x = op.tensor("self")
    how = op.text("interpolation")
    everything = op.args.get("dim") is None
    if not x.rank or not 0 <= op.num("q").values[0] <= 1 or how not in _BETWEEN:
        raise op.fail(f"of a scalar, or {how}")
    dim = 0 if everything else op.axis("dim", x.rank)
    moved, count = _flat(w, op, x) if everything else (to_last(w, op, x, dim), w.sizes(x)[dim])
    name = _sorted(w, moved)
    place, low = w.fresh("place"), w.fresh("low")
    w.line(f"let {place} = {w.scalar(op.num('q'), op)}*({count} - 1)")
    w.line(f"let {low} = int(floor({place}))")
    at = walk(w, x, range(x.rank) if everything else [dim], bool(op.args.get("keepdim", False)))
    rest = "" if everything else "".join(f"{it}, " for axis, it in enumerate(at.at) if axis != dim)
    below, above = f"{name}[{rest}{low}]", f"{name}[{rest}min({low} + 1, {count} - 1)]"
    w.nest(op, at.outer, _BETWEEN[how].format(below=below, above=above, part=f"({place} - {low})"))


_BETWEEN = {
    "linear": "{below} + {part} * ({above} - {below})",
    "lower": "{below}",
    "higher": "({below} if {part} == 0 else {above})",
    "midpoint": "({below} if {part} == 0 else ({below} + {above}) / 2)",
}


@rule("aten.mode", "aten.nanmedian", "aten.quantile.default", "aten.nanquantile")
def refused(w: Writer, op: Op) -> None:
    raise op.fail("not covered")
