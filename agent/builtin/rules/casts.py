"""Conversions, copies, and operators that hand their argument on."""

from __future__ import annotations

from ..model import Num, Op, Tensor
from ..writer import Writer
from .pointwise import constant, filled, made, operand, refuse_complex
from .registry import rule


@rule(
    "aten.to.dtype", "aten.to.dtype_layout", "aten.to.device", "aten.to.other", "aten.type_as", "aten._to_copy",
    "aten._autocast_to_full_precision", "aten._autocast_to_reduced_precision",
)  # fmt: skip
def cast(w: Writer, op: Op) -> None:
    converted(w, op, op.tensor("self"))


@rule(
    "aten.contiguous", "aten.clone", "aten.detach", "aten.detach_copy", "aten.alias", "aten.alias_copy", "aten.lift",
    "aten.lift_fresh", "aten.lift_fresh_copy", "aten.positive", "aten.conj", "aten._conj", "aten.conj_physical",
    "aten.resolve_conj", "aten.resolve_neg", "aten.real", "aten.pin_memory", "aten.requires_grad", "aten.cpu",
)  # fmt: skip
def same(w: Writer, op: Op) -> None:
    converted(w, op, op.tensor("self"))


def converted(w: Writer, op: Op, source: Tensor) -> None:
    """The result is `source`, broadcast and of another storage type where these differ."""
    refuse_complex(op, source, op.out)
    if source.dtype == op.out.dtype and _alike(source, op.out):
        w.alias(op, source)
    else:
        made(w, op, "{0}", source)


def _alike(left: Tensor, right: Tensor) -> bool:
    return [dim.values for dim in left.dims] == [dim.values for dim in right.dims]


@rule("aten.copy")
def copy(w: Writer, op: Op) -> None:
    source = operand(op, "src")
    if isinstance(source, Tensor):
        converted(w, op, source)
    else:
        filled(w, op, constant(w, op, source, op.out.dtype), _of_shape(op))


@rule("aten.fill")
def fill(w: Writer, op: Op) -> None:
    value = operand(op, "value")
    if isinstance(value, Tensor):
        converted(w, op, value)
    else:
        filled(w, op, constant(w, op, value, op.out.dtype), _of_shape(op))


@rule("aten.zero")
def zero(w: Writer, op: Op) -> None:
    filled(w, op, constant(w, op, Num((0,)), op.out.dtype), _of_shape(op))


def _of_shape(op: Op) -> tuple[Tensor, ...]:
    given = op.args.get("self")
    return (given,) if isinstance(given, Tensor) else ()
