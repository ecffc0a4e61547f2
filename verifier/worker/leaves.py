"""Leaves of a promoted run with the types of the native one, and how far a tiny perturbation moves them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..types import Array, Leaf


def merged(promoted: Sequence[Leaf], native: Sequence[Leaf], jolted: Sequence[Leaf] | None) -> tuple[Leaf, ...]:
    """`promoted` values under the dtypes of `native`; `change` and `flipped` from the perturbed run."""
    types = {(leaf.kind, leaf.path): leaf.dtype for leaf in native}
    moved = {(leaf.kind, leaf.path): leaf for leaf in jolted or ()}
    leaves = []
    for leaf in promoted:
        key = leaf.kind, leaf.path
        change, flipped = _moved(leaf, moved.get(key))
        leaves.append(replace(leaf, dtype=types.get(key, leaf.dtype), change=change, flipped=flipped))
    return tuple(leaves)


def _moved(leaf: Leaf, other: Leaf | None) -> tuple[float, int]:
    if leaf.shape is None:
        return 0.0, int(other is not None and other.value != leaf.value)
    if other is None or other.shape != leaf.shape:
        return float("inf"), int(np.prod(leaf.shape, dtype=np.int64))
    value, moved = leaf.value, other.value
    assert isinstance(value, np.ndarray) and isinstance(moved, np.ndarray)
    if value.dtype.kind != "f":
        return 0.0, int(np.count_nonzero(value != moved))
    return _float_moved(value, moved)


def _float_moved(value: Array, moved: Array) -> tuple[float, int]:
    finite = np.isfinite(value) & np.isfinite(moved)
    alike = (value == moved) | (np.isnan(value) & np.isnan(moved))
    flipped = int(np.count_nonzero(~finite & ~alike))
    if not finite.any():
        return 0.0, flipped
    largest = float(np.max(np.abs(value[finite])))
    difference = float(np.max(np.abs(np.subtract(value[finite], moved[finite]))))
    return (difference / largest if largest > 0 else difference), flipped
