"""Comparisons, logic, choices and limits, element by element."""

from __future__ import annotations

from ....ir.dtypes import kind
from ..model import Num, Op, Tensor
from ..writer import Operand, Writer
from .pointwise import constant, made, natural, operand, refuse_complex
from .registry import rule

_COMPARISONS = {
    "eq": "==", "ne": "!=", "not_equal": "!=", "lt": "<", "less": "<", "le": "<=", "less_equal": "<=", "gt": ">",
    "greater": ">", "ge": ">=", "greater_equal": ">=",
}  # fmt: skip


def _comparison(name: str, sign: str) -> None:
    @rule(f"aten.{name}")
    def write(w: Writer, op: Op) -> None:
        made(w, op, f"{{0}} {sign} {{1}}", operand(op, "self"), operand(op, "other"), result="bool")


for _name, _sign in _COMPARISONS.items():
    _comparison(_name, _sign)

_TESTS = {
    "isnan": "{0} != {0}", "isinf": "abs({0}) == inf", "isfinite": "abs({0}) < inf", "isposinf": "{0} == inf",
    "isneginf": "{0} == -inf", "signbit": "{0} < 0",
}  # fmt: skip


def _test(name: str, form: str) -> None:
    @rule(f"aten.{name}")
    def write(w: Writer, op: Op) -> None:
        given = op.tensor("self")
        if given.is_bool and "abs" in form:
            raise op.fail("of bools")
        made(w, op, form, given, result="bool")


for _name, _form in _TESTS.items():
    _test(_name, _form)


@rule("aten.isclose")
def isclose(w: Writer, op: Op) -> None:
    """Equal, or no further apart than atol + rtol * |other| and not infinitely far."""
    left, right = operand(op, "self"), operand(op, "other")
    close = "{0} == {1} or (abs({0} - {1}) <= {2} + {3} * abs({1}) and abs({0} - {1}) < inf)"
    if op.flag("equal_nan"):
        close += " or ({0} != {0} and {1} != {1})"
    made(w, op, close, left, right, op.num("atol"), op.num("rtol"), result="bool")


@rule("aten.isreal")
def isreal(w: Writer, op: Op) -> None:
    made(w, op, "{0} == {0} or {0} != {0}", op.tensor("self"), result="bool")


@rule("aten.isin")
def isin(w: Writer, op: Op) -> None:
    """Is an element among those of a tensor of one axis?"""
    elements, among = (
        operand(op, "elements"),
        operand(op, "test_elements" if "test_elements" in op.args else "test_element"),
    )
    form = "{0} != {1}" if op.flag("invert") else "{0} == {1}"
    if not isinstance(among, Tensor) or among.rank == 0:
        made(w, op, form, elements, among, result="bool")
        return
    if among.rank != 1 or not isinstance(elements, Tensor):
        raise op.fail("of other than a tensor among those of a list")
    sizes, (count,) = w.sizes(elements), w.sizes(among)
    its = w.iterators(len(sizes) + 1, like=(*sizes, count))
    left = w.indices(elements, elements.dims, its[:-1], op)
    compared = form.format(left, f"{w.of(among)}[{its[-1]}]")
    combined = f"{'all' if op.flag('invert') else 'any'}({its[-1]}<{count}: {compared})"
    w.nest(op, tuple(zip(its[:-1], sizes, strict=True)), combined)


# -- logic ------------------------------------------------------------------------------------------------------------


@rule("aten.logical_not")
def logical_not(w: Writer, op: Op) -> None:
    made(w, op, "not {0}", op.tensor("self"), result="bool")


@rule("aten.logical_and")
def logical_and(w: Writer, op: Op) -> None:
    made(w, op, "{0} and {1}", operand(op, "self"), operand(op, "other"), result="bool")


@rule("aten.logical_or")
def logical_or(w: Writer, op: Op) -> None:
    made(w, op, "{0} or {1}", operand(op, "self"), operand(op, "other"), result="bool")


@rule("aten.logical_xor")
def logical_xor(w: Writer, op: Op) -> None:
    made(w, op, "({0} != 0) != ({1} != 0)", operand(op, "self"), operand(op, "other"), result="bool")


# -- choices ----------------------------------------------------------------------------------------------------------


@rule("aten.where.self", "aten.where.ScalarSelf", "aten.where.ScalarOther", "aten.where.Scalar")
def where(w: Writer, op: Op) -> None:
    condition = op.tensor("condition")
    if not condition.is_bool:
        raise op.fail(f"a condition of type {condition.dtype}")
    chosen(w, op, condition, operand(op, "self"), operand(op, "other"))


@rule("aten.masked_fill")
def masked_fill(w: Writer, op: Op) -> None:
    given, mask, value = op.tensor("self"), op.tensor("mask"), operand(op, "value")
    if not mask.is_bool:
        raise op.fail(f"a mask of type {mask.dtype}")
    chosen(w, op, mask, value, given)


def chosen(w: Writer, op: Op, condition: Tensor, yes: Tensor | Num | bool, no: Tensor | Num | bool) -> None:
    """`select`, each choice in the storage type of the result."""
    dtype = op.out.dtype
    refuse_complex(op, op.out, yes, no)
    tensors = [item for item in (yes, no) if isinstance(item, Tensor)]
    cast = natural((yes, no)) != dtype or any(kind(item.dtype) != kind(dtype) for item in tensors)
    texts: list[str] = []
    operands: list[Operand] = [condition]
    for item in (yes, no):
        differs = cast and isinstance(item, Tensor) and item.dtype != dtype
        texts.append(f"{dtype}({{{len(operands)}}})" if differs else f"{{{len(operands)}}}")
        operands.append(item if isinstance(item, Tensor) else constant(w, op, item, dtype))
    form = f"select({{0}}, {texts[0]}, {texts[1]})"
    plain = tensors or dtype in ("f32", "i64", "bool")
    w.pointwise(op, form if plain else f"{dtype}({form})", *operands)


# -- limits -----------------------------------------------------------------------------------------------------------


@rule("aten.clamp", "aten.clip")
def clamp(w: Writer, op: Op) -> None:
    low, high = (None if op.args.get(name) is None else operand(op, name) for name in ("min", "max"))
    given = op.tensor("self")
    if low is not None and high is not None:
        made(w, op, "min(max({0}, {1}), {2})", given, low, high)
    elif low is not None:
        made(w, op, "max({0}, {1})", given, low)
    elif high is not None:
        made(w, op, "min({0}, {1})", given, high)
    else:
        w.alias(op, given)


@rule("aten.clamp_min")
def clamp_min(w: Writer, op: Op) -> None:
    made(w, op, "max({0}, {1})", op.tensor("self"), operand(op, "min"))


@rule("aten.clamp_max")
def clamp_max(w: Writer, op: Op) -> None:
    made(w, op, "min({0}, {1})", op.tensor("self"), operand(op, "max"))
