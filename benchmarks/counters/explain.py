"""Why a counter's number differs from the exact count: quantities of the program, each a product of sizes as text, and
one sum of them for each counter. What is not explained stays over and is said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from accounts import CELLS, Account, Cost, Layer
from sums import joined, value

REASONS = {
    "padding": "taps on padding (of a transposed convolution: outside of the output); counted by all, no work",
    "unneeded": "positions that no output depends on",
    "bias": "additions of a bias, counted as multiply-adds",
    "uncounted": "products of operators that the counter has no rule for",
    "dropped": "operators that no result hangs on, which torch.jit leaves out of its trace",
    "rounding": "numpy.einsum_path prints four digits, and the counter reads them",
    "extra": "operators without multiply-adds that are counted all the same",
    "formula": "a formula for the whole layer stands in place of its products; it counts biases and gates too",
    "twice": "the layer's hook and the function that it calls both count",
    "path": "numpy.einsum_path orders contractions in its own way and counts products that are not summed",
    "unexplained": "not explained",
}
PRODUCTS = ("aten.linear", "aten.mm", "aten.bmm", "aten.matmul", "aten.__matmul__", "aten.addmm")
FVCORE_PRODUCTS = ("linear", "matmul", "mm", "bmm", "addmm")
HOOKED = {
    **{f"torch.nn.modules.conv.Conv{axes}d": "convolution" for axes in (1, 2, 3)},
    **{f"torch.nn.modules.conv.ConvTranspose{axes}d": "transposed" for axes in (1, 2, 3)},
    "torch.nn.modules.linear.Linear": "product",
}
BY_FORMULA = ("RNN", "GRU", "LSTM", "RNNCell", "GRUCell", "LSTMCell", "MultiheadAttention")
FUNCTIONS = ("matmul", "mm", "bmm", "addmm", "baddbmm")


@dataclass(slots=True)
class Gap:
    """Signed terms that lead from the nominal count of the operators to what the counter said."""

    terms: list[tuple[int, str, str, str]] = field(default_factory=list)  # sign, reason, name, text

    def add(self, reason: str, name: str, texts: Mapping[str, int] | str, sign: int = 1) -> None:
        text = texts if isinstance(texts, str) else joined(texts)
        if text and value(text) != 0:
            self.terms.append((sign, reason, name, text))

    def total(self) -> int:
        return sum(sign * value(text) for sign, _, _, text in self.terms)


def nominal(account: Account) -> int:
    return sum(value(cost.nominal) for cost in account.costs)


def padding(account: Account) -> dict[str, int]:
    return dict(Counter(f"{cost.nominal}-{cost.hits}" for cost in account.costs if cost.hits))


def unneeded(account: Account) -> dict[str, int]:
    costs = [cost for cost in account.costs if cost.needed]
    return dict(Counter(f"{cost.hits or cost.nominal}-{cost.needed}" for cost in costs))


def gap(counter: str, answer: Mapping[str, Any], account: Account) -> Gap:
    """From the operators' nominal count to the counter's, whatever is left over included."""
    made = Gap()
    RULES[counter](made, answer, account)
    left = answer["macs"] - nominal(account) - made.total()
    if left:
        made.add("unexplained", "unexplained", str(abs(left)), 1 if left > 0 else -1)
    return made


def _nothing(made: Gap, answer: Mapping[str, Any], account: Account) -> None:
    """torch counts the products that are computed, and nothing else."""


def _fvcore(made: Gap, answer: Mapping[str, Any], account: Account) -> None:
    parts = dict(answer["parts"])
    dropped = Counter(cost.nominal for cost in account.costs if cost.needed == "0")
    made.add("dropped", "dropped", dropped, -1)
    costs = [cost for cost in account.costs if cost.needed != "0"]
    counted = sum(parts.pop(name, 0) for name in FVCORE_PRODUCTS)
    known = [cost for cost in costs if _packet(cost) in (*PRODUCTS, *CELLS)]
    parts.pop("conv", None)
    rest = [cost for cost in costs if cost not in known and cost.kind not in ("einsum", *_CONVOLUTIONS)]
    _uncounted(made, rest)
    if (left := counted - sum(value(cost.nominal) for cost in known)) != 0:
        made.add("unexplained", "other_products", str(abs(left)), 1 if left > 0 else -1)
    _rounded(made, parts.pop("einsum", 0), [cost for cost in costs if cost.kind == "einsum"])
    layers = Counter[tuple[str, str]]()
    for layer in account.layers:
        layers[layer.name.removeprefix("aten."), _fvcore_layer(layer)] += 1
    for name in dict.fromkeys(name for name, _ in layers):
        made.add("extra", f"fvcore_{name}", {text: n for (own, text), n in layers.items() if own == name})


_CONVOLUTIONS = ("convolution", "transposed")


def _fvcore_layer(layer: Layer) -> str:
    match layer.name.removeprefix("aten."):
        case "batch_norm":
            return f"{2 if layer.affine else 1}*{layer.given}"
        case "group_norm" | "layer_norm" | "instance_norm":
            return f"{5 if layer.affine else 4}*{layer.given}"
        case "adaptive_avg_pool2d":
            return str(layer.given)
        case "upsample_nearest2d":
            return str(layer.made)
        case _:
            return f"4*{layer.made}"


def _rounded(made: Gap, counted: int, costs: list[Cost]) -> None:
    exact = sum(value(cost.nominal) for cost in costs)
    if counted and counted != exact:
        reason = "rounding" if counted == sum(_as_printed(value(cost.nominal)) for cost in costs) else "path"
        made.add(reason, "einsum", dict(Counter(cost.nominal for cost in costs)), -1)
        made.add(reason, "einsum_as_read", str(counted))
    elif not counted:
        _uncounted(made, costs)


def _as_printed(macs: int) -> int:
    return int(float(f"{2 * macs:.3e}") / 2)


def _ptflops(made: Gap, answer: Mapping[str, Any], account: Account) -> None:
    counted = {name: Counter(texts) for name, texts in answer["counted"].items()}
    hooked = [cost for cost in account.costs if HOOKED.get(cost.module) == cost.kind]
    _biases(made, hooked)
    for name in ("Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "Linear"):
        counted.pop(f"nn.{name}", None)
    left = [cost for cost in account.costs if HOOKED.get(cost.module) != cost.kind]
    called = Counter[int]()
    for name in list(counted):
        if name.partition(".")[2] in FUNCTIONS and not name.startswith(("F.", "nn.")):
            for text, times in counted.pop(name).items():
                called[value(text)] += times
    uncounted = []
    for cost in left:
        with_bias = value(cost.nominal) + (value(cost.bias) if cost.bias else 0)
        if called[value(cost.nominal)] > 0:
            called[value(cost.nominal)] -= 1
        elif called[with_bias] > 0:
            called[with_bias] -= 1
            made.add("bias", "ptflops_addmm_bias", cost.bias)
        else:
            uncounted.append(cost)
    inside = [cost for cost in uncounted if _layer(cost) in BY_FORMULA and f"nn.{_layer(cost)}" in counted]
    _uncounted(made, inside, "formula")
    _uncounted(made, [cost for cost in uncounted if cost not in inside])
    made.add("extra", "ptflops_other_products", {str(number): n for number, n in called.items() if n})
    for name, texts in counted.items():
        made.add(_why(name, counted), f"ptflops_{name.replace('.', '_')}", texts)


def _why(name: str, counted: Mapping[str, object]) -> str:
    """`F.relu` beside `nn.ReLU`, as the layer calls the function."""
    if name.removeprefix("nn.") in BY_FORMULA:
        return "formula"
    if not name.startswith("F."):
        return "extra"
    layer = name.removeprefix("F.").replace("_", "")
    return "twice" if any(other.lower() == f"nn.{layer}" for other in counted) else "extra"


def _ptflops_aten(made: Gap, answer: Mapping[str, Any], account: Account) -> None:
    made.add("bias", "biases", dict(answer["biases"]))
    _uncounted(made, [cost for cost in account.costs if cost.kind == "product" and _packet(cost) not in PRODUCTS])


def _biases(made: Gap, costs: list[Cost]) -> None:
    made.add("bias", "bias_of_layers", dict(Counter(cost.bias for cost in costs if cost.bias)))


def _uncounted(made: Gap, costs: list[Cost], reason: str = "uncounted") -> None:
    for name in dict.fromkeys(_packet(cost) for cost in costs):
        texts = Counter(cost.nominal for cost in costs if _packet(cost) == name)
        made.add(reason, f"{reason}_{name.removeprefix('aten.').strip('_')}", dict(texts), -1)


def _layer(cost: Cost) -> str:
    return cost.module.rpartition(".")[2]


def _packet(cost: Cost) -> str:
    return cost.name.rpartition(".")[0]


RULES: dict[str, Callable[[Gap, Mapping[str, Any], Account], None]] = {
    "torch": _nothing,
    "fvcore": _fvcore,
    "ptflops": _ptflops,
    "ptflops-aten": _ptflops_aten,
}
