"""Whole programs: translated from recordings, verified against the original."""

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


def translated(source: str, folder: Path, workers: Zygote) -> str:
    """The text for a program, after the verifier has accepted it."""
    path = folder / "program.py"
    path.write_text(HEAD + dedent(source))
    with open_reference(path, zygote=workers) as reference:
        text = translate(reference)
        certificate = verify(reference, text)
    assert certificate.verdict == "verified", certificate.feedback() + "\n" + text
    return text


def test_repeated_layers_are_one_function_called_in_a_repeat(tmp_path: Path, workers: Zygote) -> None:
    text = translated(
        """
        WIDTH, DEPTH = 64, 6
        class Block(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.norm = nn.LayerNorm(width)
                self.up = nn.Linear(width, 2 * width)
                self.down = nn.Linear(2 * width, width)
            def forward(self, x):
                return x + self.down(F.gelu(self.up(self.norm(x))))
        class Model(nn.Module):
            def __init__(self, width, depth):
                super().__init__()
                self.blocks = nn.ModuleList([Block(width) for _ in range(depth)])
                self.head = nn.Linear(width, 10)
            def forward(self, x):
                for block in self.blocks:
                    x = block(x)
                return self.head(x.mean(1))
        def get_init_inputs(): return [WIDTH, DEPTH]
        def get_inputs(): return [torch.randn(32, 48, WIDTH)]
        """,
        tmp_path,
        workers,
    )
    assert text.count("def block(") == 1
    assert 'name="blocks.{i}"' in text


def test_a_time_loop_is_a_scan_whatever_its_length(tmp_path: Path, workers: Zygote) -> None:
    text = translated(
        """
        class Model(nn.Module):
            def __init__(self, inputs, width):
                super().__init__()
                self.cell = nn.LSTMCell(inputs, width)
                self.width = width
            def forward(self, x):
                h = x.new_zeros(x.shape[1], self.width)
                c = x.new_zeros(x.shape[1], self.width)
                outs = []
                for step in x:
                    h, c = self.cell(step, (h, c))
                    outs.append(h)
                return torch.stack(outs, 1), c
        def get_init_inputs(): return [24, 40]
        def get_inputs(): return [torch.randn(300, 16, 24)]
        """,
        tmp_path,
        workers,
    )
    assert text.count("scan ") == 1
    assert len(text.splitlines()) < 30


def test_a_loop_backwards_in_time_with_two_carries(tmp_path: Path, workers: Zygote) -> None:
    text = translated(
        """
        def fn(x, decay):
            total = torch.zeros_like(x[:, 0])
            peak = torch.full_like(x[:, 0], -1e3)
            kept = []
            for t in reversed(range(x.shape[1])):
                total = decay * total + x[:, t]
                peak = torch.maximum(peak, total)
                kept.append(peak)
            return torch.stack(kept[::-1], dim=1), total
        def example_inputs(): return (torch.randn(8, 120, 20), torch.rand(20))
        """,
        tmp_path,
        workers,
    )
    assert "scan " in text


def test_writes_through_views_of_views(tmp_path: Path, workers: Zygote) -> None:
    translated(
        """
        def fn(x, y):
            work = x.clone()
            part = work[:, 1:].transpose(0, 1)
            part[::2] += y
            seen = work.sum(1)
            part.mul_(2.0)
            return work, seen, part.relu_()
        def example_inputs(): return (torch.randn(12, 21, 9), torch.randn(9))
        """,
        tmp_path,
        workers,
    )


def test_changed_buffers_and_arguments_are_outputs(tmp_path: Path, workers: Zygote) -> None:
    text = translated(
        """
        class Model(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.register_buffer("seen", torch.zeros(width))
                self.last = torch.zeros(width)
            def forward(self, x):
                self.seen += x.sum(0)
                self.last = x[-1] * 2
                x[:, 0] = 0
                return x @ self.seen
        def get_init_inputs(): return [30]
        def get_inputs(): return [torch.randn(50, 30)]
        """,
        tmp_path,
        workers,
    )
    assert 'output state "seen"' in text
    assert 'output state "last"' in text
    assert 'output input "x"' in text


def test_one_layer_used_twice_and_tied_weights(tmp_path: Path, workers: Zygote) -> None:
    translated(
        """
        class Model(nn.Module):
            def __init__(self, vocabulary, width):
                super().__init__()
                self.embed = nn.Embedding(vocabulary, width)
                self.mix = nn.Linear(width, width)
                self.head = nn.Linear(width, vocabulary, bias=False)
                self.head.weight = self.embed.weight
            def forward(self, ids):
                h = torch.tanh(self.mix(self.embed(ids)))
                return self.head(torch.tanh(self.mix(h)))
        def get_init_inputs(): return [500, 48]
        def get_inputs(): return [torch.randint(0, 500, (6, 33))]
        """,
        tmp_path,
        workers,
    )


def test_heads_and_scales_come_out_as_expressions(tmp_path: Path, workers: Zygote) -> None:
    text = translated(
        """
        HEADS, WIDTH = 6, 96
        class Model(nn.Module):
            def __init__(self, heads, width):
                super().__init__()
                self.heads = heads
                self.qkv = nn.Linear(width, 3 * width)
            def forward(self, x):
                b, t, c = x.shape
                q, k, v = self.qkv(x).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
                s = (q @ k.transpose(-2, -1)) / (c // self.heads) ** 0.5
                return (s.softmax(-1) @ v).transpose(1, 2).reshape(b, t, c)
        def get_init_inputs(): return [HEADS, WIDTH]
        def get_inputs(): return [torch.randn(4, 50, WIDTH)]
        """,
        tmp_path,
        workers,
    )
    assert '"self.heads"' in text
    assert "sqrt(" in text


def test_tuples_dicts_numbers_and_nothing_as_results(tmp_path: Path, workers: Zygote) -> None:
    translated(
        """
        def fn(x, scale: float = 2.0, *, shift=None):
            y = x * scale
            return {"y": y, "rest": (y.sum(), None, x.shape[0]), "same": x}
        def example_inputs(): return (torch.randn(14, 22),)
        """,
        tmp_path,
        workers,
    )


def test_equal_operators_in_a_row_are_no_loop(tmp_path: Path, workers: Zygote) -> None:
    text = translated(
        """
        def fn(x): return x.sigmoid().sigmoid().abs().pow(2.0).pow(1.5)
        def example_inputs(): return (torch.randn(40, 30),)
        """,
        tmp_path,
        workers,
    )
    assert "scan" not in text


@pytest.mark.parametrize(
    ("body", "operator"),
    [
        ("return x[x > 0]", "aten.index.Tensor"),
        ("return x * x.sum().item()", "aten.item.default"),
        ("return torch.linalg.svd(x)[1]", "aten.linalg_svd.default"),
    ],
    ids=["masked", "item", "svd"],
)
def test_what_no_rule_covers_is_refused_with_its_line(
    body: str, operator: str, tmp_path: Path, workers: Zygote
) -> None:
    path = tmp_path / "program.py"
    path.write_text(f"import torch\ndef fn(x):\n    {body}\ndef example_inputs(): return (torch.randn(9, 14),)\n")
    with open_reference(path, zygote=workers) as reference, pytest.raises(Untranslatable) as caught:
        translate(reference)
    assert "program.py:3" in str(caught.value)
    assert operator in str(caught.value)


def test_what_strangers_stumbled_over(tmp_path: Path, workers: Zygote) -> None:
    """Bits of masks, a transposition in place, one tensor under many names."""
    translated(
        """
        class Model(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.layers = nn.ModuleList([nn.Linear(width, width, bias=False) for _ in range(4)])
                for layer in self.layers:
                    layer.weight = self.layers[0].weight
            def forward(self, x):
                for layer in self.layers:
                    x = torch.relu(layer(x))
                inside = (x > 0.1) & (x < 0.9) | (x > 1.5)
                y = torch.where(inside ^ (x > 0.5), x, -x)
                y.transpose_(0, 1)
                return y
        def get_init_inputs(): return [24]
        def get_inputs(): return [torch.randn(18, 24)]
        """,
        tmp_path,
        workers,
    )
