"""Contraction of arrays over a box by matrix products; every array has all the box's axes (see `nodes`)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from .nodes import ALL
from .values import Array

_LEAST_ROWS = 64
_NEAR_BYTES = 64
_EXACT = 2.0**53


def axes_of(array: Array) -> frozenset[int]:
    return frozenset(axis for axis, count in enumerate(array.shape) if count > 1)


def contract(arrays: Sequence[Array], kept: frozenset[int]) -> Array:
    """The product of all arrays summed over the axes not in `kept`, the cheapest pair first each time."""
    rest = list(arrays)
    while len(rest) > 1:
        left, right = _cheapest(rest)
        a, b = rest[left], rest[right]
        others = [array for place, array in enumerate(rest) if place not in (left, right)]
        needed = kept.union(*(axes_of(array) for array in others))
        rest = [*others, contract_pair(a, b, needed)]
    lone = tuple(axes_of(rest[0]) - kept)
    return rest[0].sum(axis=lone, keepdims=True, dtype=rest[0].dtype) if lone else rest[0]


def _cheapest(arrays: Sequence[Array]) -> tuple[int, int]:
    if len(arrays) == 2:
        return 0, 1
    pairs = [(i, j) for j in range(len(arrays)) for i in range(j)]
    return min(pairs, key=lambda pair: math.prod(np.broadcast_shapes(arrays[pair[0]].shape, arrays[pair[1]].shape)))


def contract_pair(a: Array, b: Array, kept: frozenset[int]) -> Array:
    """sum of a*b over the axes not in `kept`."""
    a, b = _without_lone(a, b, kept), _without_lone(b, a, kept)
    in_a, in_b = axes_of(a), axes_of(b)
    summed = (in_a & in_b) - kept
    if not summed:
        return np.multiply(a, b)
    if a.dtype.kind != "f":
        return _integer_pair(a, b, summed)
    if in_a == in_b:
        return _row_products(a, b, summed)
    return _matrix_product(a, b, summed)


def _without_lone(a: Array, b: Array, kept: frozenset[int]) -> Array:
    lone = tuple(axes_of(a) - axes_of(b) - kept)
    return a.sum(axis=lone, keepdims=True, dtype=a.dtype) if lone else a


def _integer_pair(a: Array, b: Array, summed: frozenset[int]) -> Array:
    """Through float64 where that is exact, else with the type's own wrap."""
    terms = math.prod(a.shape[axis] for axis in summed)
    largest = float(np.abs(a.astype(np.float64)).max()) * float(np.abs(b.astype(np.float64)).max()) * terms
    if largest < _EXACT:
        exact = contract_pair(a.astype(np.float64), b.astype(np.float64), _all_but(a.ndim, summed))
        return exact.astype(np.int64).astype(a.dtype)
    return _row_products(a, b, summed)


def _all_but(rank: int, axes: Iterable[int]) -> frozenset[int]:
    return frozenset(range(rank)) - frozenset(axes)


def _row_products(a: Array, b: Array, summed: frozenset[int]) -> Array:
    names_a = [axis for axis in range(a.ndim) if a.shape[axis] > 1]
    names_b = [axis for axis in range(b.ndim) if b.shape[axis] > 1]
    out = [axis for axis in range(a.ndim) if axis not in summed and (a.shape[axis] > 1 or b.shape[axis] > 1)]
    packed_a = a.reshape([a.shape[axis] for axis in names_a])
    packed_b = b.reshape([b.shape[axis] for axis in names_b])
    result: Array = np.asarray(np.einsum(packed_a, names_a, packed_b, names_b, out))
    return _expanded(result, out, a.ndim)


def _expanded(result: Array, axes: Sequence[int], rank: int) -> Array:
    """An array with axes named by `axes` (in its own order) with all `rank` axes in order."""
    turned = result.transpose(np.argsort(axes)) if len(axes) > 1 else result
    present = set(axes)
    expanded: Array = turned[tuple([ALL if axis in present else None for axis in range(rank)])]
    return expanded


def _matrix_product(a: Array, b: Array, summed: frozenset[int]) -> Array:
    big, small = (a, b) if a.size >= b.size else (b, a)
    in_big, in_small = axes_of(big), axes_of(small)
    batch = _far_first(big, (in_big & in_small) - summed)
    inner = _far_first(big, summed)
    rows = _far_first(big, in_big - in_small)
    columns = _far_first(small, in_small - in_big)
    lead = _leading(big, rows, inner)
    rows = rows[len(lead) :]
    left = _grouped(big, batch + lead, rows, inner)
    right = _grouped(small, batch, inner, columns)
    for _ in lead:
        right = right[(ALL,) * len(batch) + (None,)]
    last = max([*rows, *columns, *batch, *lead])
    if last in rows:
        product = np.matmul(right.swapaxes(-1, -2), left.swapaxes(-1, -2))
        order = batch + lead + columns + rows
    else:
        product = np.matmul(left, right)
        order = batch + lead + rows + columns
    sizes = [max(a.shape[axis], b.shape[axis]) for axis in order]
    return _expanded(product.reshape(sizes), order, a.ndim)


def _far_first(array: Array, axes: Iterable[int]) -> list[int]:
    return sorted(axes, key=lambda axis: (-abs(array.strides[axis]), axis))


def _leading(big: Array, rows: list[int], inner: list[int]) -> list[int]:
    """Row axes outside of all summed ones: left as a batch, so that nothing has to be transposed."""
    outside = [axis for axis in rows if abs(big.strides[axis]) > abs(big.strides[inner[0]])]
    lead: list[int] = []
    for axis in outside:
        if math.prod(big.shape[other] for other in rows if other not in lead and other != axis) < _LEAST_ROWS:
            break
        lead.append(axis)
    return lead if len(outside) < len(rows) else []


def _grouped(array: Array, batch: list[int], rows: list[int], columns: list[int]) -> Array:
    """(batch..., rows, columns), copied only where needed, with the better inner run."""
    rest = [axis for axis in range(array.ndim) if array.shape[axis] == 1]
    shape = array.shape
    counts = [shape[axis] for axis in batch]
    height = math.prod(shape[axis] for axis in rows)
    width = math.prod(shape[axis] for axis in columns)
    if _nearest(array, rows + columns) in columns:
        matrix = array.transpose(batch + rows + columns + rest).reshape([*counts, height, width])
    else:
        matrix = array.transpose(batch + columns + rows + rest).reshape([*counts, width, height]).swapaxes(-1, -2)
    return matrix if _fits_blas(matrix) else np.ascontiguousarray(matrix)


def _nearest(array: Array, axes: list[int]) -> int:
    if not axes:
        return -1
    near = [axis for axis in axes if 0 < abs(array.strides[axis]) <= _NEAR_BYTES]
    if near:
        return max(near, key=lambda axis: (array.shape[axis], -abs(array.strides[axis])))
    return min(axes, key=lambda axis: abs(array.strides[axis]))


def _fits_blas(matrix: Array) -> bool:
    item, (height, width) = matrix.itemsize, matrix.shape[-2:]
    down, across = matrix.strides[-2:]
    return (across == item and down >= item * width) or (down == item and across >= item * height)
