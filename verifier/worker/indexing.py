"""x[:n, None]: Python's indexing leaves out slices that keep an axis whole, so that the operators depend on the sizes.

Here such slices are operators like the others."""

from __future__ import annotations

import sys
from typing import Any

import torch


def spelled_out(tensor: Any, index: Any) -> Any:  # noqa: ANN401
    """`tensor[index]` with one operator for every part; None where indexing leaves out nothing, or is of another
    kind."""
    if not isinstance(index, tuple) or not all(map(_is_plain, index)) or index.count(Ellipsis) > 1:
        return None
    taken = sum(isinstance(part, slice | int) for part in index)
    if taken > tensor.dim() or not _is_left_out(tensor, index, tensor.dim() - taken):
        return None
    axis, result = 0, tensor
    for part in index:
        if part is Ellipsis:
            axis += tensor.dim() - taken
        elif isinstance(part, int):
            result = torch.ops.aten.select.int(result, axis, part)
        elif part is None:
            result = torch.ops.aten.unsqueeze.default(result, axis)
            axis += 1
        else:
            if not _is_everything(part):
                result = _sliced(result, axis, part)
            axis += 1
    return result


def _is_plain(part: Any) -> bool:  # noqa: ANN401
    if isinstance(part, slice):
        return all(item is None or type(item) is int for item in (part.start, part.stop, part.step))
    return part is None or part is Ellipsis or type(part) is int


def _is_everything(part: slice) -> bool:
    return part.start is None and part.stop is None and part.step in (None, 1)


def _is_left_out(tensor: Any, index: tuple[Any, ...], rest: int) -> bool:  # noqa: ANN401
    """Does some slice with an end of its own keep its axis whole?"""
    axis = 0
    for part in index:
        if isinstance(part, slice):
            keeps = part.start in (None, 0) and part.step in (None, 1) and part.stop in (None, tensor.shape[axis])
            if keeps and not _is_everything(part):
                return True
        axis += rest if part is Ellipsis else part is not None
    return False


def _sliced(tensor: Any, axis: int, part: slice) -> Any:  # noqa: ANN401
    start = 0 if part.start is None else part.start
    stop = sys.maxsize if part.stop is None else part.stop
    return torch.ops.aten.slice.Tensor(tensor, axis, start, stop, part.step or 1)
