from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402
from solar_agent.analysis.count import count  # noqa: E402


@pytest.mark.parametrize("align", [True, False])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_grid_sample(check: Any, mode: str, padding: str, align: bool) -> None:
    given = {"x": torch.randn(2, 3, 5, 4), "grid": 2 * torch.randn(2, 6, 3, 2)}
    want = F.grid_sample(given["x"], given["grid"], mode=mode, padding_mode=padding, align_corners=align)
    check(f'grid_sample(x, grid; mode="{mode}", padding_mode="{padding}", align_corners={int(align)})', given, want)


def test_max_unpool(check: Any) -> None:
    for spatial, sizes in ((2, (6, 4)), (3, (4, 2, 6))):
        pooled, where = getattr(F, f"max_pool{spatial}d")(torch.randn(2, 3, *sizes), 2, return_indices=True)
        given = {"x": pooled, "where": where}
        want = getattr(F, f"max_unpool{spatial}d")(pooled, where, 2)
        check(f"max_unpool{spatial}d(x, where; output_size={list(sizes)})", given, want)


@pytest.mark.parametrize("align", [True, False])
def test_smooth_resampling(check: Any, align: bool) -> None:
    x = torch.randn(2, 3, 4, 5, 3)
    want = F.interpolate(x, size=(7, 3, 3), mode="trilinear", align_corners=align)
    check(f"upsample_trilinear3d(x; size=[7, 3, 3], align_corners={int(align)})", {"x": x}, want)
    want = F.interpolate(x[0], size=(9, 2), mode="bicubic", align_corners=align)
    check(f"upsample_bicubic2d(x; size=[9, 2], align_corners={int(align)})", {"x": x[0]}, want)


def test_steps_that_are_not_the_quotient_of_sizes(check: Any) -> None:
    x = torch.randn(2, 3, 5, 7)
    want = F.interpolate(x, scale_factor=(1.5, 1.25), mode="bilinear", align_corners=False)
    check("resample_bilinear2d(x; size=[7, 8], step_num=[2, 4], step_den=[3, 5])", {"x": x}, want)
    want = F.interpolate(x, scale_factor=(1.5, 1.0), mode="bicubic", align_corners=False)
    check("upsample_bicubic2d(x; size=[7, 7], step_num=[2, 0], step_den=[3, 1])", {"x": x}, want)
    want = F.interpolate(x[0], scale_factor=1.5, mode="linear", align_corners=False)
    check("resample_linear1d(x; size=10, step_num=2, step_den=3)", {"x": x[0]}, want)


def test_patches_and_back(check: Any) -> None:
    x = torch.randn(2, 3, 7, 8)
    columns = F.unfold(x, (3, 2))
    check("unfold(x; kernel_size=[3, 2])", {"x": x}, columns)
    check("fold(x; kernel_size=[3, 2], output_size=[7, 8])", {"x": columns}, F.fold(columns, (7, 8), (3, 2)))
    columns = F.unfold(x, 3, dilation=2, padding=1, stride=2)
    options = "kernel_size=3, dilation=2, padding=1, stride=2"
    check(f"unfold(x; {options})", {"x": x}, columns)
    want = F.fold(columns, (7, 8), 3, dilation=2, padding=1, stride=2)
    check(f"fold(x; output_size=[7, 8], {options})", {"x": columns}, want)


IMAGE = {"x": torch.randn(2, 4, 6, 8)}
FREE = [
    ("upsample_bicubic2d(x; size=[9, 9])", IMAGE),
    ("grid_sample(x, grid)", {**IMAGE, "grid": torch.rand(2, 5, 5, 2)}),
    ("fold(x; output_size=[4, 3], kernel_size=2)", {"x": torch.randn(2, 8, 6)}),
]


@pytest.mark.parametrize(("call", "given"), FREE)
def test_resampling_has_no_multiply_adds(elaborated: Any, call: str, given: dict[str, Any]) -> None:
    counts = count(elaborated(call, given))
    assert counts.macs_nominal == 0 and counts.vector_ops > 0
