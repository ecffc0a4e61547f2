"""Losses of class scores: targets are class numbers or probabilities."""

from __future__ import annotations

from ..model import Num, Op, Tensor
from ..writer import Writer
from .losses import _reduction, finish, one_type, reduction_of
from .registry import rule
from .walks import bracket, temporary, walk


@rule("aten.cross_entropy_loss")
def cross_entropy(w: Writer, op: Op) -> None:
    x, t, weight = op.tensor("self"), op.tensor("target"), op.maybe("weight")
    one_type(op, x, weight)
    smoothing = op.num("label_smoothing")
    if not t.is_int:
        _of_probabilities(w, op, x, t, weight, smoothing)
    elif weight is None and x.rank > 1:
        smooth = None if smoothing.constant == 0 else smoothing
        w.call(op, "cross_entropy", x, t, reduction=_reduction(op), ignore_index=_ignored(op), label_smoothing=smooth)
    else:
        scores = temporary(x.dims, x.dtype, "log_probs")
        w.define(op, f"log_softmax({w.of(x)}; dim={_class_axis(x)})", scores, w.extents.get(x))
        _of_classes(w, op, scores, t, weight, smoothing)


@rule("aten.nll_loss", "aten.nll_loss_nd", "aten.nll_loss2d")
def nll_loss(w: Writer, op: Op) -> None:
    x, t, weight = op.tensor("self"), op.tensor("target"), op.maybe("weight")
    one_type(op, x, weight)
    if weight is None and x.rank > 1:
        w.call(op, "nll_loss", x, t, reduction=_reduction(op), ignore_index=_ignored(op))
    else:
        _of_classes(w, op, x, t, weight, Num((0.0,)))


def _class_axis(x: Tensor) -> int:
    return 1 if x.rank > 1 else 0


def _ignored(op: Op) -> Num | None:
    ignored = op.num("ignore_index")
    return None if ignored.constant == -100 else ignored


def _of_classes(w: Writer, op: Op, x: Tensor, t: Tensor, weight: Tensor | None, smoothing: Num) -> None:
    """-weight[t] x[t], smoothed, 0 where ignored; the mean is over the targets' weights."""
    at = walk(w, x, [_class_axis(x)])
    ((c, classes),) = at.reduced
    target = w.of(t) + at.inside
    ignored = w.scalar(op.num("ignore_index"), op)
    place = bracket([target if it == c else it for it in at.at])
    own = f"({w.of(weight)}[{target}] else 0)" if weight is not None else "1.0"
    picked = f"({w.of(x)}{place} else 0)"
    loss = f"-{picked} * {own}" if weight is not None else f"-{picked}"
    if smoothing.constant != 0:
        amount = w.scalar(smoothing, op)
        all_classes = at.read(w.of(x)) if weight is None else f"{at.read(w.of(x))} * {w.of(weight)}[{c}]"
        products = temporary(x.dims, x.dtype, "weighted")
        w.nest(op, tuple(zip(at.at, at.sizes, strict=True)), all_classes, tensor=products)
        others = at.fold("sum", at.read(w.of(products)))
        loss = f"(1 - {amount}) * ({loss}) - {amount} / {classes} * {others}"
    losses = temporary(t.dims, x.dtype, "terms")
    w.nest(op, at.outer, f"select({target} == {ignored}, 0, {loss})", tensor=losses)
    if reduction_of(op) != "mean":
        finish(w, op, losses)
        return
    weights = temporary(t.dims, x.dtype, "weights")
    w.nest(op, at.outer, f"select({target} == {ignored}, 0, {own})", tensor=weights)
    w.nest(op, (), f"{_total(w, losses)} / {_total(w, weights)}")


def _total(w: Writer, tensor: Tensor) -> str:
    at = walk(w, tensor, range(tensor.rank))
    return at.fold("sum", at.read(w.of(tensor)))


def _of_probabilities(w: Writer, op: Op, x: Tensor, t: Tensor, weight: Tensor | None, smoothing: Num) -> None:
    one_type(op, t)
    if weight is None and x.rank > 1:
        smooth = None if smoothing.constant == 0 else smoothing
        w.call(op, "cross_entropy_probs", x, t, reduction=_reduction(op), label_smoothing=smooth)
        return
    scores = temporary(x.dims, x.dtype, "log_probs")
    w.define(op, f"log_softmax({w.of(x)}; dim={_class_axis(x)})", scores, w.extents.get(x))
    at = walk(w, x, [_class_axis(x)])
    ((c, classes),) = at.reduced
    wanted = at.read(w.of(t))
    if smoothing.constant != 0:
        amount = w.scalar(smoothing, op)
        wanted = f"({wanted} * (1 - {amount}) + {amount} / {classes})"
    product = f"{at.read(w.of(scores))} * {wanted}" + (f" * {w.of(weight)}[{c}]" if weight is not None else "")
    products = temporary(x.dims, x.dtype, "weighted")
    w.nest(op, tuple(zip(at.at, at.sizes, strict=True)), product, tensor=products)
    losses = temporary([dim for axis, dim in enumerate(x.dims) if axis != _class_axis(x)], x.dtype, "terms")
    w.nest(op, at.outer, f"-{at.fold('sum', at.read(w.of(products)))}", tensor=losses)
    finish(w, op, losses)
