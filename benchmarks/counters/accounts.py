"""Multiply-adds of recorded operators, from their shapes alone: neither this project's analysis nor another counter is
asked. Each operator gives products of whole numbers as text, so that the arithmetic can be checked by anybody.

`nominal`: output positions times taps, padding and masks included; of a transposed convolution input positions times
taps. `hits`: the same without taps that fall on padding (transposed: outside of the output). `needed`: the same without
positions that no result hangs on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from needs import needed
from solar_agent.verifier.traced import Argument, Operator, Ref, Traced

MATMULS = {  # the left factor
    "aten.mm": "self", "aten.bmm": "self", "aten.matmul": "self", "aten.addmm": "mat1", "aten.baddbmm": "batch1",
    "aten.mv": "self", "aten.dot": "self", "aten.addmv": "mat",
}  # fmt: skip
RECURRENT = ("aten.lstm", "aten.gru", "aten.rnn_tanh", "aten.rnn_relu")
LIKE_PRODUCTS = ("bilinear", "tensordot", "chain_matmul", "inner", "addr", "addbmm", "kron", "cdist", "multi_dot")
CELLS = ("aten.lstm_cell", "aten.gru_cell", "aten.rnn_tanh_cell", "aten.rnn_relu_cell")
LAYERS = ("aten.batch_norm", "aten.group_norm", "aten.layer_norm", "aten.instance_norm", "aten.adaptive_avg_pool2d",
          "aten.upsample_nearest2d", "aten.upsample_bilinear2d", "aten.grid_sampler")  # fmt: skip


class Unknown(Exception):
    """An operator that is like one with multiply-adds and is not known here."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one operator, as products of whole numbers; empty where there is nothing to say. `kind`: product, einsum,
    convolution, transposed, attention, recurrent. Of an einsum, `bias` are its products that are not summed."""

    kind: str
    nominal: str
    hits: str = ""
    needed: str = ""
    bias: str = ""
    module: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Layer:
    """One operator that has no multiply-adds, though some counters count it; `given`, `made` in elements, as text."""

    name: str
    given: str
    made: str
    affine: bool


@dataclass(frozen=True, slots=True)
class Account:
    costs: tuple[Cost, ...] = ()
    layers: tuple[Layer, ...] = ()


def account(traced: Traced) -> Account:
    boxes = needed(traced)
    costs = [cost for operator in traced.operators if (cost := _cost(traced, operator, boxes)) is not None]
    layers = [_layer(_Operator(traced, operator)) for operator in traced.operators if _is_layer(operator.name)]
    return Account(tuple(costs), tuple(layers))


def _is_layer(name: str) -> bool:
    return name.rpartition(".")[0] in LAYERS


def _layer(operator: _Operator) -> Layer:
    given = operator.shape("input" if "input" in operator.inner.arguments else "self")
    return Layer(operator.packet, _text(*given), _text(*operator.out), operator.has("weight"))


def _cost(traced: Traced, operator: Operator, boxes: Mapping[int, tuple[int, ...]]) -> Cost | None:
    found = _found(_Operator(traced, operator))
    if found is None:
        return None
    kind, nominal, hits, bias = found
    box = boxes.get(operator.results[0]) if len(operator.results) == 1 else None
    less = "0" if not any(value in boxes for value in operator.results) else ""
    if box is not None and box != traced.values[operator.results[0]].shape:
        limited = _found(_Operator(traced, operator, box))
        assert limited is not None
        less = limited[2] or limited[1]
    return Cost(kind, nominal, hits, less, bias, traced.calls[operator.call].cls, operator.name)


@dataclass(frozen=True, slots=True)
class _Operator:
    """`box`: what is needed of its result, where that is not all."""

    traced: Traced
    inner: Operator
    box: tuple[int, ...] | None = None

    @property
    def packet(self) -> str:
        return str(self.inner.name).rpartition(".")[0]

    def number(self, name: str) -> Argument:
        return self.inner.arguments[name]

    def shape(self, name: str) -> tuple[int, ...]:
        return self.of(self.inner.arguments[name])

    def of(self, reference: Argument) -> tuple[int, ...]:
        assert isinstance(reference, Ref)
        return self.traced.values[reference.value].shape

    def has(self, name: str) -> bool:
        return isinstance(self.inner.arguments.get(name), Ref)

    @property
    def out(self) -> tuple[int, ...]:
        return self.box or self.traced.values[self.inner.results[0]].shape


_Found = tuple[str, str, str, str]


def _found(operator: _Operator) -> _Found | None:
    packet = operator.packet
    plain = packet.removesuffix("_")
    if plain in MATMULS:
        return _matmul(operator, MATMULS[plain])
    if packet == "aten.linear":
        return _linear(operator)
    if packet == "aten.einsum":
        return _einsum(operator)
    if packet == "aten.scaled_dot_product_attention":
        return _attention(operator)
    if packet in RECURRENT:
        return _recurrent(operator)
    if packet in CELLS:
        return _cell(operator)
    if packet.startswith(("aten.conv", "aten._convolution")):
        return _convolution(operator)
    if "upsample" not in packet and any(word in packet for word in LIKE_PRODUCTS):
        raise Unknown(f"{operator.inner.name} at {operator.inner.where}")
    return None


def _text(*factors: int) -> str:
    return "*".join(str(factor) for factor in factors if factor != 1) or "1"


def _matmul(operator: _Operator, left: str) -> _Found:
    inner = operator.shape(left)[-1]
    bias = _text(*operator.out) if operator.packet.startswith(("aten.addmm", "aten.baddbmm", "aten.addmv")) else ""
    return "product", _text(*operator.out, inner), "", bias


def _linear(operator: _Operator) -> _Found:
    bias = _text(*operator.out) if operator.has("bias") else ""
    return "product", _text(*operator.out, operator.shape("weight")[1]), "", bias


def _attention(operator: _Operator) -> _Found:
    query, key, value = (operator.shape(name) for name in ("query", "key", "value"))
    return "attention", f"{_text(*query[:-1], key[-2])}*({query[-1]}+{value[-1]})", "", ""


def _recurrent(operator: _Operator) -> _Found:
    """Every weight once for each step and sequence."""
    weights = [operator.of(item) for item in operator.number("params")]
    steps = prod(operator.shape("input")[:-1])
    inside = "+".join(_text(*shape) for shape in weights if len(shape) == 2)
    biases = "+".join(_text(*shape) for shape in weights if len(shape) == 1)
    return "recurrent", f"{steps}*({inside})", "", f"{steps}*({biases})" if biases else ""


def _cell(operator: _Operator) -> _Found:
    steps = prod(operator.shape("input")[:-1])
    both = f"{steps}*({_text(*operator.shape('w_ih'))}+{_text(*operator.shape('w_hh'))})"
    names = [name for name in ("b_ih", "b_hh") if operator.has(name)]
    bias = "+".join(_text(*operator.shape(name)) for name in names)
    return "recurrent", both, "", f"{steps}*({bias})" if bias else ""


def _einsum(operator: _Operator) -> _Found:
    shapes = [operator.of(item) for item in operator.number("tensors")]
    path = operator.inner.arguments.get("path")
    chosen = [int(step) for step in path] if isinstance(path, tuple) else None
    summed, outer = einsum_cost(str(operator.number("equation")), shapes, chosen)
    return "einsum", summed or "0", "", outer


def einsum_cost(equation: str, shapes: Sequence[tuple[int, ...]], path: Sequence[int] | None = None) -> tuple[str, str]:
    """Products that are summed, and those that are not, as two sums. Pairs are contracted along `path`, or from the
    left. A letter in one operand alone is summed before."""
    left, arrow, wanted = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if "." in equation:
        raise Unknown(f"einsum {equation}")
    if not arrow:
        counted = Counter(left.replace(",", ""))
        wanted = "".join(sorted(letter for letter, times in counted.items() if times == 1))
    size = {letter: n for term, shape in zip(terms, shapes, strict=True) for letter, n in zip(term, shape, strict=True)}
    steps = list(zip(path[::2], path[1::2], strict=True)) if path else [(0, 1)] * (len(terms) - 1)
    summed, outer = [], []
    for first, second in steps:
        a, b = terms[first], terms[second]
        rest = [term for index, term in enumerate(terms) if index not in (first, second)]
        later = set(wanted).union(*rest)
        both = [letter for letter in dict.fromkeys(a + b) if letter in later or (letter in a and letter in b)]
        made = "".join(letter for letter in both if letter in later)
        (summed if len(made) < len(both) else outer).append(_text(*(size[letter] for letter in both)))
        terms = [*rest, made] if path else [made, *rest]
    return "+".join(summed), "+".join(outer)


def _convolution(operator: _Operator) -> _Found:
    packet = operator.packet
    transposed = packet.startswith("aten.conv_transpose") or operator.inner.arguments.get("transposed") is True
    given, weight, made = operator.shape("input"), operator.shape("weight"), operator.out
    axes = len(weight) - 2
    batch = prod(given[: len(given) - axes - 1])
    stride, dilation = (_each(operator.inner.arguments.get(name, 1), axes) for name in ("stride", "dilation"))
    padding = operator.inner.arguments.get("padding", 0)
    small, large = (given, made) if transposed else (made, given)
    before = _before(padding, weight, dilation) if isinstance(padding, str) else _each(padding, axes)
    hits = [
        _hits(small[d - axes], large[d - axes], weight[2 + d], stride[d], before[d], dilation[d]) for d in range(axes)
    ]
    channels = (batch, weight[0], weight[1])
    nominal = _text(*channels, *small[len(small) - axes :], *weight[2:])
    reached = _text(*channels, *hits)
    bias = _text(*made) if operator.has("bias") else ""
    return ("transposed" if transposed else "convolution"), nominal, ("" if _same(nominal, reached) else reached), bias


def _same(one: str, other: str) -> bool:
    return prod(map(int, one.split("*"))) == prod(map(int, other.split("*")))


def _before(padding: str, weight: Sequence[int], dilation: Sequence[int]) -> list[int]:
    if padding == "valid":
        return [0] * len(dilation)
    return [(weight[2 + d] - 1) * dilation[d] // 2 for d in range(len(dilation))]


def _each(value: Argument, axes: int) -> list[int]:
    numbers = list(value) if isinstance(value, tuple) else [value]
    return numbers * axes if len(numbers) == 1 else numbers


def _hits(small: int, large: int, taps: int, stride: int, padding: int, dilation: int) -> int:
    """Pairs of a position on the strided side and a tap that meet a position of the other side."""
    places = (position * stride + tap * dilation - padding for position in range(small) for tap in range(taps))
    return sum(0 <= place < large for place in places)
