"""Tensors while a program runs: lazily filled, shared until written, and counted against a limit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ..errors import IRError
from ..program import Source, Tensor
from .values import BOOL, NUMPY_TYPES, Array, problem_at


@dataclass(slots=True)
class Budget:
    """How many bytes the arrays of a run may take together; `live_bytes` counts those held by tensors."""

    limit_bytes: int
    live_bytes: int = 0

    def demand(self, more_bytes: int, what: str, source: Source | None) -> None:
        """Refuses an allocation, before it is made, that would exceed the limit."""
        if self.live_bytes + more_bytes <= self.limit_bytes:
            return
        message = (
            f"{what} needs {more_bytes:,} bytes on top of {self.live_bytes:,} bytes in use, "
            f"over the limit of {self.limit_bytes:,} bytes"
        )
        raise IRError.at(message) if source is None else problem_at(source, message)


@dataclass(slots=True)
class Slot:
    """The value of one tensor.

    `array` None: every element is `fill`, or with `fill` None no element has been written. `written` None: all of
    `array` is written. An array that is not `owned` belongs to somebody else too and is copied before a write."""

    tensor: Tensor
    fill: Array | None = None
    array: Array | None = None
    written: Array | None = None
    owned: bool = False
    held: int | None = None

    def data(self) -> Array:
        if self.array is not None:
            return self.array
        dtype = NUMPY_TYPES[self.tensor.dtype]
        return np.broadcast_to(np.zeros((), dtype) if self.fill is None else self.fill, self.tensor.shape)

    def presence(self) -> Array | None:
        """Which elements have been written; None for all."""
        if self.array is None and self.fill is None:
            return np.broadcast_to(np.zeros((), BOOL), self.tensor.shape)
        return self.written


@dataclass(slots=True)
class Block:
    """A block of memory that slots share: counted once, given back with the last of them."""

    array: Array
    size_bytes: int
    users: int = 0


def _root(array: Array) -> Array:
    base = array.base
    while isinstance(base, np.ndarray):
        array, base = base, base.base
    return array


class Memory:
    """The tensors of a run by id; a scan's or branch's body sees the outer ones. `swayed`: see sway.py."""

    def __init__(self, tensors: Mapping[str, Tensor], budget: Budget, *, swayed: bool = False) -> None:
        self.tensors = tensors
        self.swayed = swayed
        self.budget = budget
        self.slots: dict[str, Slot] = {}
        self.facts: dict[int, object] = {}
        self._blocks: dict[int, Block] = {}

    def __getitem__(self, name: str) -> Slot:
        return self.slots[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.slots)

    def set(self, slot: Slot) -> None:
        self._hold(slot)
        self.drop(slot.tensor.name)
        self.slots[slot.tensor.name] = slot

    def declare(self, name: str, fill: Array | None) -> None:
        self.set(Slot(self.tensors[name], fill))

    def store(self, name: str, array: Array, written: Array | None = None, *, owned: bool = True) -> None:
        self.set(Slot(self.tensors[name], None, array, written, owned))

    def alias(self, name: str, of: str) -> None:
        """`name` starts with the value of `of`; whoever is written first takes a copy."""
        base = self.slots[of]
        base.owned = False
        self.set(Slot(self.tensors[name], base.fill, base.array, base.written))

    def drop(self, name: str) -> None:
        slot = self.slots.pop(name, None)
        if slot is not None:
            self._release(slot)

    def writable(self, name: str, source: Source, *, clear: bool = True) -> Array:
        """The tensor's own array, allocated or copied now where needed; `clear` False: every element gets written."""
        slot = self.slots[name]
        if slot.array is not None and slot.owned:
            return slot.array
        shape, dtype = slot.tensor.shape, NUMPY_TYPES[slot.tensor.dtype]
        self.budget.demand(math.prod(shape) * dtype.itemsize, f"tensor {name}", source)
        if not clear:
            array, slot.written = np.empty(shape, dtype), None
        elif slot.array is not None:
            array = np.array(slot.array, order="C")
            slot.written = None if slot.written is None else slot.written.copy()
        elif slot.fill is not None and slot.fill.any():
            array = np.full(shape, slot.fill, dtype)
        else:
            array = np.zeros(shape, dtype)
        if slot.array is None and slot.fill is None and clear:
            slot.written = np.zeros(shape, BOOL)
        self._replace(slot, array)
        return array

    def adopt(self, name: str, array: Array) -> None:
        """Makes a freshly computed array the whole value of a tensor."""
        slot = self.slots[name]
        slot.written = None
        self._replace(slot, array)

    def settle(self, name: str) -> None:
        """Forgets which elements are written once all are."""
        slot = self.slots[name]
        if slot.written is not None and slot.written.all():
            slot.written = None

    def given(self, name: str, array: Array) -> None:
        """A tensor from outside: the caller's memory, not counted and never written."""
        root = _root(array)
        block = self._blocks.setdefault(id(root), Block(root, 0))
        block.users += 1  # the caller's own
        self.store(name, array, owned=False)

    def _replace(self, slot: Slot, array: Array) -> None:
        self._release(slot)
        slot.array, slot.owned = array, True
        self._hold(slot)

    def _hold(self, slot: Slot) -> None:
        slot.held = None
        if slot.array is None:
            return
        root = _root(slot.array)
        slot.held = id(root)
        block = self._blocks.get(slot.held)
        if block is None:
            block = self._blocks[slot.held] = Block(root, root.nbytes)
            self.budget.live_bytes += block.size_bytes
        block.users += 1

    def _release(self, slot: Slot) -> None:
        if slot.held is None:
            return
        block = self._blocks[slot.held]
        block.users -= 1
        if block.users == 0:
            self.budget.live_bytes -= block.size_bytes
            del self._blocks[slot.held]
        slot.held = None
