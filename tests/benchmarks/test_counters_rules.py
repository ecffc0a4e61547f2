"""Accounts from shapes against counting by hand and against the counters themselves, on small programs."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
FOLDER = Path(__file__).parents[2] / "benchmarks" / "counters"
sys.path.insert(0, str(FOLDER))
accounts, explain, forked, sums, tools = map(
    importlib.import_module, ("accounts", "explain", "forked", "sums", "tools")
)

MIXED = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.up = nn.ConvTranspose2d(8, 4, 3, stride=2, padding=1, bias=False)
        self.pool = nn.MaxPool2d(2)
        self.linear = nn.Linear(7, 6)
        self.unused = nn.Linear(7, 6)
        self.score = nn.Parameter(torch.rand(6, 5))

    def forward(self, x):
        x = torch.relu(self.norm(self.conv(x)))
        x = self.pool(self.up(x))
        lost = self.unused(x)
        x = torch.nn.functional.gelu(self.linear(x))
        return torch.einsum("ncij,jk->ncik", x, self.score) @ self.score.t()


def get_inputs():
    return [torch.rand(2, 3, 16, 16)]


def get_init_inputs():
    return []
"""
RECURRENT = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.LSTM(5, 4, 2, batch_first=True)
        self.cell = nn.GRUCell(4, 3)

    def forward(self, x):
        y, _ = self.layers(x)
        return self.cell(y[:, -1])


def get_inputs():
    return [torch.rand(2, 6, 5)]


def get_init_inputs():
    return []
"""
ATTENTION = """
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.Linear(12, 36)

    def forward(self, x):
        q, k, v = self.heads(x).view(2, 6, 3, 3, 4).permute(2, 0, 3, 1, 4)
        return F.scaled_dot_product_attention(q, k, v) + torch.baddbmm(x[0], x, x.transpose(1, 2) @ x)[0, 0, 0]


def get_inputs():
    return [torch.rand(2, 6, 12)]


def get_init_inputs():
    return []
"""
COUNTERS = ("torch", "fvcore", "ptflops", "ptflops-aten")


def apart(work: Callable[[], dict[str, Any]], limit_s: float = 60.0, memory_bytes: int = 1 << 40) -> dict[str, Any]:
    ((_, answer),) = forked.run_all([forked.Job(("one",), work)], 1, limit_s, memory_bytes)
    return answer


def asked(file: Path) -> dict[str, dict[str, Any]]:
    def one(name: str) -> dict[str, Any]:
        warnings.simplefilter("ignore")
        torch.set_num_threads(1)
        return tools.recorded(file) if name == "recording" else tools.COUNTERS[name](file)

    jobs = [forked.Job((name,), lambda name=name: one(name)) for name in (*COUNTERS, "recording", "SOLAR")]
    return {job.label[0]: answer for job, answer in forked.run_all(jobs, 1, 60.0, 1 << 40)}


@pytest.mark.parametrize("text", [MIXED, RECURRENT, ATTENTION], ids=["mixed", "recurrent", "attention"])
def test_each_counter_is_explained_to_the_last_product(tmp_path: Path, text: str) -> None:
    if importlib.util.find_spec("fvcore") is None or importlib.util.find_spec("ptflops") is None:
        pytest.skip("the other counters are not installed")
    file = tmp_path / "program.py"
    file.write_text(text)
    answers = asked(file)
    assert answers["SOLAR"] == {"fails": "not installed"}
    account = accounts.Account(
        tuple(accounts.Cost(**one) for one in answers["recording"]["costs"]),
        tuple(accounts.Layer(**one) for one in answers["recording"]["layers"]),
    )
    assert explain.nominal(account) == answers["torch"]["macs"]
    for name in COUNTERS:
        made = explain.gap(name, answers[name], account)
        assert "unexplained" not in {reason for _, reason, _, _ in made.terms}, (name, made.terms)
        assert explain.nominal(account) + made.total() == answers[name]["macs"]


def test_the_account_of_a_program(tmp_path: Path) -> None:
    """Counted by hand: 15 of the 16 rows and columns of the transposed convolution are made, 14 of these are pooled."""
    file = tmp_path / "program.py"
    file.write_text(MIXED)
    found = apart(lambda: tools.recorded(file))
    costs = [accounts.Cost(**one) for one in found["costs"]]
    by_kind = {cost.kind: cost for cost in costs if cost.needed != "0"}
    conv, up = by_kind["convolution"], by_kind["transposed"]
    assert sums.value(conv.nominal) == 2 * 8 * 3 * 9 * 8 * 8
    assert sums.value(conv.hits) == 2 * 8 * 3 * 23 * 23  # 8 positions with 3 taps, the first of which has 2
    assert sums.value(up.nominal) == 2 * 8 * 4 * 9 * 8 * 8
    assert sums.value(up.hits) == 2 * 8 * 4 * 22 * 22  # both ends lose a tap
    assert sums.value(up.needed) == 2 * 8 * 4 * 21 * 21
    assert [sums.value(cost.nominal) for cost in costs if cost.needed == "0"] == [2 * 4 * 7 * 7 * 6]


@pytest.mark.parametrize(
    ("small", "large", "taps", "stride", "padding", "dilation"),
    [(8, 16, 3, 2, 1, 1), (5, 5, 3, 1, 2, 2), (4, 9, 2, 3, 0, 1), (3, 3, 5, 1, 2, 1)],
)
def test_hits_are_the_taps_inside(small: int, large: int, taps: int, stride: int, padding: int, dilation: int) -> None:
    inside = range(padding, padding + large)
    pairs = itertools.product(range(small), range(taps))
    by_hand = sum(1 for position, tap in pairs if position * stride + tap * dilation in inside)
    assert accounts._hits(small, large, taps, stride, padding, dilation) == by_hand


@pytest.mark.parametrize(
    ("equation", "shapes", "summed", "outer"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)], 24, 0),
        ("ij,jk", [(2, 3), (3, 4)], 24, 0),
        ("ij,ik->ijk", [(2, 3), (2, 4)], 0, 24),
        ("ijx,jk->ik", [(2, 3, 7), (3, 4)], 24, 0),
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)], 24 + 40, 0),
        ("bi,bj,bij->b", [(2, 3), (2, 4), (2, 3, 4)], 24, 24),
    ],
)
def test_products_of_an_einsum(equation: str, shapes: list[tuple[int, ...]], summed: int, outer: int) -> None:
    found = accounts.einsum_cost(equation, shapes)
    assert tuple(sums.value(text or "0") for text in found) == (summed, outer)


def test_an_einsum_along_a_path() -> None:
    shapes = [(2, 3), (3, 4), (4, 5)]
    assert accounts.einsum_cost("ij,jk,kl->il", shapes, [1, 2, 0, 1]) == ("3*4*5+2*3*5", "")


def test_bad_work_is_an_answer() -> None:
    def fails() -> dict[str, Any]:
        raise ValueError("no such  thing")

    def crashes() -> dict[str, Any]:
        os.kill(os.getpid(), signal.SIGKILL)
        return {}

    def hangs() -> dict[str, Any]:
        time.sleep(600)
        return {}

    def eats() -> dict[str, Any]:
        return {"macs": len(bytearray(1 << 42))}

    assert apart(fails)["fails"].startswith("ValueError: no such thing (test_counters_rules.py:")
    assert apart(crashes) == {"fails": "its process ended (SIGKILL)"}
    assert apart(hangs, limit_s=0.2) == {"fails": "not done within 0.2 s"}
    assert apart(eats)["fails"].startswith("MemoryError")


def test_a_failure_does_not_stop_the_others() -> None:
    def work(number: int) -> dict[str, Any]:
        if number % 2:
            os._exit(3)
        return {"macs": number}

    jobs = [forked.Job((str(number),), lambda number=number: work(number)) for number in range(6)]
    found = {job.label[0]: answer for job, answer in forked.run_all(jobs, 3, 60.0, 1 << 40)}
    assert found == {str(n): {"fails": "its process ended (exit code 3)"} if n % 2 else {"macs": n} for n in range(6)}
