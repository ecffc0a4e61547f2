from __future__ import annotations

import random
from typing import Any

import pytest

torch = pytest.importorskip("torch")
import torch.nn as nn  # noqa: E402
import torch.nn.functional as F  # noqa: E402

MAX = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
AVERAGE = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}
ADAPTIVE = {
    ("avg", 1): F.adaptive_avg_pool1d, ("avg", 2): F.adaptive_avg_pool2d, ("avg", 3): F.adaptive_avg_pool3d,
    ("max", 1): F.adaptive_max_pool1d, ("max", 2): F.adaptive_max_pool2d, ("max", 3): F.adaptive_max_pool3d,
}  # fmt: skip


def window(rank: int, seed: int) -> tuple[Any, dict[str, Any]]:
    rng = random.Random(seed)
    x = torch.randn(2, 3, *(rng.randint(7, 10) for _ in range(rank)))
    kernel = tuple(rng.randint(1, 4) for _ in range(rank))
    options = {
        "kernel_size": kernel,
        "stride": tuple(rng.randint(1, 3) for _ in range(rank)),
        "padding": tuple(rng.randint(0, k // 2) for k in kernel),
        "ceil_mode": bool(seed % 2),
    }
    return x, options


def written(options: dict[str, Any]) -> str:
    shown = {k: list(v) if isinstance(v, tuple) else int(v) for k, v in options.items()}
    return ", ".join(f"{k}={v}" for k, v in shown.items())


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_max_pool(check: Any, rank: int, seed: int) -> None:
    x, options = window(rank, seed)
    options["dilation"] = 1 + seed % 3 // 2
    check(f"max_pool{rank}d(x; {written(options)})", {"x": x}, MAX[rank](x, **options))


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_max_pool_defaults_and_nan(check: Any, rank: int) -> None:
    x = torch.randn(1, 2, *[7] * rank)
    x[..., 3] = float("nan")
    check(f"max_pool{rank}d(x; kernel_size=2)", {"x": x}, MAX[rank](x, 2))


@pytest.mark.parametrize("include", [True, False])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_average_pool(check: Any, rank: int, seed: int, include: bool) -> None:
    x, options = window(rank, seed)
    options["count_include_pad"] = include
    check(f"avg_pool{rank}d(x; {written(options)})", {"x": x}, AVERAGE[rank](x, **options))


@pytest.mark.parametrize("rank", [2, 3])
def test_average_pool_divisor(check: Any, rank: int) -> None:
    x, options = window(rank, 3)
    options["divisor_override"] = 5
    check(f"avg_pool{rank}d(x; {written(options)})", {"x": x}, AVERAGE[rank](x, **options))


@pytest.mark.parametrize("kind", ["avg", "max"])
@pytest.mark.parametrize("size", [1, 3, (6, 2, 5), (5, 9, 4)])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_adaptive_pool(check: Any, rank: int, size: Any, kind: str) -> None:
    x = torch.randn(2, 2, *(6, 9, 7)[:rank])
    size = size if isinstance(size, int) else size[:rank]
    want = ADAPTIVE[kind, rank](x, size)
    shown = size if isinstance(size, int) else list(size)
    check(f"adaptive_{kind}_pool{rank}d(x; output_size={shown})", {"x": x}, want)


@pytest.mark.parametrize("module", [
    nn.MaxPool1d(3), nn.MaxPool2d((3, 2), stride=2, padding=1, ceil_mode=True), nn.MaxPool3d(2, dilation=2),
    nn.AvgPool1d(3, stride=2, padding=1), nn.AvgPool2d(3, padding=1, count_include_pad=False),
    nn.AvgPool3d(2, divisor_override=3), nn.AdaptiveAvgPool1d(3), nn.AdaptiveAvgPool2d((3, None)),
    nn.AdaptiveAvgPool3d(2),
    nn.AdaptiveMaxPool1d(2), nn.AdaptiveMaxPool2d(3), nn.AdaptiveMaxPool3d((1, 2, 3)),
], ids=repr)  # fmt: skip
def test_pooling_module(check: Any, module: Any) -> None:
    name = type(module).__name__
    x = torch.randn(2, 3, *(7, 6, 5)[: int(name[-2])])
    check(f'{name}(x; name="m")', {"x": x}, module(x), module)
