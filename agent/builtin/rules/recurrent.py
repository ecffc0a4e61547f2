"""Recurrent layers and cells: the layer's own form where all weights are a module's, else one layer after another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..model import Num, Op, Tensor
from ..writer import Writer
from .registry import rule


@dataclass(frozen=True, slots=True)
class Weights:
    """Of one layer in one direction; `slot`: its place in the states, `suffix`: of its weights' names."""

    slot: int
    suffix: str
    reverse: bool
    w_ih: Tensor
    w_hh: Tensor
    b_ih: Tensor | None
    b_hh: Tensor | None
    w_hr: Tensor | None

    def named(self) -> Iterator[tuple[str, Tensor]]:
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr"):
            tensor = getattr(self, f"{name[0]}{name[-3:]}")
            if tensor is not None:
                yield f"{name}_{self.suffix}", tensor


@dataclass(frozen=True, slots=True)
class Kind:
    """`layer`: its prelude function; `module`: the prelude's name of the whole layer."""

    layer: str
    module: str
    nonlinearity: str = ""


@rule("aten.lstm.input")
def lstm(w: Writer, op: Op) -> None:
    _layers(w, op, Kind("lstm_layer", "LSTM"), op.tensors("hx"))


@rule("aten.gru.input")
def gru(w: Writer, op: Op) -> None:
    _layers(w, op, Kind("gru_layer", "GRU"), (op.tensor("hx"),))


@rule("aten.rnn_tanh.input")
def rnn_tanh(w: Writer, op: Op) -> None:
    _layers(w, op, Kind("rnn_layer", "RNN", "tanh"), (op.tensor("hx"),))


@rule("aten.rnn_relu.input")
def rnn_relu(w: Writer, op: Op) -> None:
    _layers(w, op, Kind("rnn_layer", "RNN", "relu"), (op.tensor("hx"),))


def _layers(w: Writer, op: Op, kind: Kind, states: Sequence[Tensor]) -> None:
    x = op.tensor("input")
    if x.rank != 3 or not x.is_float:
        raise op.fail(f"an input of {x.rank} axes and type {x.dtype}")
    dropped = _dropped(op)
    weights = _weights(op, projected=kind.module == "LSTM")
    home = _home(op, [item for weight in weights for item in weight.named()])
    if home is not None and not dropped:
        names = [w.result(result, op) for result in _results(op)]
        text = w.called(op, f"{kind.module}_from", x, *states, name=f'"{home}"')
        w.line(f"({', '.join(names)}) = {text}")
        for result, name in zip(_results(op), names, strict=True):
            w.name(result, name)
        return
    _one_by_one(w, op, kind, weights, states, dropped)


def _dropped(op: Op) -> bool:
    """Is something dropped between layers? Each gap has a draw then."""
    gaps = op.fixed("num_layers") - 1
    if not op.flag("train") or not gaps or op.num("dropout").constant == 0:
        return False
    if len(op.draws) != gaps or not all(0 < p < 1 for p in op.num("dropout").values):
        raise op.fail(f"{len(op.draws)} draws in dropout between {gaps + 1} layers")
    return True


def _results(op: Op) -> tuple[Tensor, ...]:
    return tuple(result for result in op.results if result is not None)


def _weights(op: Op, projected: bool) -> tuple[Weights, ...]:
    """params holds, for each layer and direction, w_ih, w_hh, then the biases and the projection where there are."""
    params = op.tensors("params")
    directions = 2 if op.flag("bidirectional") else 1
    passes = op.fixed("num_layers") * directions
    count, rest = divmod(len(params), passes)
    biases = 2 if op.flag("has_biases") else 0
    if rest or count - biases not in ((2, 3) if projected else (2,)):
        raise op.fail(f"{len(params)} weights for {passes} passes")
    found = []
    for slot in range(passes):
        w_ih, w_hh, *others = params[slot * count : (slot + 1) * count]
        b_ih, b_hh = others[:2] if biases else (None, None)
        reverse = slot % directions == 1
        suffix = f"l{slot // directions}{'_reverse' if reverse else ''}"
        w_hr = others[biases] if len(others) > biases else None
        found.append(Weights(slot, suffix, reverse, w_ih, w_hh, b_ih, b_hh, w_hr))
    return tuple(found)


def _home(op: Op, weights: Sequence[tuple[str, Tensor]]) -> str | None:
    """The path of the module that the operator stands in, if `weights` are its own under these names."""
    own = all(tensor.state == f"{op.path}.{name}" for name, tensor in weights)
    return op.path if op.path and own else None


def _one_by_one(
    w: Writer, op: Op, kind: Kind, weights: Sequence[Weights], states: Sequence[Tensor], dropped: bool
) -> None:
    x = op.tensor("input")
    batch_first = op.flag("batch_first")
    current = _swapped(w, w.of(x), w.sizes(x)) if batch_first else w.of(x)
    steps, batch = w.sizes(x)[1::-1] if batch_first else w.sizes(x)[:2]
    two_way = any(weight.reverse for weight in weights)
    width = w.extent(op, op.out.dims[2], (*states, x))
    sizes = (steps, batch, width)
    lasts: list[list[str]] = []
    outputs: list[str] = []
    for weight in weights:
        output, *last = _one(w, op, kind, weight, states, current)
        lasts.append(last)
        outputs.append(output)
        if weight.reverse or not two_way:
            current = _joined(w, outputs)
            outputs = []
            if dropped and weight is not weights[-1]:
                current = _thinned(w, op, current, sizes)
    w.name(op.out, _swapped(w, current, sizes) if batch_first else current)
    for index, (result, state) in enumerate(zip(_results(op)[1:], states, strict=True)):
        _stacked(w, op, result, state, [last[index] for last in lasts])


def _thinned(w: Writer, op: Op, given: str, sizes: Sequence[str]) -> str:
    """After dropout, whose mask is drawn."""
    kept, name = w.fresh("kept"), w.fresh("dropped")
    share = w.scalar(Num(tuple(1 - p for p in op.num("dropout").values)), op)
    w.line(f"draw {kept}[{', '.join(sizes)}]")
    w.line(f"{name} = {given} * ({kept} / {share})")
    return name


def _one(w: Writer, op: Op, kind: Kind, weight: Weights, states: Sequence[Tensor], x: str) -> list[str]:
    """Names of the outputs and last states of one layer in one direction."""
    starts = [_start(w, state, weight.slot) for state in states]
    gates = f"linear({x}, {w.of(weight.w_ih)})"
    gru = kind.module == "GRU"
    for bias in (weight.b_ih, None if gru else weight.b_hh):
        gates = f"add_bias({gates}, {w.of(bias)})" if bias is not None else gates
    function, tensors = kind.layer, [gates, *starts, w.of(weight.w_hh)]
    if weight.w_hr is not None:
        function, tensors = f"{function}_projected", [*tensors, w.of(weight.w_hr)]
    if gru and weight.b_hh is not None:
        function, tensors = f"{function}_biased", [*tensors, w.of(weight.b_hh)]
    options = ["reverse=1"] if weight.reverse else []
    options += [f'nonlinearity="{kind.nonlinearity}"'] if kind.nonlinearity == "relu" else []
    names = [w.fresh(f"{stem}_{weight.suffix}") for stem in ("out", "hn", "cn")[: 1 + len(states)]]
    shown = f"; {', '.join(options)}" if options else ""
    w.line(f"({', '.join(names)}) = {function}({', '.join(tensors)}{shown})")
    return names


def _start(w: Writer, state: Tensor, slot: int) -> str:
    _, batch, width = w.sizes(state)
    n, k = w.iterators(2, like=(batch, width))
    name = w.fresh("start")
    w.line(f"view {name}[{n}<{batch}, {k}<{width}] = {w.of(state)}[{slot}, {n}, {k}]")
    return name


def _swapped(w: Writer, name: str, sizes: Sequence[str]) -> str:
    first, second, width = w.iterators(3, like=sizes)
    swapped = w.fresh("swapped")
    domain = f"{second}<{sizes[1]}, {first}<{sizes[0]}, {width}<{sizes[2]}"
    w.line(f"view {swapped}[{domain}] = {name}[{first}, {second}, {width}]")
    return swapped


def _joined(w: Writer, names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    name = w.fresh("both")
    w.line(f"{name} = cat({', '.join(names)}; dim=2)")
    return name


def _stacked(w: Writer, op: Op, result: Tensor, state: Tensor, parts: Sequence[str]) -> None:
    """Last states of all passes, in order."""
    sizes = w.sizes(state)
    name = w.tensor(op, sizes, tensor=result)
    n, k = w.iterators(2, like=sizes[1:])
    with w.block(f"for {n}<{sizes[1]}, {k}<{sizes[2]}:"):
        for slot, part in enumerate(parts):
            w.line(f"{name}[{slot}, {n}, {k}] = {part}[{n}, {k}]")


# -- cells ------------------------------------------------------------------------------------------------------------


@rule("aten.lstm_cell")
def lstm_cell(w: Writer, op: Op) -> None:
    states = op.tensors("hx")
    text = _cell(w, op, "LSTMCell", "lstm_cell", states)
    if text is None:
        text = f"lstm_gates({_both(w, op, states[0])}, {w.of(states[1])})"
    names = [w.result(result, op) for result in _results(op)]
    w.line(f"({', '.join(names)}) = {text}")
    for result, state, name in zip(_results(op), states, names, strict=True):
        w.name(result, name, w.extents.get(state))


@rule("aten.gru_cell")
def gru_cell(w: Writer, op: Op) -> None:
    state = op.tensor("hx")
    text = _cell(w, op, "GRUCell", "gru_cell", (state,))
    if text is None:
        given = f"linear({w.of(op.tensor('input'))}, {w.of(op.tensor('w_ih'))})"
        text = f"gru_gates({given}, linear({w.of(state)}, {w.of(op.tensor('w_hh'))}), {w.of(state)})"
    w.define(op, text, sizes=w.extents.get(state))


@rule("aten.rnn_tanh_cell")
def rnn_tanh_cell(w: Writer, op: Op) -> None:
    _rnn_cell(w, op, "tanh")


@rule("aten.rnn_relu_cell")
def rnn_relu_cell(w: Writer, op: Op) -> None:
    _rnn_cell(w, op, "relu")


def _rnn_cell(w: Writer, op: Op, nonlinearity: str) -> None:
    state = op.tensor("hx")
    text = _cell(w, op, "RNNCell", "rnn_cell", (state,), nonlinearity)
    if text is None:
        text = f"{nonlinearity}({_both(w, op, state)})"
    w.define(op, text, sizes=w.extents.get(state))


def _cell(
    w: Writer, op: Op, module: str, function: str, states: Sequence[Tensor], nonlinearity: str = "tanh"
) -> str | None:
    """The layer's own form, or the prelude's cell; None without biases."""
    x = op.tensor("input")
    if x.rank != 2 or not x.is_float:
        raise op.fail(f"an input of {x.rank} axes and type {x.dtype}")
    names = {"weight_ih": "w_ih", "weight_hh": "w_hh", "bias_ih": "b_ih", "bias_hh": "b_hh"}
    given = [(name, tensor) for name, key in names.items() if (tensor := op.maybe(key)) is not None]
    home = _home(op, given)
    if home is not None:
        return w.called(op, module, x, *states, name=f'"{home}"')
    if len(given) < len(names):
        return None
    option = None if nonlinearity == "tanh" else f'"{nonlinearity}"'
    return w.called(op, function, x, *states, *(tensor for _, tensor in given), nonlinearity=option)


def _both(w: Writer, op: Op, state: Tensor) -> str:
    """What input and state give to the gates."""
    x = op.tensor("input")
    return f"linear({w.of(x)}, {w.of(op.tensor('w_ih'))}) + linear({w.of(state)}, {w.of(op.tensor('w_hh'))})"
