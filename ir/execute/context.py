"""One piece of a nest's domain: its axes, its conditions as arrays, and the errors that name a point of it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..errors import IRError
from ..indices import iterators, show
from ..program import Index, Read, Source
from .domain import Piece
from .memory import Memory, Slot
from .nodes import ALL, Node, Slices, chunks
from .values import Array, problem_at

_SEARCH_ELEMENTS = 1 << 24


class Context:
    """`axes`, `sizes`: the box's axes, at least one. `conditions`: what must be true at a point of the domain."""

    def __init__(self, piece: Piece, memory: Memory, source: Source, *, native: bool) -> None:
        self.piece, self.scope = piece, piece.scope
        self.memory, self.source, self.native = memory, source, native
        self.axes = tuple(piece.scope.counts) or ("",)
        self.sizes = tuple(piece.scope.counts.values()) or (1,)
        self.position = {axis: place for place, axis in enumerate(self.axes)}
        self.read_cache: dict[Read, Node] = {}
        self.conditions: tuple[Node, ...] = ()
        self.condition_names: tuple[frozenset[str], ...] = ()
        self.before: Mapping[str, Slot] = {}

    def slot(self, tensor: str) -> Slot:
        """What a read of the tensor sees: a nest that also writes it sees it as it was."""
        return self.before.get(tensor) or self.memory[tensor]

    def close(self) -> None:
        """Lets go of the arrays; nodes and the context refer to each other."""
        self.read_cache.clear()
        self.conditions = ()

    def demand(self, elements: int) -> None:
        """Asks for room for a temporary of so many elements."""
        self.memory.budget.demand(elements * 8, "a temporary of this statement", self.source)

    @property
    def ones(self) -> tuple[int, ...]:
        return (1,) * len(self.axes)

    def shape_of(self, axes: frozenset[str] | set[str]) -> tuple[int, ...]:
        return tuple(size if axis in axes else 1 for axis, size in zip(self.axes, self.sizes, strict=True))

    def mask(self, slices: Slices) -> Array | None:
        """Which points of a part are in the domain; None when all are."""
        result: Array | None = None
        for node in self.conditions:
            found = node.run(slices)
            result = found if result is None else result & found
        return result

    def violation(self, bad: Array, slices: Slices) -> dict[str, int] | None:
        """The iterators' values at the first point of the domain where `bad` (a part's array) is true."""
        if not bad.any():
            return None
        touched = {axis for axis, count in enumerate(bad.shape) if count > 1}
        near, far = self._connected(touched)
        if not self._satisfiable(far):
            return None
        found: Array = bad
        for node in near:
            found = found & node.run(slices)
        if not found.any():
            return None
        place = np.unravel_index(int(found.argmax()), found.shape)
        at = {}
        for axis, (name, offset) in enumerate(zip(self.axes, place, strict=True)):
            start = slices[axis].start or 0 if found.shape[axis] > 1 or bad.shape[axis] > 1 else 0
            at[name] = int(offset) + start
        return self.scope.point(at)

    def _connected(self, touched: set[int]) -> tuple[list[Node], list[Node]]:
        near: list[Node] = []
        far = list(self.conditions)
        grown = True
        while grown:
            grown = False
            for node in list(far):
                if node.axes & touched or node.size == 1:
                    near.append(node)
                    far.remove(node)
                    touched = touched | node.axes
                    grown = True
        return near, far

    def _satisfiable(self, nodes: list[Node]) -> bool:
        """Whether some point of the box fulfils all of these conditions."""
        rest = list(nodes)
        while rest:
            group = [rest.pop()]
            axes = set(group[0].axes)
            grown = True
            while grown:
                linked = [node for node in rest if node.axes & axes]
                grown = bool(linked)
                group += linked
                rest = [node for node in rest if not node.axes & axes]
                axes |= {axis for node in linked for axis in node.axes}
            if not self._any(group):
                return False
        return True

    def _any(self, group: list[Node]) -> bool:
        shape = tuple(max(counts) for counts in zip(*(node.shape for node in group), strict=True))
        for cut in chunks(shape, range(len(shape)), _SEARCH_ELEMENTS):
            found: Array | bool = True
            for node in group:
                found = found & node.run(cut)
            if np.any(found):
                return True
        return False

    def nonempty(self) -> bool:
        return self._satisfiable(list(self.conditions))

    def whole(self) -> Slices:
        return (ALL,) * len(self.axes)

    def shown_point(self, point: Mapping[str, int], index: Index) -> str:
        names = sorted(iterators(index))
        return ", ".join(f"{name} = {point[name]}" for name in names if name in point)

    def out_of_bounds(
        self, verb: str, tensor: str, axis: int, index: Index, value: int, point: Mapping[str, int]
    ) -> IRError:
        size = self.memory.tensors[tensor].shape[axis]
        where = self.shown_point(point, index)
        at = f" at {where}" if where else ""
        return problem_at(
            self.source,
            f"{verb} {tensor} out of bounds: axis {axis} has size {size}, but index `{show(index)}` is {value}{at}",
        )

    def unwritten(self, read: Read, point: Mapping[str, int]) -> IRError:
        values = ", ".join(show(index) for index in read.index)
        names = sorted({name for index in read.index for name in iterators(index)})
        where = ", ".join(f"{name} = {point[name]}" for name in names if name in point)
        return problem_at(
            self.source,
            f"read of {read.tensor}[{values}], which has not been written" + (f", at {where}" if where else ""),
        )
