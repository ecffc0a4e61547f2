"""Recurrent layers and cells, layer by layer and as the module that they are."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from solar_agent.agent.builtin.model import Attributes, Num, Op, Tensor
from solar_agent.agent.builtin.names import Names
from solar_agent.agent.builtin.rules import apply
from solar_agent.agent.builtin.writer import Writer

from .rulelab import check

LAYERS = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU, "rnn_tanh": torch.nn.RNN, "rnn_relu": torch.nn.RNN}
CELLS = {"lstm_cell": 4, "gru_cell": 3, "rnn_tanh_cell": 1, "rnn_relu_cell": 1}


def recurrence(kind: str, steps: int, batch: int, **options: Any) -> dict[str, Any]:
    """Arguments of one call, with the weights of a library layer."""
    options = {"num_layers": 1, "bidirectional": False, "batch_first": False, "bias": True, **options}
    layer = LAYERS[kind](3, 4, **options)
    states = options["num_layers"] * (2 if options["bidirectional"] else 1)
    hidden = torch.randn(states, batch, options.get("proj_size", 0) or 4)
    return {
        "input": torch.randn(*((batch, steps) if options["batch_first"] else (steps, batch)), 3),
        "hx": [hidden, torch.randn(states, batch, 4)] if kind == "lstm" else hidden,
        "params": [weight.detach() for weight in layer.parameters()],
        "has_biases": options["bias"],
        "num_layers": options["num_layers"],
        "dropout": 0.0,
        "train": False,
        "bidirectional": options["bidirectional"],
        "batch_first": options["batch_first"],
    }


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"batch_first": True, "num_layers": 2},
        {"bidirectional": True, "bias": False, "batch_first": True},
        {"bidirectional": True, "num_layers": 2},
    ],
    ids=str,
)
def test_layers(kind: str, options: dict[str, Any]) -> None:
    check(f"aten.{kind}.input", recurrence(kind, 5, 2, **options), recurrence(kind, 3, 4, **options))


def test_projection() -> None:
    options = {"proj_size": 2, "num_layers": 2, "bidirectional": True}
    check("aten.lstm.input", recurrence("lstm", 4, 2, **options), recurrence("lstm", 5, 3, **options))


def test_dropout_between_layers_in_training() -> None:
    samples = [recurrence("gru", steps, 2, num_layers=2) | {"dropout": 0.5, "train": True} for steps in (4, 3)]
    check("aten.gru.input", *samples)


def cell(kind: str, batch: int, bias: bool) -> dict[str, Any]:
    gates = CELLS[kind] * 4
    hidden = torch.randn(batch, 4)
    return {
        "input": torch.randn(batch, 3),
        "hx": [hidden, torch.randn(batch, 4)] if kind == "lstm_cell" else hidden,
        "w_ih": torch.randn(gates, 3),
        "w_hh": torch.randn(gates, 4),
        "b_ih": torch.randn(gates) if bias else None,
        "b_hh": torch.randn(gates) if bias else None,
    }


@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("bias", [True, False])
def test_cells(kind: str, bias: bool) -> None:
    check(f"aten.{kind}.default", cell(kind, 2, bias), cell(kind, 3, bias))


def tensor(*dims: int, state: str | None = None) -> Tensor:
    return Tensor(tuple(Num((dim, dim)) for dim in dims), "f32", state=state)


def written(name: str, path: str, given: dict[str, Any], results: int) -> str:
    writer = Writer(Names(), Attributes())
    for index, value in enumerate(value for value in given.values() if isinstance(value, Tensor)):
        if value.state is None:
            writer.declare(value, "input", f"given{index}")
    for index, value in enumerate(given["hx"] if isinstance(given["hx"], tuple) else ()):
        writer.declare(value, "input", f"start{index}")
    apply(writer, Op(name, given, tuple(tensor(1, 1, 1) for _ in range(results)), "model.py:1", path))
    return "\n".join(writer.lines)


def test_layer_with_weights_of_its_own() -> None:
    names = ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"]
    given: dict[str, Any] = {
        "input": tensor(5, 2, 3),
        "hx": (tensor(1, 2, 4), tensor(1, 2, 4)),
        "params": tuple(tensor(16, 3, state=f"rnn.{name}") for name in names),
        "has_biases": True,
        "num_layers": Num((1, 1)),
        "dropout": Num((0.0, 0.0)),
        "train": False,
        "bidirectional": False,
        "batch_first": True,
    }
    text = written("aten.lstm.input", "rnn", given, 3)
    assert text == '(lstm, lstm1, lstm2) = LSTM_from(given0, start0, start1; name="rnn")'
    elsewhere = written("aten.lstm.input", "other", given, 3)
    assert "lstm_layer(" in elsewhere


def test_cell_with_weights_of_its_own() -> None:
    given: dict[str, Any] = {
        "input": tensor(2, 3),
        "hx": tensor(2, 4),
        "w_ih": tensor(12, 3, state="cell.weight_ih"),
        "w_hh": tensor(12, 4, state="cell.weight_hh"),
        "b_ih": None,
        "b_hh": None,
    }
    assert 'GRUCell(given0, given1; name="cell")' in written("aten.gru_cell.default", "cell", given, 1)
