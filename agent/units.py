"""Numbers as people read them: three significant digits and a unit."""

from __future__ import annotations


def seconds(value: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{_digits(value / size)} {unit}"
    return f"{_digits(value / 1e-9)} ns"


def amount(value: float, unit: str = "") -> str:
    """Decimal prefixes: `amount(2.5e9, "B")` is "2.5 GB"."""
    for prefix, size in (("E", 1e18), ("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= size:
            return f"{_digits(value / size)} {prefix}{unit}"
    return f"{_digits(value)} {unit}".rstrip()


def _digits(value: float) -> str:
    """Three significant digits, never an exponent: 0.0123, 1.23, 12.3, 123, 1230."""
    if value == 0:
        return "0"
    if abs(value) >= 100 or value == int(value):
        return f"{value:.0f}"
    return f"{value:.3g}" if abs(value) >= 1e-4 else f"{value:.2e}"
