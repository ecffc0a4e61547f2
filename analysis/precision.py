"""Which type arithmetic and storage are taken to have: the program's own, or the one that a user asks for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..ir.dtypes import DTYPES, kind
from .charges import Charge
from .operations import Traffic

_NAMES = {"fp32": "f32", "fp16": "f16", "fp64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16",
          "float64": "f64", "fp8": "e4m3", "fp4": "e2m1", "nvfp4": "e2m1", "int8": "i8"}  # fmt: skip


class PrecisionError(Exception):
    """An unknown type in a precision."""


@dataclass(frozen=True, slots=True)
class Precision:
    """`compute` and `storage` replace the floating-point types of the program (None: keep them).

    `ieee`: float32 products are not rounded to TF32, so they run on the vector units."""

    label: str
    compute: str | None = None
    storage: str | None = None
    ieee: bool = False

    def computed(self, dtype: str) -> str:
        return self.compute if self.compute is not None and kind(dtype) == "float" else dtype

    def stored_bits(self, dtype: str) -> int:
        kept = self.storage is None or kind(dtype) != "float"
        return DTYPES[dtype if kept or self.storage is None else self.storage].bits

    def traffic_bytes(self, items: Iterable[Traffic]) -> int:
        return sum((self.stored_bits(item.dtype) * item.elements + 7) // 8 for item in items)

    def charged_bytes(self, charges: Iterable[Charge]) -> int:
        return sum((self.stored_bits(charge.dtype) * charge.elements + 7) // 8 for charge in charges)


def parse_precision(text: str | None) -> Precision:
    """"bf16" for both, "bf16:f32" for compute and storage, "bf16:" for compute alone, "ieee" for float32 without TF32;
    None: the program's own."""
    if text is None:
        return Precision("as written")
    if text in ("ieee", "ieee_f32"):
        return Precision("as written, float32 not rounded to TF32", ieee=True)
    if text in ("tf32",):
        return Precision("tf32", "f32", "f32")
    compute, apart, storage = text.partition(":")
    return Precision(text, _dtype(compute), _dtype(storage if apart else compute))


def _dtype(name: str) -> str | None:
    if not name:
        return None
    found = _NAMES.get(name, name)
    if found not in DTYPES:
        floats = ", ".join(dtype.name for dtype in DTYPES.values() if dtype.kind in ("float", "int"))
        raise PrecisionError(f"unknown precision {name!r}; there are ieee, tf32, {floats}, or COMPUTE:STORAGE")
    return found
