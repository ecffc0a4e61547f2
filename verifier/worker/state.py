"""Randomised state: fresh values for the entries that are weights, and none for those that are structure."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch.nn.modules.batchnorm import _NormBase

from ..types import Distribution
from .tensors import Block, same

_MOST_COUNTED = 100


def counters(model: torch.nn.Module | None) -> frozenset[str]:
    """Batches that a norm layer has seen so far: any number will do. One that takes the average of all of them reads
    its number in Python, and keeps it."""
    found = () if model is None else tuple(model.named_modules())
    layers = ((path, layer) for path, layer in found if isinstance(layer, _NormBase) and layer.training)
    return frozenset(
        f"{path}.num_batches_tracked" if path else "num_batches_tracked"
        for path, layer in layers
        if layer.num_batches_tracked is not None and layer.momentum is not None
    )


def structural(first: Iterable[Block], second: Iterable[Block]) -> frozenset[str]:
    """Names of blocks to keep: not float, or neither constant nor drawn (two differently seeded builds agree)."""
    others = {block.name: block for block in second}
    return frozenset(block.name for block in first if not _is_weight(block, others.get(block.name)))


def _is_weight(block: Block, other: Block | None) -> bool:
    flat = block.flat
    if not flat.dtype.is_floating_point or flat.numel() == 0 or not bool(_exact(flat).isfinite().all()):
        return False
    if bool((flat == flat[0]).all()):
        return True
    return other is not None and not same(flat, other.flat)


def randomised(
    blocks: tuple[Block, ...], keep: frozenset[str], distribution: Distribution, seed: int
) -> dict[str, torch.Tensor]:
    """Flat values by block name, in each block's own type. Kept blocks have the program's values."""
    generator = torch.Generator()
    generator.manual_seed(seed + 7919)
    fresh: dict[str, torch.Tensor] = {}
    for block in blocks:
        if block.name in keep:
            fresh[block.name] = block.flat.clone()
        else:
            fresh[block.name] = _fresh(block.flat, distribution, generator)
    return fresh


def _fresh(flat: torch.Tensor, distribution: Distribution, generator: torch.Generator) -> torch.Tensor:
    if not flat.dtype.is_floating_point:  # a counter
        return torch.randint(0, _MOST_COUNTED, tuple(flat.shape), generator=generator, dtype=flat.dtype)
    ends = _exact(flat).aminmax()
    low, high = float(ends.min), float(ends.max)
    shape = tuple(flat.shape)
    positive = low == high and low > 0
    if distribution == "ties":
        values = torch.randint(1 if positive else -2, 4 if positive else 3, shape, generator=generator).double()
    elif positive:
        values = low * (0.5 + torch.rand(shape, generator=generator, dtype=torch.float64))
    elif low == high:
        spread = 0.5 * abs(low) if low else 0.25
        values = low + spread * torch.randn(shape, generator=generator, dtype=torch.float64)
    else:
        values = _like(flat, low, high, generator)
    return values.to(flat.dtype)


def _like(flat: torch.Tensor, low: float, high: float, generator: torch.Generator) -> torch.Tensor:
    """Normal values of the original's scale, of its range when it never changes sign."""
    shape = tuple(flat.shape)
    if low > 0 or high < 0:
        return low + (high - low) * torch.rand(shape, generator=generator, dtype=torch.float64)
    scale = float(flat.double().square().mean().sqrt())
    own = torch.float32 if flat.dtype == torch.float32 else torch.float64
    return torch.randn(shape, generator=generator, dtype=own).mul_(scale)


def _exact(flat: torch.Tensor) -> torch.Tensor:
    """The same values in a type that has all operators."""
    return flat if flat.dtype in (torch.float32, torch.float64) else flat.double()
