"""Programs in training mode: batch statistics and what they leave behind, dropout from recorded masks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest
from solar_agent.agent.builtin import Untranslatable, translate
from solar_agent.verifier.reference import open_reference, open_zygote
from solar_agent.verifier.verify import verify
from solar_agent.verifier.zygote import Zygote

HEAD = """
import torch
import torch.nn as nn
import torch.nn.functional as F
"""


@pytest.fixture(scope="module")
def workers() -> Iterator[Zygote]:
    with open_zygote() as zygote:
        yield zygote


def translated(source: str, folder: Path, workers: Zygote, verdict: str = "verified") -> str:
    """The text for a program in training mode, after the verifier has accepted it."""
    path = folder / "program.py"
    path.write_text(HEAD + dedent(source))
    with open_reference(path, zygote=workers, mode="train") as reference:
        text = translate(reference)
        certificate = verify(reference, text)
    assert certificate.verdict == verdict, certificate.feedback() + "\n" + text
    return text


BATCH_NORMS = """
class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.plain = nn.BatchNorm1d(width)
        self.bare = nn.BatchNorm1d(width, affine=False, momentum=0.3)
        self.free = nn.BatchNorm1d(width, track_running_stats=False)
        self.frozen = nn.BatchNorm1d(width).eval()
    def forward(self, x):
        return self.frozen(self.plain(x)) + self.bare(x) * self.free(x)
def get_init_inputs(): return [24]
def get_inputs(): return [torch.randn(10, 24)]
"""


def test_batch_norm_counts_and_averages_unless_it_is_frozen(tmp_path: Path, workers: Zygote) -> None:
    text = translated(BATCH_NORMS, tmp_path, workers)
    assert text.count("batch_stats(") == 3
    assert text.count("output state") == 6
    assert 'output state "bare.num_batches_tracked"' in text
    assert "frozen.running_mean" in text


def test_average_over_all_batches_is_read_in_python(tmp_path: Path, workers: Zygote) -> None:
    source = BATCH_NORMS.replace("momentum=0.3", "momentum=None")
    with pytest.raises(Untranslatable, match="a tensor's value is read"):
        translated(source, tmp_path, workers)


BLOCKS = """
class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(width, width)
        self.norm = nn.BatchNorm1d(width)
        self.drop = nn.Dropout(0.3)
    def forward(self, x):
        return x + self.drop(F.relu(self.norm(self.fc(x))))
class Model(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.blocks = nn.ModuleList([Block(width) for _ in range(depth)])
        self.head = nn.Linear(width, 7)
    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)
def get_init_inputs(): return [24, 3]
def get_inputs(): return [torch.randn(10, 24)]
"""


def test_blocks_of_a_fixed_number_share_a_function_that_returns_their_state(tmp_path: Path, workers: Zygote) -> None:
    text = translated(BLOCKS, tmp_path, workers)
    assert text.count("output state") == 9
    for turn in range(3):
        assert f'output state "blocks.{turn}.norm.running_var"' in text


def test_state_that_is_changed_twice(tmp_path: Path, workers: Zygote) -> None:
    text = translated(
        """
        class Model(nn.Module):
            def __init__(self, channels):
                super().__init__()
                self.norm = nn.BatchNorm2d(channels)
                self.conv = nn.Conv2d(channels, channels, 1)
            def forward(self, x, y):
                return self.norm(self.conv(x)), self.norm(self.conv(y))
        def get_init_inputs(): return [12]
        def get_inputs(): return [torch.randn(4, 12, 5, 6), torch.randn(3, 12, 7, 8)]
        """,
        tmp_path,
        workers,
    )
    assert text.count("output state") == 3


def test_dropout_takes_masks_in_drawing_order(tmp_path: Path, workers: Zygote) -> None:
    text = translated(
        """
        class Model(nn.Module):
            def __init__(self, channels):
                super().__init__()
                self.a, self.b = nn.Dropout(0.2), nn.Dropout2d(0.3)
                self.c, self.d = nn.AlphaDropout(0.1), nn.FeatureAlphaDropout(0.25)
                self.none, self.inner = nn.Dropout(0.0), nn.Dropout(0.4, inplace=True)
                self.conv = nn.Conv2d(channels, channels, 3)
            def forward(self, x):
                y = self.conv(x)
                return self.a(y) + self.b(y) + self.c(y) + self.d(y) + self.none(y) + self.inner(y * 2)
        def get_init_inputs(): return [12]
        def get_inputs(): return [torch.randn(4, 12, 9, 11)]
        """,
        tmp_path,
        workers,
    )
    assert text.count("draw ") == 5


@pytest.mark.parametrize("mask", ["", "is_causal=True", "attn_mask=self.mask", "attn_mask=self.mask > 0"])
def test_attention_weights_are_dropped(mask: str, tmp_path: Path, workers: Zygote) -> None:
    text = translated(
        f"""
        class Model(nn.Module):
            def __init__(self, width, heads, steps):
                super().__init__()
                self.heads, self.qkv = heads, nn.Linear(width, 3 * width)
                self.mask = nn.Parameter(torch.randn(steps, steps))
            def forward(self, x):
                B, T, D = x.shape
                q, k, v = (t.view(B, T, self.heads, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
                share = 0.2 if self.training else 0.0
                y = F.scaled_dot_product_attention(q, k, v, dropout_p=share, {mask})
                return y.transpose(1, 2).reshape(B, T, D)
        STEPS = 11
        def get_init_inputs(): return [24, 3, STEPS]
        def get_inputs(): return [torch.randn(4, STEPS, 24)]
        """,
        tmp_path,
        workers,
    )
    assert text.count("draw ") == 1
    assert "dropped_" in text


@pytest.mark.parametrize("layer", ["LSTM", "GRU", "RNN"])
def test_recurrent_layers_drop_between_layers(layer: str, tmp_path: Path, workers: Zygote) -> None:
    both = layer == "GRU"
    text = translated(
        f"""
        class Model(nn.Module):
            def __init__(self, width, hidden):
                super().__init__()
                self.layers = nn.{layer}(width, hidden, 3, dropout=0.2, batch_first=True, bidirectional={both})
            def forward(self, x):
                return self.layers(x)
        def get_init_inputs(): return [6, 5]
        def get_inputs(): return [torch.randn(3, 4, 6)]
        """,
        tmp_path,
        workers,
    )
    assert text.count("draw ") == 2


def test_a_small_number_times_a_size(tmp_path: Path, workers: Zygote) -> None:
    text = translated(
        """
        class Model(nn.Module):
            def __init__(self, codes, width):
                super().__init__()
                self.register_buffer("counts", torch.ones(codes))
                self.codes = codes
                self.fc = nn.Linear(width, codes)
            def forward(self, x):
                scores = self.fc(x).softmax(-1)
                self.counts.mul_(0.9).add_(scores.sum(0), alpha=0.1)
                return scores / (self.counts.sum() + self.codes * 1e-2)
        def get_init_inputs(): return [17, 12]
        def get_inputs(): return [torch.randn(9, 12)]
        """,
        tmp_path,
        workers,
    )
    assert "0.01 * " in text
    assert 'output state "counts"' in text


def test_blocks_whose_number_differs_put_their_state_out_turn_by_turn(tmp_path: Path, workers: Zygote) -> None:
    text = translated(BLOCKS.replace("[24, 3]", "[24, 12]"), tmp_path, workers)
    assert "repeat i in 0..depth:" in text
    assert text.count("output state") == 3
    assert 'output state "blocks.{i}.norm.running_mean"' in text


def test_groups_of_layers_put_their_state_out_turn_by_turn(tmp_path: Path, workers: Zygote) -> None:
    text = translated(
        """
        class Model(nn.Module):
            def __init__(self, width, depth):
                super().__init__()
                layers = []
                for _ in range(depth):
                    layers += [nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(0.1)]
                self.net = nn.Sequential(*layers)
            def forward(self, x):
                return self.net(x)
        def get_init_inputs(): return [24, 12]
        def get_inputs(): return [torch.randn(10, 24)]
        """,
        tmp_path,
        workers,
    )
    assert 'output state "net.{4*i + 1}.running_mean"' in text
