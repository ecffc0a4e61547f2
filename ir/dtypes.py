"""Storage types: bits per element, kind, and the promotion rules of PyTorch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["bool", "int", "float", "complex"]


@dataclass(frozen=True, slots=True)
class DType:
    """A storage type. `bits` counts one stored element (sub-byte types are packed; bool takes 8)."""

    name: str
    kind: Kind
    bits: int
    signed: bool = True


_TABLE = (
    DType("bool", "bool", 8, signed=False),
    DType("u8", "int", 8, signed=False),
    DType("i8", "int", 8),
    DType("i16", "int", 16),
    DType("i32", "int", 32),
    DType("i64", "int", 64),
    DType("u16", "int", 16, signed=False),
    DType("u32", "int", 32, signed=False),
    DType("u64", "int", 64, signed=False),
    DType("i4", "int", 4),
    DType("u4", "int", 4, signed=False),
    DType("e2m1", "float", 4),
    DType("e4m3", "float", 8),
    DType("e5m2", "float", 8),
    DType("e8m0", "float", 8, signed=False),
    DType("f16", "float", 16),
    DType("bf16", "float", 16),
    DType("f32", "float", 32),
    DType("f64", "float", 64),
    DType("c64", "complex", 64),
    DType("c128", "complex", 128),
)
DTYPES = {dtype.name: dtype for dtype in _TABLE}
_KIND_ORDER: dict[Kind, int] = {"bool": 0, "int": 1, "float": 2, "complex": 3}


def kind(name: str) -> Kind:
    return DTYPES[name].kind


def bytes_of(name: str, elements: int) -> int:
    """Bytes that `elements` stored elements take, packed and rounded up to a whole byte."""
    return (DTYPES[name].bits * elements + 7) // 8


def integer_range(name: str) -> tuple[int, int]:
    """Smallest and largest value of an integer storage type."""
    dtype = DTYPES[name]
    if dtype.signed:
        return -(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1
    return 0, (1 << dtype.bits) - 1


WEAK, RANK0, STRONG = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Typed:
    """A dtype during inference, with PyTorch's three priorities: literals and compile-time values (WEAK) yield to
    rank-0 tensors (RANK0), and those to tensors with axes (STRONG), as long as the kind does not grow."""

    name: str
    level: int = STRONG


def promote(left: Typed, right: Typed) -> Typed:
    """PyTorch's result type of two operands (`torch.result_type`), for default dtype float32."""
    if left.level == right.level:
        return Typed(_promote_names(left.name, right.name), left.level)
    strong, weak = (left, right) if left.level > right.level else (right, left)
    if _KIND_ORDER[kind(weak.name)] <= _KIND_ORDER[kind(strong.name)]:
        return strong
    return Typed(weak.name, strong.level)


def floating(typed: Typed) -> Typed:
    """The type of a function that always gives floats: ints and bools become float32."""
    return typed if kind(typed.name) in ("float", "complex") else Typed("f32", typed.level)


def summed(typed: Typed) -> Typed:
    """The type of a sum or product over elements: ints and bools accumulate in int64."""
    return typed if kind(typed.name) in ("float", "complex") else Typed("i64", typed.level)


def _promote_names(left: str, right: str) -> str:
    if left == right:
        return left
    a, b = DTYPES[left], DTYPES[right]
    if {a.kind, b.kind} == {"float", "complex"}:
        return "c128" if {"f64", "c128"} & {left, right} else "c64"
    if a.kind != b.kind:
        return left if _KIND_ORDER[a.kind] > _KIND_ORDER[b.kind] else right
    if a.kind == "int" and a.signed != b.signed:
        return _mixed_sign(a, b)
    if a.kind == "float" and a.bits == b.bits:
        return "f32" if a.bits == 16 else left
    return left if a.bits > b.bits else right


def _mixed_sign(a: DType, b: DType) -> str:
    signed, unsigned = (a, b) if a.signed else (b, a)
    bits = signed.bits if signed.bits > unsigned.bits else unsigned.bits * 2
    return f"i{min(bits, 64)}"
