"""Stages of different depth: one function, called in a repeat with each stage's own number of layers."""

from __future__ import annotations

from pathlib import Path

from solar_agent.agent.builtin import translate
from solar_agent.verifier.reference import open_reference
from solar_agent.verifier.verify import verify

SOURCE = """
import torch
from torch import nn

DEPTHS = (1, 3, 4, 1)
WIDTH = 6


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(torch.tanh(self.up(x)))


class Stage(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.enter = nn.Linear(width, width + 1)
        self.blocks = nn.Sequential(*(Block(width + 1) for _ in range(depth)))

    def forward(self, x):
        return self.blocks(self.enter(x))


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.stages = nn.ModuleList(Stage(width + k, depth) for k, depth in enumerate(DEPTHS))

    def forward(self, x):
        for stage in self.stages:
            x = stage(x)
        return x


def get_inputs():
    return [torch.randn(5, WIDTH)]


def get_init_inputs():
    return [WIDTH]
"""


def test_stages_of_different_depth(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(SOURCE)
    with open_reference(path) as reference:
        text = translate(reference)
        certificate = verify(reference, text)
    assert certificate.verdict == "verified", certificate.feedback() + "\n" + text
    assert text.count("def block(") == 1
    assert "in [(0, 1), (1, 3), (2, 4), (3, 1)]:" in text
