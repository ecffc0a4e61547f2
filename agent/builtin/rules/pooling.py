"""Pooling over windows and to a given size."""

from __future__ import annotations

from collections.abc import Sequence

from ..model import Op, Tensor
from ..numbers import atom
from ..writer import Writer
from .layers import batched, own_layer, per_axis, unbatched
from .registry import rule

_LAYER = "torch.nn.modules.pooling.{}"


@rule("aten.max_pool1d")
def max_pool1d(w: Writer, op: Op) -> None:
    _pool(w, op, "max_pool", "MaxPool", 1, _max_options(op, 1))


@rule("aten.max_pool2d", "aten.mkldnn_max_pool2d")
def max_pool2d(w: Writer, op: Op) -> None:
    _pool(w, op, "max_pool", "MaxPool", 2, _max_options(op, 2))


@rule("aten.max_pool3d", "aten.mkldnn_max_pool3d")
def max_pool3d(w: Writer, op: Op) -> None:
    _pool(w, op, "max_pool", "MaxPool", 3, _max_options(op, 3))


@rule("aten.max_pool1d_with_indices")
def max_pool1d_with_indices(w: Writer, op: Op) -> None:
    _pool(w, op, "max_pool", "", 1, _max_options(op, 1))
    _positions(w, op, 1)


@rule("aten.max_pool2d_with_indices")
def max_pool2d_with_indices(w: Writer, op: Op) -> None:
    _pool(w, op, "max_pool", "", 2, _max_options(op, 2))
    _positions(w, op, 2)


@rule("aten.max_pool3d_with_indices")
def max_pool3d_with_indices(w: Writer, op: Op) -> None:
    _pool(w, op, "max_pool", "", 3, _max_options(op, 3))
    _positions(w, op, 3)


@rule("aten.avg_pool1d")
def avg_pool1d(w: Writer, op: Op) -> None:
    _pool(w, op, "avg_pool", "AvgPool", 1, _average_options(op, 1))


@rule("aten.avg_pool2d")
def avg_pool2d(w: Writer, op: Op) -> None:
    _pool(w, op, "avg_pool", "AvgPool", 2, _average_options(op, 2))


@rule("aten.avg_pool3d")
def avg_pool3d(w: Writer, op: Op) -> None:
    _pool(w, op, "avg_pool", "AvgPool", 3, _average_options(op, 3))


@rule("aten.adaptive_avg_pool1d")
def adaptive_avg_pool1d(w: Writer, op: Op) -> None:
    _pool(w, op, "adaptive_avg_pool", "AdaptiveAvgPool", 1, _size(op, 1))


@rule("aten.adaptive_avg_pool2d", "aten._adaptive_avg_pool2d")
def adaptive_avg_pool2d(w: Writer, op: Op) -> None:
    _pool(w, op, "adaptive_avg_pool", "AdaptiveAvgPool", 2, _size(op, 2))


@rule("aten.adaptive_avg_pool3d", "aten._adaptive_avg_pool3d")
def adaptive_avg_pool3d(w: Writer, op: Op) -> None:
    _pool(w, op, "adaptive_avg_pool", "AdaptiveAvgPool", 3, _size(op, 3))


@rule("aten.adaptive_max_pool1d")
def adaptive_max_pool1d(w: Writer, op: Op) -> None:
    """The values; positions, the second result, are not made."""
    _pool(w, op, "adaptive_max_pool", "AdaptiveMaxPool", 1, _size(op, 1))


@rule("aten.adaptive_max_pool2d")
def adaptive_max_pool2d(w: Writer, op: Op) -> None:
    _pool(w, op, "adaptive_max_pool", "AdaptiveMaxPool", 2, _size(op, 2))


@rule("aten.adaptive_max_pool3d")
def adaptive_max_pool3d(w: Writer, op: Op) -> None:
    _pool(w, op, "adaptive_max_pool", "AdaptiveMaxPool", 3, _size(op, 3))


def _max_options(op: Op, spatial: int) -> dict[str, object]:
    return {
        **_window(op, spatial),
        "dilation": per_axis(op, "dilation", spatial, 1),
        "ceil_mode": True if op.flag("ceil_mode") else None,
    }


def _average_options(op: Op, spatial: int) -> dict[str, object]:
    return {
        **_window(op, spatial),
        "ceil_mode": True if op.flag("ceil_mode") else None,
        "count_include_pad": None if op.flag("count_include_pad") else False,
        "divisor_override": op.args.get("divisor_override"),
    }


def _window(op: Op, spatial: int) -> dict[str, object]:
    return {
        "kernel_size": per_axis(op, "kernel_size", spatial),
        "stride": per_axis(op, "stride", spatial),
        "padding": per_axis(op, "padding", spatial, 0),
    }


def _size(op: Op, spatial: int) -> dict[str, object]:
    return {"output_size": per_axis(op, "output_size", spatial)}


def _pool(w: Writer, op: Op, function: str, layer: str, spatial: int, options: dict[str, object]) -> None:
    x = op.tensor("self")
    if not x.is_float:
        raise op.fail(f"pooling of {x.dtype}")
    path = own_layer(op, _LAYER.format(f"{layer}{spatial}d"))
    if path is not None and x.rank == spatial + 2:
        w.call(op, f"{layer}{spatial}d", x, name=path)
        return
    text = w.called(op, f"{function}{spatial}d", batched(w, op, x, spatial), **options)
    unbatched(w, op, text, x, spatial)


def _positions(w: Writer, op: Op, spatial: int) -> None:
    """Where the first largest element of each window is, in the flattened image."""
    target = op.results[1]
    if target is None:
        return
    x = op.tensor("self")
    lead = x.rank - spatial
    sizes = w.sizes(op.out)
    its = w.iterators(x.rank + 1, like=(*sizes, "window"))
    outer, tap = its[:-1], its[-1]
    kernel = _texts(w, op, "kernel_size", spatial)
    reads = _places(w, op, spatial, outer[lead:], _digits(tap, kernel))
    first = Tensor(target.dims, target.dtype, hint="first")
    w.nest(
        op,
        tuple(zip(outer, sizes, strict=True)),
        f"({w.of(x)}[{', '.join((*outer[:lead], *reads))}] else -inf)",
        tensor=first,
        reduced=((tap, "*".join(kernel)),),
        operator="argmax=",
    )
    best = f"{w.of(first)}[{', '.join(outer)}]"
    position, *places = _places(w, op, spatial, outer[lead:], _digits(best, kernel))
    for place, extent in zip(places, w.sizes(x)[lead + 1 :], strict=True):
        position = f"({position})*{atom(extent)} + {place}"
    w.nest(op, tuple(zip(outer, sizes, strict=True)), position, tensor=target)


def _texts(w: Writer, op: Op, name: str, count: int, default: str = "kernel_size") -> tuple[str, ...]:
    numbers = op.nums(name) or op.nums(default)
    if len(numbers) not in (1, count):
        raise op.fail(f"{len(numbers)} numbers for {name} of {count} axes")
    return tuple(w.scalar(numbers[axis % len(numbers)], op) for axis in range(count))


def _digits(flat: str, extents: Sequence[str]) -> tuple[str, ...]:
    """A flattened index taken apart again, row-major."""
    digits = []
    for axis, extent in enumerate(extents):
        inner = extents[axis + 1 :]
        divisor = f"({'*'.join(inner)})" if len(inner) > 1 else "".join(inner)
        shifted = f"{flat} // {divisor}" if divisor else flat
        digits.append(shifted if axis == 0 else f"{shifted} % {extent}")
    return tuple(digits)


def _places(w: Writer, op: Op, spatial: int, iterators: Sequence[str], taps: Sequence[str]) -> tuple[str, ...]:
    """stride*i + dilation*tap - padding for each axis, without what changes nothing."""
    options = [_texts(w, op, name, spatial) for name in ("stride", "dilation", "padding")]
    places = []
    for iterator, tap, stride, dilation, pad in zip(iterators, taps, *options, strict=True):
        start = iterator if stride == "1" else f"{stride}*{iterator}"
        offset = tap if dilation == "1" else f"{dilation}*({tap})"
        places.append(f"{start} + {offset}" + (f" - {pad}" if pad != "0" else ""))
    return tuple(places)


@rule("aten.max_unpool2d")
def max_unpool2d(w: Writer, op: Op) -> None:
    _unpool(w, op, 2)


@rule("aten.max_unpool3d")
def max_unpool3d(w: Writer, op: Op) -> None:
    _unpool(w, op, 3)


def _unpool(w: Writer, op: Op, spatial: int) -> None:
    """Windows that share their largest element write it twice, which is the same."""
    x, indices = op.tensor("self"), op.tensor("indices")
    if not x.is_float or x.rank != spatial + 2:
        raise op.fail(f"an operand of {x.rank} axes and type {x.dtype}")
    w.call(op, f"max_unpool{spatial}d", x, indices, output_size=per_axis(op, "output_size", spatial))
