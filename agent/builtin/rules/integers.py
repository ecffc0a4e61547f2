"""Division with remainder, and operators on bits."""

from __future__ import annotations

from ..model import Op, Tensor
from ..writer import Operand, Writer
from .elementwise import TRUNC
from .pointwise import made, natural, operand, temporary
from .registry import rule


def _floating(*items: Operand) -> bool:
    return natural(items).startswith(("f", "bf", "e"))


@rule("aten.div", "aten.divide", "aten.true_divide")
def div(w: Writer, op: Op) -> None:
    left, right = operand(op, "self"), operand(op, "other")
    match op.args.get("rounding_mode"):
        case None:
            made(w, op, "{0} / {1}", left, right, result="float")
        case "floor":
            made(w, op, "{0} // {1}", left, right)
        case "trunc" if _floating(left, right):
            quotient = temporary(w, op, "{0} / {1}", left, right, dtype=natural((left, right)), hint="quotient")
            made(w, op, TRUNC, quotient)
        case "trunc":
            made(w, op, "select({0} % {1} != 0 and ({0} < 0) != ({1} < 0), {0} // {1} + 1, {0} // {1})", left, right)
        case other:
            raise op.fail(f"rounding_mode {other!r}")


@rule("aten.floor_divide")
def floor_divide(w: Writer, op: Op) -> None:
    made(w, op, "{0} // {1}", operand(op, "self"), operand(op, "other"))


@rule("aten.remainder")
def remainder(w: Writer, op: Op) -> None:
    made(w, op, "{0} % {1}", operand(op, "self"), operand(op, "other"))


@rule("aten.fmod")
def fmod(w: Writer, op: Op) -> None:
    """The remainder with the sign of the dividend."""
    left, right = operand(op, "self"), operand(op, "other")
    dtype = natural((left, right))
    if _floating(left, right):
        size = temporary(w, op, "abs({0}) % abs({1})", left, right, dtype=dtype, hint="size")
        made(w, op, "select({0} < 0, -{1}, {1})", left, size)
        return
    rest = temporary(w, op, "{0} % {1}", left, right, dtype=dtype, hint="rest")
    made(w, op, "select({2} != 0 and ({0} < 0) != ({1} < 0), {2} - {1}, {2})", left, right, rest)


# -- bits -------------------------------------------------------------------------------------------------------------


@rule("aten.bitwise_not")
def bitwise_not(w: Writer, op: Op) -> None:
    given = op.tensor("self")
    if given.is_bool:
        made(w, op, "not {0}", given, result="bool")
    else:
        made(w, op, "-{0} - 1", given)


def _operands(op: Op) -> tuple[Operand, Operand]:
    return operand(op, "self"), operand(op, "other")


def _bools(*items: Operand) -> bool:
    return all((isinstance(item, Tensor) and item.is_bool) or isinstance(item, bool) for item in items)


@rule("aten.bitwise_and", "aten.__and__")
def bitwise_and(w: Writer, op: Op) -> None:
    _bits(w, op, "{0} and {1}", "bit_and({0}, {1})")


@rule("aten.bitwise_or", "aten.__or__")
def bitwise_or(w: Writer, op: Op) -> None:
    _bits(w, op, "{0} or {1}", "bit_or({0}, {1})")


@rule("aten.bitwise_xor", "aten.__xor__")
def bitwise_xor(w: Writer, op: Op) -> None:
    _bits(w, op, "{0} != {1}", "bit_xor({0}, {1})")


def _bits(w: Writer, op: Op, of_bools: str, of_numbers: str) -> None:
    left, right = _operands(op)
    if _floating(left, right):
        raise op.fail("of floating-point numbers")
    if _bools(left, right):
        made(w, op, of_bools, left, right, result="bool")
    else:
        made(w, op, of_numbers, left, right)


@rule("aten.bitwise_left_shift", "aten.__lshift__")
def left_shift(w: Writer, op: Op) -> None:
    left, right = _operands(op)
    _check_shift(op, left, right)
    made(w, op, "{0} * 2 ** {1}", left, right)


@rule("aten.bitwise_right_shift", "aten.__rshift__")
def right_shift(w: Writer, op: Op) -> None:
    left, right = _operands(op)
    _check_shift(op, left, right)
    made(w, op, "{0} // 2 ** {1}", left, right)


def _check_shift(op: Op, *items: Operand) -> None:
    if _floating(*items):
        raise op.fail("of floating-point numbers")
