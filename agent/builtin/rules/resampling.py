"""Images of another resolution: interpolation, shuffled pixels and channels, patches as columns."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ..model import Num, Op, Tensor
from ..numbers import atom
from ..writer import Writer
from .layers import batched, per_axis, unbatched
from .registry import rule

_SCALES = {1: ("scales",), 2: ("scales_h", "scales_w"), 3: ("scales_d", "scales_h", "scales_w")}
_LARGEST_TERM = 10_000
_STEPPED = {"upsample_linear1d": "resample_linear1d", "upsample_bilinear2d": "resample_bilinear2d"}


@rule("aten.upsample_nearest1d")
def upsample_nearest1d(w: Writer, op: Op) -> None:
    _nearest(w, op, 1)


@rule("aten.upsample_nearest2d")
def upsample_nearest2d(w: Writer, op: Op) -> None:
    _nearest(w, op, 2)


@rule("aten.upsample_nearest3d")
def upsample_nearest3d(w: Writer, op: Op) -> None:
    _nearest(w, op, 3)


@rule("aten._upsample_nearest_exact1d")
def upsample_nearest_exact1d(w: Writer, op: Op) -> None:
    _nearest(w, op, 1, exact=True)


@rule("aten._upsample_nearest_exact2d")
def upsample_nearest_exact2d(w: Writer, op: Op) -> None:
    _nearest(w, op, 2, exact=True)


@rule("aten._upsample_nearest_exact3d")
def upsample_nearest_exact3d(w: Writer, op: Op) -> None:
    _nearest(w, op, 3, exact=True)


@rule("aten.upsample_linear1d")
def upsample_linear1d(w: Writer, op: Op) -> None:
    _smooth(w, op, "upsample_linear1d", 1)


@rule("aten.upsample_bilinear2d")
def upsample_bilinear2d(w: Writer, op: Op) -> None:
    _smooth(w, op, "upsample_bilinear2d", 2)


@rule("aten.upsample_trilinear3d")
def upsample_trilinear3d(w: Writer, op: Op) -> None:
    _smooth(w, op, "upsample_trilinear3d", 3)


@rule("aten.upsample_bicubic2d")
def upsample_bicubic2d(w: Writer, op: Op) -> None:
    _smooth(w, op, "upsample_bicubic2d", 2)


def _source(op: Op) -> Tensor:
    return op.tensor("input" if "input" in op.args else "self")


def _scales(op: Op, spatial: int) -> tuple[Num | None, ...]:
    """The scale of each axis as given, None where the sizes decide."""
    if op.name.endswith(".vec"):
        return op.nums("scale_factors") or (None,) * spatial
    return tuple(None if op.args.get(name) is None else op.num(name) for name in _SCALES[spatial])


def _sizes(w: Writer, op: Op, x: Tensor, spatial: int) -> tuple[str, ...]:
    """Of the image axes: by their scale where that gives them."""
    axes = zip(x.dims[2:], op.out.dims[2:], w.sizes(x)[2:], _scales(op, spatial), strict=True)
    return tuple(_scaled(old, new, text, scale) or w.extent(op, new, (x,)) for old, new, text, scale in axes)


def _scaled(before: Num, after: Num, size: str, scale: Num | None) -> str | None:
    """floor(before * scale) as a text."""
    given = None if scale is None else scale.constant
    if not given or after.constant is not None or before.values == after.values:
        return None
    ratio = Fraction(given).limit_denominator(_LARGEST_TERM)
    for old, new in zip(before.values, after.values, strict=True):
        if int(old) * ratio.numerator // ratio.denominator != new:
            return None
    top = f"{ratio.numerator}*{atom(size)}" if ratio.numerator != 1 else atom(size)
    return f"{top} // {ratio.denominator}" if ratio.denominator != 1 else top


# -- nearest ----------------------------------------------------------------------------------------------------------


def _nearest(w: Writer, op: Op, spatial: int, exact: bool = False) -> None:
    x = _source(op)
    axes = zip(x.dims[2:], op.out.dims[2:], _scales(op, spatial), strict=True)
    steps = [_step(op, before, after, scale, exact) for before, after, scale in axes]
    before_sizes = w.sizes(x)
    sizes = (*before_sizes[:2], *_sizes(w, op, x, spatial))

    def index(its: tuple[str, ...]) -> Sequence[str]:
        found = []
        for step, it, before, after in zip(steps, its[2:], before_sizes[2:], sizes[2:], strict=True):
            num, den = step or (atom(before), atom(after))
            found.append(_floored(it, str(num), str(den), exact))
        return (*its[:2], *found)

    w.view(op, x, index, sizes)


def _floored(it: str, num: str, den: str, exact: bool) -> str:
    """floor(it * num / den), or with `exact` floor((it + 1/2) * num / den)."""
    if num == den:
        return it
    top = f"(2*{it} + 1)" if exact else it
    below = f"(2*{den})" if exact else den
    return f"{top if num == '1' else f'{top}*{num}'} // {below}" if below != "1" else f"{top}*{num}"


def _step(op: Op, before: Num, after: Num, scale: Num | None, exact: bool) -> tuple[int, int] | None:
    """Input positions per output position as a fraction, None for the sizes' own quotient: whichever gives the
    positions that torch computes in single precision, at all sizes tried."""
    wanted = [
        _positions(int(a), int(b), None if scale is None else float(scale.values[i]), exact)
        for i, (a, b) in enumerate(zip(before.values, after.values, strict=True))
    ]
    ratios = {Fraction(int(a), int(b)) for a, b in zip(before.values, after.values, strict=True)}
    fixed = [ratio for ratio in ratios if len(ratios) == 1]
    given = None if scale is None else scale.constant
    if given:
        fixed.append(1 / Fraction(given).limit_denominator(_LARGEST_TERM))
    for ratio in fixed:
        if all(_agrees(found, ratio, exact) for found in wanted):
            return ratio.numerator, ratio.denominator
    pairs = zip(before.values, after.values, strict=True)
    if all(_agrees(found, Fraction(int(a), int(b)), exact) for found, (a, b) in zip(wanted, pairs, strict=True)):
        return None
    raise op.fail(f"positions that are no quotient of integers (scale {given})")


def _positions(before: int, after: int, scale: float | None, exact: bool) -> np.ndarray:
    """As torch finds them: in single precision, the last one at most."""
    places = np.arange(after, dtype=np.float32)
    if not exact and before == after:
        return places.astype(np.int64)
    ratio = np.float32(1.0 / scale) if scale else np.float32(before) / np.float32(after)
    found: np.ndarray = np.floor((places + np.float32(0.5 if exact else 0.0)) * ratio).astype(np.int64)
    found[found >= before] = before - 1
    return found


def _agrees(wanted: np.ndarray, ratio: Fraction, exact: bool) -> bool:
    places = np.arange(len(wanted), dtype=np.int64)
    top = (2 * places + 1) * ratio.numerator if exact else places * ratio.numerator
    return bool((top // ((2 if exact else 1) * ratio.denominator) == wanted).all())


# -- linear and cubic -------------------------------------------------------------------------------------------------


def _smooth(w: Writer, op: Op, function: str, spatial: int) -> None:
    x = _source(op)
    if not x.is_float:
        raise op.fail(f"interpolation of {x.dtype}")
    align = op.flag("align_corners")
    axes = zip(x.dims[2:], op.out.dims[2:], _scales(op, spatial), strict=True)
    steps = [None if align else _smooth_step(op, old, new, scale) for old, new, scale in axes]
    sizes = _sizes(w, op, x, spatial)
    options: dict[str, object] = {
        "size": sizes[0] if len(set(sizes)) == 1 else sizes,
        "align_corners": True if align else None,
    }
    if any(step is not None for step in steps):
        options["step_num"] = [0 if step is None else step.numerator for step in steps]
        options["step_den"] = [1 if step is None else step.denominator for step in steps]
        function = _STEPPED.get(function, function)
    w.call(op, function, x, **options)


def _smooth_step(op: Op, before: Num, after: Num, scale: Num | None) -> Fraction | None:
    """1/scale where that is not the quotient of the sizes."""
    if scale is None:
        return None
    pairs = zip(before.values, after.values, scale.values, strict=True)
    if all(after_size == before_size * factor for before_size, after_size, factor in pairs):
        return None
    given = scale.constant
    if not given:
        raise op.fail(f"scales that differ: {list(scale.values)}")
    fraction = Fraction(given).limit_denominator(_LARGEST_TERM)
    if float(fraction) != given:
        raise op.fail(f"a scale of {given}, which is no quotient of small integers")
    return 1 / fraction


# -- rearranged pixels ------------------------------------------------------------------------------------------------


@rule("aten.pixel_shuffle")
def pixel_shuffle(w: Writer, op: Op) -> None:
    w.call(op, "pixel_shuffle", op.tensor("self"), upscale_factor=op.num("upscale_factor"))


@rule("aten.pixel_unshuffle")
def pixel_unshuffle(w: Writer, op: Op) -> None:
    w.call(op, "pixel_unshuffle", op.tensor("self"), downscale_factor=op.num("downscale_factor"))


@rule("aten.channel_shuffle", "aten.native_channel_shuffle")
def channel_shuffle(w: Writer, op: Op) -> None:
    w.call(op, "channel_shuffle", op.tensor("self"), groups=op.num("groups"))


@rule("aten.im2col")
def im2col(w: Writer, op: Op) -> None:
    x = op.tensor("self")
    text = w.called(op, "unfold", batched(w, op, x, 2), **_window(op))
    unbatched(w, op, text, x, 2)


@rule("aten.col2im")
def col2im(w: Writer, op: Op) -> None:
    x = op.tensor("self")
    size = per_axis(op, "output_size", 2)
    text = w.called(op, "fold", batched(w, op, x, 1), output_size=size, **_window(op))
    unbatched(w, op, text, x, 1)


def _window(op: Op) -> dict[str, object]:
    return {
        "kernel_size": per_axis(op, "kernel_size", 2),
        "dilation": per_axis(op, "dilation", 2, 1),
        "padding": per_axis(op, "padding", 2, 0),
        "stride": per_axis(op, "stride", 2, 1),
    }


# -- grids ------------------------------------------------------------------------------------------------------------


@rule("aten.affine_grid_generator")
def affine_grid_generator(w: Writer, op: Op) -> None:
    """Sampling positions, x first: theta [N, K, K + 1] applied to the output's pixels in -1..1."""
    theta = op.tensor("theta")
    spatial = op.out.rank - 2
    sizes = w.extents_of(op, op.out.dims, (theta,))
    align = op.flag("align_corners")
    its = w.iterators(spatial + 2, like=sizes)
    pixels = zip(its[-2:0:-1], sizes[-2:0:-1], op.out.dims[-2:0:-1], strict=True)
    name, row = w.of(theta), f"{its[0]}, {its[-1]}"
    terms = [f"{name}[{row}, {k}]*({_centre(op, it, size, dim, align)})" for k, (it, size, dim) in enumerate(pixels)]
    value = " + ".join([*terms, f"{name}[{row}, {spatial}]"])
    w.nest(op, tuple(zip(its, sizes, strict=True)), value)


def _centre(op: Op, it: str, size: str, dim: Num, align: bool) -> str:
    """Where a pixel lies in -1..1."""
    if not align:
        return f"(2*{it} + 1) / {atom(size)} - 1"
    if any(value == 1 for value in dim.values):
        raise op.fail("corners of a grid of one pixel")
    return f"2*{it} / ({size} - 1) - 1"


_MODES = ("bilinear", "nearest")
_PADDINGS = ("zeros", "border", "reflection")


@rule("aten.grid_sampler", "aten.grid_sampler_2d")
def grid_sampler(w: Writer, op: Op) -> None:
    x, grid = op.tensor("input"), op.tensor("grid")
    mode, padding = op.fixed("interpolation_mode"), op.fixed("padding_mode")
    if x.rank != 4 or mode >= len(_MODES) or not x.is_float:
        raise op.fail(f"{x.rank} axes of {x.dtype} in mode {mode}")
    options: dict[str, object] = {
        "mode": f'"{_MODES[mode]}"' if mode else None,
        "padding_mode": f'"{_PADDINGS[padding]}"' if padding else None,
        "align_corners": True if op.flag("align_corners") else None,
    }
    w.call(op, "grid_sample", x, grid, **options)
