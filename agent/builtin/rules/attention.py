"""Scaled dot-product attention."""

from __future__ import annotations

import math

from ..model import Num, Op, Tensor
from ..writer import Writer
from .reductions import unflattened
from .registry import rule
from .walks import temporary


@rule("aten.scaled_dot_product_attention")
def attention(w: Writer, op: Op) -> None:
    q, k, v, mask = op.tensor("query"), op.tensor("key"), op.tensor("value"), op.maybe("attn_mask")
    if any(tensor.dtype != op.out.dtype for tensor in (q, k, v)):
        raise op.fail("operands of several types")
    if mask is not None and op.flag("is_causal"):
        raise op.fail("with a mask and is_causal")
    lead = _leading(op, q, k, v)
    queries, keys, values = (_in_four(w, op, tensor, lead) for tensor in (q, k, v))
    scale = None if op.args.get("scale") is None else op.num("scale")
    given, keep = [queries, keys, values], _kept(op)
    function, causal = "scaled_dot_product_attention", True if op.flag("is_causal") else None
    if mask is not None:
        given.append(_mask_in_four(w, op, mask, q.rank))
        function = "masked_attention" if mask.is_bool else "biased_attention"
    if keep is not None:
        given.append(_in_four(w, op, _drawn(w, op, q, k), lead))
        function = f"dropped_{function.removeprefix('scaled_dot_product_')}"
    text = w.called(op, function, *given, is_causal=causal, scale=scale, keep=keep)
    _out(w, op, text, queries, values)


def _kept(op: Op) -> Num | None:
    """The share that dropout of the attention weights leaves; None without dropout."""
    dropout = op.num("dropout_p")
    if dropout.constant == 0:
        return None
    if len(op.draws) != 1 or not all(0 < p < 1 for p in dropout.values):
        raise op.fail(f"{len(op.draws)} draws with dropout_p={list(dropout.values)}")
    return Num(tuple(1 - p for p in dropout.values))


def _drawn(w: Writer, op: Op, q: Tensor, k: Tensor) -> Tensor:
    """Which attention weights are kept."""
    kept = temporary((*q.dims[:-1], k.dims[-2]), op.out.dtype, "kept")
    name = w.fresh("kept")
    sizes = (*w.sizes(q)[:-1], w.sizes(k)[-2])
    w.line(f"draw {name}[{', '.join(sizes)}]")
    w.name(kept, name, sizes)
    return kept


def _leading(op: Op, *tensors: Tensor) -> tuple[Num, ...]:
    """Axes before the last two, which the operands share (heads of keys and values may be fewer with enable_gqa)."""
    q, k, v = tensors
    grouped = op.args.get("enable_gqa") is True
    if len({tensor.rank for tensor in tensors}) != 1 or q.rank < 2:
        raise op.fail("operands of several ranks")
    for tensor in (k, v):
        for axis in range(q.rank - 2):
            heads = grouped and axis == q.rank - 3
            if tensor.dims[axis].values != q.dims[axis].values and not heads:
                raise op.fail("operands that are broadcast")
    if grouped and q.rank > 4:
        raise op.fail("grouped heads with more than one batch axis")
    return q.dims[:-2]


def _in_four(w: Writer, op: Op, x: Tensor, lead: tuple[Num, ...]) -> Tensor:
    """[batch, heads, rows, columns]: missing axes are 1, several batch axes are one."""
    if len(lead) == 2:
        return x
    sizes = w.sizes(x)
    one = Num((1,) * len(x.dims[0].values))
    if len(lead) < 2:
        flat = temporary((*(one,) * (2 - len(lead)), *x.dims), x.dtype, f"{w.of(x)}_heads")
        w.view(op, x, lambda its: its[2 - len(lead) :], (*("1",) * (2 - len(lead)), *sizes), flat)
        return flat
    count = Num(tuple(math.prod(int(dim.values[s]) for dim in x.dims[:-3]) for s in range(len(x.dims[0].values))))
    flat = temporary((count, *x.dims[-3:]), x.dtype, f"{w.of(x)}_heads")
    total = "*".join(sizes[:-3])
    w.view(op, x, lambda its: (*unflattened(its[0], sizes[:-3]), *its[1:]), (total, *sizes[-3:]), flat)
    return flat


def _mask_in_four(w: Writer, op: Op, mask: Tensor, rank: int) -> Tensor:
    """Two leading axes as they are or 1, the last two in full."""
    if not 2 <= mask.rank <= 4 or (rank > 4 and mask.rank > 2):
        raise op.fail(f"a mask of {mask.rank} axes")
    if not mask.is_bool and mask.dtype != op.out.dtype:
        raise op.fail(f"a mask of type {mask.dtype}")
    q, k = op.tensor("query"), op.tensor("key")
    wanted = (q.dims[-2], k.dims[-2])
    full = [dim.values == other.values for dim, other in zip(mask.dims[-2:], wanted, strict=True)]
    if any(not same and not dim.is_one for same, dim in zip(full, mask.dims[-2:], strict=True)):
        raise op.fail("a mask that is broadcast at some sizes")
    if all(full) and mask.rank == 4:
        return mask
    missing = 4 - mask.rank
    sizes = w.sizes(mask)
    one = Num((1,) * len(q.dims[0].values))
    flat = temporary((*(one,) * missing, *mask.dims[:-2], *wanted), mask.dtype, f"{w.of(mask)}_full")
    extents = (*("1",) * missing, *sizes[:-2], w.sizes(q)[-2], w.sizes(k)[-2])

    def index(its: tuple[str, ...]) -> list[str]:
        return [*its[missing:2], *(it if same else "0" for it, same in zip(its[2:], full, strict=True))]

    w.view(op, mask, index, extents, flat)
    return flat


def _out(w: Writer, op: Op, text: str, q: Tensor, v: Tensor) -> None:
    rank = op.out.rank
    sizes = (*w.sizes(q)[:3], w.sizes(v)[3])
    if rank == 4:
        w.define(op, text, sizes=sizes)
        return
    found = temporary((*q.dims[:3], v.dims[3]), op.out.dtype, "attention")
    w.define(op, text, found, sizes)
    if rank < 4:
        w.view(op, found, lambda its: (*("0",) * (4 - rank), *its), sizes[4 - rank :])
        return
    lead = w.sizes(op.tensor("query"))[:-3]

    def index(its: tuple[str, ...]) -> list[str]:
        terms = ["*".join([it, *(size for size in lead[axis + 1 :])]) for axis, it in enumerate(its[: len(lead)])]
        return [" + ".join(terms), *its[len(lead) :]]

    w.view(op, found, index, (*lead, *sizes[1:]))


@rule(
    "aten._native_multi_head_attention",
    "aten._transformer_encoder_layer_fwd",
    "aten._scaled_dot_product_flash_attention",
    "aten._scaled_dot_product_efficient_attention",
)
def refused(w: Writer, op: Op) -> None:
    raise op.fail("a fused kernel")
