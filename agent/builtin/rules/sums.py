"""Running sums, products and extremes along one axis; differences."""

from __future__ import annotations

from ..model import Num, Op, Tensor
from ..writer import Writer
from .registry import rule
from .walks import bracket, cast, from_last, moved_like, read_as, temporary, to_last, walk

_DEEPEST = 3


@rule("aten.cumsum", "aten.cumprod")
def running_total(w: Writer, op: Op) -> None:
    x = op.tensor("self")
    if not x.rank:
        w.define(op, cast(w.of(x), x.dtype, op.out.dtype))
        return
    dim = op.axis("dim", x.rank)
    function = op.name.split(".")[1]
    natural = x.dtype if x.is_float else "i64"
    last = dim == x.rank - 1
    if natural == op.out.dtype and (dim <= _DEEPEST or last):
        w.call(op, function, x, dim=-1 if last else dim)
        return
    _running(w, op, x, dim, function.removeprefix("cum"))


def _running(w: Writer, op: Op, x: Tensor, dim: int, function: str) -> None:
    """A triangle along `dim`: recognised as a prefix reduction."""
    full = walk(w, x, ())
    it, _ = full.outer[dim]
    (j,) = w.iterators(1, avoid=full.at)
    at = [j if axis == dim else i for axis, i in enumerate(full.at)]
    if op.out.is_float or function in ("max", "min"):
        text = f"{function}({j}<{it} + 1: {read_as(w, x, at, op.out.dtype)})"
    else:
        text = cast(f"{function}({j}<{it} + 1: {w.of(x)}{bracket(at)})", "i64", op.out.dtype)
    w.nest(op, full.outer, text)


@rule("aten.logcumsumexp")
def logcumsumexp(w: Writer, op: Op) -> None:
    x = op.tensor("self")
    if x.rank:
        _along(w, op, x, op.axis("dim", x.rank), "logcumsumexp", op.out)
    else:
        w.alias(op, x)


@rule("aten.cummax", "aten.cummin")
def running_extreme(w: Writer, op: Op) -> None:
    x = op.tensor("self")
    values, indices = op.results
    assert values is not None and indices is not None
    function = op.name.split(".")[1]
    if not x.rank:
        w.alias(op, x, values)
        w.define(op, "i64(0)", indices)
        return
    if x.is_bool:
        raise op.fail("of bools")
    dim = op.axis("dim", x.rank)
    _running(w, op, x, dim, function.removeprefix("cum"))
    indices.hint = indices.hint or "position"
    _along(w, op, x, dim, f"{function}_indices", indices)


def _along(w: Writer, op: Op, x: Tensor, dim: int, function: str, result: Tensor) -> None:
    """A prelude function along an axis that it may not reach itself."""
    moved = x if dim <= _DEEPEST else to_last(w, op, x, dim)
    if moved is x:
        w.define(op, f"{function}({w.of(x)}; dim={-1 if dim == x.rank - 1 else dim})", result, w.extents.get(x))
        return
    found = moved_like(w, x, dim, result.dtype, function)
    w.define(op, f"{function}({w.of(moved)}; dim=-1)", found, w.sizes(moved))
    from_last(w, op, found, dim, result)


@rule("aten.diff")
def diff(w: Writer, op: Op) -> None:
    x = op.tensor("self")
    n = op.fixed("n")
    dim = op.axis("dim", x.rank)
    if n < 1 or x.is_bool:
        raise op.fail(f"of bools, or n = {n}")
    for name in ("prepend", "append"):
        other = op.maybe(name)
        if other is not None:
            x = _joined(w, op, *((other, x) if name == "prepend" else (x, other)), dim)
    for step in range(n):
        target = op.out if step == n - 1 else _shorter(x, dim)
        sizes = list(w.sizes(x))
        sizes[dim] = f"{sizes[dim]} - 1"
        its = w.iterators(x.rank, like=sizes)
        after = [f"{it} + 1" if axis == dim else it for axis, it in enumerate(its)]
        text = f"{w.of(x)}{bracket(after)} - {w.of(x)}{bracket(its)}"
        w.nest(op, tuple(zip(its, sizes, strict=True)), text, tensor=target)
        x = target


def _joined(w: Writer, op: Op, a: Tensor, b: Tensor, dim: int) -> Tensor:
    if a.dtype != b.dtype or a.rank != b.rank or dim > _DEEPEST:
        raise op.fail("with a prefix or suffix of another type")
    total = Num(tuple(m + n for m, n in zip(a.dims[dim].values, b.dims[dim].values, strict=True)))
    joined = temporary([total if axis == dim else d for axis, d in enumerate(a.dims)], a.dtype, "joined")
    sizes = [f"{m} + {n}" if axis == dim else m for axis, (m, n) in enumerate(zip(w.sizes(a), w.sizes(b), strict=True))]
    w.define(op, f"cat({w.of(a)}, {w.of(b)}; dim={dim})", joined, sizes)
    return joined


def _shorter(x: Tensor, dim: int) -> Tensor:
    dims = [Num(tuple(v - 1 for v in d.values)) if axis == dim else d for axis, d in enumerate(x.dims)]
    return temporary(dims, x.dtype, "diff")
