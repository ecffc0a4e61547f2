"""Losses: one term for each element or row, then their mean, sum, or the terms themselves."""

from __future__ import annotations

from collections.abc import Sequence

from ..model import Num, Op, Tensor
from ..writer import Operand, Writer
from .registry import rule
from .walks import bracket, temporary, walk

REDUCTIONS = ("none", "mean", "sum")


def reduction_of(op: Op) -> str:
    code = op.fixed("reduction")
    if code not in (0, 1, 2):
        raise op.fail(f"reduction {code}")
    return REDUCTIONS[code]


def one_type(op: Op, *tensors: Tensor | None) -> None:
    if any(t is not None and t.dtype != op.out.dtype for t in tensors):
        raise op.fail("operands of several types")


def same_shape(*tensors: Tensor) -> bool:
    return len({tuple(dim.values for dim in tensor.dims) for tensor in tensors}) == 1


def broadcast(op: Op, tensors: Sequence[Tensor]) -> tuple[Num, ...]:
    """The shape that the operands are broadcast to."""
    rank = max(tensor.rank for tensor in tensors)
    dims: list[Num | None] = [None] * rank
    for tensor in tensors:
        for axis, dim in enumerate(tensor.dims, rank - tensor.rank):
            known = dims[axis]
            if known is None or known.is_one:
                dims[axis] = dim
            elif not dim.is_one and dim.values != known.values:
                raise op.fail("operands whose sizes are broadcast at some sizes and equal at others")
    return tuple(dim for dim in dims if dim is not None)


def terms(w: Writer, op: Op, form: str, *operands: Operand, hint: str = "terms") -> Tensor:
    """A loss before it is reduced: `form` of the operands, broadcast."""
    tensors = [operand for operand in operands if isinstance(operand, Tensor)]
    target = temporary(broadcast(op, tensors), op.out.dtype, hint)
    w.pointwise(op, form, *operands, tensor=target)
    return target


def finish(w: Writer, op: Op, loss: Tensor) -> None:
    """The terms' mean or sum, or the terms."""
    how = reduction_of(op)
    if how == "none" or loss.rank == 0:
        w.alias(op, loss)
        return
    at = walk(w, loss, range(loss.rank))
    total = at.fold("sum", at.read(w.of(loss)))
    w.nest(op, (), total if how == "sum" else f"{total} / ({at.count})")


def pointwise_loss(w: Writer, op: Op, form: str, *operands: Operand) -> None:
    one_type(op, *(operand for operand in operands if isinstance(operand, Tensor)))
    finish(w, op, terms(w, op, form, *operands))


def _reduction(op: Op) -> str | None:
    how = reduction_of(op)
    return None if how == "mean" else f'"{how}"'


# -- of two tensors, element by element -------------------------------------------------------------------------------


@rule("aten.mse_loss", "aten.l1_loss", "aten.soft_margin_loss")
def simple(w: Writer, op: Op) -> None:
    x, t = op.tensor("self"), op.tensor("target")
    one_type(op, x, t)
    name = op.name.split(".")[1]
    if same_shape(x, t):
        w.call(op, name, x, t, reduction=_reduction(op))
        return
    forms = {"mse_loss": "({0} - {1})**2", "l1_loss": "abs({0} - {1})", "soft_margin_loss": "log1p(exp(-{1} * {0}))"}
    pointwise_loss(w, op, forms[name], x, t)


@rule("aten.smooth_l1_loss", "aten.huber_loss")
def huber(w: Writer, op: Op) -> None:
    x, t = op.tensor("self"), op.tensor("target")
    one_type(op, x, t)
    smooth = op.name.startswith("aten.smooth")
    option = "beta" if smooth else "delta"
    if same_shape(x, t):
        w.call(op, op.name.split(".")[1], x, t, reduction=_reduction(op), **{option: op.num(option)})
        return
    d = terms(w, op, "abs({0} - {1})", x, t, hint="distance")
    form = "select({0} <= {1}, 0.5 * {0}**2, {1} * ({0} - 0.5 * {1}))"
    if smooth:
        form = "select({0} < {1}, 0.5 * {0}**2 / {1}, {0} - 0.5 * {1})" if op.num(option).constant != 0 else "{0}"
    pointwise_loss(w, op, form, d, op.num(option))


@rule("aten.kl_div")
def kl_div(w: Writer, op: Op) -> None:
    x, t = op.tensor("self"), op.tensor("target")
    one_type(op, x, t)
    if same_shape(x, t):
        w.call(op, "kl_div", x, t, reduction=_reduction(op), log_target=op.flag("log_target") or None)
    elif op.flag("log_target"):
        pointwise_loss(w, op, "exp({1}) * ({1} - {0})", x, t)
    else:
        pointwise_loss(w, op, "select({1} == 0, 0, {1} * log({1})) - {1} * {0}", x, t)


@rule("aten.binary_cross_entropy")
def binary_cross_entropy(w: Writer, op: Op) -> None:
    x, t, weight = op.tensor("self"), op.tensor("target"), op.maybe("weight")
    one_type(op, x, t, weight)
    if weight is None and same_shape(x, t):
        w.call(op, "binary_cross_entropy", x, t, reduction=_reduction(op))
        return
    form = "({1} - 1) * max(log1p(-{0}), -100) - {1} * max(log({0}), -100)"
    operands = (x, t) if weight is None else (x, t, weight)
    pointwise_loss(w, op, form if weight is None else f"({form}) * {{2}}", *operands)


@rule("aten.binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(w: Writer, op: Op) -> None:
    x, t, weight, positive = op.tensor("self"), op.tensor("target"), op.maybe("weight"), op.maybe("pos_weight")
    one_type(op, x, t, weight, positive)
    if weight is None and positive is None and same_shape(x, t):
        w.call(op, "binary_cross_entropy_with_logits", x, t, reduction=_reduction(op))
        return
    log_sigmoid = "(min({0}, 0) - log1p(exp(-abs({0}))))"
    form = f"(1 - {{1}}) * {{0}} - {log_sigmoid}"
    operands = [x, t]
    if positive is not None:
        form = f"(1 - {{1}}) * {{0}} - (({{{len(operands)}}} - 1) * {{1}} + 1) * {log_sigmoid}"
        operands.append(positive)
    if weight is not None:
        form = f"({form}) * {{{len(operands)}}}"
        operands.append(weight)
    pointwise_loss(w, op, form, *operands)


@rule("aten.poisson_nll_loss")
def poisson_nll_loss(w: Writer, op: Op) -> None:
    x, t, eps = op.tensor("input"), op.tensor("target"), op.num("eps")
    form = "exp({0}) - {1} * {0}" if op.flag("log_input") else "{0} - {1} * log({0} + {2})"
    if op.flag("full"):
        form += " + select({1} > 1, {1} * log({1}) - {1} + 0.5 * log(2 * pi * {1}), 0)"
    pointwise_loss(w, op, form, x, t, eps)


@rule("aten.hinge_embedding_loss")
def hinge_embedding_loss(w: Writer, op: Op) -> None:
    form = "select({1} != 1, max({2} - {0}, 0), 0) + select({1} != -1, {0}, 0)"
    x, t = op.tensor("self"), op.tensor("target")
    one_type(op, x)
    finish(w, op, terms(w, op, form, x, t, op.num("margin")))


@rule("aten.margin_ranking_loss")
def margin_ranking_loss(w: Writer, op: Op) -> None:
    operands = (op.tensor("input1"), op.tensor("input2"), op.tensor("target"))
    pointwise_loss(w, op, "max(-{2} * ({0} - {1}) + {3}, 0)", *operands, op.num("margin"))


# -- of rows ----------------------------------------------------------------------------------------------------------


@rule("aten.cosine_embedding_loss")
def cosine_embedding_loss(w: Writer, op: Op) -> None:
    a, b, t = op.tensor("input1"), op.tensor("input2"), op.tensor("target")
    one_type(op, a, b)
    if a.rank != 2 or t.rank != 1 or not same_shape(a, b):
        raise op.fail("operands of these shapes")
    w.call(op, "cosine_embedding_loss", a, b, t, margin=op.num("margin"), reduction=_reduction(op))


@rule("aten.triplet_margin_loss")
def triplet_margin_loss(w: Writer, op: Op) -> None:
    tensors = (op.tensor("anchor"), op.tensor("positive"), op.tensor("negative"))
    one_type(op, *tensors)
    if not same_shape(*tensors) or not tensors[0].rank:
        raise op.fail("operands that are broadcast")
    options = {key: op.num(key) for key in ("margin", "p", "eps")}
    given = {key: value for key, value in options.items() if value.constant != {"margin": 1.0, "p": 2.0}.get(key)}
    swap = True if op.flag("swap") else None
    w.call(op, "triplet_margin_loss", *tensors, **given, swap=swap, reduction=_reduction(op))


@rule("aten.multi_margin_loss")
def multi_margin_loss(w: Writer, op: Op) -> None:
    """Mean over classes other than the target's of max(0, margin - x[target] + x[i])**p, times the target's weight."""
    x, t, weight = op.tensor("self"), op.tensor("target"), op.maybe("weight")
    one_type(op, x, weight)
    p = op.fixed("p")
    if x.rank not in (1, 2) or t.rank != x.rank - 1 or p not in (1, 2):
        raise op.fail("operands of these shapes")
    sizes = w.sizes(x)
    its = w.iterators(x.rank, like=sizes)
    target = w.of(t) + bracket(its[:-1])
    row = "".join(f"{iterator}, " for iterator in its[:-1])
    name, margin = w.of(x), w.scalar(op.num("margin"), op)
    hinge = f"max({margin} - {name}[{row}{target}] + {name}[{row}{its[-1]}], 0)"
    text = f"{hinge}{'**2' if p == 2 else ''}"
    if weight is not None:
        text += f" * {w.of(weight)}[{target}]"
    losses = temporary(x.dims[:-1], x.dtype, "terms")
    text = f"sum({its[-1]}<{sizes[-1]}: select({its[-1]} == {target}, 0, {text})) / {sizes[-1]}"
    w.nest(op, tuple(zip(its[:-1], sizes[:-1], strict=True)), text, tensor=losses)
    finish(w, op, losses)


@rule("aten.multilabel_margin_loss")
def multilabel_margin_loss(w: Writer, op: Op) -> None:
    raise op.fail("its targets end at the first negative one")


@rule("aten.ctc_loss")
def ctc_loss(w: Writer, op: Op) -> None:
    raise op.fail("not covered")
