"""Conversions and copies against torch."""

from __future__ import annotations

import pytest
import torch

from .rulelab import check
from .samples import SHAPES, floats, of

TYPES = (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.uint8, torch.bool)


@pytest.mark.parametrize("source", TYPES)
@pytest.mark.parametrize("target", TYPES)
def test_conversions(source: torch.dtype, target: torch.dtype) -> None:
    text = check("aten.to.dtype", *({"self": positive(source, s), "dtype": target} for s in SHAPES[0]))
    assert (len(text.splitlines()) == 3) == (source == target)


def positive(dtype: torch.dtype, shape: tuple[int, ...]) -> torch.Tensor:
    """uint8 from a negative float is undefined."""
    return of(dtype, shape) if dtype == torch.bool else (of(torch.float32, shape) * 3).abs().to(dtype)


def test_other_ways_to_convert() -> None:
    given = [{"self": of(torch.int64, s), "other": floats((2,))} for s in SHAPES[0]]
    check("aten.type_as.default", *given)
    check("aten.to.other", *given)
    check("aten.to.dtype_layout", *({"self": g["self"], "dtype": torch.float16} for g in given))
    check("aten._to_copy.default", *({"self": g["self"], "dtype": torch.int32} for g in given))


@pytest.mark.parametrize("name", ["contiguous", "clone", "detach", "alias", "lift_fresh", "positive", "resolve_conj"])
def test_operators_that_do_nothing(name: str) -> None:
    text = check(f"aten.{name}.default", *({"self": floats(s)} for s in SHAPES[0]))
    assert text.splitlines()[-1] == "output self1" or len(text.splitlines()) == 3


@pytest.mark.parametrize("source", [torch.float32, torch.int64, torch.bool])
@pytest.mark.parametrize("target", [torch.float32, torch.bfloat16, torch.int32])
def test_copies(source: torch.dtype, target: torch.dtype) -> None:
    check("aten.copy.default", *({"self": of(target, s), "src": of(source, s, 1)} for s in SHAPES[0]))
    check("aten.copy.default", *({"self": of(target, s), "src": of(source, s[1:], 1)} for s in SHAPES[0]))
    check("aten.copy.default", *({"self": of(target, s), "src": of(source, (), 1)} for s in SHAPES[0]))
    check("aten.fill.Tensor", *({"self": of(target, s), "value": of(source, (), 1)} for s in SHAPES[0]))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("number", [0, 2.5, True, 7])
def test_fill(dtype: torch.dtype, number: float) -> None:
    check("aten.fill.Scalar", *({"self": of(dtype, s), "value": number} for s in SHAPES[0]))
    check("aten.zero.default", *({"self": of(dtype, s)} for s in SHAPES[2]))
