"""Order and running reductions against torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from .rulelab import check

SHAPES = ((3, 4, 5), (2, 6, 7))


def rand(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed + sum(shape)))


def ints(*shape: int) -> torch.Tensor:
    return torch.randint(-9, 9, shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=torch.int32)


def both(name: str, make: Any = rand, shapes: Any = SHAPES, **options: Any) -> str:
    return check(name, *({"self": make(*shape), **options} for shape in shapes))


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("descending", [False, True])
def test_sort(dim: int, descending: bool) -> None:
    both("aten.sort.default", dim=dim, descending=descending)
    both("aten.sort.stable", ints, stable=True, dim=dim, descending=descending)
    both("aten.argsort.default", dim=dim, descending=descending)


@pytest.mark.parametrize("dim", [0, -1])
@pytest.mark.parametrize("largest", [True, False])
def test_topk(dim: int, largest: bool) -> None:
    both("aten.topk.default", k=2, dim=dim, largest=largest)
    check(
        "aten.topk.default",
        *({"self": rand(*shape), "k": shape[dim] // 2, "dim": dim, "largest": largest} for shape in ((4, 6), (2, 8))),
    )


@pytest.mark.parametrize("keepdim", [False, True])
def test_picked_from_the_order(keepdim: bool) -> None:
    both("aten.kthvalue.default", k=2, dim=1, keepdim=keepdim)
    both("aten.median.dim", dim=0, keepdim=keepdim)
    both("aten.median.dim", dim=-1, keepdim=keepdim)


def test_everything() -> None:
    both("aten.median.default")
    both("aten.median.default", shapes=((5,), (4,)))
    both("aten.msort.default")
    both("aten.sort.default", shapes=((), ()))


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"])
def test_running(name: str, dim: int) -> None:
    both(f"aten.{name}.default", dim=dim)
    both(f"aten.{name}.default", shapes=((), ()), dim=0)
    if name != "logcumsumexp":
        both(f"aten.{name}.default", lambda *s: ints(*s) // 3, dim=dim)


def test_running_along_a_late_axis() -> None:
    for name in ("cumsum", "logcumsumexp", "cummax"):
        both(f"aten.{name}.default", shapes=((2, 1, 2, 1, 3, 2), (1, 2, 1, 2, 4, 3)), dim=4)


def test_running_with_a_type() -> None:
    both("aten.cumsum.default", ints, dim=1, dtype=torch.float32)
    both("aten.cumsum.default", ints, dim=1, dtype=torch.int32)
    both("aten.cumsum.default", lambda *s: rand(*s) > 0, dim=1)
    both("aten.cumprod.default", dim=1, dtype=torch.float64)


def test_running_logarithms_start_at_nothing() -> None:
    def make(*shape: int) -> torch.Tensor:
        x = rand(*shape)
        x[:, :2] = -torch.inf
        return x

    both("aten.logcumsumexp.default", make, dim=1)


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("dim", [1, -1])
def test_differences(n: int, dim: int) -> None:
    both("aten.diff.default", n=n, dim=dim)
    both("aten.diff.default", ints, n=n, dim=dim)


def test_differences_with_something_before_and_after() -> None:
    for name in ({"prepend": 1}, {"append": 2}, {"prepend": 1, "append": 1}):
        samples = []
        for shape in SHAPES:
            ends = {key: rand(shape[0], count, shape[2], seed=5) for key, count in name.items()}
            samples.append({"self": rand(*shape), "dim": 1, **ends})
        check("aten.diff.default", *samples)


@pytest.mark.parametrize("interpolation", ["linear", "lower", "higher", "midpoint"])
@pytest.mark.parametrize("q", [0.0, 0.25, 0.5, 0.9, 1.0])
def test_quantiles(interpolation: str, q: float) -> None:
    both("aten.quantile.scalar", q=q, interpolation=interpolation)
    both("aten.quantile.scalar", q=q, dim=1, keepdim=True, interpolation=interpolation)
