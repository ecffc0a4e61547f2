"""Losses against torch: reductions, weights, broadcasting, targets."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from solar_agent.agent.builtin.model import Untranslatable

from .rulelab import check


def rand(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed + sum(shape)))


def part(*shape: int, seed: int = 0) -> torch.Tensor:
    """Values between 0 and 1."""
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed + sum(shape)))


def sign(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.where(rand(*shape, seed=seed) > 0, 1.0, -1.0)


def classes(*shape: int, count: int, seed: int = 0) -> torch.Tensor:
    return torch.randint(0, count, shape, generator=torch.Generator().manual_seed(seed + sum(shape)))


def two(name: str, make: Any, **options: Any) -> str:
    return check(name, *({**make(*sizes), **options} for sizes in ((4, 6, 3), (5, 3, 2))))


every_reduction = pytest.mark.parametrize("reduction", [0, 1, 2])


@every_reduction
@pytest.mark.parametrize("other", ["same", "broadcast"])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("mse_loss", {}),
        ("l1_loss", {}),
        ("soft_margin_loss", {}),
        ("smooth_l1_loss", {"beta": 0.5}),
        ("smooth_l1_loss", {"beta": 0.0}),
        ("huber_loss", {"delta": 0.7}),
        ("kl_div", {}),
        ("kl_div", {"log_target": True}),
    ],
)
def test_of_two_tensors(name: str, options: dict[str, Any], other: str, reduction: int) -> None:
    def make(a: int, b: int, c: int) -> dict[str, Any]:
        return {"self": rand(a, b), "target": part(*((a, b) if other == "same" else (b,)), seed=3)}

    two(f"aten.{name}.default", make, reduction=reduction, **options)


@every_reduction
@pytest.mark.parametrize("weight", [None, "row", "all"])
def test_binary_cross_entropy(weight: str | None, reduction: int) -> None:
    def make(a: int, b: int, c: int) -> dict[str, Any]:
        weights = {None: None, "row": part(b), "all": part(a, b)}[weight]
        return {"self": part(a, b), "target": part(a, b, seed=1), "weight": weights}

    two("aten.binary_cross_entropy.default", make, reduction=reduction)


@every_reduction
@pytest.mark.parametrize("weight", [False, True])
@pytest.mark.parametrize("positive", [False, True])
def test_of_logits(weight: bool, positive: bool, reduction: int) -> None:
    def make(a: int, b: int, c: int) -> dict[str, Any]:
        return {
            "self": rand(a, b),
            "target": part(a, b, seed=1),
            "weight": part(a, 1, seed=2) if weight else None,
            "pos_weight": part(b, seed=3) if positive else None,
        }

    two("aten.binary_cross_entropy_with_logits.default", make, reduction=reduction)


@every_reduction
@pytest.mark.parametrize("weight", [False, True])
@pytest.mark.parametrize("options", [{}, {"ignore_index": 1}, {"label_smoothing": 0.2}])
@pytest.mark.parametrize("shape", ["c", "nc", "ncd"])
def test_cross_entropy(shape: str, options: dict[str, Any], weight: bool, reduction: int) -> None:
    def make(a: int, b: int, c: int) -> dict[str, Any]:
        size = {"n": a, "c": b, "d": c}
        target = classes(*(size[axis] for axis in shape if axis != "c"), count=b)
        if target.numel() > 1:
            target.flatten()[0] = 0
            target.flatten()[-1] = 2
        else:
            target = target * 0 + 2
        return {
            "self": rand(*(size[axis] for axis in shape)),
            "target": target,
            "weight": part(b, seed=4) if weight else None,
        }

    two("aten.cross_entropy_loss.default", make, reduction=reduction, **options)
    if "label_smoothing" not in options:
        two("aten.nll_loss_nd.default", make, reduction=reduction, **options)


@every_reduction
@pytest.mark.parametrize("weight", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_cross_entropy_with_probabilities(weight: bool, smoothing: float, reduction: int) -> None:
    def make(a: int, b: int, c: int) -> dict[str, Any]:
        weights = part(b, seed=4) if weight else None
        return {"self": rand(a, b, c), "target": part(a, b, c, seed=1), "weight": weights}

    two("aten.cross_entropy_loss.default", make, reduction=reduction, label_smoothing=smoothing)


@every_reduction
def test_other_losses(reduction: int) -> None:
    def pair(a: int, b: int, c: int) -> dict[str, Any]:
        return {"self": rand(a, b), "target": sign(a, b, seed=1)}

    two("aten.hinge_embedding_loss.default", pair, margin=0.5, reduction=reduction)
    two(
        "aten.margin_ranking_loss.default",
        lambda a, b, c: {"input1": rand(a, b), "input2": rand(a, b, seed=1), "target": sign(a, b)},
        margin=0.3,
        reduction=reduction,
    )
    two(
        "aten.cosine_embedding_loss.default",
        lambda a, b, c: {"input1": rand(a, b), "input2": rand(a, b, seed=1), "target": sign(a)},
        margin=0.1,
        reduction=reduction,
    )
    two(
        "aten.multi_margin_loss.default",
        lambda a, b, c: {"self": rand(a, b), "target": classes(a, count=b), "weight": part(b)},
        p=2,
        margin=0.8,
        reduction=reduction,
    )
    two(
        "aten.multi_margin_loss.default",
        lambda a, b, c: {"self": rand(b), "target": classes(count=b)},
        reduction=reduction,
    )


@every_reduction
@pytest.mark.parametrize("options", [{}, {"swap": True}, {"p": 1.0, "margin": 0.5}])
def test_triplets(options: dict[str, Any], reduction: int) -> None:
    def make(a: int, b: int, c: int) -> dict[str, Any]:
        return {"anchor": rand(a, b), "positive": rand(a, b, seed=1), "negative": rand(a, b, seed=2)}

    two("aten.triplet_margin_loss.default", make, reduction=reduction, **options)


@every_reduction
@pytest.mark.parametrize("log_input", [True, False])
@pytest.mark.parametrize("full", [True, False])
def test_poisson(log_input: bool, full: bool, reduction: int) -> None:
    def make(a: int, b: int, c: int) -> dict[str, Any]:
        return {"input": part(a, b), "target": 3 * part(a, b, seed=1)}

    two("aten.poisson_nll_loss.default", make, log_input=log_input, full=full, eps=1e-8, reduction=reduction)


def test_targets_of_another_type() -> None:
    with pytest.raises(Untranslatable):
        two("aten.l1_loss.default", lambda a, b, c: {"self": rand(a), "target": part(a).half()})
