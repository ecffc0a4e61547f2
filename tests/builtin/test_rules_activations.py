"""Activation functions against torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from solar_agent.verifier.worker.faults import Refused

from .rulelab import check
from .samples import SHAPES, floats, whole

PLAIN = ("relu", "relu6", "selu", "silu", "mish", "log_sigmoid", "hardsigmoid", "hardswish")
WITH_OPTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("leaky_relu", {}), ("leaky_relu", {"negative_slope": 0.2}), ("elu", {}), ("elu", {"alpha": 0.3}),
    ("elu", {"alpha": 1.5, "scale": 2.0, "input_scale": 0.5}), ("celu", {}), ("celu", {"alpha": 2.0}), ("gelu", {}),
    ("gelu", {"approximate": "tanh"}), ("softplus", {}), ("softplus", {"beta": 2.0, "threshold": 1.0}),
    ("hardtanh", {}), ("hardtanh", {"min_val": -0.5, "max_val": 2.0}), ("hardshrink", {}),
    ("hardshrink", {"lambd": 1.0}),
    ("softshrink", {}), ("softshrink", {"lambd": 0.2}), ("threshold", {"threshold": 0.1, "value": 20.0}),
    ("threshold", {"threshold": 0, "value": 1}), ("rrelu", {}), ("rrelu", {"lower": 0.2, "upper": 0.6}),
)  # fmt: skip


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("shapes", SHAPES[:3:2])
def test_without_options(name: str, shapes: Any) -> None:
    text = check(f"aten.{name}.default", *({"self": 4 * floats(s)} for s in shapes))
    assert len(text.splitlines()) == 4


@pytest.mark.parametrize(("name", "options"), WITH_OPTIONS)
def test_with_options(name: str, options: dict[str, Any]) -> None:
    check(f"aten.{name}.default", *({"self": 4 * floats(s), **options} for s in SHAPES[0]))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_small_types_are_kept(dtype: torch.dtype) -> None:
    for name in ("relu", "gelu", "silu", "selu", "elu", "softplus", "hardtanh", "leaky_relu", "mish", "hardswish"):
        check(f"aten.{name}.default", *({"self": floats(s, dtype=dtype)} for s in SHAPES[0]))


def test_relu_of_whole_numbers() -> None:
    check("aten.relu.default", *({"self": whole(s)} for s in SHAPES[0]))


def test_an_option_that_is_a_size() -> None:
    text = check("aten.leaky_relu.default", *({"self": floats(s), "negative_slope": 1 / s[0]} for s in SHAPES[0]))
    assert "1.0 / N" in text


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_glu(dim: int) -> None:
    check("aten.glu.default", *({"self": floats(s), "dim": dim} for s in ((2, 6, 4), (4, 2, 8))))


@pytest.mark.parametrize("rank", [2, 3, 4])
@pytest.mark.parametrize("one", [False, True])
def test_prelu(rank: int, one: bool) -> None:
    shapes = ((2, 3, 4, 5)[:rank], (3, 5, 2, 4)[:rank])
    check("aten.prelu.default", *({"self": floats(s), "weight": floats((1 if one else s[1],), 1)} for s in shapes))


def test_prelu_of_one_axis() -> None:
    check("aten.prelu.default", *({"self": floats((n,)), "weight": floats((1,), 1)} for n in (3, 5)))


def test_prelu_of_one_channel_at_some_sizes_only() -> None:
    shapes = ((2, 1, 3), (4, 5, 2))
    check("aten.prelu.default", *({"self": floats(s), "weight": floats((s[1],), 1)} for s in shapes))


def test_random_slopes_are_refused() -> None:
    with pytest.raises(Refused, match="rrelu"):
        check("aten.rrelu.default", *({"self": floats(s), "training": True} for s in SHAPES[0]))
