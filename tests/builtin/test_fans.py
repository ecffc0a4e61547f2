"""Layers side by side, as many as a size says: one function, called in a repeat that fills a part of one tensor."""

from __future__ import annotations

from pathlib import Path

import pytest
from solar_agent.agent.builtin import translate
from solar_agent.verifier.reference import open_reference
from solar_agent.verifier.verify import verify

SOURCE = """
import torch
from torch import nn

FIELDS = 6
WIDTH = 5


class Model(nn.Module):
    def __init__(self, fields, width):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(11, width) for _ in range(fields))
        self.heads = nn.ModuleList(nn.Sequential(nn.Linear(width, 3), nn.Tanh()) for _ in range(fields))
        self.other = nn.Linear(width, width)

    def forward(self, x, fields):
        parts = [table(fields[:, number]) for number, table in enumerate(self.tables)]
        mixed = torch.JOIN([self.other(x), *parts], dim=1)
        return mixed, torch.cat([head(x) for head in self.heads], dim=-1)


def get_inputs():
    return [torch.randn(4, WIDTH), torch.randint(0, 11, (4, FIELDS))]


def get_init_inputs():
    return [FIELDS, WIDTH]
"""


@pytest.mark.parametrize("join", ["stack", "cat"])
def test_layers_side_by_side(tmp_path: Path, join: str) -> None:
    path = tmp_path / "program.py"
    path.write_text(SOURCE.replace("JOIN", join))
    with open_reference(path) as reference:
        text = translate(reference)
        certificate = verify(reference, text)
    assert certificate.verdict == "verified", certificate.feedback() + "\n" + text
    assert text.count("repeat ") == 2
