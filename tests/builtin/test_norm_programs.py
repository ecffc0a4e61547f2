"""Normalisation layers as modules: their own forms in eval mode, the batch's statistics and updates in train mode."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from solar_agent.agent.builtin import translate
from solar_agent.verifier.reference import open_reference, open_zygote
from solar_agent.verifier.types import Mode
from solar_agent.verifier.verify import verify
from solar_agent.verifier.zygote import Zygote

SOURCE = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, channels=6):
        super().__init__()
        self.first = nn.BatchNorm2d(channels)
        self.second = nn.BatchNorm2d(channels, affine=False, momentum=0.3)
        self.third = nn.InstanceNorm2d(channels, affine=True, track_running_stats=True)
        self.free = nn.BatchNorm2d(channels, track_running_stats=False)
        self.grouped = nn.GroupNorm(2, channels)
        self.last = nn.LayerNorm([10, 12])

    def forward(self, x):
        return self.last(self.grouped(self.free(self.third(self.second(self.first(x).relu())))))


def get_inputs():
    return [torch.randn(4, 6, 10, 12)]


def get_init_inputs():
    return []
"""


@pytest.fixture(scope="module")
def workers() -> Iterator[Zygote]:
    with open_zygote() as zygote:
        yield zygote


def translated(mode: Mode, folder: Path, workers: Zygote) -> tuple[str, str]:
    """The text and its verdict."""
    path = folder / "model.py"
    path.write_text(SOURCE)
    with open_reference(path, mode=mode, zygote=workers) as reference:
        text = translate(reference)
        return text, verify(reference, text).verdict


def test_eval_takes_the_layers_own_forms(tmp_path: Path, workers: Zygote) -> None:
    text, verdict = translated("eval", tmp_path, workers)
    assert verdict == "verified"
    for call in ('BatchNorm2d(x; name="first")', 'BatchNorm2d(relu; name="second")', 'name="grouped"', 'name="last"'):
        assert call in text
    assert text.count("batch_stats(") == 1
    assert "output state" not in text


def test_train_takes_the_batch_and_updates_what_is_kept(tmp_path: Path, workers: Zygote) -> None:
    text, verdict = translated("train", tmp_path, workers)
    assert verdict == "verified"
    assert text.count("batch_stats(") == 3
    for layer in ("first", "second", "third"):
        assert f'output state "{layer}.running_mean"' in text
        assert f'output state "{layer}.running_var"' in text
