"""Pooling: prelude functions with their options, positions of the maximum, images without a batch axis."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from solar_agent.agent.builtin.model import Untranslatable

from .rulelab import check

SIZES = {1: [(9,), (12,)], 2: [(7, 9), (8, 6)], 3: [(5, 6, 7), (6, 7, 5)]}


def images(spatial: int, batch: bool = True, **options: Any) -> list[dict[str, Any]]:
    made = []
    for index, sizes in enumerate(SIZES[spatial]):
        x = torch.randn(index + 2, 3, *sizes)
        made.append({"self": x if batch else x[0], **options})
    return made


def lists(spatial: int, **options: Any) -> dict[str, Any]:
    return {key: value[:spatial] if isinstance(value, list) else value for key, value in options.items()}


WINDOWS: list[dict[str, Any]] = [
    {"kernel_size": [3, 3, 3]},
    {"kernel_size": [3, 2, 3], "stride": [2, 1, 2], "padding": [1, 1, 0]},
    {"kernel_size": [3, 2, 2], "stride": [2, 2, 2], "padding": [1, 0, 1], "ceil_mode": True},
]


@pytest.mark.parametrize("spatial", [1, 2, 3])
@pytest.mark.parametrize("window", [*WINDOWS, {"kernel_size": [2, 2, 2], "stride": [1, 1, 1], "dilation": [2, 1, 2]}])
@pytest.mark.parametrize("batch", [True, False])
def test_maximum(spatial: int, window: dict[str, Any], batch: bool) -> None:
    check(f"aten.max_pool{spatial}d.default", *images(spatial, batch, **lists(spatial, **window)), exact=True)


@pytest.mark.parametrize("spatial", [1, 2, 3])
@pytest.mark.parametrize("window", [*WINDOWS, {"kernel_size": [2, 2, 2], "stride": [1, 1, 1], "dilation": [2, 1, 2]}])
def test_positions_of_the_maximum(spatial: int, window: dict[str, Any]) -> None:
    options = lists(spatial, **window)
    check(f"aten.max_pool{spatial}d_with_indices.default", *images(spatial, **options), exact=True)
    check(f"aten.max_pool{spatial}d_with_indices.default", *images(spatial, False, **options), exact=True)


@pytest.mark.parametrize("spatial", [1, 2, 3])
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("count_include_pad", [True, False])
def test_average(spatial: int, window: dict[str, Any], count_include_pad: bool) -> None:
    options = lists(spatial, **window, count_include_pad=count_include_pad)
    check(f"aten.avg_pool{spatial}d.default", *images(spatial, **options))
    check(f"aten.avg_pool{spatial}d.default", *images(spatial, False, **options))


@pytest.mark.parametrize("spatial", [2, 3])
def test_average_with_a_divisor(spatial: int) -> None:
    check(f"aten.avg_pool{spatial}d.default", *images(spatial, kernel_size=[2] * spatial, divisor_override=3))


@pytest.mark.parametrize("count_include_pad", [True, False])
@pytest.mark.parametrize("ceil_mode", [True, False])
def test_average_in_half_precision(count_include_pad: bool, ceil_mode: bool) -> None:
    options = {"kernel_size": [3, 3], "padding": [1, 1], "count_include_pad": count_include_pad}
    samples = images(2, **options, ceil_mode=ceil_mode)
    check("aten.avg_pool2d.default", *[{**sample, "self": sample["self"].bfloat16()} for sample in samples])


@pytest.mark.parametrize("spatial", [1, 2, 3])
@pytest.mark.parametrize("size", [[1, 1, 1], [3, 2, 4]])
@pytest.mark.parametrize("batch", [True, False])
def test_adaptive(spatial: int, size: list[int], batch: bool) -> None:
    samples = images(spatial, batch, output_size=size[:spatial])
    check(f"aten.adaptive_avg_pool{spatial}d.default", *samples)
    check(f"aten.adaptive_max_pool{spatial}d.default", *samples, unchecked=[1])


def test_adaptive_to_a_size_of_its_own() -> None:
    samples = [{"self": torch.randn(2, 3, h, width), "output_size": [h, 2]} for h, width in ((4, 6), (5, 8))]
    text = check("aten.adaptive_avg_pool2d.default", *samples)
    assert "output_size=[H, 2]" in text


def test_integers_are_refused() -> None:
    with pytest.raises(Untranslatable, match="pooling of i64"):
        check("aten.max_pool2d.default", {"self": torch.arange(16).view(1, 1, 4, 4), "kernel_size": [2, 2]})


@pytest.mark.parametrize("spatial", [2, 3])
@pytest.mark.parametrize("stride", [2, 1])
def test_back_to_where_the_maximum_was(spatial: int, stride: int) -> None:
    pool = getattr(torch.ops.aten, f"max_pool{spatial}d_with_indices").default
    samples = []
    for sizes in ((4, 6, 4)[:spatial], (8, 6, 6)[:spatial]):
        pooled, indices = pool(torch.randn(2, 3, *sizes), [2] * spatial, [stride] * spatial)
        samples.append({"self": pooled, "indices": indices, "output_size": list(sizes)})
        if spatial == 3:
            samples[-1].update(stride=[stride] * 3, padding=[0] * 3)
    check(f"aten.max_unpool{spatial}d.default", *samples, exact=True)


def test_windows_that_are_sizes() -> None:
    samples = [{"self": torch.randn(2, 3, h, h), "kernel_size": [h, h]} for h in (4, 5)]
    assert "kernel_size=H" in check("aten.max_pool2d.default", *samples, exact=True)
