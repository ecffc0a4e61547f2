"""Cheap guesses at why a result differs: each one is a difference that was seen to fit the numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import permutations

import numpy as np
import numpy.typing as npt

from .types import Array

CLOSE = 1e-7
MAX_HINTS = 3
MAX_NAMED = 400

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Clues:
    """What a hint may name: the arrays captured from the original and the sizes of the text, by name."""

    arrays: Mapping[str, Array] = field(default_factory=dict)
    sizes: Mapping[str, float] = field(default_factory=dict)


def find(expected: Array, ours: Array, clues: Clues) -> tuple[str, ...]:
    """At most three hints, the most telling first."""
    if expected.size == 0 or ours.size == 0:
        return ()
    want, got = expected.astype(np.float64), ours.astype(np.float64)
    with np.errstate(all="ignore"):
        if want.shape != got.shape:
            return tuple(_shape_hints(want, got))[:MAX_HINTS]
        if not (np.isfinite(want).all() and np.isfinite(got).all()):
            return tuple(_nonfinite_hints(want, got))[:MAX_HINTS]
        return tuple(_value_hints(want, got, clues))[:MAX_HINTS]


def close(a: Floats, b: Floats) -> bool:
    if a.shape != b.shape or not a.size:
        return False
    top = float(np.abs(b).max())
    return bool(np.abs(a - b).max() <= CLOSE * top) if math.isfinite(top) else False


def _shape_hints(want: Floats, got: Floats) -> Iterator[str]:
    if want.size != got.size:
        squeezed = tuple(size for size in want.shape if size != 1)
        if want.ndim == got.ndim and squeezed:
            axes = [axis for axis in range(want.ndim) if want.shape[axis] != got.shape[axis]]
            yield f"only the extents of axes {axes} differ"
        return
    for order in _orders(got):
        if got.transpose(order).shape == want.shape and close(got.transpose(order), want):
            yield f"the result is right but its axes are permuted: expected = got transposed by {order}"
            return
    if close(got.reshape(want.shape), want):
        yield "the values are right in row-major order; only the shape of the output differs"


def _orders(array: Floats) -> Iterator[tuple[int, ...]]:
    if array.ndim <= 5:
        identity = tuple(range(array.ndim))
        yield from (order for order in permutations(identity) if order != identity)


def _nonfinite_hints(want: Floats, got: Floats) -> Iterator[str]:
    for name, test in (("NaN", np.isnan), ("infinity", np.isinf)):
        expected, found = int(np.count_nonzero(test(want))), int(np.count_nonzero(test(got)))
        if expected != found:
            yield f"{name} in {expected} elements expected, in {found} got"
    if np.isnan(want).any() and not np.isnan(got).any():
        yield "NaN must propagate through min, max, sums and comparisons as in the original"


def _value_hints(want: Floats, got: Floats, clues: Clues) -> Iterator[str]:
    if not got.any():
        yield "everything is zero: nothing was accumulated, or a guard never holds"
        return
    for order in _orders(got):
        if got.transpose(order).shape == want.shape and close(got.transpose(order), want):
            yield f"axes are permuted: expected = got transposed by {order}"
            return
    scaled = list(_scale_hints(want, got, clues))
    yield from scaled
    if not scaled:
        yield from _named_hints(want, got, clues)
    yield from _shift_hints(want, got)
    yield from _order_hints(want, got)
    yield from _region_hints(want, got)
    yield from _size_hints(want, got)


def _scale_hints(want: Floats, got: Floats, clues: Clues) -> Iterator[str]:
    """A constant factor or a constant addend on everything."""
    square = float((want * want).sum())
    factor = float((want * got).sum()) / square if square else 0.0
    if factor and close(got, factor * want):
        yield f"got = {factor:.3g} x expected everywhere{_named_factor(factor, clues.sizes)}"
        return
    shift = float((got - want).mean())
    if want.size > 1 and close(got - shift, want):
        yield f"got = expected {'+' if shift >= 0 else '-'} {abs(shift):.3g} everywhere"


def _named_factor(factor: float, sizes: Mapping[str, float]) -> str:
    """Which size explains a factor: n, 1/n, sqrt(n), n/(n-1)."""
    for name, size in sizes.items():
        if size <= 1:
            continue
        forms = {
            name: size,
            f"1/{name}": 1 / size,
            f"sqrt({name})": math.sqrt(size),
            f"1/sqrt({name})": 1 / math.sqrt(size),
            f"{name}/({name}-1)": size / (size - 1),
            f"({name}-1)/{name}": (size - 1) / size,
        }
        for form, value in forms.items():
            if math.isclose(value, abs(factor), rel_tol=1e-6):
                return f" ({form} = {value:.3g})"
    return ""


def _named_hints(want: Floats, got: Floats, clues: Clues) -> Iterator[str]:
    """A captured tensor that was left out, or used twice, along some axes."""
    named = [(name, array) for name, array in clues.arrays.items() if array.dtype.kind == "f" and array.size > 1]
    for name, array in named[:MAX_NAMED]:
        for place, spread in _placements(array.astype(np.float64), want.shape):
            for relation, value in (
                (f"expected = got + {name}", got + spread),
                (f"expected = got - {name}", got - spread),
                (f"expected = got * {name}", got * spread),
                (f"expected = got / {name}", got / spread),
            ):
                if close(value, want):
                    yield f"{relation}{place}: is `{name}` missing, or used twice?"
                    return


def _placements(array: Floats, shape: tuple[int, ...]) -> Iterator[tuple[str, Floats]]:
    """The ways in which `array`, its axes of extent 1 dropped, lies along neighbouring axes of `shape`."""
    core = array.reshape([size for size in array.shape if size != 1])
    for start in range(len(shape) - core.ndim + 1):
        if shape[start : start + core.ndim] == core.shape:
            after = len(shape) - start - core.ndim
            place = f" along axis {start}" if core.ndim == 1 and len(shape) > 1 else ""
            yield place, core.reshape((1,) * start + core.shape + (1,) * after)


def _shift_hints(want: Floats, got: Floats) -> Iterator[str]:
    for axis in range(want.ndim):
        extent = want.shape[axis]
        head, tail = np.arange(extent - 1), np.arange(1, extent)
        if close(np.flip(got, axis), want):
            yield f"got is expected reversed along axis {axis}"
        elif extent > 2 and close(got.take(tail, axis), want.take(head, axis)):
            yield f"got is expected shifted by one along axis {axis}: got[i+1] = expected[i]"
        elif extent > 2 and close(got.take(head, axis), want.take(tail, axis)):
            yield f"got is expected shifted by one along axis {axis}: got[i] = expected[i+1]"


def _order_hints(want: Floats, got: Floats) -> Iterator[str]:
    if want.size > 2 and close(np.sort(got, axis=None), np.sort(want, axis=None)):
        yield "the same values stand at other positions: an index map or the order of axes is wrong"


def _region_hints(want: Floats, got: Floats) -> Iterator[str]:
    """Wrong only in part of an axis: a border, one group of channels, a tail."""
    wrong = np.abs(got - want) > CLOSE * float(np.abs(want).max())
    for axis in range(want.ndim):
        others = tuple(other for other in range(want.ndim) if other != axis)
        where = np.flatnonzero(wrong.any(axis=others))
        extent = want.shape[axis]
        if extent >= 3 and 0 < where.size <= extent // 2:
            border = set(where.tolist()) <= {0, 1, extent - 2, extent - 1}
            text = ", ".join(map(str, where[:6].tolist())) + (", ..." if where.size > 6 else "")
            guess = " (the border: padding?)" if border else ""
            yield f"only positions {text} of axis {axis} (extent {extent}) are wrong{guess}"


def _size_hints(want: Floats, got: Floats) -> Iterator[str]:
    top = float(np.abs(want).max())
    if top and float(np.abs(got - want).max()) < 1e-2 * top:
        yield "the values are close: look at eps, constants, biased or unbiased variance, erf or tanh form of GELU"
