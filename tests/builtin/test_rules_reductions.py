"""Reductions against torch: axes, keepdim, storage types."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from .rulelab import check

SHAPES = ((3, 4, 5), (2, 6, 7))


def _floats(shape: tuple[int, ...], seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def _ints(shape: tuple[int, ...], seed: int = 0) -> torch.Tensor:
    return torch.randint(-3, 4, shape, generator=torch.Generator().manual_seed(seed))


def both(name: str, make: Any = _floats, shapes: Any = SHAPES, **options: Any) -> str:
    exact = options.pop("exact", False)
    return check(name, *({"self": make(shape, k), **options} for k, shape in enumerate(shapes)), exact=exact)


@pytest.mark.parametrize("dim", [None, [], [0], [-1], [0, 2], [1, -1]])
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("name", ["sum.dim_IntList", "mean.dim", "amax.default", "amin.default", "nansum.default"])
def test_axes(name: str, dim: list[int] | None, keepdim: bool) -> None:
    if name.startswith("am"):
        dim = dim or []
    both(f"aten.{name}", dim=dim, keepdim=keepdim)


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min", "std", "var", "argmax", "argmin"])
def test_everything(name: str) -> None:
    both(f"aten.{name}.default")
    both(f"aten.{name}.default", shapes=((), ())) if name not in ("std", "var") else None


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "count_nonzero", "any", "all", "amax", "argmin"])
def test_of_ints(name: str) -> None:
    both(f"aten.{name}.default", _ints, exact=True)
    both(f"aten.{name}.default", lambda s, k: _ints(s, k) > 0 if not name.startswith("arg") else _ints(s, k).int())


@pytest.mark.parametrize("name", ["sum", "mean", "prod"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_a_wanted_type(name: str, dtype: torch.dtype) -> None:
    both(f"aten.{name}.default", dtype=dtype)
    both(f"aten.{name}.default", _ints, dtype=dtype)


def test_half_precision_stays() -> None:
    for name in ("sum", "mean", "prod", "var"):
        both(f"aten.{name}.default", lambda s, k: _floats(s, k).half())
    both("aten.sum.default", lambda s, k: _ints(s, k).to(torch.int32), dtype=torch.int32)


@pytest.mark.parametrize("dim", [0, -1])
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("name", ["max.dim", "min.dim", "argmax.default", "argmin.default", "prod.dim_int"])
def test_one_axis(name: str, dim: int, keepdim: bool) -> None:
    both(f"aten.{name}", dim=dim, keepdim=keepdim)
    both(f"aten.{name}", shapes=((5,), (3,)), dim=0, keepdim=keepdim)


def test_position_in_all() -> None:
    both("aten.argmax.default", keepdim=True)
    both("aten.argmin.default", shapes=((4, 3), (2, 5)))


def test_both_extremes() -> None:
    both("aten.aminmax.default")
    both("aten.aminmax.default", dim=1, keepdim=True)


@pytest.mark.parametrize("name", ["any", "all"])
def test_any_and_all(name: str) -> None:
    def make(shape: tuple[int, ...], seed: int) -> torch.Tensor:
        return _floats(shape, seed) > (0.5 if name == "any" else -1.5)

    both(f"aten.{name}.dim", make, dim=1)
    both(f"aten.{name}.dims", make, dim=[0, 2], keepdim=True)
    both(f"aten.{name}.dims", make, dim=None)
    both(f"aten.{name}.dims", make, dim=[])
    both(f"aten.{name}.dim", _ints, dim=0, keepdim=True)


def test_counts() -> None:
    both("aten.count_nonzero.dim_IntList", _ints, dim=[0, 2])
    both("aten.count_nonzero.default", _ints, dim=1)


@pytest.mark.parametrize("name", ["var", "std", "var_mean", "std_mean"])
@pytest.mark.parametrize("dim", [None, [1], [0, -1]])
def test_variances(name: str, dim: list[int] | None) -> None:
    both(f"aten.{name}.correction", dim=dim)
    both(f"aten.{name}.correction", dim=dim, correction=0, keepdim=True)
    both(f"aten.{name}.dim", dim=dim, unbiased=False, keepdim=True)


def test_nan_is_left_out() -> None:
    def make(shape: tuple[int, ...], seed: int) -> torch.Tensor:
        x = _floats(shape, seed)
        return torch.where(x > 1, torch.nan, x)

    both("aten.nansum.default", make, dim=[1])
    both("aten.nanmean.default", make, dim=[1])


def test_the_text_is_one_line() -> None:
    text = both("aten.mean.dim", dim=[-1])
    assert "for n<B, t<T: mean[" in text or text.count("\n") <= 6
