from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402


@pytest.mark.parametrize(("shape", "start"), [
    ((2, 3), 1), ((2, 3, 4), 1), ((2, 3, 4, 5), 1), ((2, 3, 2, 2, 5), 1), ((2, 3, 4), 2), ((2, 3, 4, 5), 2),
    ((2, 3, 2, 2, 5), 2), ((3,), 0), ((2, 3), 0), ((2, 3, 4), 0), ((2, 3, 4, 5), 0), ((), 0),
])  # fmt: skip
def test_flatten(check: Any, shape: tuple[int, ...], start: int) -> None:
    x = torch.randn(shape)
    check(f"flatten(x; start_dim={start})", {"x": x}, torch.flatten(x, start))


def test_heads_and_transpose(check: Any) -> None:
    x = torch.randn(2, 5, 12)
    split = x.view(2, 5, 3, 4).transpose(1, 2)
    check("split_heads(x; heads=3)", {"x": x}, split)
    check("merge_heads(split_heads(x; heads=4))", {"x": x}, x)
    check("transpose_last(x)", {"x": x}, x.transpose(-1, -2))


@pytest.mark.parametrize("dim", [0, 1, 2, 3, -1, -3])
def test_flip_roll_cat(check: Any, dim: int) -> None:
    a = torch.randn(2, 3, 4, 5)
    shape = list(a.shape)
    shape[dim] += 2
    b = torch.randn(shape)
    check(f"flip(a; dim={dim})", {"a": a}, a.flip(dim))
    check(f"roll(a; shifts=-3, dim={dim})", {"a": a}, a.roll(-3, dim))
    check(f"cat(a, b; dim={dim})", {"a": a, "b": b}, torch.cat([a, b], dim))


@pytest.mark.parametrize("pad", [[1, 2], [2, 0], [-1, 2], [1, 1, 2, 3], [0, 1, 1, 0, 2, 2]])
def test_constant_pad(check: Any, pad: list[int]) -> None:
    x = torch.randn(2, 3, 4, 5)
    check(f"pad(x; pad={pad}, value=0.5)", {"x": x}, F.pad(x, pad, value=0.5))


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize("pad", [[1, 2, 2, 3], [0, 3, 1, 0], [2, 1, 0, 0]])
def test_pad_modes(check: Any, mode: str, pad: list[int]) -> None:
    x = torch.randn(2, 3, 4, 5)
    check(f'pad(x; pad={pad}, mode="{mode}")', {"x": x}, F.pad(x, pad, mode=mode))


def test_shuffles(check: Any) -> None:
    x = torch.randn(2, 12, 4, 6)
    check("pixel_shuffle(x; upscale_factor=2)", {"x": x}, F.pixel_shuffle(x, 2))
    check("pixel_unshuffle(x; downscale_factor=2)", {"x": x}, F.pixel_unshuffle(x, 2))
    check("channel_shuffle(x; groups=3)", {"x": x}, F.channel_shuffle(x, 3))


def test_nearest_upsampling(check: Any) -> None:
    x = torch.randn(2, 3, 4, 2, 3)
    check("upsample_nearest3d(x; scale_factor=[1, 3, 2])", {"x": x}, F.interpolate(x, scale_factor=(1, 3, 2)))
    check("upsample_nearest2d(x; scale_factor=2)", {"x": x[0]}, F.interpolate(x[0], scale_factor=2))
    check("upsample_nearest1d(x; scale_factor=3)", {"x": x[0, 0]}, F.interpolate(x[0, 0], scale_factor=3))


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("size", [(8, 10), (7, 3), (4, 13), (1, 2)])
def test_linear_upsampling(check: Any, size: tuple[int, int], align: bool) -> None:
    x = torch.randn(2, 3, 4, 5)
    want = F.interpolate(x, size=size, mode="bilinear", align_corners=align)
    check(f"upsample_bilinear2d(x; size={list(size)}, align_corners={int(align)})", {"x": x}, want)
    want = F.interpolate(x[0], size=size[1], mode="linear", align_corners=align)
    check(f"upsample_linear1d(x; size={size[1]}, align_corners={int(align)})", {"x": x[0]}, want)
