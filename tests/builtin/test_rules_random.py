"""Random tensors and dropout: the text reads what torch drew."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from .rulelab import check
from .samples import SHAPES, floats

BESIDE = [{"x": torch.zeros(3, 5)}, {"x": torch.zeros(7, 4)}]
SIZES = ([3, 5], [7, 4])


@pytest.mark.parametrize("name", ["rand", "randn"])
@pytest.mark.parametrize("dtype", [None, torch.float64])
def test_draws_of_given_sizes(name: str, dtype: torch.dtype | None) -> None:
    text = check(f"aten.{name}.default", *({"size": s, "dtype": dtype} for s in SIZES), beside=BESIDE)
    assert "draw noise[N, C]" in text


def test_whole_numbers() -> None:
    check("aten.randint.default", *({"high": 9, "size": s, "dtype": torch.int64} for s in SIZES), beside=BESIDE)
    check("aten.randint.low", *({"low": 2, "high": 9, "size": s, "dtype": torch.int64} for s in SIZES), beside=BESIDE)
    check("aten.randperm.default", *({"n": n, "dtype": torch.int64} for n in (3, 7)), beside=BESIDE)


@pytest.mark.parametrize("name", ["rand_like", "randn_like", "bernoulli", "poisson"])
def test_draws_like_a_tensor(name: str) -> None:
    check(f"aten.{name}.default", *({"self": floats(s).sigmoid()} for s in SHAPES[0]))


def test_normal_distributions() -> None:
    given: Any = ({"mean": floats(s), "std": 2.0} for s in SHAPES[0])
    check("aten.normal.Tensor_float", *given)


@pytest.mark.parametrize("name", ["dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"])
def test_dropout_that_does_nothing(name: str) -> None:
    shapes = ((2, 3, 4), (3, 5, 2))
    text = check(f"aten.{name}.default", *({"input": floats(s), "p": 0.3, "train": False} for s in shapes))
    assert len(text.splitlines()) == 3
    check(f"aten.{name}.default", *({"input": floats(s), "p": 0.0, "train": True} for s in shapes))
    check(f"aten.{name}.default", *({"input": floats(s), "p": 1.0, "train": True} for s in shapes))


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("name", ["dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"])
def test_dropout_by_what_was_drawn(name: str, p: float) -> None:
    shapes = ((2, 3, 4), (3, 5, 2))
    text = check(f"aten.{name}.default", *({"input": floats(s), "p": p, "train": True} for s in shapes))
    assert text.count("draw ") == 1


def test_dropout_with_its_mask() -> None:
    check("aten.native_dropout.default", *({"input": floats(s), "p": 0.4, "train": True} for s in SHAPES[0]))
