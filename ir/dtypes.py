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


@dataclass(frozen=True, slots=True)
class Typed:
    """A dtype during inference; a weak one (a literal, a compile-time value) yields to a strong one of its kind.

    `weak` values are Python scalars; `rank0` marks results of rank-0 tensors, which torch also lets yield."""

    name: str
    weak: bool = False


def promote(left: Typed, right: Typed) -> Typed:
    """PyTorch's result type of two operands (`torch.result_type`); a weak operand counts by its kind only."""
    if left.weak != right.weak:
        strong, weak = (right, left) if left.weak else (left, right)
        if _KIND_ORDER[kind(weak.name)] <= _KIND_ORDER[kind(strong.name)]:
            return strong
        return Typed("f32" if kind(weak.name) == "float" else weak.name)
    return Typed(_promote_names(left.name, right.name), left.weak and right.weak)


def _promote_names(left: str, right: str) -> str:
    if left == right:
        return left
    a, b = DTYPES[left], DTYPES[right]
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
