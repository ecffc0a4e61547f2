"""Normalisation and softmax against torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from .rulelab import check


def rand(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed + sum(shape)))


def two(name: str, make: Any, **options: Any) -> str:
    return check(name, *({**make(*sizes), **options} for sizes in ((2, 6, 4, 5), (3, 4, 2, 7))))


@pytest.mark.parametrize("name", ["softmax.int", "log_softmax.int"])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_softmax(name: str, dim: int) -> None:
    two(f"aten.{name}", lambda a, b, c, d: {"self": rand(a, b, c)}, dim=dim)
    two(f"aten.{name}", lambda a, b, c, d: {"self": rand(a, b).half()}, dim=dim, dtype=torch.float32)


@pytest.mark.parametrize("name", ["softmax.int", "log_softmax.int"])
def test_softmax_at_unusual_ranks(name: str) -> None:
    two(f"aten.{name}", lambda a, b, c, d: {"self": rand(a, 1, 1, c, d, 2)}, dim=4)
    two(f"aten.{name}", lambda a, b, c, d: {"self": rand()}, dim=0)


def test_softmax_of_rows_that_are_masked_out() -> None:
    def make(a: int, b: int, c: int, d: int) -> dict[str, torch.Tensor]:
        x = rand(a, b, c)
        x[0, 1] = -torch.inf
        return {"self": x}

    two("aten._safe_softmax.default", make, dim=-1)


@pytest.mark.parametrize("keepdim", [False, True])
def test_logsumexp(keepdim: bool) -> None:
    two("aten.logsumexp.default", lambda a, b, c, d: {"self": rand(a, b, c)}, dim=[1], keepdim=keepdim)
    two("aten.logsumexp.default", lambda a, b, c, d: {"self": rand(a, b, c)}, dim=[0, 2], keepdim=keepdim)
    two("aten.logsumexp.default", lambda a, b, c, d: {"self": torch.full((a, b), -torch.inf)}, dim=[1], keepdim=keepdim)


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("given", ["", "w", "wb", "b"])
def test_layer_norm(count: int, given: str) -> None:
    def make(*sizes: int) -> dict[str, Any]:
        shape = sizes[-count:]
        found = {"input": rand(*sizes), "normalized_shape": list(shape)}
        if "w" in given:
            found["weight"] = rand(*shape, seed=1)
        if "b" in given:
            found["bias"] = rand(*shape, seed=2)
        return found

    two("aten.layer_norm.default", make, eps=1e-3)


def test_layer_norm_with_its_statistics() -> None:
    def make(a: int, b: int, c: int, d: int) -> dict[str, Any]:
        return {"input": rand(a, b, c), "normalized_shape": [c], "weight": rand(c), "bias": rand(c), "eps": 1e-5}

    two("aten.native_layer_norm.default", make)


def test_layer_norm_of_half_precision() -> None:
    def make(a: int, b: int, c: int, d: int) -> dict[str, Any]:
        return {"input": rand(a, c).bfloat16(), "normalized_shape": [c], "weight": rand(c), "bias": rand(c)}

    two("aten.layer_norm.default", make)


def test_rms_norm() -> None:
    def make(a: int, b: int, c: int, d: int, weight: bool = True, axes: int = 1) -> dict[str, Any]:
        shape = (a, b, c)[-axes:]
        return {"input": rand(a, b, c), "normalized_shape": list(shape), "weight": rand(*shape) if weight else None}

    two("aten.rms_norm.default", make, eps=1e-3)
    two("aten.rms_norm.default", lambda *sizes: make(*sizes, weight=False), eps=1e-3)
    two("aten.rms_norm.default", lambda *sizes: make(*sizes, axes=2), eps=1e-3)


@pytest.mark.parametrize("rank", [2, 3, 4, 5])
@pytest.mark.parametrize("affine", [True, False])
def test_batch_norm_with_running_statistics(rank: int, affine: bool) -> None:
    def make(a: int, b: int, c: int, d: int) -> dict[str, Any]:
        return {
            "input": rand(*(a, b, c, d, 2)[:rank]),
            "weight": rand(b, seed=1) if affine else None,
            "bias": rand(b, seed=2) if affine else None,
            "running_mean": rand(b, seed=3),
            "running_var": rand(b, seed=4).abs() + 0.5,
        }

    two("aten.batch_norm.default", make, training=False, momentum=0.1, eps=1e-5, cudnn_enabled=False)


@pytest.mark.parametrize("rank", [2, 4])
def test_batch_norm_with_the_batch_s_own(rank: int) -> None:
    def make(a: int, b: int, c: int, d: int) -> dict[str, Any]:
        return {"input": rand(*(a, b, c, d)[:rank]), "weight": rand(b, seed=1), "bias": rand(b, seed=2)}

    text = two(
        "aten.batch_norm.default",
        lambda *s: {**make(*s), "running_mean": None, "running_var": None},
        training=True,
        momentum=0.1,
        eps=1e-5,
        cudnn_enabled=False,
    )
    assert "batch_stats" in text


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("affine", [True, False])
def test_group_norm(groups: int, affine: bool) -> None:
    def make(a: int, b: int, c: int, d: int) -> dict[str, Any]:
        return {
            "input": rand(a, b, c, d),
            "weight": rand(b, seed=1) if affine else None,
            "bias": rand(b, seed=2) if affine else None,
        }

    two("aten.group_norm.default", make, num_groups=groups, eps=1e-4)


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("rank", [3, 4, 5])
def test_instance_norm(affine: bool, rank: int) -> None:
    def make(a: int, b: int, c: int, d: int) -> dict[str, Any]:
        return {
            "input": rand(*(a, b, c, d, 2)[:rank]),
            "weight": rand(b, seed=1) if affine else None,
            "bias": rand(b, seed=2) if affine else None,
            "running_mean": None,
            "running_var": None,
        }

    two("aten.instance_norm.default", make, use_input_stats=True, momentum=0.1, eps=1e-5, cudnn_enabled=False)


def test_weight_norm() -> None:
    two("aten._weight_norm.default", lambda a, b, c, d: {"v": rand(a, b, c), "g": rand(a, 1, 1)})
    two("aten._weight_norm.default", lambda a, b, c, d: {"v": rand(a, b), "g": rand(1, b)}, dim=1)
    two("aten._weight_norm.default", lambda a, b, c, d: {"v": rand(a, b), "g": rand()}, dim=-1)
    two("aten.norm_except_dim.default", lambda a, b, c, d: {"v": rand(a, b, c)})


@pytest.mark.parametrize("p", [1, 2, 3.0])
def test_renorm(p: float) -> None:
    two("aten.renorm.default", lambda a, b, c, d: {"self": rand(a, b, c)}, p=p, dim=1, maxnorm=2.5)


def test_rms_norm_without_eps_computes_in_double_with_that_of_doubles() -> None:
    def make(a: int, b: int, c: int, d: int) -> dict[str, Any]:
        return {"input": 1e-8 * rand(a, b).double(), "normalized_shape": [b]}

    two("aten.rms_norm.default", make)


def test_the_inner_form_of_batch_norm() -> None:
    def make(a: int, b: int, c: int, d: int) -> dict[str, Any]:
        return {
            "input": rand(a, b, c),
            "weight": rand(b),
            "bias": rand(b),
            "running_mean": rand(b),
            "running_var": rand(b).abs(),
        }

    check(
        "aten._native_batch_norm_legit_no_training.default",
        *({**make(*sizes), "momentum": 0.1, "eps": 1e-5} for sizes in ((2, 6, 4, 5), (3, 4, 2, 7))),
        unchecked=[1, 2],
    )
