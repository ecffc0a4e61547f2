"""Softmax and its kin along one axis."""

from __future__ import annotations

from ..model import Op, Tensor
from ..writer import Writer
from .reductions import axes_of, keeps
from .registry import rule
from .walks import cast, from_last, moved_like, reduced_dims, temporary, to_last, walk

_DEEPEST = 3  # the prelude moves no later axis than this to the end


@rule(
    "aten.softmax.int",
    "aten._softmax",
    "aten.special_softmax",
    "aten.log_softmax.int",
    "aten._log_softmax",
    "aten.special_log_softmax",
)
def softmax(w: Writer, op: Op) -> None:
    function = "log_softmax" if "log_softmax" in op.name else "softmax"
    x = op.tensor("self")
    if x.rank == 0:
        w.define(op, cast(f"({w.of(x)} - {w.of(x)})", x.dtype, op.out.dtype) + ("" if "log" in function else " + 1"))
        return
    _along(w, op, x, function, op.axis("dim", x.rank))


def _along(w: Writer, op: Op, x: Tensor, function: str, dim: int) -> None:
    if dim <= _DEEPEST or dim == x.rank - 1:
        place = -1 if dim == x.rank - 1 else dim
        text = f"{function}({cast(w.of(x), x.dtype, op.out.dtype)}; dim={place})"
        w.define(op, text, sizes=w.extents.get(x))
        return
    moved = to_last(w, op, x, dim)
    result = moved_like(w, x, dim, op.out.dtype, function)
    w.define(op, f"{function}({cast(w.of(moved), x.dtype, op.out.dtype)}; dim=-1)", result, w.sizes(moved))
    from_last(w, op, result, dim)


@rule("aten._safe_softmax")
def safe_softmax(w: Writer, op: Op) -> None:
    """Rows of -inf become 0."""
    x = op.tensor("self")
    dim = op.axis("dim", x.rank)
    moved = to_last(w, op, x, dim)
    result = moved_like(w, x, dim, op.out.dtype, "softmax")
    w.define(op, f"_safe_softmax({cast(w.of(moved), x.dtype, op.out.dtype)})", result, w.sizes(moved))
    from_last(w, op, result, dim)


@rule("aten.logsumexp", "aten.special_logsumexp")
def logsumexp(w: Writer, op: Op) -> None:
    x = op.tensor("self")
    axes = axes_of(op, x.rank)
    if len(axes) == 1 and not keeps(op) and (axes[0] <= _DEEPEST or axes[0] == x.rank - 1) and x.is_float:
        w.call(op, "logsumexp", x, dim=-1 if axes[0] == x.rank - 1 else axes[0])
        return
    at = walk(w, x, axes, keeps(op))
    element = cast(at.read(w.of(x)), x.dtype, op.out.dtype)
    highest = temporary(reduced_dims(x, axes, keeps(op)), op.out.dtype, "highest")
    w.nest(op, at.outer, at.fold("max", element), tensor=highest)
    shift = temporary(highest.dims, op.out.dtype, "shift")
    peak = w.of(highest) + at.inside
    w.nest(op, at.outer, f"select(abs({peak}) == inf, 0, {peak})", tensor=shift)
    by = w.of(shift) + at.inside
    w.nest(op, at.outer, f"log({at.fold('sum', f'exp({element} - {by})')}) + {by}")
