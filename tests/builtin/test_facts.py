"""Which captured entries are triangles, and how a text says so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from solar_agent.agent.builtin import translate
from solar_agent.agent.builtin.facts import Triangle, triangle
from solar_agent.analysis.count import count
from solar_agent.ir.load import load
from solar_agent.verifier.reference import open_reference, open_zygote
from solar_agent.verifier.verify import verify
from solar_agent.verifier.zygote import Zygote

LOWER = np.tril(np.ones((4, 4)))

MODEL = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, size=48, heads=3, most=40, layers=2):
        super().__init__()
        self.layers = nn.ModuleList(Attention(size, heads, most) for _ in range(layers))

    def forward(self, x):
        for layer in self.layers:
            x = x + layer(x)
        return x


class Attention(nn.Module):
    def __init__(self, size, heads, most):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(size, 3 * size)
        self.register_buffer("mask", MASK)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, c // self.heads).transpose(1, 2) for y in self.qkv(x).chunk(3, -1))
        scores = q @ k.transpose(-2, -1)
        scores = APPLIED
        return (scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, c)


def get_inputs():
    return [torch.randn(2, 24, 48)]


def get_init_inputs():
    return []
"""

FORMS = {
    "filled": ("torch.tril(torch.ones(most, most))", "scores.masked_fill(self.mask[:t, :t] == 0, float('-inf'))"),
    "added": (
        "torch.full((most, most), float('-inf')).triu(1)",
        "scores + self.mask[:t, :t]",
    ),
    "where": (
        "torch.tril(torch.ones(most, most, dtype=torch.bool))[None, None]",
        "torch.where(self.mask[:, :, :t, :t], scores, float('-inf'))",
    ),
}


@pytest.fixture(scope="module")
def workers() -> Iterator[Zygote]:
    with open_zygote() as zygote:
        yield zygote


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (LOWER, Triangle("<=", 1.0, 0.0)),
        (LOWER == 0, Triangle(">", True, False)),
        (np.tril(LOWER, -1)[None], Triangle("<", 1.0, 0.0)),
        (np.triu(LOWER + 1 - LOWER), Triangle(">=", 1.0, 0.0)),
        (np.where(LOWER == 1, 0.0, -np.inf), Triangle("<=", 0.0, -np.inf)),
        (np.stack([LOWER, LOWER]), Triangle("<=", 1.0, 0.0)),
        (np.stack([LOWER, LOWER.T]), None),
        (np.ones((4, 4)), None),
        (np.arange(16.0).reshape(4, 4), None),
        (LOWER[:2, :2], None),
        (LOWER[0], None),
    ],
)
def test_triangles(values: np.ndarray, found: Triangle | None) -> None:
    assert triangle(values) == found


@pytest.mark.parametrize("form", FORMS)
def test_masked_attention_is_counted_as_a_triangle(form: str, tmp_path: Path, workers: Zygote) -> None:
    mask, applied = FORMS[form]
    path = tmp_path / "model.py"
    path.write_text(MODEL.replace("MASK", mask).replace("APPLIED", applied))
    with open_reference(path, zygote=workers) as reference:
        text = translate(reference)
        certificate = verify(reference, text)
        counts = count(load(text, reference.describe().bindings))
    assert certificate.verdict == "verified", certificate.feedback()
    assert "fact " in text
    batch, length, size, heads = 2, 24, 48, 3
    projections = 2 * batch * length * size * 3 * size
    square = 2 * batch * heads * length * length * (size // heads)
    assert counts.macs_nominal == projections + 2 * square
    assert counts.macs == projections + 2 * square * (length + 1) // (2 * length)
