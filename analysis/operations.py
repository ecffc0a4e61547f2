"""What a program is made of once normalised: operations with their work and the elements they move."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ..ir.program import Source

Kind = Literal["mac", "map", "reduce", "copy", "opaque"]


@dataclass(frozen=True, slots=True)
class Traffic:
    """Elements of one storage type that an operation reads or writes."""

    dtype: str
    elements: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operator over the iterators that occur in it. `dtype` is the type it computes in.

    `macs` are multiply-adds of contractions, `vector` other arithmetic, `special` special functions, `comparisons`
    those of sorting and of argmax (never FLOPs). `macs_nominal` counts the taps of guards as well."""

    kind: Kind
    label: str
    source: Source
    dtype: str
    macs: int = 0
    macs_nominal: int = 0
    vector: int = 0
    special: int = 0
    comparisons: int = 0
    reads: tuple[Traffic, ...] = ()
    writes: tuple[Traffic, ...] = ()


def moved(operations: Iterable[Operation]) -> tuple[Traffic, ...]:
    """All reads and writes of operations."""
    return tuple(item for operation in operations for item in (*operation.reads, *operation.writes))
