"""Convolutions, plain and transposed."""

from __future__ import annotations

from ..model import Num, Op, Tensor
from ..writer import Writer
from .layers import batched, own_layer, per_axis, unbatched
from .registry import rule

_LAYER = "torch.nn.modules.conv.{}"


@rule("aten.conv1d.default", "aten.conv1d.padding")
def conv1d(w: Writer, op: Op) -> None:
    _convolve(w, op, 1)


@rule("aten.conv2d.default", "aten.conv2d.padding")
def conv2d(w: Writer, op: Op) -> None:
    _convolve(w, op, 2)


@rule("aten.conv3d.default", "aten.conv3d.padding", "aten.slow_conv3d")
def conv3d(w: Writer, op: Op) -> None:
    _convolve(w, op, 3)


@rule("aten.conv_transpose1d")
def conv_transpose1d(w: Writer, op: Op) -> None:
    _convolve(w, op, 1, transposed=True)


@rule("aten.conv_transpose2d")
def conv_transpose2d(w: Writer, op: Op) -> None:
    _convolve(w, op, 2, transposed=True)


@rule("aten.conv_transpose3d")
def conv_transpose3d(w: Writer, op: Op) -> None:
    _convolve(w, op, 3, transposed=True)


@rule("aten.convolution", "aten._convolution", "aten._convolution.deprecated")
def convolution(w: Writer, op: Op) -> None:
    _convolve(w, op, op.tensor("weight").rank - 2, transposed=op.flag("transposed"))


@rule("aten.conv_tbc")
def conv_tbc(w: Writer, op: Op) -> None:
    """Time, batch, channels; weight [R, C, O]."""
    x, weight, bias = _float(op, "self"), op.tensor("weight"), op.tensor("bias")
    steps, n, _ = w.sizes(x)
    taps, c, o = w.sizes(weight)
    pad = w.number(op.num("pad"), op)
    sizes = (w.extent(op, op.out.dims[0], (x,)), n, o)
    p, b, k, r, i = w.iterators(5, like=(steps, n, o, taps, c))
    read = f"({w.of(x)}[{p} + {r} - {pad}, {b}, {i}] else 0)"
    value = f"sum({r}<{taps}, {i}<{c}: {read} * {w.of(weight)}[{r}, {i}, {k}]) + {w.of(bias)}[{k}]"
    w.nest(op, tuple(zip((p, b, k), sizes, strict=True)), value)


def _float(op: Op, name: str) -> Tensor:
    tensor = op.tensor(name)
    if not tensor.is_float:
        raise op.fail(f"a convolution of {tensor.dtype}")
    return tensor


def _convolve(w: Writer, op: Op, spatial: int, transposed: bool = False) -> None:
    x = _float(op, "input" if "input" in op.args else "self")
    weight, bias = op.tensor("weight"), op.maybe("bias")
    layer = own_layer(op, _LAYER.format(f"Conv{'Transpose' * transposed}{spatial}d"), weight=weight, bias=bias)
    if layer is not None and x.rank == spatial + 2:
        w.call(op, f"Conv{'Transpose' * transposed}{spatial}d", x, name=layer)
        return
    options = _options(op, spatial, transposed)
    function = f"conv{'_transpose' * transposed}{spatial}d"
    text = w.called(op, function, batched(w, op, x, spatial), weight, **options)
    if bias is not None:
        text = f"add_channel_bias({text}, {w.of(bias)})"
    unbatched(w, op, text, x, spatial)


def _options(op: Op, spatial: int, transposed: bool) -> dict[str, object]:
    """Those that are not the default."""
    options: dict[str, object] = {"stride": per_axis(op, "stride", spatial, 1)}
    if isinstance(op.args.get("padding"), str):
        options["padding"] = f'"{op.text("padding")}"'
    else:
        options["padding"] = per_axis(op, "padding", spatial, 0)
    if transposed:
        options["output_padding"] = per_axis(op, "output_padding", spatial, 0)
    groups = op.args.get("groups")
    options["groups"] = groups if isinstance(groups, Num) and not groups.is_one else None
    options["dilation"] = per_axis(op, "dilation", spatial, 1)
    return options
