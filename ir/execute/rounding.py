"""Casts: the roundings to narrow floating-point formats, and conversions between kinds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..dtypes import kind
from .values import BOOL, FLOAT, Array, to_integer


@dataclass(frozen=True, slots=True)
class _Format:
    """A small binary format: mantissa bits, exponent of the smallest normal number, largest value, what lies above.

    torch 2.13 saturates float8_e4m3fn (infinities too) and lets float8_e5m2 overflow to infinity."""

    mantissa_bits: int
    least_exponent: int
    largest: float
    above: float


_FORMATS = {
    "e4m3": _Format(3, -6, 448.0, 448.0),
    "e5m2": _Format(2, -14, 57344.0, np.inf),
    "e2m1": _Format(1, 0, 6.0, 6.0),
}


def _to_small(values: Array, form: _Format) -> Array:
    """Nearest value of `form`, ties to even; magnitudes that round above the largest become `form.above`."""
    single = values.astype(np.float32).astype(FLOAT)
    _, exponent = np.frexp(single)
    quantum = np.ldexp(1.0, np.maximum(exponent - 1, form.least_exponent) - form.mantissa_bits)
    rounded = np.rint(single / quantum) * quantum
    over = np.abs(rounded) > form.largest
    return np.where(over, np.copysign(form.above, single), rounded)


def _to_bf16(values: Array) -> Array:
    single = np.ascontiguousarray(values, np.float32)
    bits = single.view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)
    result = rounded.view(np.float32).astype(FLOAT)
    return np.where(np.isnan(single), np.nan, result).reshape(values.shape)


def _to_e8m0(values: Array) -> Array:
    """A power of two (the sign is dropped), ties upwards; infinities and NaN become NaN."""
    single = np.abs(values.astype(np.float32).astype(FLOAT))
    mantissa, exponent = np.frexp(single)
    power = np.where(single == 0, -127, np.maximum(exponent - 1 + (mantissa >= 0.75), -127))
    tiny = single < 2.0**-126
    power = np.where(tiny, np.where(single > 2.0**-127, -126, -127), power)
    return np.where(np.isfinite(single) & (power <= 127), np.ldexp(1.0, power), np.nan)


def round_float(values: Array, dtype: str) -> Array:
    """float64 values rounded to what storage type `dtype` can hold, as torch's `.to` does (through float32)."""
    match dtype:
        case "f64":
            return values
        case "f32":
            return values.astype(np.float32).astype(FLOAT)
        case "f16":
            return values.astype(np.float32).astype(np.float16).astype(FLOAT)
        case "bf16":
            return _to_bf16(values)
        case "e8m0":
            return _to_e8m0(values)
        case _:
            return _to_small(values, _FORMATS[dtype])


def cast(values: Array, dtype: str, native: bool) -> Array:
    """Conversion to storage type `dtype`; rounding of floats only where `native`."""
    match kind(dtype):
        case "bool":
            return values.astype(BOOL)
        case "int":
            return to_integer(values, dtype)
        case _:
            wide = values.astype(FLOAT, copy=False)
            return round_float(wide, dtype) if native else wide
