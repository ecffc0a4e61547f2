from __future__ import annotations

import random
from typing import Any

import pytest

torch = pytest.importorskip("torch")
import torch.nn as nn  # noqa: E402
import torch.nn.functional as F  # noqa: E402

CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}
MODULES = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}
TRANSPOSED_MODULES = {1: nn.ConvTranspose1d, 2: nn.ConvTranspose2d, 3: nn.ConvTranspose3d}


def spatial(rank: int, low: int, rng: random.Random) -> tuple[int, ...]:
    return tuple(rng.randint(low, low + 3) for _ in range(rank))


def axes(rank: int, low: int, high: int, rng: random.Random) -> tuple[int, ...]:
    return tuple(rng.randint(low, high) for _ in range(rank))


def written(**options: Any) -> str:
    return ", ".join(f"{k}={list(v) if isinstance(v, tuple) else v}" for k, v in options.items())


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_convolution(check: Any, rank: int, seed: int) -> None:
    rng = random.Random(seed)
    groups = rng.choice([1, 2, 4])
    x = torch.randn(2, 4, *spatial(rank, 6, rng))
    w = torch.randn(4 * rng.randint(1, 2), 4 // groups, *axes(rank, 1, 3, rng))
    options = {"stride": axes(rank, 1, 3, rng), "padding": axes(rank, 0, 3, rng), "dilation": axes(rank, 1, 2, rng)}
    want = CONV[rank](x, w, groups=groups, **options)
    check(f"conv{rank}d(x, w; {written(**options, groups=groups)})", {"x": x, "w": w}, want)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_convolution_defaults_and_scalars(check: Any, rank: int) -> None:
    x, w = torch.randn(1, 3, *[5] * rank), torch.randn(2, 3, *[3] * rank)
    check(f"conv{rank}d(x, w)", {"x": x, "w": w}, CONV[rank](x, w))
    check(f"conv{rank}d(x, w; stride=2, padding=1)", {"x": x, "w": w}, CONV[rank](x, w, stride=2, padding=1))


@pytest.mark.filterwarnings("ignore:Using padding='same'")
@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("kernel", [3, 4])
def test_named_padding(check: Any, rank: int, kernel: int) -> None:
    x, w = torch.randn(2, 2, *[6] * rank), torch.randn(2, 2, *[kernel] * rank)
    for padding in ("same", "valid"):
        want = CONV[rank](x, w, padding=padding, dilation=1 if kernel == 4 else 2)
        check(f'conv{rank}d(x, w; padding="{padding}", dilation={1 if kernel == 4 else 2})', {"x": x, "w": w}, want)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_transposed_convolution(check: Any, rank: int, seed: int) -> None:
    rng = random.Random(seed)
    groups = rng.choice([1, 2, 4])
    stride, dilation = axes(rank, 1, 3, rng), axes(rank, 1, 3, rng)
    outer = tuple(rng.randint(0, max(s, d) - 1) for s, d in zip(stride, dilation, strict=True))
    options = {"stride": stride, "padding": axes(rank, 0, 2, rng), "output_padding": outer, "dilation": dilation}
    x = torch.randn(2, 4, *spatial(rank, 5, rng))
    w = torch.randn(4, rng.randint(1, 3), *axes(rank, 1, 3, rng))
    want = TRANSPOSED[rank](x, w, groups=groups, **options)
    check(f"conv_transpose{rank}d(x, w; {written(**options, groups=groups)})", {"x": x, "w": w}, want)


@pytest.mark.parametrize("mode", ["zeros", "reflect", "replicate", "circular"])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_convolution_module(check: Any, rank: int, mode: str) -> None:
    x = torch.randn(2, 4, *(5, 6, 4)[:rank])
    module = MODULES[rank](4, 6, (3, 2, 3)[:rank], stride=2, padding=(2, 1, 2)[:rank], groups=2, padding_mode=mode)
    check(f'Conv{rank}d(x; name="m")', {"x": x}, module(x), module)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_convolution_module_without_bias(check: Any, rank: int) -> None:
    x = torch.randn(2, 4, *(5, 6, 4)[:rank])
    module = MODULES[rank](4, 6, 3, padding="same", dilation=2, bias=False)
    check(f'Conv{rank}d(x; name="m")', {"x": x}, module(x), module)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_transposed_module(check: Any, rank: int, bias: bool) -> None:
    x = torch.randn(2, 4, *(5, 3, 4)[:rank])
    module = TRANSPOSED_MODULES[rank](4, 6, 3, stride=2, padding=1, output_padding=1, groups=2, bias=bias)
    check(f'ConvTranspose{rank}d(x; name="m")', {"x": x}, module(x), module)
