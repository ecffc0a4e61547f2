"""Scaled dot-product attention against torch: masks, causality, scale, groups, ranks."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from .rulelab import check

NAME = "aten.scaled_dot_product_attention.default"


def rand(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed + sum(shape)))


def two(make: Any, **options: Any) -> str:
    return check(NAME, *({**make(*sizes), **options} for sizes in ((2, 3, 5, 4, 6), (1, 2, 4, 7, 3))))


def qkv(b: int, h: int, t: int, e: int, s: int) -> dict[str, Any]:
    return {"query": rand(b, h, t, e), "key": rand(b, h, s, e, seed=1), "value": rand(b, h, s, e + 1, seed=2)}


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("scale", [None, 0.3])
def test_without_a_mask(causal: bool, scale: float | None) -> None:
    two(qkv, is_causal=causal, scale=scale)


@pytest.mark.parametrize("rank", [2, 3, 5])
@pytest.mark.parametrize("causal", [False, True])
def test_other_ranks(rank: int, causal: bool) -> None:
    def make(b: int, h: int, t: int, e: int, s: int) -> dict[str, Any]:
        lead = (h, b, h)[: rank - 2]
        return {"query": rand(*lead, t, e), "key": rand(*lead, s, e), "value": rand(*lead, s, e)}

    two(make, is_causal=causal)


@pytest.mark.parametrize("shape", ["ts", "1ts", "b1ts", "bhts", "1s", "b11s"])
@pytest.mark.parametrize("kind", ["bool", "float"])
def test_masks(shape: str, kind: str) -> None:
    def make(b: int, h: int, t: int, e: int, s: int) -> dict[str, Any]:
        size = {"b": b, "h": h, "t": t, "s": s, "1": 1}
        mask = rand(*(size[axis] for axis in shape))
        return {**qkv(b, h, t, e, s), "attn_mask": mask > -0.3 if kind == "bool" else mask}

    two(make)


def test_a_row_that_sees_nothing() -> None:
    def make(b: int, h: int, t: int, e: int, s: int) -> dict[str, Any]:
        mask = torch.ones(t, s, dtype=torch.bool)
        mask[1] = False
        return {**qkv(b, h, t, e, s), "attn_mask": mask}

    two(make)


def test_heads_in_groups() -> None:
    def make(b: int, h: int, t: int, e: int, s: int) -> dict[str, Any]:
        return {"query": rand(b, 2 * h, t, e), "key": rand(b, h, s, e), "value": rand(b, h, s, e)}

    two(make, enable_gqa=True)
    two(make, enable_gqa=True, is_causal=True)


def test_half_precision() -> None:
    two(lambda *sizes: {key: value.bfloat16() for key, value in qkv(*sizes).items()}, is_causal=True)


def test_a_triangle_where_it_is_causal() -> None:
    assert "is_causal=1" in two(qkv, is_causal=True)
