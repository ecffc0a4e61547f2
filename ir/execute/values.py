"""What an execution takes and returns, and how storage types map to NumPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..bindings import Scalar
from ..dtypes import DTYPES, integer_range, kind
from ..errors import IRError
from ..ops import IDENTITY, Combine
from ..program import Source

Array: TypeAlias = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Values:
    """The numbers of one run, keyed like `Bindings`. Floats of every storage type may come as any NumPy float."""

    inputs: Mapping[str, Array] = field(default_factory=dict)
    state: Mapping[str, Array] = field(default_factory=dict)
    draws: Sequence[Array] = ()


@dataclass(frozen=True, slots=True)
class Execution:
    """`outputs` in the program's order; `tensors` has every tensor by id when asked to keep them, else nothing."""

    outputs: tuple[Array | Scalar, ...]
    tensors: Mapping[str, Array] = field(default_factory=dict)


FLOAT = np.dtype(np.float64)
BOOL = np.dtype(np.bool_)


def _numpy_type(name: str) -> np.dtype[Any]:
    dtype = DTYPES[name]
    if dtype.kind == "float":
        return FLOAT
    if dtype.kind == "bool":
        return BOOL
    if dtype.kind == "int":
        return np.dtype(f"{'int' if dtype.signed else 'uint'}{max(dtype.bits, 8)}")
    return np.dtype(np.complex128)


NUMPY_TYPES = {name: _numpy_type(name) for name in DTYPES}


def wrap(values: Array, dtype: str) -> Array:
    """Two's-complement wrap of the types that NumPy lacks (4 bits); others wrap by themselves."""
    bits = DTYPES[dtype].bits
    if bits >= 8 or kind(dtype) != "int":
        return values
    low, _ = integer_range(dtype)
    return ((values.astype(np.int16) - low) % (1 << bits) + low).astype(NUMPY_TYPES[dtype])


def to_integer(values: Array, dtype: str) -> Array:
    """Integer, bool or float values in integer storage type `dtype`: truncated, then wrapped, as torch's `.to` does.

    A float outside of the machine conversion's range (and NaN) gives that conversion's smallest value."""
    target = NUMPY_TYPES[dtype]
    if values.dtype.kind != "f":
        return wrap(values.astype(target, copy=False), dtype)
    if dtype == "u64":
        big = values >= 2.0**63
        low = np.where(big, values - 2.0**63, values)
        return _truncate(low, np.int64).astype(target) + big.astype(target) * np.uint64(1 << 63)
    wide = np.int32 if DTYPES[dtype].bits < 32 or dtype == "i32" else np.int64
    return wrap(_truncate(values, wide).astype(target), dtype)


def _truncate(values: Array, wide: type[np.signedinteger[Any]]) -> Array:
    info = np.iinfo(wide)
    whole = np.trunc(values)
    inside = (whole >= float(info.min)) & (whole < -float(info.min))
    return np.where(inside, np.where(inside, whole, 0.0).astype(wide), info.min)


def as_kind(values: Array, dtype: str) -> Array:
    """Values in the arithmetic of `dtype`: the same number, wrapped or truncated only where it is an integer type."""
    target = NUMPY_TYPES[dtype]
    if values.dtype == target:
        return values
    if target.kind in "iu":
        return to_integer(values, dtype)
    return values.astype(target)


def as_scalar(value: bool | int | float, dtype: str) -> Array:
    """A rank-0 array; infinities become the ends of an integer type (or of bool), large integers wrap."""
    if kind(dtype) == "int":
        low, high = integer_range(dtype)
        if isinstance(value, float):
            number = high if value == np.inf else low if value == -np.inf else None
            if number is None:
                return to_integer(np.asarray(value, FLOAT), dtype)
        else:
            number = (int(value) - low) % (high - low + 1) + low
        return np.asarray(number, NUMPY_TYPES[dtype])
    if kind(dtype) == "bool" and abs(value) == np.inf:
        return np.asarray(value > 0)
    return np.asarray(value, NUMPY_TYPES[dtype])


def identity(combine: Combine, dtype: str) -> Array:
    """What a reduction gives over nothing."""
    return as_scalar(IDENTITY[combine], dtype)


def problem_at(source: Source, message: str) -> IRError:
    return IRError.at(message, source.line, source.column, source.text, source.trail)
