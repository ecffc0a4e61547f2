"""Array expressions over a box, evaluated part by part.

Every array has one axis per axis of the box, in order, of one element where the value does not vary along it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from .values import NUMPY_TYPES, Array

Slices: TypeAlias = tuple[slice, ...]
ALL = slice(None)
CHUNK_ELEMENTS = 1 << 16
MOST_ELEMENTS = 1 << 34


@dataclass(frozen=True, slots=True)
class Node:
    """`run(slices)` gives the part of the value at `slices` of the box, which callers may overwrite when `fresh`.

    `strides` (bytes per axis) are those of the largest tensor read, to choose the order of work by. `view` is the
    value itself where it is there already (a tensor's elements or a small table); `bare` when running costs no work."""

    shape: tuple[int, ...]
    dtype: str
    run: Callable[[Slices], Array]
    fresh: bool = False
    strides: tuple[int, ...] | None = None
    view: Array | None = None
    bare: bool = False

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def axes(self) -> frozenset[int]:
        return frozenset(axis for axis, count in enumerate(self.shape) if count > 1)

    def whole(self) -> Array:
        return self.run((ALL,) * len(self.shape))


def part(array: Array, slices: Slices) -> Array:
    return array[tuple([cut if count != 1 else ALL for cut, count in zip(slices, array.shape, strict=True)])]


def leaf(array: Array, dtype: str) -> Node:
    """A value that is at hand."""
    if array.size == 1:
        return Node(array.shape, dtype, lambda _: array, view=array, bare=True)
    strides = tuple(stride if count > 1 else 0 for stride, count in zip(array.strides, array.shape, strict=True))
    return Node(array.shape, dtype, lambda slices: part(array, slices), strides=strides, view=array, bare=True)


def joint_shape(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple([max(counts) for counts in zip(*shapes, strict=True)])


def joint_strides(nodes: Sequence[Node]) -> tuple[int, ...] | None:
    with_strides = [node for node in nodes if node.strides is not None]
    return max(with_strides, key=lambda node: node.size).strides if with_strides else None


class TooLong(Exception):
    """A statement with so many (`elements`) points that its turn would take many minutes."""

    def __init__(self, elements: int) -> None:
        super().__init__(elements)
        self.elements = elements


def chunks(shape: Sequence[int], order: Sequence[int], limit: int) -> Iterator[Slices]:
    """Slices that cover `shape` in parts of about `limit` elements; `order` lists the axes, outermost first.

    Axes outside of `order` stay whole."""
    inner = math.prod(shape)
    if inner > MOST_ELEMENTS:
        raise TooLong(inner)
    if inner <= limit:
        yield (ALL,) * len(shape)
        return
    outer: list[int] = []
    for axis in order:
        inner //= shape[axis]
        outer.append(axis)
        if inner <= limit:
            break
    if not outer:
        yield (ALL,) * len(shape)
        return
    *single, last = outer
    step = max(1, limit // max(inner, 1))
    for point in np.ndindex(*(shape[axis] for axis in single)):
        cut = [ALL] * len(shape)
        for axis, value in zip(single, point, strict=True):
            cut[axis] = slice(value, value + 1)
        for start in range(0, shape[last], step):
            cut[last] = slice(start, start + step)
            yield tuple(cut)


def by_stride(shape: Sequence[int], strides: Sequence[int] | None) -> list[int]:
    """Axes of more than one element, those with far neighbours first."""
    axes = [axis for axis, count in enumerate(shape) if count > 1]
    if strides is None:
        return axes
    return sorted(axes, key=lambda axis: -abs(strides[axis]))


def materialised(node: Node) -> Array:
    """The whole value, worked out in parts that fit the processor's cache."""
    if node.view is not None:
        return node.view
    if node.size <= CHUNK_ELEMENTS:
        return node.whole()
    result = np.empty(node.shape, NUMPY_TYPES[node.dtype])
    for cut in chunks(node.shape, by_stride(node.shape, node.strides), CHUNK_ELEMENTS):
        result[cut] = node.run(cut)
    return result
