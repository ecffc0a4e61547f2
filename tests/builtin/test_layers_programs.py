"""Layers that read more than the layer before: caches that start empty, lists of state, numbers made in forward()."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from solar_agent.verifier.reference import open_zygote
from solar_agent.verifier.zygote import Zygote

from .test_programs import translated


@pytest.fixture(scope="module")
def workers() -> Iterator[Zygote]:
    with open_zygote() as zygote:
        yield zygote


def test_a_cache_that_starts_empty_and_a_masking_number_leave_no_trace(tmp_path: Path, workers: Zygote) -> None:
    text = translated(
        """
        class Layer(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.mix = nn.Linear(width, width)
            def forward(self, x, keep):
                past = torch.cat([torch.tensor([]), self.mix(x)], dim=-2)
                return torch.where(keep, past, torch.tensor(-40.0)).tanh() + x
        class Model(nn.Module):
            def __init__(self, width, depth):
                super().__init__()
                self.layers = nn.ModuleList([Layer(width) for _ in range(depth)])
            def forward(self, x):
                keep = x > 0
                for layer in self.layers:
                    x = layer(x, keep)
                return x
        def get_init_inputs(): return [64, 6]
        def get_inputs(): return [torch.randn(32, 48, 64)]
        """,
        tmp_path,
        workers,
    )
    assert "repeat i in 0.." in text
    assert "-40.0" in text
    assert "made" not in text


def test_layers_of_two_kinds_in_turn_with_two_streams(tmp_path: Path, workers: Zygote) -> None:
    text = translated(
        """
        class Wide(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.mix = nn.Linear(width, width)
            def forward(self, x, y):
                return y + self.mix(x).relu(), x
        class Tall(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.mix = nn.Linear(width, width, bias=False)
            def forward(self, x, y):
                return y - self.mix(x).tanh(), x
        class Model(nn.Module):
            def __init__(self, width, pairs):
                super().__init__()
                self.layers = nn.ModuleList([kind(width) for _ in range(pairs) for kind in (Wide, Tall)])
            def forward(self, x):
                y = x
                for layer in self.layers:
                    x, y = layer(x, y)
                return x + y
        def get_init_inputs(): return [64, 12]
        def get_inputs(): return [torch.randn(32, 64)]
        """,
        tmp_path,
        workers,
    )
    assert "at=2*i" in text


def test_each_layer_is_given_an_entry_of_a_list_of_state(tmp_path: Path, workers: Zygote) -> None:
    text = translated(
        """
        class Layer(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.mix = nn.Linear(width, width)
            def forward(self, x, scale):
                return x + scale * self.mix(x).relu()
        class Model(nn.Module):
            def __init__(self, width, depth):
                super().__init__()
                self.layers = nn.ModuleList([Layer(width) for _ in range(depth)])
                self.scales = nn.ParameterList([torch.randn(width) for _ in range(depth)])
            def forward(self, x):
                for layer, scale in zip(self.layers, self.scales):
                    x = layer(x, scale)
                return x
        def get_init_inputs(): return [64, 6]
        def get_inputs(): return [torch.randn(32, 64)]
        """,
        tmp_path,
        workers,
    )
    assert 'param entry = "scales.{i}"' in text


def test_a_loop_over_rows_whose_turns_are_apart(tmp_path: Path, workers: Zygote) -> None:
    text = translated(
        """
        def fn(x, table):
            rows = [torch.index_select(table[i], 0, x[i]).unsqueeze(0) for i in range(x.shape[0])]
            return torch.cat(rows, dim=0)
        def example_inputs(): return (torch.randint(0, 50, (64, 20)), torch.randn(64, 50, 8))
        """,
        tmp_path,
        workers,
    )
    assert text.count("scan ") == 1


def test_layers_made_in_forward_and_thrown_away(tmp_path: Path, workers: Zygote) -> None:
    text = translated(
        """
        class Inner(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.mix = nn.Linear(width, width)
            def forward(self, x):
                return self.mix(x)
        class Layer(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.inner = Inner(width)
                self.width = width
            def forward(self, x):
                old = self.inner
                self.inner = Inner(self.width)
                self.inner.mix = old.mix
                return x + self.inner(x).relu()
        class Model(nn.Module):
            def __init__(self, width, depth):
                super().__init__()
                self.layers = nn.ModuleList([Layer(width) for _ in range(depth)])
            def forward(self, x):
                for layer in self.layers:
                    x = layer(x)
                return x
        def get_init_inputs(): return [64, 6]
        def get_inputs(): return [torch.randn(32, 64)]
        """,
        tmp_path,
        workers,
    )
    assert "draw" not in text
    assert text.count("def layer(") == 1
