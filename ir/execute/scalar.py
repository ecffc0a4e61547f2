"""NumPy functions of the scalar operators, on arrays already in the arithmetic of the result (or of the operands)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..dtypes import kind
from ..program import Apply, Const, Expr
from .values import BOOL, FLOAT, Array, as_kind, wrap

Function = Callable[..., Array]

# Rational approximations of erf and erfc: W. J. Cody, Math. Comp. 23 (1969) 631-637.
_SMALL_TOP = (3.16112374387056560e00, 1.13864154151050156e02, 3.77485237685302021e02, 3.20937758913846947e03)
_SMALL_LEAD = 1.85777706184603153e-1
_SMALL_BOTTOM = (2.36012909523441209e01, 2.44024637934444173e02, 1.28261652607737228e03, 2.84423683343917062e03)
_LARGE_TOP = (
    5.64188496988670089e-1,
    8.88314979438837594e0,
    6.61191906371416295e01,
    2.98635138197400131e02,
    8.81952221241769090e02,
    1.71204761263407058e03,
    2.05107837782607147e03,
    1.23033935479799725e03,
)
_LARGE_LEAD = 2.15311535474403846e-8
_LARGE_BOTTOM = (
    1.57449261107098347e01,
    1.17693950891312499e02,
    5.37181101862009858e02,
    1.62138957456669019e03,
    3.29079923573345963e03,
    4.36261909014324716e03,
    3.43936767414372164e03,
    1.23033935480374942e03,
)
_ERF_SPLIT = 0.46875
_ERF_ONE = 6.0  # erf(x) is 1 in float64 from 5.93 on
_ERF_BLOCK = 8192


def _horner(x: Array, lead: float, rest: Sequence[float]) -> Array:
    total = np.full_like(x, lead)
    for coefficient in rest:
        total *= x
        total += coefficient
    return total


def _erf_small(x: Array) -> Array:
    square = x * x
    return x * _horner(square, _SMALL_LEAD, _SMALL_TOP) / _horner(square, 1.0, _SMALL_BOTTOM)


def _erf_large(magnitude: Array) -> Array:
    clipped = np.minimum(magnitude, _ERF_ONE)
    tail = _horner(clipped, _LARGE_LEAD, _LARGE_TOP) / _horner(clipped, 1.0, _LARGE_BOTTOM)
    tail *= np.exp(-clipped * clipped)
    return 1.0 - tail


def _erf_block(x: Array) -> Array:
    magnitude = np.abs(x)
    small = magnitude <= _ERF_SPLIT
    result = np.copysign(_erf_large(magnitude), x)
    if small.any():
        result[small] = _erf_small(x[small])
    return result


def erf(x: Array) -> Array:
    """Error function, relative error below 4e-16."""
    flat = np.ravel(x)
    result = np.empty_like(flat)
    for start in range(0, flat.size, _ERF_BLOCK):
        result[start : start + _ERF_BLOCK] = _erf_block(flat[start : start + _ERF_BLOCK])
    return result.reshape(np.shape(x))


def sigmoid(x: Array) -> Array:
    """1/(1+exp(-x)): exp overflows to infinity only where the result is below the normal range."""
    return np.reciprocal(np.exp(np.negative(x)) + 1.0)


def rsqrt(x: Array) -> Array:
    return np.reciprocal(np.sqrt(x))


def sign(x: Array) -> Array:
    """-1, 0 or 1; NaN gives 0, as torch."""
    if x.dtype.kind != "f":
        return np.sign(x)
    return np.subtract(x > 0, x < 0, dtype=FLOAT)


def _whole(function: Function) -> Function:
    def apply(x: Array) -> Array:
        return function(x) if x.dtype.kind == "f" else x

    return apply


def power(base: Array, exponent: Array) -> Array:
    """base**exponent; an integer to a negative power is 0 unless the base is 1 or -1."""
    if base.dtype.kind not in "iu":
        return np.power(base, exponent)
    negative = exponent < 0
    if not negative.any():
        return np.power(base, exponent)
    unit = np.where(base == 1, 1, np.where(base == -1, np.where(exponent % 2 == 0, 1, -1), 0))
    return np.where(negative, unit, np.power(base, np.where(negative, 0, exponent))).astype(base.dtype)


_POWERS: dict[float, Function] = {
    0.5: np.sqrt,
    -0.5: rsqrt,
    1.0: np.positive,
    -1.0: np.reciprocal,
    2.0: np.square,
    3.0: lambda x: x * x * x,
    -2.0: lambda x: np.reciprocal(x * x),
}

_FUNCTIONS: dict[str, Function] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.true_divide, "floordiv": np.floor_divide,
    "mod": np.remainder, "pow": power, "neg": np.negative, "abs": np.absolute, "sign": sign,
    "min": np.minimum, "max": np.maximum, "floor": _whole(np.floor), "ceil": _whole(np.ceil), "round": _whole(np.rint),
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
    "and": np.logical_and, "or": np.logical_or, "not": np.logical_not, "select": np.where,
    "bit_and": np.bitwise_and, "bit_or": np.bitwise_or, "bit_xor": np.bitwise_xor,
    "exp": np.exp, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "sqrt": np.sqrt, "rsqrt": rsqrt,
    "tanh": np.tanh, "sigmoid": sigmoid, "erf": erf, "sin": np.sin, "cos": np.cos,
    "atan2": np.arctan2,
}  # fmt: skip

_COMPARISONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})


def constant_power(expr: Expr) -> Function | None:
    """The one-argument function of `x ** constant` where torch has a shorter way for it."""
    match expr:
        case Apply("pow", (_, Const(value, _)), dtype) if kind(dtype) == "float":
            return _POWERS.get(float(value))
        case _:
            return None


def operand_types(op: str, dtypes: Sequence[str], result: str) -> tuple[str | None, ...]:
    """The storage type that each operand is brought to before the operator runs (None: as it is)."""
    if op == "select":
        return "bool", result, result
    if op in ("and", "or", "not"):
        return ("bool",) * len(dtypes)
    if op in _COMPARISONS:
        mixed = any(kind(name) == "float" for name in dtypes)
        return ("f64" if mixed else None,) * len(dtypes)
    return (result,) * len(dtypes)


def function_of(op: str) -> Function:
    return _FUNCTIONS[op]


def is_ufunc(function: Function) -> bool:
    return isinstance(function, np.ufunc)


def finish(values: Array, dtype: str) -> Array:
    """The result of an operator in its storage type."""
    return wrap(as_kind(values, dtype), dtype)


def truth(values: Array) -> Array:
    return values if values.dtype == BOOL else values.astype(BOOL)
