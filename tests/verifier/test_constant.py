"""Constant results: verified through what they are computed from, and not without it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from solar_agent.verifier.constant import figures, frontier
from solar_agent.verifier.reference import RunningReference, open_reference
from solar_agent.verifier.types import Feeding
from solar_agent.verifier.verify import verify

PROGRAM = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.fc = nn.Linear(inputs, outputs)

    def forward(self, x):
        top = self.fc(x).amax(1, keepdim=True)
        return torch.tanh(top - top.mean(1, keepdim=True))


def get_init_inputs():
    return [24, 17]


def get_inputs():
    return [torch.randn(33, 24)]
"""
GOOD = """program good
input x[B, I]
param w = "fc.weight"[O, I]
param c = "fc.bias"[O]
for b<B, o<O: h[b, o] = sum(i<I: x[b, i] * w[o, i]) + c[o]
for b<B: top[b] = max(o<O: h[b, o])
for b<B: y[b] = tanh(top[b] - top[b] / 1)
tensor out[B, 1]
for b<B: out[b, 0] = y[b]
output out
"""
OTHERS = {
    "nothing is computed": GOOD.replace("tanh(top[b] - top[b] / 1)", "0.0 * x[b, 0]"),
    "least for most": GOOD.replace("max(o<O", "min(o<O"),
    "the bias is left out": GOOD.replace(" + c[o]", ""),
}


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningReference]:
    path: Path = tmp_path_factory.mktemp("constant") / "program.py"
    path.write_text(PROGRAM)
    with open_reference(path) as found:
        yield found


def test_the_computation_as_written_is_verified(reference: RunningReference) -> None:
    certificate = verify(reference, GOOD)
    assert certificate.verdict == "verified", certificate.feedback()
    assert "input-independent" in certificate.flags
    assert [leaf.status for leaf in certificate.leaves] == ["constant-followed"]


@pytest.mark.parametrize("name", list(OTHERS))
def test_another_computation_of_the_same_constant_is_not(name: str, reference: RunningReference) -> None:
    certificate = verify(reference, OTHERS[name])
    assert certificate.verdict == "verified-in-part"
    assert [leaf.status for leaf in certificate.leaves] == ["constant"]


def test_the_frontier_is_what_still_differs() -> None:
    same, one, two = (1.0, 5.0, 5.0, 5.0, 25.0, 125.0), figures_of(1.0), figures_of(2.0)
    feeds = ((), (0,), (1,), (2,))
    first = Feeding((one, one, same, same), feeds, {"": 3})
    second = Feeding((two, two, same, same), feeds, {"": 3})
    assert frontier(first, second, 3) == {1}
    assert frontier(first, first, 3) == frozenset()


def figures_of(value: float) -> tuple[float, ...]:
    import numpy as np

    return figures(np.array([value]))
