"""Operators whose meta kernels are slow Python, answered by shape: norms, and recurrent layers, which would walk
through every time step."""

from __future__ import annotations

from typing import Any

import torch

from .draws import DrawLog
from .modes import NORMS, RECURRENT, masks_between_layers, norm_fits


def answered(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], log: DrawLog) -> Any:  # noqa: ANN401
    """Empty results of the operator `func` on meta tensors; None where it has to be called."""
    name = func._schema.name.removeprefix("aten::")
    if kwargs or not args or not isinstance(args[0], torch.Tensor) or not args[0].is_meta:
        return None
    if name in NORMS and norm_fits(name, args):
        return _normalised(name, args[0])
    if name in RECURRENT and func._overloadname == "input" and len(args) == 9:
        return _recurrent(name, args, log)
    return None


def _normalised(name: str, data: torch.Tensor) -> torch.Tensor:
    if name in ("batch_norm", "group_norm"):
        last = {4: torch.channels_last, 5: torch.channels_last_3d}.get(data.dim())
        if last is not None and data.is_contiguous(memory_format=last):
            return torch.empty_like(data, memory_format=last)
    return torch.empty_like(data, memory_format=torch.contiguous_format)


def _recurrent(name: str, args: tuple[Any, ...], log: DrawLog) -> tuple[torch.Tensor, ...]:
    data, start, both_ways, batch_first = args[0], args[1], args[7], args[8]
    finals = tuple(torch.empty_like(item) for item in start) if name == "lstm" else (torch.empty_like(start),)
    width = finals[0].shape[-1] * (2 if both_ways else 1)
    log.drawn.extend(data.new_empty(shape) for shape in masks_between_layers(args, width))
    if not batch_first:
        return (data.new_empty((*data.shape[:-1], width)), *finals)
    steps_first = data.transpose(0, 1)
    return (steps_first.new_empty((*steps_first.shape[:-1], width)).transpose(0, 1), *finals)
