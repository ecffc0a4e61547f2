"""Sizes of things inside one statement: how many points some of its iterators have, how much a read touches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import prod

from ..ir import indices
from ..ir.program import Expr, Index, Read, Source, Tensor
from .image import Image, image, is_lone
from .operations import Traffic
from .region import Region, add_part, elements
from .space import Constraint, Space, constraint_iterators, has_fetch, reach


@dataclass(slots=True)
class Scope:
    """`spaces` are disjoint parts of the domain; `steps` the iterators of enclosing scans; `local` the number of
    leading time axes of scan-local tensors."""

    spaces: tuple[Space, ...]
    steps: tuple[str, ...]
    tensors: Mapping[str, Tensor]
    local: Mapping[str, int]
    source: Source
    exact: bool = True
    _points: dict[tuple[str, ...], int] = field(default_factory=dict)

    @property
    def sizes(self) -> dict[str, int]:
        return dict(self.spaces[0].sizes)

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        return tuple(dict.fromkeys(c for space in self.spaces for c in space.constraints))

    def points(self, names: Iterable[str]) -> int:
        """Number of distinct values that these iterators take together."""
        key = tuple(sorted(names))
        if key not in self._points:
            self._points[key] = self._count(key)
        return self._points[key]

    def _count(self, names: tuple[str, ...]) -> int:
        sizes = self.sizes
        if not any(space.constraints for space in self.spaces):
            return prod(sizes[name] for name in names) if all(sizes.values()) else 0
        region = self.region(tuple(indices.iterator(name) for name in names), tuple(sizes[name] for name in names))
        return elements(region)

    def region(self, index: tuple[Index, ...], shape: tuple[int, ...]) -> Region:
        found = Region(shape)
        for space in self.spaces:
            piece = image(space, index, shape)
            found = add_part(found, piece)
        self.exact = self.exact and found.exact
        return found

    def part(self, names: tuple[str, ...]) -> Region:
        """Region of these iterators in the order given, for comparing statements with different names."""
        sizes = self.sizes
        return self.region(tuple(indices.iterator(name) for name in names), tuple(sizes[name] for name in names))

    def touched(self, read: Read) -> Traffic:
        """Elements that a read touches, once per step of every enclosing scan."""
        tensor = self.tensors[read.tensor]
        index, shape = read.index, tensor.shape
        strides = None if tensor.external is None else tensor.external.strides
        if strides is not None and 0 in strides:
            kept = [k for k, stride in enumerate(strides) if stride]
            index, shape = tuple(index[k] for k in kept), tuple(shape[k] for k in kept)
        outer = self.steps[self.local.get(read.tensor, 0):]
        sizes = self.sizes
        index = tuple(indices.iterator(step) for step in outer) + index
        shape = tuple(sizes[step] for step in outer) + shape
        if any(has_fetch(part) for part in index):
            most = self.points(set().union(*(indices.iterators(part) for part in index)))
            exact, self.exact = self.exact, True
            size = min(most, elements(self.region(index, shape)))
            self.exact = exact
            return Traffic(tensor.dtype, size)
        return Traffic(tensor.dtype, elements(self.region(index, shape)))

    def coupled(self, names: Iterable[str]) -> frozenset[str]:
        """The iterators and all others that constraints tie to them."""
        found = set(names)
        grown = True
        while grown:
            grown = False
            for constraint in self.constraints:
                link = constraint_iterators(constraint)
                if link & found and not link <= found:
                    found |= link
                    grown = True
        return frozenset(found)


def determined(scope: Scope, at: tuple[Index, ...]) -> frozenset[str]:
    """Iterators whose value follows from the element that is written; all others are reduced."""
    sizes = scope.sizes
    found: set[str] = set()
    open_axes: list[Index] = []
    for index in at:
        if has_fetch(index):
            continue
        if is_lone(index):
            found |= indices.iterators(index)
        elif index.terms:
            open_axes.append(index)
    for index in open_axes:
        names = indices.iterators(index)
        progression = reach(index, sizes)
        if progression and (progression[1] - progression[0]) // progression[2] + 1 == prod(sizes[n] for n in names):
            found |= names
    rest = [index for index in open_axes if not indices.iterators(index) <= found]
    if rest and _injective(scope, rest):
        found |= {name for index in rest for name in indices.iterators(index)}
    return frozenset(found)


def _injective(scope: Scope, axes: list[Index]) -> bool:
    names = sorted({name for index in axes for name in indices.iterators(index)})
    sizes = scope.sizes
    box = Space(tuple((name, sizes[name]) for name in names))
    spans = [indices.interval(index, box.ranges) for index in axes]
    lows = [span[0] for span in spans if span is not None]
    shape = tuple(span[1] - span[0] + 1 for span in spans if span is not None)
    moved = tuple(
        indices.add(index, indices.constant(-low)) for index, low in zip(axes, lows, strict=True)
    )
    found = image(box, moved, shape)
    return found.exact and elements(add_part(Region(shape), found)) == prod(sizes[name] for name in names)


def occurring(expr: Expr) -> frozenset[str]:
    return indices.expr_iterators(expr)


def reads_tensor(expr: Expr) -> bool:
    return next(indices.reads(expr), None) is not None


def piece_of(region: Region) -> Image:
    return Image(region.parts[0] if region.parts else None, region.exact)
