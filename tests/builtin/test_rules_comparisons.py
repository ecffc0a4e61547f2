"""Comparisons, logic, choices and limits, against torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from .rulelab import check
from .samples import PAIRS, SHAPES, bools, floats, larger, of, whole

TYPES = (torch.float32, torch.bfloat16, torch.int64, torch.int32, torch.bool)
NAMES = ("eq", "ne", "lt", "le", "gt", "ge", "greater", "less", "not_equal", "greater_equal", "less_equal")


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    name=st.sampled_from(NAMES),
    shapes=st.sampled_from(PAIRS),
    left=st.sampled_from(TYPES),
    right=st.sampled_from(TYPES),
)
def test_comparisons(name: str, shapes: Any, left: torch.dtype, right: torch.dtype) -> None:
    a, b = shapes
    pairs = ((a, b), (larger(a), larger(b)))
    check(f"aten.{name}.Tensor", *({"self": of(left, x), "other": of(right, y, 1)} for x, y in pairs))


@pytest.mark.parametrize("number", [0, 1.5, True])
@pytest.mark.parametrize("dtype", TYPES)
def test_comparisons_with_a_number(number: float, dtype: torch.dtype) -> None:
    check("aten.eq.Scalar", *({"self": of(dtype, s), "other": number} for s in SHAPES[0]))
    check("aten.gt.Scalar", *({"self": of(dtype, s), "other": number} for s in SHAPES[0]))


SPECIAL = torch.tensor([0.0, float("nan"), float("inf"), -float("inf"), -2.0])


@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite", "isposinf", "isneginf", "signbit"])
def test_kinds_of_numbers(name: str) -> None:
    check(f"aten.{name}.default", {"self": SPECIAL}, {"self": SPECIAL[:2]})
    check(f"aten.{name}.default", {"self": whole((3,))}, {"self": whole((2,))})


@pytest.mark.parametrize("invert", [False, True])
def test_membership(invert: bool) -> None:
    given = [{"elements": whole(s), "test_elements": whole((s[0] + 1,), 1), "invert": invert} for s in SHAPES[0]]
    check("aten.isin.Tensor_Tensor", *given)
    check("aten.isin.Tensor_Scalar", *({"elements": whole(s), "test_element": 3, "invert": invert} for s in SHAPES[0]))
    check("aten.isreal.default", {"self": SPECIAL}, {"self": SPECIAL[:2]})


@pytest.mark.parametrize("equal_nan", [False, True])
def test_closeness(equal_nan: bool) -> None:
    other = SPECIAL + torch.tensor([1e-9, 0.0, 0.0, 0.0, 1e-4])
    more = {"atol": 1e-8, "rtol": 1e-3, "equal_nan": equal_nan}
    check("aten.isclose.default", *({"self": SPECIAL[:n], "other": other[:n], **more} for n in (5, 3)))
    check("aten.isclose.default", *({"self": whole(s), "other": whole(s, 1), "atol": 2.0} for s in SHAPES[0]))


@pytest.mark.parametrize("name", ["and", "or", "xor"])
@pytest.mark.parametrize("dtype", [torch.bool, torch.int64, torch.float32])
def test_logic(name: str, dtype: torch.dtype) -> None:
    check(f"aten.logical_{name}.default", *({"self": of(dtype, s), "other": bools(s[1:], 1)} for s in SHAPES[0]))
    check("aten.logical_not.default", *({"self": of(dtype, s)} for s in SHAPES[0]))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(shapes=st.sampled_from(PAIRS), left=st.sampled_from(TYPES), right=st.sampled_from(TYPES), short=st.booleans())
def test_choices(shapes: Any, left: torch.dtype, right: torch.dtype, short: bool) -> None:
    a, b = shapes
    samples = []
    for x, y in ((a, b), (larger(a), larger(b))):
        condition = bools(x[1:] if short else torch.broadcast_shapes(x, y), 3)
        samples.append({"condition": condition, "self": of(left, x), "other": of(right, y, 1)})
    check("aten.where.self", *samples)


@pytest.mark.parametrize("dtype", TYPES[:-1])
@pytest.mark.parametrize("number", [0, -0.5, float("-inf")])
def test_choices_of_a_number(dtype: torch.dtype, number: float) -> None:
    given = [{"condition": bools(s), "self": number, "other": of(dtype, s)} for s in SHAPES[0]]
    check("aten.where.ScalarSelf", *given)
    check("aten.where.ScalarOther", *({**g, "self": g["other"], "other": number} for g in given))


@pytest.mark.parametrize("pair", [(1, 0), (1.0, 0.0), (1, 0.5), (True, False)])
def test_choices_of_two_numbers(pair: tuple[float, float]) -> None:
    check("aten.where.Scalar", *({"condition": bools(s), "self": pair[0], "other": pair[1]} for s in SHAPES[0]))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("number", [0, 1, False])
def test_masked_fill(dtype: torch.dtype, number: float) -> None:
    check(
        "aten.masked_fill.Scalar", *({"self": of(dtype, s), "mask": bools(s[1:]), "value": number} for s in SHAPES[0])
    )


def test_masked_fill_with_the_least_numbers() -> None:
    for number in (float("-inf"), -1e9, torch.finfo(torch.float32).min):
        check("aten.masked_fill.Scalar", *({"self": floats(s), "mask": bools(s), "value": number} for s in SHAPES[0]))


def test_masked_fill_of_a_small_tensor_by_a_large_mask() -> None:
    check("aten.masked_fill.Scalar", *({"self": floats(s[1:]), "mask": bools(s), "value": 2.0} for s in SHAPES[0]))


@pytest.mark.parametrize("dtype", TYPES)
def test_masked_fill_with_a_tensor(dtype: torch.dtype) -> None:
    given = ({"self": of(dtype, s), "mask": bools(s), "value": of(dtype, (), 2)} for s in SHAPES[0])
    check("aten.masked_fill.Tensor", *given)
    if dtype.is_floating_point:
        mixed = ({"self": of(dtype, s), "mask": bools(s), "value": of(torch.int64, (), 2)} for s in SHAPES[0])
        check("aten.masked_fill.Tensor", *mixed)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64, torch.int32])
@pytest.mark.parametrize("limits", [(0, None), (None, 1), (-1, 1), (-0.5, 0.5), (0.0, None)])
def test_limits(dtype: torch.dtype, limits: tuple[float | None, float | None]) -> None:
    low, high = limits
    for name in ("clamp", "clip"):
        check(f"aten.{name}.default", *({"self": of(dtype, s), "min": low, "max": high} for s in SHAPES[0]))


def test_limits_that_are_tensors() -> None:
    given = [{"self": whole(s), "min": floats(s[1:]), "max": floats(s, 1)} for s in SHAPES[0]]
    check("aten.clamp.Tensor", *given)
    check("aten.clamp.Tensor", *({"self": g["self"], "max": whole(())} for g in given))


def test_one_limit() -> None:
    check("aten.clamp_min.default", *({"self": floats(s), "min": 0} for s in SHAPES[0]))
    check("aten.clamp_max.default", *({"self": whole(s), "max": 2} for s in SHAPES[0]))
    check("aten.clamp_min.Tensor", *({"self": floats(s), "min": floats(s[1:], 1)} for s in SHAPES[0]))
    check("aten.clamp_min.default", {"self": SPECIAL, "min": 0.0}, {"self": SPECIAL[:2], "min": 0.0})
