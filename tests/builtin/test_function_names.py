"""A class called like a function of the language or of its prelude does not hide that in the text."""

from __future__ import annotations

import pytest
from solar_agent.agent.builtin.functions import function_name


@pytest.mark.parametrize(
    ("cls", "name"),
    [
        ("models.GPT2Block", "gpt2_block"),
        ("models.Relu", "relu_part"),
        ("models.Conv2d", "conv2d_part"),
        ("models.LSTMLayer", "lstm_layer_part"),
        ("models.Max", "max_part"),
        ("models.Exp", "exp_part"),
        ("models.Scan", "scan_part"),
        ("models._Head", "part__head"),
    ],
)
def test_names(cls: str, name: str) -> None:
    assert function_name(cls) == name
