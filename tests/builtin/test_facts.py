"""Which captured entries are triangles, and how a text says so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from solar_agent.agent.builtin import translate
from solar_agent.agent.builtin.facts import Triangle, triangle
from solar_agent.analysis.count import count
from solar_agent.ir.load import load
from solar_agent.verifier.claims import without_assumed
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
    assert "fact " in text and certificate.assumed_facts == ()
    batch, length, size, heads = 2, 24, 48, 3
    projections = 2 * batch * length * size * 3 * size
    square = 2 * batch * heads * length * length * (size // heads)
    assert counts.macs_nominal == projections + 2 * square
    assert counts.macs == projections + 2 * square * (length + 1) // (2 * length)


BAND = """
import torch
from torch import nn

N = 300


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        lower = torch.tril(torch.ones(N, N, dtype=torch.bool))
        self.register_buffer("band", lower ^ torch.tril(lower, -100))
        self.register_buffer("lower", lower)
        self.register_buffer("drawn", lower & (torch.rand(N, N) < 2))

    def forward(self, x):
        scores = x @ x.transpose(1, 2)
        banded = scores.masked_fill(~self.band, 0) + scores.masked_fill(self.lower == 0, 1)
        return banded + scores.masked_fill(~self.drawn, 2)


def get_inputs():
    return [torch.randn(2, N, 7)]
"""


def test_a_band_wider_than_the_small_sizes_is_no_triangle(tmp_path: Path, workers: Zygote) -> None:
    path = tmp_path / "model.py"
    path.write_text(BAND)
    with open_reference(path, zygote=workers) as reference:
        trial = reference.trial(reference.assignments()[0], 0, "normal", "promoted")
        text = translate(reference)
        certificate = verify(reference, text)
        line = next(line for line in text.split("\n") if line.startswith("fact lower"))
        claims = {
            name: text.replace(f"{line}\n", "").replace("\noutput ", f"\n{line.replace('lower', name)}\noutput ", 1)
            for name in ("band", "drawn")
        }
        assert "param band" in text and "param drawn" in text
        wrong, unknown = (verify(reference, claims[name]) for name in ("band", "drawn"))
    assert {triangle(trial.state[name]) for name in ("band", "lower", "drawn")} == {Triangle("<=", True, False)}
    assert re.findall(r"^fact (\w+)", text, re.MULTILINE) == ["lower"]
    assert (certificate.verdict, certificate.assumed_facts) == ("verified", ()), certificate.feedback()
    assert (wrong.exit_code, wrong.failures[0].kind) == (20, "fact") and "full size [300, 300]" in wrong.feedback()
    assert unknown.verdict == "verified", unknown.feedback()
    assert len(unknown.assumed_facts) == 1 and "trials only" in unknown.assumed_facts[0]
    program = load(claims["drawn"], reference.describe().bindings)
    assert len(program.facts) == 1 and without_assumed(program, unknown).facts == ()
    assert without_assumed(load(text, reference.describe().bindings), certificate).facts != ()
