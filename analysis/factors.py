"""Products inside sums: which factors take part in the sum and which can be applied to its result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..ir import indices
from ..ir.dtypes import DTYPES, kind
from ..ir.program import Apply, Cast, Const, Expr, IndexValue, Read, Tensor

Tensors = Mapping[str, Tensor]


@dataclass(frozen=True, slots=True)
class Product:
    """`factors` use a reduced iterator; `outer` ("mul" or "div", factor) do not; `numbers`: compile-time factors.

    `dtype` is the product's type, `compute_dtype` the one a multiply-add may be done in."""

    factors: tuple[Expr, ...]
    outer: tuple[tuple[str, Expr], ...]
    numbers: int
    dtype: str
    compute_dtype: str


def factorise(expr: Expr, reduced: frozenset[str], tensors: Tensors) -> Product:
    factors: list[Expr] = []
    outer: list[tuple[str, Expr]] = []
    numbers = _collect(expr, reduced, factors, outer, "mul")
    dtype = dtype_of(expr, tensors)
    computes = compute_dtype(factors, _product_dtype(expr) or dtype, tensors)
    return Product(tuple(factors), tuple(outer), numbers, dtype, computes)


def _collect(
    expr: Expr, reduced: frozenset[str], factors: list[Expr], outer: list[tuple[str, Expr]], how: str
) -> int:
    """Number of compile-time factors met; the others are appended to where they belong."""
    if not indices.expr_iterators(expr) and not _reads(expr):
        return 1
    if reduced and not indices.expr_iterators(expr) & reduced:
        outer.append((how, expr))
        return 0
    match expr:
        case Apply("mul", (left, right), _):
            return _collect(left, reduced, factors, outer, how) + _collect(right, reduced, factors, outer, how)
        case Apply("div", (left, right), _) if not indices.expr_iterators(right) & reduced:
            if not _number(right) and not reduced:
                factors.append(expr)
                return 0
            numbers = _collect(right, reduced, factors, outer, "div")
            return numbers + _collect(left, reduced, factors, outer, how)
        case Apply("neg", (arg,), _):
            return 1 + _collect(arg, reduced, factors, outer, how)
        case Cast(Apply("mul" | "div" | "neg") as arg, dtype) if kind(dtype) == kind(arg.dtype) == "float":
            return _collect(arg, reduced, factors, outer, how)
        case _:
            factors.append(expr)
            return 0


def _number(expr: Expr) -> int:
    return int(not indices.expr_iterators(expr) and not _reads(expr))


def _reads(expr: Expr) -> bool:
    return next(indices.reads(expr), None) is not None


def addends(product: Product, reduced: frozenset[str], tensors: Tensors) -> tuple[Product, ...]:
    """The terms of a sum inside the product, when one of them is a contraction; else the product itself."""
    if len(product.factors) != 1:
        return (product,)
    parts = _flat_sum(product.factors[0])
    if len(parts) < 2:
        return (product,)
    split = tuple(factorise(part, reduced, tensors) for part in parts)
    if any(sum(_reads(factor) for factor in part.factors) > 1 for part in split):
        return split
    return (product,)


def _flat_sum(expr: Expr) -> list[Expr]:
    if isinstance(expr, Apply) and expr.op in ("add", "sub"):
        return [part for arg in expr.args for part in _flat_sum(arg)]
    return [expr]


def dtype_of(expr: Expr, tensors: Tensors) -> str:
    match expr:
        case Apply(dtype=dtype) | Cast(dtype=dtype) | Const(dtype=dtype):
            return dtype
        case Read(tensor):
            return tensors[tensor].dtype
        case IndexValue():
            return "i64"


def _product_dtype(expr: Expr) -> str | None:
    match expr:
        case Apply("mul", _, dtype):
            return dtype
        case Apply("div" | "neg", (arg, *_), _) | Cast(arg, _):
            return _product_dtype(arg)
        case _:
            return None


def compute_dtype(factors: list[Expr], dtype: str, tensors: Tensors) -> str:
    """The product's type; where both factors are widened from 16 bits or less, the widest of those types."""
    if kind(dtype) != "float" or DTYPES[dtype].bits <= 16:
        return dtype
    sources = [_source(factor, tensors) for factor in factors]
    if not sources or any(DTYPES[name].bits > 16 or kind(name) != "float" for name in sources):
        return dtype
    return max(sources, key=lambda name: DTYPES[name].bits)


def _source(expr: Expr, tensors: Tensors) -> str:
    """The type that a value had before it was widened."""
    if isinstance(expr, Cast):
        before = _source(expr.arg, tensors)
        if kind(before) == kind(expr.dtype) == "float" and DTYPES[before].bits <= DTYPES[expr.dtype].bits:
            return before
    return dtype_of(expr, tensors)
