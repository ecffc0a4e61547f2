from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
import torch.nn as nn  # noqa: E402


def cell(gates: int) -> dict[str, Any]:
    return {
        "x": torch.randn(3, 5),
        "h": torch.randn(3, 4),
        "wi": torch.randn(4 * gates, 5),
        "wh": torch.randn(4 * gates, 4),
        "bi": torch.randn(4 * gates),
        "bh": torch.randn(4 * gates),
    }


def weights(given: dict[str, Any]) -> list[Any]:
    return [given[name] for name in ("wi", "wh", "bi", "bh")]


def test_cells(check: Any) -> None:
    given = {**cell(4), "c": torch.randn(3, 4)}
    want = torch.lstm_cell(given["x"], [given["h"], given["c"]], *weights(given))
    check("lstm_cell(x, h, c, wi, wh, bi, bh)", given, want)
    given = cell(3)
    check("gru_cell(x, h, wi, wh, bi, bh)", given, torch.gru_cell(given["x"], given["h"], *weights(given)))
    given = cell(1)
    want = torch.rnn_tanh_cell(given["x"], given["h"], *weights(given))
    check("rnn_cell(x, h, wi, wh, bi, bh)", given, want)
    want = torch.rnn_relu_cell(given["x"], given["h"], *weights(given))
    check('rnn_cell(x, h, wi, wh, bi, bh; nonlinearity="relu")', given, want)


@pytest.mark.parametrize("bias", [True, False])
def test_cell_modules(check: Any, bias: bool) -> None:
    x, h, c = torch.randn(3, 5), torch.randn(3, 4), torch.randn(3, 4)
    lstm, gru = nn.LSTMCell(5, 4, bias=bias), nn.GRUCell(5, 4, bias=bias)
    check('LSTMCell(x, h, c; name="m")', {"x": x, "h": h, "c": c}, lstm(x, (h, c)), lstm)
    check('GRUCell(x, h; name="m")', {"x": x, "h": h}, gru(x, h), gru)
    for kind in ("tanh", "relu"):
        rnn = nn.RNNCell(5, 4, bias=bias, nonlinearity=kind)
        check('RNNCell(x, h; name="m")', {"x": x, "h": h}, rnn(x, h), rnn)


LAYERS = [
    {}, {"bias": False, "batch_first": True}, {"num_layers": 2, "bidirectional": True},
    {"num_layers": 3, "batch_first": True}, {"bidirectional": True, "batch_first": True},
]  # fmt: skip


def states(options: dict[str, Any], x: Any, width: int) -> Any:
    count = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
    return torch.randn(count, x.shape[0 if options.get("batch_first") else 1], width)


@pytest.mark.filterwarnings("ignore:LSTM with projections is not supported")
@pytest.mark.parametrize("proj", [0, 2])
@pytest.mark.parametrize("options", LAYERS, ids=str)
def test_lstm(check: Any, options: dict[str, Any], proj: int) -> None:
    module = nn.LSTM(5, 4, proj_size=proj, **options)
    x = torch.randn(6, 3, 5)
    check('LSTM(x; name="m")', {"x": x}, module(x), module)
    h, c = states(options, x, proj or 4), states(options, x, 4)
    check('LSTM_from(x, h, c; name="m")', {"x": x, "h": h, "c": c}, module(x, (h, c)), module)


@pytest.mark.parametrize("options", LAYERS, ids=str)
def test_gru_and_rnn(check: Any, options: dict[str, Any]) -> None:
    x = torch.randn(6, 3, 5)
    h = states(options, x, 4)
    gru = nn.GRU(5, 4, **options)
    check('GRU(x; name="m")', {"x": x}, gru(x), gru)
    check('GRU_from(x, h; name="m")', {"x": x, "h": h}, gru(x, h), gru)
    for kind in ("tanh", "relu"):
        rnn = nn.RNN(5, 4, nonlinearity=kind, **options)
        check('RNN(x; name="m")', {"x": x}, rnn(x), rnn)
        check('RNN_from(x, h; name="m")', {"x": x, "h": h}, rnn(x, h), rnn)


def test_one_layer_with_weights_as_tensors(check: Any) -> None:
    steps, first = torch.randn(5, 3, 4), torch.randn(3, 4)
    layer = nn.LSTM(4, 4)
    wi, wh, bi, bh = (weight.detach() for weight in layer.parameters())
    given = {"u": steps @ wi.T + bi + bh, "h": first, "c": torch.randn(3, 4), "wh": wh}
    y, (h, c) = layer(steps, (given["h"][None], given["c"][None]))
    check("lstm_layer(u, h, c, wh)", given, (y, h[0], c[0]))
    y, (h, c) = layer(steps.flip(0), (given["h"][None], given["c"][None]))
    check("lstm_layer(u, h, c, wh; reverse=1)", given, (y.flip(0), h[0], c[0]))


def test_one_projected_layer(check: Any) -> None:
    steps = torch.randn(5, 3, 4)
    layer = nn.LSTM(4, 6, proj_size=2)
    wi, wh, bi, bh, wr = (weight.detach() for weight in layer.parameters())
    given = {"u": steps @ wi.T + bi + bh, "h": torch.randn(3, 2), "c": torch.randn(3, 6), "wh": wh, "wr": wr}
    y, (h, c) = layer(steps, (given["h"][None], given["c"][None]))
    check("lstm_layer_projected(u, h, c, wh, wr)", given, (y, h[0], c[0]))


@pytest.mark.parametrize("bias", [True, False])
def test_one_gated_layer(check: Any, bias: bool) -> None:
    steps = torch.randn(5, 3, 4)
    layer = nn.GRU(4, 4, bias=bias)
    wi, wh, *biases = (weight.detach() for weight in layer.parameters())
    given = {"u": steps @ wi.T + (biases[0] if bias else 0), "h": torch.randn(3, 4), "wh": wh}
    y, h = layer(steps, given["h"][None])
    if bias:
        check("gru_layer_biased(u, h, wh, bh)", {**given, "bh": biases[1]}, (y, h[0]))
    else:
        check("gru_layer(u, h, wh)", given, (y, h[0]))


@pytest.mark.parametrize("kind", ["tanh", "relu"])
def test_one_plain_layer(check: Any, kind: str) -> None:
    steps = torch.randn(5, 3, 4)
    layer = nn.RNN(4, 4, bias=False, nonlinearity=kind)
    wi, wh = (weight.detach() for weight in layer.parameters())
    given = {"u": steps @ wi.T, "h": torch.randn(3, 4), "wh": wh}
    y, h = layer(steps, given["h"][None])
    check(f'rnn_layer(u, h, wh; nonlinearity="{kind}")', given, (y, h[0]))
