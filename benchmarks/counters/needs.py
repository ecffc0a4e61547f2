"""How much of each recorded tensor the results hang on: along each axis a number of leading positions. A window that
does not fit is dropped by pooling, and what was computed for it is needed by nobody.

Backwards through the operators; whatever is not known here needs all of its arguments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from solar_agent.verifier.traced import Argument, Operator, Ref, Traced

Box = tuple[int, ...]
ELEMENTWISE = frozenset({
    "relu", "leaky_relu", "gelu", "sigmoid", "tanh", "mul", "add", "sub", "div", "hardswish", "hardtanh", "hardsigmoid",
    "clamp", "clamp_min", "clamp_max", "dropout", "mish", "softplus", "silu", "elu", "relu6", "neg", "exp", "pow",
    "contiguous", "clone", "detach", "alias", "feature_dropout",
})  # fmt: skip
POOLS = frozenset({f"{kind}_pool{axes}d" for kind in ("max", "avg") for axes in (1, 2, 3)})
BY_CHANNEL = frozenset({"batch_norm"})
CONVOLUTIONS = frozenset(f"conv{axes}d" for axes in (1, 2, 3))
TRANSPOSED = frozenset(f"conv_transpose{axes}d" for axes in (1, 2, 3))


def needed(traced: Traced) -> dict[int, Box]:
    """By the number of a value; a value that is missing is not needed at all."""
    boxes: dict[int, Box] = {}

    def need(value: int, box: Box) -> None:
        before = boxes.get(value)
        boxes[value] = box if before is None else tuple(map(max, before, box))

    def whole(value: int) -> None:
        need(value, traced.values[value].shape)

    for result in traced.results:
        if result.value is not None:
            whole(result.value)
    for value in traced.final_state.values():
        whole(value)
    for operator in reversed(traced.operators):
        wanted = [boxes[value] for value in operator.results if value is not None and value in boxes]
        if operator.mutates and not _same_object(operator):
            wanted = [()]
        if not wanted:
            continue
        for value, box in _arguments(traced, operator, wanted[0] if len(operator.results) == 1 else None):
            need(value, box)
    return boxes


def _same_object(operator: Operator) -> bool:
    """In place, on all of its argument: the value keeps its number and what is needed of it."""
    return operator.mutates == ("self",) and operator.arguments["self"] == Ref(operator.results[0] or 0)


def _arguments(traced: Traced, operator: Operator, box: Box | None) -> Iterator[tuple[int, Box]]:
    name = operator.name.split(".")[1].removesuffix("_")
    data = operator.arguments.get("self", operator.arguments.get("input"))
    found = None
    if box is not None and isinstance(data, Ref) and len(box) > 0:
        shape, made = traced.values[data.value].shape, traced.values[operator.results[0] or 0].shape
        if name in ELEMENTWISE:
            yield from _aligned(traced, operator, box, made)
            return
        if name in CONVOLUTIONS:
            found = _convolved(traced, operator.arguments, shape, box, _axes(name))
        else:
            found = _data(name, operator.arguments, shape, box)
    for value in _refs(operator.arguments.values()):
        given = isinstance(data, Ref) and value == data.value and found is not None
        yield value, found if given and found is not None else traced.values[value].shape


def _data(name: str, arguments: Mapping[str, Argument], shape: Box, box: Box) -> Box | None:
    """What is needed of the data; None where this is not known."""
    if name in BY_CHANNEL:
        return box
    if name in POOLS:
        return _windows(arguments, shape, box, arguments["kernel_size"], len(shape) - _axes(name))
    if name in TRANSPOSED:
        return _spread(shape, box, _axes(name), arguments)
    if name == "linear":
        return (*box[:-1], shape[-1])
    if name == "layer_norm":
        kept = len(shape) - len(arguments["normalized_shape"])
        return (*box[:kept], *shape[kept:])
    if name == "softmax":
        axis = arguments["dim"] % len(shape)
        return tuple(shape[d] if d == axis else box[d] for d in range(len(shape)))
    return None


def _axes(name: str) -> int:
    return int(name[-2])


def _aligned(traced: Traced, operator: Operator, box: Box, made: Box) -> Iterator[tuple[int, Box]]:
    for value in _refs(operator.arguments.values()):
        shape = traced.values[value].shape
        offset = len(made) - len(shape)
        yield value, tuple(box[offset + d] if size == made[offset + d] else size for d, size in enumerate(shape))


def _each(value: Argument, axes: int, otherwise: Argument = 1) -> list[int]:
    numbers = list(value) if isinstance(value, tuple) else [value]
    numbers = numbers or (list(otherwise) if isinstance(otherwise, tuple) else [otherwise])
    return numbers * axes if len(numbers) == 1 else numbers


def _windows(arguments: Mapping[str, Argument], shape: Box, box: Box, kernel: Argument, first: int) -> Box:
    axes = len(shape) - first
    taps = _each(kernel, axes)
    stride = _each(arguments.get("stride", ()), axes, tuple(taps))
    padding, dilation = _each(arguments.get("padding", 0), axes), _each(arguments.get("dilation", 1), axes)
    ends = [
        min(shape[first + d], (box[first + d] - 1) * stride[d] + (taps[d] - 1) * dilation[d] + 1 - padding[d])
        for d in range(axes)
    ]
    return (*box[:first], *ends)


def _convolved(traced: Traced, arguments: Mapping[str, Argument], shape: Box, box: Box, axes: int) -> Box | None:
    weight = arguments["weight"]
    if isinstance(arguments["padding"], str) or not isinstance(weight, Ref):
        return None
    first = len(shape) - axes
    kernel = traced.values[weight.value].shape[2:]
    return _windows(arguments, shape, (*box[: first - 1], shape[first - 1], *box[first:]), kernel, first)


def _spread(shape: Box, box: Box, axes: int, arguments: Mapping[str, Argument]) -> Box:
    """What a transposed convolution reads: all channels, and the positions whose first tap is inside."""
    first = len(shape) - axes
    stride, padding = _each(arguments["stride"], axes), _each(arguments["padding"], axes)
    ends = [min(shape[first + d], (box[first + d] - 1 + padding[d]) // stride[d] + 1) for d in range(axes)]
    return (*box[: first - 1], shape[first - 1], *ends)


def _refs(values: Iterable[Argument]) -> Iterator[int]:
    for value in values:
        if isinstance(value, Ref):
            yield value.value
        elif isinstance(value, tuple):
            yield from _refs(value)
