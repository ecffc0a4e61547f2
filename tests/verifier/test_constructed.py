"""Values of captured tensors at full size, without a program of full size in memory."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from solar_agent.verifier.reference import open_reference, open_zygote
from solar_agent.verifier.zygote import Zygote

PROGRAM = """
import random

import numpy
import torch
from torch import nn

N = 300


class Part(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.mask = torch.tril(torch.ones(n, n, dtype=torch.bool))[None, None]


class Model(nn.Module):
    def __init__(self, n=N):
        super().__init__()
        self.big = nn.Linear(1 << 20, 1 << 20)
        self.parts = nn.ModuleList(Part(n) for _ in range(3))
        whole = torch.ones(n, n, dtype=torch.bool).tril()
        self.register_buffer("band", torch.bitwise_xor(whole, torch.tril(whole, -7)))
        filled = torch.empty(n, n)
        filled.fill_(float("-inf"))
        filled.triu_(1)
        self.register_buffer("filled", filled)
        self.register_buffer("column", filled[:, 5])
        slots = torch.zeros(n, 4, dtype=torch.bfloat16)
        slots[1::2, :2] = torch.tensor([0.5, 2.0])
        self.slots = nn.Parameter(slots)
        angles = torch.arange(n).float()[:, None] / 10000 ** (torch.arange(0, 8, 2) / 8)
        self.register_buffer("angles", torch.stack((angles.sin(), angles.cos()), -1).flatten(1))
        self.register_buffer("table", torch.from_numpy(numpy.arange(n)))
        edited = torch.from_numpy(numpy.zeros(n))
        edited[0] = 1
        self.register_buffer("edited", edited)
        self.register_buffer("doubled", edited * 2)
        self.levels = [level.item() for level in torch.linspace(0, 1, 3)]
        self.register_buffer("drawn", torch.rand(n, n) > 2)
        self.register_buffer("picked", torch.full((n,), random.randint(0, 10**9)))
        self.register_buffer("sampled", torch.from_numpy(numpy.random.rand(n)))
        self.register_buffer("unwritten", torch.empty(n) * 0)
        touched = torch.zeros(n)
        touched[3:].normal_()
        self.register_buffer("touched", touched)
        self.register_buffer("beside", touched[:2])
        later = torch.randn(n)
        later.zero_()
        self.register_buffer("later", later)
        before = torch.zeros(n)
        self.register_buffer("before", before + 1)
        before.normal_()
        self.register_buffer("after", before + 1)
        self.register_buffer("huge", torch.zeros(1 << 14, 1 << 14))

    def forward(self, x):
        return x * 2


def get_inputs():
    return [torch.rand(N)]
"""
KNOWN = {"parts.0.mask", "parts.2.mask", "band", "filled", "column", "slots", "angles", "table", "later", "before"}
DRAWN = {"drawn", "picked", "sampled", "touched", "beside", "after", "big.weight"}
OTHERS = {"unwritten", "edited", "doubled", "huge", "nothing"}


@pytest.fixture(scope="module")
def workers() -> Iterator[Zygote]:
    with open_zygote() as zygote:
        yield zygote


@pytest.fixture(scope="module")
def known(workers: Zygote, tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    path = tmp_path_factory.mktemp("constructed") / "model.py"
    path.write_text(PROGRAM)
    with open_reference(path, zygote=workers) as reference:
        return dict(reference.known_state(KNOWN | DRAWN | OTHERS))


def test_what_numbers_alone_decide_is_known(known: dict[str, np.ndarray]) -> None:
    n = 300
    assert set(known) == KNOWN
    lower = np.tril(np.ones((n, n), bool))
    assert known["parts.0.mask"].dtype == bool and np.array_equal(known["parts.2.mask"], lower[None, None])
    assert np.array_equal(known["band"], lower & ~np.tril(lower, -7))
    filled = np.where(lower, 0.0, -np.inf)
    assert known["filled"].dtype == np.float64 and np.array_equal(known["filled"], filled)
    assert np.array_equal(known["column"], filled[:, 5])
    slots = np.zeros((n, 4))
    slots[1::2, :2] = (0.5, 2.0)
    assert np.array_equal(known["slots"], slots)
    assert np.array_equal(known["table"], np.arange(n)) and known["table"].dtype == np.int64
    angles = np.arange(n)[:, None] / 10000 ** (np.arange(0, 8, 2) / 8)
    assert np.allclose(known["angles"][:, ::2], np.sin(angles), atol=1e-4)
    assert not known["later"].any() and (known["before"] == 1).all()


CHECKED = """
import torch

N = 4096


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        whole = torch.ones(N, N)
        self.register_buffer("mask", whole.triu() if whole.is_meta else whole.tril())

    def forward(self, x):
        return x @ self.mask


def get_inputs():
    return [torch.rand(2, N)]
"""


def test_a_program_that_builds_other_values_without_memory_is_not_believed(tmp_path: Path, workers: Zygote) -> None:
    path = tmp_path / "model.py"
    path.write_text(CHECKED)
    with open_reference(path, zygote=workers) as reference:
        assert reference.known_state(["mask"])["mask"].shape == (4096, 4096)
        reference.trial(reference.assignments()[0], 0, "normal", "promoted")
        assert reference.known_state(["mask"]) == {}
