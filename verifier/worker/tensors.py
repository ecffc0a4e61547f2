"""Tensors as the other side sees them: storage type names, memory blocks with their aliases, values as NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import torch

from ...ir.bindings import TensorType
from ..types import Array
from .faults import Refused

NAMES = {
    torch.bool: "bool",
    torch.uint8: "u8",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.uint16: "u16",
    torch.uint32: "u32",
    torch.uint64: "u64",
    torch.float8_e4m3fn: "e4m3",
    torch.float8_e5m2: "e5m2",
    torch.float8_e8m0fnu: "e8m0",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.float64: "f64",
    torch.complex64: "c64",
    torch.complex128: "c128",
}
BY_NAME = {name: dtype for dtype, name in NAMES.items()}
SMALL_FLOATS = frozenset({"e4m3", "e5m2", "e8m0", "f16"})


def dtype_name(dtype: torch.dtype) -> str:
    if dtype not in NAMES:
        raise Refused(f"{dtype} is not a storage type that is understood")
    return NAMES[dtype]


def wide(dtype: torch.dtype) -> torch.dtype:
    """The type that stands for `dtype` in promoted runs."""
    if dtype.is_floating_point:
        return torch.float64
    return torch.complex128 if dtype.is_complex else dtype


def values(tensor: torch.Tensor) -> Array:
    """A copy as float64, or as the integers or bools that they are."""
    tensor = tensor.detach().resolve_conj().resolve_neg()
    if tensor.dtype.is_floating_point and tensor.dtype != torch.float64:
        tensor = tensor.to(torch.float64)
    array: Array = np.array(tensor.contiguous().numpy(), copy=True)
    return array


@dataclass(frozen=True, slots=True)
class Entry:
    """One name for (a part of) a block. `tensor` is the program's own object, whose data can be exchanged."""

    name: str
    tensor: torch.Tensor
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


@dataclass(frozen=True, slots=True)
class Block:
    """One storage: `flat` holds all its elements (a copy, or meta), `entries` are the tensors that live in it."""

    name: str
    flat: torch.Tensor
    entries: tuple[Entry, ...]

    @property
    def aliased(self) -> bool:
        return len(self.entries) > 1 or self.flat.numel() != self.entries[0].tensor.numel()


def blocks_of(tensors: Mapping[str, torch.Tensor], copy: bool = True) -> tuple[Block, ...]:
    """Group tensors by the memory they lie in, in order of first appearance."""
    groups: dict[tuple[int, torch.dtype], list[tuple[str, torch.Tensor]]] = {}
    for name, tensor in tensors.items():
        if tensor.layout != torch.strided or tensor.is_quantized:
            raise Refused(f'"{name}" is a {tensor.layout} tensor, which is not understood')
        identity = tensor.untyped_storage()._cdata
        groups.setdefault((identity, tensor.dtype), []).append((name, tensor))
    return tuple(_block(members, copy) for members in groups.values())


def _block(members: list[tuple[str, torch.Tensor]], copy: bool) -> Block:
    name, first = members[0]
    flat = first.detach()
    count = flat.untyped_storage().nbytes() // flat.element_size()
    flat = flat.as_strided((count,), (1,), 0)
    flat = flat.clone() if copy else flat
    entries = tuple(
        Entry(label, tensor, tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset())
        for label, tensor in members
    )
    return Block(name, flat, entries)


def types_of(blocks: Iterable[Block]) -> dict[str, TensorType]:
    return {entry.name: _type(block, entry) for block in blocks for entry in block.entries}


def _type(block: Block, entry: Entry) -> TensorType:
    dense = entry.strides == _dense_strides(entry.shape) or 0 in entry.shape
    return TensorType(
        entry.shape,
        dtype_name(block.flat.dtype),
        None if dense else entry.strides,
        block.name if block.aliased else None,
        entry.offset if block.aliased else 0,
    )


def _dense_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.insert(0, step)
        step *= extent
    return tuple(strides)


def renew(blocks: Iterable[Block], change: Callable[[Block], torch.Tensor]) -> dict[str, torch.Tensor]:
    """Fresh memory for every block (what `change` makes of it), seen through each entry; aliases stay aliases."""
    fresh: dict[str, torch.Tensor] = {}
    for block in blocks:
        base = change(block)
        for entry in block.entries:
            fresh[entry.name] = base.as_strided(entry.shape, entry.strides, entry.offset)
    return fresh


def install(blocks: Iterable[Block], fresh: Mapping[str, torch.Tensor]) -> None:
    """Give the program's own tensor objects the memory of `fresh`."""
    for block in blocks:
        for entry in block.entries:
            entry.tensor.data = fresh[entry.name]


def same(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Equal element by element, NaN equal to NaN."""
    if left.shape != right.shape or left.dtype != right.dtype:
        return False
    if torch.equal(left, right):
        return True
    if not left.dtype.is_floating_point:
        return False
    left, right = left.to(torch.float64), right.to(torch.float64)
    if not bool(left.isnan().any()):
        return False
    return bool(torch.equal(left.nan_to_num(nan=1.5e300), right.nan_to_num(nan=1.5e300)))
