"""Activation functions."""

from __future__ import annotations

from ..model import Num, Op
from ..writer import Writer
from .pointwise import made, operand
from .registry import rule


def _plain(name: str, function: str) -> None:
    @rule(f"aten.{name}")
    def write(w: Writer, op: Op) -> None:
        w.call(op, function, op.tensor("self"))


for _name, _function in {
    "relu": "relu", "relu6": "relu6", "selu": "selu", "silu": "silu", "mish": "mish", "log_sigmoid": "logsigmoid",
    "hardsigmoid": "hardsigmoid", "hardswish": "hardswish",
}.items():  # fmt: skip
    _plain(_name, _function)


def _optional(op: Op, name: str, default: float) -> Num | None:
    """A number, unless it is torch's default."""
    value = op.num(name)
    return None if value.constant == default else value


@rule("aten.leaky_relu")
def leaky_relu(w: Writer, op: Op) -> None:
    w.call(op, "leaky_relu", op.tensor("self"), negative_slope=_optional(op, "negative_slope", 0.01))


@rule("aten.rrelu")
def rrelu(w: Writer, op: Op) -> None:
    if op.flag("training"):
        raise op.fail("random slopes")
    low, high = op.num("lower"), op.num("upper")
    slope = Num(tuple((a + b) / 2 for a, b in zip(low.values, high.values, strict=True)))
    w.call(op, "leaky_relu", op.tensor("self"), negative_slope=slope)


@rule("aten.elu")
def elu(w: Writer, op: Op) -> None:
    given, alpha, scale, inner = op.tensor("self"), op.num("alpha"), op.num("scale"), op.num("input_scale")
    if scale.is_one and inner.is_one:
        w.call(op, "elu", given, alpha=_optional(op, "alpha", 1))
    else:
        made(w, op, "{2} * select({0} > 0, {0}, {1} * expm1({0} * {3}))", given, alpha, scale, inner)


@rule("aten.celu")
def celu(w: Writer, op: Op) -> None:
    w.call(op, "celu", op.tensor("self"), alpha=_optional(op, "alpha", 1.0))


@rule("aten.gelu")
def gelu(w: Writer, op: Op) -> None:
    match op.text("approximate"):
        case "none":
            w.call(op, "gelu", op.tensor("self"))
        case "tanh":
            w.call(op, "gelu", op.tensor("self"), approximate='"tanh"')
        case other:
            raise op.fail(f"approximate={other!r}")


@rule("aten.softplus")
def softplus(w: Writer, op: Op) -> None:
    beta, threshold = _optional(op, "beta", 1), _optional(op, "threshold", 20)
    w.call(op, "softplus", op.tensor("self"), beta=beta, threshold=threshold)


@rule("aten.hardtanh")
def hardtanh(w: Writer, op: Op) -> None:
    w.call(op, "hardtanh", op.tensor("self"), min_val=op.num("min_val"), max_val=op.num("max_val"))


@rule("aten.hardshrink")
def hardshrink(w: Writer, op: Op) -> None:
    w.call(op, "hardshrink", op.tensor("self"), lambd=_optional(op, "lambd", 0.5))


@rule("aten.softshrink")
def softshrink(w: Writer, op: Op) -> None:
    w.call(op, "softshrink", op.tensor("self"), lambd=_optional(op, "lambd", 0.5))


@rule("aten.threshold")
def threshold(w: Writer, op: Op) -> None:
    made(w, op, "select({0} <= {1}, {2}, {0})", op.tensor("self"), operand(op, "threshold"), operand(op, "value"))


@rule("aten.glu")
def glu(w: Writer, op: Op) -> None:
    given = op.tensor("self")
    axis = op.axis("dim", given.rank)
    w.call(op, "glu", given, dim=None if axis == given.rank - 1 else axis)


@rule("aten.prelu")
def prelu(w: Writer, op: Op) -> None:
    given, weight = op.tensor("self"), op.tensor("weight")
    sizes = w.sizes(given)
    its = w.iterators(given.rank, like=sizes)
    if weight.rank not in (0, 1):
        raise op.fail("a weight for each element")
    channel = "0" if weight.rank and weight.dims[0].is_one else its[1] if given.rank > 1 else ""
    if weight.rank and not channel:
        raise op.fail("a weight for each channel of a tensor that has none")
    slope = f"{w.of(weight)}[{channel}]" if weight.rank else w.of(weight)
    read = f"{w.of(given)}[{', '.join(its)}]" if its else w.of(given)
    w.nest(op, tuple(zip(its, sizes, strict=True)), f"select({read} > 0, {read}, {slope} * {read})")
