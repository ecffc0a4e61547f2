"""Convolutions: prelude functions with their options, images without a batch axis, the layer's own form."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from solar_agent.agent.builtin.model import Attributes, Module, Num, Op, Tensor
from solar_agent.agent.builtin.names import Names
from solar_agent.agent.builtin.rules import apply
from solar_agent.agent.builtin.writer import Writer

from .rulelab import check

SPATIAL = {1: [(9,), (12,)], 2: [(7, 9), (8, 6)], 3: [(5, 6, 7), (6, 7, 5)]}


def image(*shape: int) -> Any:
    return torch.randn(*shape)


def plain(spatial: int, channels: int, out: int, kernel: tuple[int, ...], **options: Any) -> list[dict[str, Any]]:
    groups = options.get("groups", 1)
    return [
        {
            "input": image(index + 1, channels, *sizes),
            "weight": image(out, channels // groups, *kernel[:spatial]),
            "bias": image(out),
            **options,
        }
        for index, sizes in enumerate(SPATIAL[spatial])
    ]


@pytest.mark.parametrize("spatial", [1, 2, 3])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"stride": 2, "padding": 1},
        {"dilation": 2, "padding": 3},
        {"groups": 2},
        {"groups": 4, "stride": 3},
    ],
    ids=str,
)
def test_convolution(spatial: int, options: dict[str, Any]) -> None:
    lists = {key: value if key == "groups" else [value] * spatial for key, value in options.items()}
    check(f"aten.conv{spatial}d.default", *plain(spatial, 4, 8, (3, 2, 3), **lists))


@pytest.mark.parametrize("padding", ["same", "valid"])
@pytest.mark.parametrize("kernel", [(3, 2, 1), (2, 4, 2)])
@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_named_padding(spatial: int, kernel: tuple[int, ...], padding: str) -> None:
    dilation = [2, 1, 3][:spatial]
    samples = plain(spatial, 2, 3, kernel, padding=padding, dilation=dilation)
    text = check(f"aten.conv{spatial}d.padding", *samples)
    assert f'padding="{padding}"' in text


def test_options_per_axis() -> None:
    text = check("aten.conv2d.default", *plain(2, 2, 3, (3, 2), stride=[2, 1], padding=[1, 0]))
    assert "stride=[2, 1], padding=[1, 0]" in text


def test_without_bias_or_options() -> None:
    samples = [{**sample, "bias": None} for sample in plain(2, 3, 5, (3, 3))]
    text = check("aten.conv2d.default", *samples)
    assert "conv2d(input1, weight)\n" in text


@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_no_batch_axis(spatial: int) -> None:
    samples = [
        {**sample, "input": sample["input"][0]} for sample in plain(spatial, 2, 3, (3, 2, 2), padding=[1] * spatial)
    ]
    check(f"aten.conv{spatial}d.default", *samples)


@pytest.mark.parametrize("spatial", [1, 2, 3])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"stride": 2, "padding": 1, "output_padding": 1},
        {"dilation": 2, "stride": 3, "groups": 2},
    ],
    ids=str,
)
@pytest.mark.parametrize("batch", [True, False])
def test_transposed(spatial: int, options: dict[str, Any], batch: bool) -> None:
    lists = {key: value if key == "groups" else [value] * spatial for key, value in options.items()}
    samples = [
        {
            "input": image(index + 2, 4, *sizes) if batch else image(4, *sizes),
            "weight": image(4, 3, *(3, 2, 2)[:spatial]),
            "bias": image(3 * options.get("groups", 1)) if batch else None,
            **lists,
        }
        for index, sizes in enumerate([(4, 3, 2)[:spatial], (3, 5, 3)[:spatial]])
    ]
    check(f"aten.conv_transpose{spatial}d.{'default' if spatial == 1 else 'input'}", *samples)


@pytest.mark.parametrize("transposed", [True, False])
def test_general_convolution(transposed: bool) -> None:
    samples = [
        {
            "input": image(2, 4, *sizes),
            "weight": image(4, 2, 3, 2),
            "bias": None,
            "stride": [2, 1],
            "padding": [1, 1],
            "dilation": [1, 2],
            "transposed": transposed,
            "output_padding": [1, 0] if transposed else [0, 0],
            "groups": 2,
        }
        for sizes in [(5, 7), (6, 8)]
    ]
    check("aten.convolution.default", *samples)


def test_stride_that_is_a_size() -> None:
    """Patches as large as a size asks: the kernel and the stride differ between samples."""
    samples = [
        {"input": image(2, 3, 4 * size, 6), "weight": image(5, 3, size, 2), "bias": image(5), "stride": [size, 2]}
        for size in (2, 3)
    ]
    text = check("aten.conv2d.default", *samples)
    assert "stride=[H2, 2]" in text


def test_time_first() -> None:
    samples = [{"self": image(steps, 2, 3), "weight": image(3, 3, 4), "bias": image(4), "pad": 1} for steps in (5, 8)]
    check("aten.conv_tbc.default", *samples)


def test_half_precision() -> None:
    samples = [
        {key: value.bfloat16() if isinstance(value, torch.Tensor) else value for key, value in sample.items()}
        for sample in plain(2, 2, 3, (3, 3))
    ]
    check("aten.conv2d.default", *samples)


def tensor(*dims: int, state: str | None = None) -> Tensor:
    return Tensor(tuple(Num((dim, dim)) for dim in dims), "f32", state=state)


def numbers(*values: int) -> tuple[Num, ...]:
    return tuple(Num((value, value)) for value in values)


def written(name: str, cls: str, x: Tensor, out: Tensor, **given: Any) -> str:
    """The text for an operator that is the whole forward of the layer "block.0"."""
    writer = Writer(Names(), Attributes())
    writer.declare(x, "input", "image")
    source = {"input": x} if "weight" in given else {"self": x}
    apply(writer, Op(name, {**source, **given}, (out,), "model.py:1", "block.0", Module("block.0", cls)))
    return "\n".join(writer.lines)


def convolved(x: Tensor, cls: str, weight: Tensor, bias: Tensor | None) -> str:
    ones, zeros = numbers(1, 1), numbers(0, 0)
    options = {"stride": ones, "padding": zeros, "dilation": ones, "groups": Num((1, 1))}
    return written("aten.conv2d.default", cls, x, tensor(2, 4, 5, 5), weight=weight, bias=bias, **options)


def test_layer_with_weights_of_its_own() -> None:
    cls = "torch.nn.modules.conv.Conv2d"
    weight, bias = tensor(4, 3, 3, 3, state="block.0.weight"), tensor(4, state="block.0.bias")
    x = tensor(2, 3, 7, 7)
    assert convolved(x, cls, weight, bias).endswith('= Conv2d(image; name="block.0")')
    assert convolved(x, cls, weight, None).endswith('= Conv2d(image; name="block.0")')
    assert "conv2d(image, block_0_weight)" in convolved(x, "mine.Conv2d", weight, None)
    assert "conv2d(image, other_weight)" in convolved(x, cls, tensor(4, 3, 3, 3, state="other.weight"), None)
    assert "Conv2d" not in convolved(tensor(3, 7, 7), cls, weight, bias)


def test_pooling_layer() -> None:
    options = {"kernel_size": numbers(2, 2), "stride": (), "padding": numbers(0, 0), "dilation": numbers(1, 1)}
    cls = "torch.nn.modules.pooling.MaxPool2d"
    out = tensor(2, 3, 3, 3)
    text = written("aten.max_pool2d.default", cls, tensor(2, 3, 6, 6), out, **options, ceil_mode=False)
    assert text.endswith('= MaxPool2d(image; name="block.0")')
