"""The scalar operators of expressions and what kind of work each one is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Work = Literal["add", "mul", "compare", "logic", "special", "free"]
Result = Literal["promote", "float", "bool", "keep"]


@dataclass(frozen=True, slots=True)
class ScalarOp:
    """`work` is what one application costs: vector work (add, mul, compare, logic), a special function, or nothing.

    `result` is the rule for its dtype: promoted operands, promoted and made floating, bool, or the operand's own."""

    name: str
    arity: int
    work: Work
    result: Result


_TABLE = (
    ScalarOp("add", 2, "add", "promote"),
    ScalarOp("sub", 2, "add", "promote"),
    ScalarOp("mul", 2, "mul", "promote"),
    ScalarOp("div", 2, "special", "float"),
    ScalarOp("floordiv", 2, "special", "promote"),
    ScalarOp("mod", 2, "special", "promote"),
    ScalarOp("pow", 2, "special", "promote"),
    ScalarOp("neg", 1, "add", "keep"),
    ScalarOp("abs", 1, "add", "keep"),
    ScalarOp("sign", 1, "compare", "keep"),
    ScalarOp("min", 2, "compare", "promote"),
    ScalarOp("max", 2, "compare", "promote"),
    ScalarOp("floor", 1, "add", "keep"),
    ScalarOp("ceil", 1, "add", "keep"),
    ScalarOp("round", 1, "add", "keep"),
    ScalarOp("lt", 2, "compare", "bool"),
    ScalarOp("le", 2, "compare", "bool"),
    ScalarOp("gt", 2, "compare", "bool"),
    ScalarOp("ge", 2, "compare", "bool"),
    ScalarOp("eq", 2, "compare", "bool"),
    ScalarOp("ne", 2, "compare", "bool"),
    ScalarOp("and", 2, "logic", "bool"),
    ScalarOp("or", 2, "logic", "bool"),
    ScalarOp("not", 1, "logic", "bool"),
    ScalarOp("bit_and", 2, "logic", "promote"),
    ScalarOp("bit_or", 2, "logic", "promote"),
    ScalarOp("bit_xor", 2, "logic", "promote"),
    ScalarOp("select", 3, "compare", "promote"),
    ScalarOp("exp", 1, "special", "float"),
    ScalarOp("expm1", 1, "special", "float"),
    ScalarOp("log", 1, "special", "float"),
    ScalarOp("log1p", 1, "special", "float"),
    ScalarOp("sqrt", 1, "special", "float"),
    ScalarOp("rsqrt", 1, "special", "float"),
    ScalarOp("tanh", 1, "special", "float"),
    ScalarOp("sigmoid", 1, "special", "float"),
    ScalarOp("erf", 1, "special", "float"),
    ScalarOp("sin", 1, "special", "float"),
    ScalarOp("cos", 1, "special", "float"),
    ScalarOp("atan2", 2, "special", "float"),
)
SCALAR_OPS = {op.name: op for op in _TABLE}

Combine = Literal["=", "+", "*", "max", "min", "and", "or", "argmax", "argmin"]
IDENTITY: dict[Combine, float | bool] = {
    "+": 0,
    "*": 1,
    "max": float("-inf"),
    "min": float("inf"),
    "and": True,
    "or": False,
}
