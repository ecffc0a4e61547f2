"""Tensors for tests of single rules."""

from __future__ import annotations

import torch

Shape = tuple[int, ...]
SHAPES: tuple[tuple[Shape, Shape], ...] = (((2, 3), (5, 4)), ((3,), (4,)), ((), ()), ((1, 2, 3), (2, 4, 1)))
PAIRS: tuple[tuple[Shape, Shape], ...] = (
    ((2, 3), (2, 3)), ((2, 3), (3,)), ((3,), (2, 3)), ((2, 1), (1, 3)), ((2, 3), ()), ((), (3,)), ((), ()),
    ((1, 3), (4, 2, 1)),
)  # fmt: skip


def floats(shape: Shape, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator).to(dtype)


def whole(shape: Shape, seed: int = 0, low: int = -9, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(low, 10, shape, generator=generator).to(dtype)


def bools(shape: Shape, seed: int = 0) -> torch.Tensor:
    return whole(shape, seed) > 0


def of(dtype: torch.dtype, shape: Shape, seed: int = 0) -> torch.Tensor:
    if dtype == torch.bool:
        return bools(shape, seed)
    return floats(shape, seed, dtype) if dtype.is_floating_point else whole(shape, seed, dtype=dtype)


def larger(shape: Shape) -> Shape:
    return tuple(2 * size + 1 if size > 1 else 1 for size in shape)
