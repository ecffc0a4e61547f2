"""Norms and distances against torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from .rulelab import check

INF = float("inf")


def rand(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed + sum(shape)))


def two(name: str, make: Any, **options: Any) -> str:
    return check(name, *({**make(*sizes), **options} for sizes in ((2, 6, 4, 5), (3, 4, 2, 7))))


@pytest.mark.parametrize("p", [0, 1, 2, 2.0, 3, 2.5, INF, -INF])
@pytest.mark.parametrize("dim", [None, [1], [0, 2]])
def test_vector_norms(p: float, dim: list[int] | None) -> None:
    two("aten.linalg_vector_norm.default", lambda a, b, c, d: {"self": rand(a, b, c)}, ord=p, dim=dim)
    if dim:
        two("aten.norm.ScalarOpt_dim", lambda a, b, c, d: {"self": rand(a, b, c)}, p=p, dim=dim, keepdim=True)


def test_other_vector_norms() -> None:
    two("aten.norm.Scalar", lambda a, b, c, d: {"self": rand(a, b)})
    two("aten.linalg_vector_norm.default", lambda a, b, c, d: {"self": rand(a, b).half()}, dtype=torch.float32)
    two("aten.linalg_vector_norm.default", lambda a, b, c, d: {"self": rand(a, b).half()}, ord=0)
    two("aten.linalg_norm.default", lambda a, b, c, d: {"self": rand(a, b, c)})
    two("aten.linalg_norm.default", lambda a, b, c, d: {"self": rand(a, b)}, ord=3, dim=[1])


@pytest.mark.parametrize("order", [1, -1, INF, -INF, "fro"])
@pytest.mark.parametrize("keepdim", [False, True])
def test_matrix_norms(order: float | str, keepdim: bool) -> None:
    name = "str_ord" if isinstance(order, str) else "default"
    for dim in ([-2, -1], [2, 0]):
        two(
            f"aten.linalg_matrix_norm.{name}",
            lambda a, b, c, d: {"self": rand(a, b, c)},
            ord=order,
            dim=dim,
            keepdim=keepdim,
        )
    two("aten.frobenius_norm.dim", lambda a, b, c, d: {"self": rand(a, b, c)}, dim=[1, 2], keepdim=keepdim)


@pytest.mark.parametrize("p", [1, 2.0, 3.0])
def test_distances(p: float) -> None:
    two("aten.dist.default", lambda a, b, c, d: {"self": rand(a, b), "other": rand(b, seed=1)}, p=p)
    two(
        "aten.pairwise_distance.default",
        lambda a, b, c, d: {"x1": rand(a, b), "x2": rand(b, seed=1)},
        p=p,
        keepdim=True,
    )
    two("aten.cdist.default", lambda a, b, c, d: {"x1": rand(a, b, c), "x2": rand(a, d, c)}, p=p)
    two("aten.cdist.default", lambda a, b, c, d: {"x1": rand(b, c), "x2": rand(a, d, c)}, p=p)


def test_distances_between_many_rows_are_a_matrix_product() -> None:
    def make(a: int, b: int, c: int, d: int) -> dict[str, Any]:
        return {"x1": rand(a, 10 * b, c), "x2": rand(8 * d, c)}

    assert " * x2" in two("aten.cdist.default", make)
    assert " * x2" not in two("aten.cdist.default", make, compute_mode=2)


@pytest.mark.parametrize("p", [1.0, 2.0, INF])
def test_distances_between_the_rows_of_one_matrix(p: float) -> None:
    two("aten.pdist.default", lambda a, b, c, d: {"self": rand(b, c)}, p=p)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_cosine_similarity(dim: int) -> None:
    two(
        "aten.cosine_similarity.default", lambda a, b, c, d: {"x1": rand(a, b, c), "x2": rand(a, b, c, seed=1)}, dim=dim
    )
    if dim:
        two("aten.cosine_similarity.default", lambda a, b, c, d: {"x1": rand(a, b, c), "x2": rand(1, b, c)}, dim=dim)


def test_cosine_similarity_of_zero() -> None:
    two("aten.cosine_similarity.default", lambda a, b, c, d: {"x1": rand(a, b) * 0, "x2": rand(a, b)}, eps=0.1)


@pytest.mark.parametrize("name", ["trapezoid", "cumulative_trapezoid"])
@pytest.mark.parametrize("dim", [1, -1])
def test_trapezoids(name: str, dim: int) -> None:
    two(f"aten.{name}.dx", lambda a, b, c, d: {"y": rand(a, b, c)}, dx=0.5, dim=dim)
    two(f"aten.{name}.x", lambda a, b, c, d: {"y": rand(a, b, c), "x": rand((a, b, c)[dim])}, dim=dim)
    two(f"aten.{name}.x", lambda a, b, c, d: {"y": rand(a, b, c), "x": rand(a, b, c, seed=1)}, dim=dim)
