"""What a result was computed from: every operator's results as figures that no reordering of elements changes.

Asked for when a result is one and the same whatever the inputs, so that comparing it alone says nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch

from .tree import flatten

Figures = tuple[float, ...]
_MOST = 1 << 22


@dataclass(slots=True)
class Notes:
    """`values`: figures of each value, by number; `feeds`: numbers that it was computed from."""

    values: list[Figures] = field(default_factory=list)
    feeds: list[tuple[int, ...]] = field(default_factory=list)
    leaves: dict[str, int] = field(default_factory=dict)
    _numbers: dict[int, int] = field(default_factory=dict)
    _alive: list[torch.Tensor] = field(default_factory=list)
    _storages: dict[int, int] = field(default_factory=dict)

    def note(self, args: Any, kwargs: Any, result: Any) -> None:  # noqa: ANN401
        """One operator call. A write in place gives its tensor, and the memory it lies in, a new value."""
        sources = {self._source(tensor) for tensor in _tensors((*args, *kwargs.values()))} - {None}
        for tensor in _tensors((result,)):
            number = len(self.values)
            self.values.append(figures(tensor))
            self.feeds.append(tuple(sorted(number for number in sources if number is not None)))
            self._numbers[id(tensor)] = number
            self._storages[tensor.untyped_storage().data_ptr()] = number
            self._alive.append(tensor)

    def _source(self, tensor: torch.Tensor) -> int | None:
        """Of a view of memory that was written since, what was written last."""
        own = self._numbers.get(id(tensor))
        last = self._storages.get(tensor.untyped_storage().data_ptr())
        found = [number for number in (own, last) if number is not None]
        return max(found, default=None)

    def finish(self, returned: Any) -> None:  # noqa: ANN401
        """Find the results among the values."""
        for path, item in flatten(returned):
            if isinstance(item, torch.Tensor):
                number = self._source(item)
                if number is not None:
                    self.leaves[path] = number


def figures(tensor: torch.Tensor) -> Figures:
    """Count, least, greatest, and sums of the first three powers; only the count for what is too large to add up."""
    if tensor.is_complex() or not 0 < tensor.numel() <= _MOST:
        return (float(tensor.numel()),)
    flat = tensor.detach().double().reshape(-1)
    powers = (flat.sum(), (flat * flat).sum(), (flat * flat * flat).sum())
    return (float(tensor.numel()), flat.min().item(), flat.max().item(), *(power.item() for power in powers))


def _tensors(items: tuple[Any, ...]) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    for item in items:
        if isinstance(item, torch.Tensor):
            found.append(item)
        elif isinstance(item, tuple | list):
            found += _tensors(tuple(item))
    return found
