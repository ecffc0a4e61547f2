"""Interpolation by size and by scale, shuffled pixels, patches as columns."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from solar_agent.agent.builtin.model import Untranslatable

from .rulelab import check

SIZES = {1: [(7,), (10,)], 2: [(5, 6), (8, 4)], 3: [(3, 4, 5), (5, 3, 2)]}
SMOOTH = {"upsample_linear1d": 1, "upsample_bilinear2d": 2, "upsample_trilinear3d": 3, "upsample_bicubic2d": 2}


def images(spatial: int, **options: Any) -> list[dict[str, Any]]:
    return [{"input": torch.randn(index + 2, 3, *sizes), **options} for index, sizes in enumerate(SIZES[spatial])]


def by_scale(spatial: int, scale: float, **options: Any) -> list[dict[str, Any]]:
    return images(spatial, output_size=None, scale_factors=[scale] * spatial, **options)


def by_size(spatial: int, size: list[int], **options: Any) -> list[dict[str, Any]]:
    return images(spatial, output_size=size[:spatial], scale_factors=None, **options)


@pytest.mark.parametrize("spatial", [1, 2, 3])
@pytest.mark.parametrize("kind", ["upsample_nearest", "_upsample_nearest_exact"])
def test_nearest(spatial: int, kind: str) -> None:
    for scale in (2.0, 1.5, 0.5, 3.0):
        check(f"aten.{kind}{spatial}d.vec", *by_scale(spatial, scale), exact=True)
    check(f"aten.{kind}{spatial}d.vec", *by_size(spatial, [9, 4, 7]), exact=True)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.integers(1, 40), st.integers(1, 40), st.booleans())
def test_nearest_to_any_size(before: int, after: int, exact: bool) -> None:
    name = f"aten.{'_upsample_nearest_exact' if exact else 'upsample_nearest'}1d.default"
    samples = [{"self": torch.randn(1, 2, before + more), "output_size": [after]} for more in (0, 3)]
    check(name, *samples, exact=True)


def test_doubling_is_written_as_such() -> None:
    text = check("aten.upsample_nearest2d.vec", *by_scale(2, 2.0), exact=True)
    assert "i // 2, j // 2" in text


def test_nearest_of_bools_and_integers() -> None:
    samples = [{"self": (torch.randn(1, 2, n) > 0), "output_size": [2 * n]} for n in (3, 4)]
    with pytest.raises(NotImplementedError):
        check("aten.upsample_nearest1d.default", *samples)
    samples = [{"self": torch.randint(9, (1, 2, n)).byte(), "output_size": [2 * n]} for n in (3, 4)]
    check("aten.upsample_nearest1d.default", *samples, exact=True)


@pytest.mark.parametrize("kind", SMOOTH)
@pytest.mark.parametrize("align_corners", [True, False])
def test_smooth(kind: str, align_corners: bool) -> None:
    spatial = SMOOTH[kind]
    for scale in (2.0, 1.3, 0.6):
        check(f"aten.{kind}.vec", *by_scale(spatial, scale, align_corners=align_corners))
    check(f"aten.{kind}.vec", *by_size(spatial, [9, 4, 7], align_corners=align_corners))
    check(f"aten.{kind}.vec", *by_size(spatial, [1, 1, 2], align_corners=align_corners))


def test_scale_with_its_size() -> None:
    samples = [
        {"self": torch.randn(2, 3, n, 4), "output_size": [3 * n // 2, 8], "align_corners": False, "scales_h": 1.5,
         "scales_w": 2.0} for n in (5, 7)
    ]  # fmt: skip
    check("aten.upsample_bilinear2d.default", *samples)


def test_odd_scale_is_refused() -> None:
    with pytest.raises(Untranslatable, match="no quotient of small integers"):
        check("aten.upsample_linear1d.vec", *by_scale(1, 2**0.5, align_corners=False))


@pytest.mark.parametrize("lead", [(2,), (2, 3), ()])
def test_pixels(lead: tuple[int, ...]) -> None:
    check("aten.pixel_shuffle.default",
          *[{"self": torch.randn(*lead, 8, n, 3), "upscale_factor": 2} for n in (3, 5)], exact=True)  # fmt: skip
    check("aten.pixel_unshuffle.default",
          *[{"self": torch.randn(*lead, 2, 3 * n, 6), "downscale_factor": 3} for n in (1, 2)], exact=True)  # fmt: skip


def test_channels() -> None:
    samples = [{"self": torch.randn(2, 3 * n, 2, 3), "groups": n} for n in (2, 4)]
    check("aten.channel_shuffle.default", *samples, exact=True)


WINDOWS = [
    {"kernel_size": [2, 3], "dilation": [1, 1], "padding": [0, 0], "stride": [1, 1]},
    {"kernel_size": [3, 2], "dilation": [2, 1], "padding": [1, 2], "stride": [2, 3]},
]


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("batch", [True, False])
def test_patches(window: dict[str, Any], batch: bool) -> None:
    shapes = [(2, 3, 7, 8), (1, 3, 9, 6)]
    made = [torch.randn(*shape) if batch else torch.randn(*shape[1:]) for shape in shapes]
    check("aten.im2col.default", *[{"self": x, **window} for x in made], exact=True)
    columns = [torch.ops.aten.im2col(x, **window) for x in made]
    sizes = [list(shape[2:]) for shape in shapes]
    samples = [{"self": c, "output_size": s, **window} for c, s in zip(columns, sizes, strict=True)]
    check("aten.col2im.default", samples[0])


@pytest.mark.parametrize("align_corners", [True, False])
@pytest.mark.parametrize("image", [[2, 3, 4, 5], [2, 1, 3, 4, 2]])
def test_grid(image: list[int], align_corners: bool) -> None:
    spatial = len(image) - 2
    samples = [
        {"theta": torch.randn(n, spatial, spatial + 1), "size": [n, *image[1:]], "align_corners": align_corners}
        for n in (2, 3)
    ]
    check("aten.affine_grid_generator.default", *samples)


@pytest.mark.parametrize("align_corners", [True, False])
@pytest.mark.parametrize("padding", [0, 1, 2])
@pytest.mark.parametrize("mode", [0, 1])
def test_places_in_an_image(mode: int, padding: int, align_corners: bool) -> None:
    options = {"interpolation_mode": mode, "padding_mode": padding, "align_corners": align_corners}
    samples = [
        {"input": torch.randn(2, 3, h, 5), "grid": 3 * torch.randn(2, 4, h + 1, 2), **options} for h in (1, 3, 6)
    ]
    check("aten.grid_sampler.default", *samples)


def test_cubic_places_are_refused() -> None:
    options = {"interpolation_mode": 2, "padding_mode": 0, "align_corners": False}
    with pytest.raises(Untranslatable, match="mode 2"):
        check(
            "aten.grid_sampler.default", {"input": torch.randn(1, 1, 3, 3), "grid": torch.rand(1, 2, 2, 2), **options}
        )
