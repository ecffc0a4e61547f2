"""Division with remainder and bits, against torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from solar_agent.agent.builtin.model import Untranslatable

from .rulelab import check
from .samples import PAIRS, SHAPES, bools, floats, larger, of, whole

TYPES = (torch.float32, torch.int64, torch.int32, torch.int8)


def samples(shapes: Any, left: torch.dtype, right: torch.dtype, **more: Any) -> list[dict[str, Any]]:
    a, b = shapes
    return [
        {"self": of(left, x, 1), "other": nonzero(of(right, y, 2)), **more} for x, y in ((a, b), (larger(a), larger(b)))
    ]


def nonzero(given: torch.Tensor) -> torch.Tensor:
    return torch.where(given == 0, 3, given).to(given.dtype)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    mode=st.sampled_from([None, "floor", "trunc"]),
    shapes=st.sampled_from(PAIRS),
    left=st.sampled_from(TYPES),
    right=st.sampled_from(TYPES),
)
def test_divisions(mode: str | None, shapes: Any, left: torch.dtype, right: torch.dtype) -> None:
    check("aten.div.Tensor_mode", *samples(shapes, left, right, rounding_mode=mode))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    name=st.sampled_from(["floor_divide.default", "remainder.Tensor", "fmod.Tensor"]),
    shapes=st.sampled_from(PAIRS),
    left=st.sampled_from(TYPES),
    right=st.sampled_from(TYPES),
)
def test_remainders(name: str, shapes: Any, left: torch.dtype, right: torch.dtype) -> None:
    check(f"aten.{name}", *samples(shapes, left, right))


@pytest.mark.parametrize("name", ["div.Scalar", "floor_divide.Scalar", "remainder.Scalar", "fmod.Scalar"])
@pytest.mark.parametrize("number", [3, -2, 2.5])
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.float32])
def test_division_by_a_number(name: str, number: float, dtype: torch.dtype) -> None:
    check(f"aten.{name}", *({"self": of(dtype, s), "other": number} for s in SHAPES[0]))


def test_truncated_quotients_of_the_largest_numbers() -> None:
    edge = torch.tensor([-(2**63), 2**63 - 1, -(2**62) - 1, 7])
    other = torch.tensor([2, 3, -5, -2])
    for name in ("aten.div.Tensor_mode", "aten.fmod.Tensor", "aten.remainder.Tensor"):
        more = {"rounding_mode": "trunc"} if "mode" in name else {}
        two = ({"self": edge[:n], "other": other[:n], **more} for n in (4, 3))
        check(name, *two, exact=True)


@pytest.mark.parametrize("name", ["and", "or", "xor"])
def test_bits_of_bools(name: str) -> None:
    check(f"aten.bitwise_{name}.Tensor", *({"self": bools(s), "other": bools(s[1:], 1)} for s in SHAPES[0]))
    check(f"aten.__{name}__.Tensor", *({"self": bools(s), "other": bools(s, 1)} for s in SHAPES[0]))


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.bool])
def test_bits_turned_around(dtype: torch.dtype) -> None:
    check("aten.bitwise_not.default", *({"self": whole(s, low=0).to(dtype)} for s in SHAPES[0]))


@pytest.mark.parametrize("name", ["and", "or", "xor"])
@pytest.mark.parametrize("mask", [0, 7, 5, 6, 12, -1, -4, -6])
def test_bits_of_whole_numbers_and_a_mask(name: str, mask: int) -> None:
    for dtype in (torch.int64, torch.int8):
        check(f"aten.bitwise_{name}.Scalar", *({"self": whole(s, dtype=dtype), "other": mask} for s in SHAPES[0]))
        check(f"aten.__{name}__.Scalar", *({"self": whole(s, dtype=dtype), "other": mask} for s in SHAPES[0]))


def test_bits_of_the_largest_numbers() -> None:
    edge = torch.tensor([-(2**63), 2**63 - 1, -1, 2**62 + 5])
    for name in ("and", "or", "xor"):
        check(f"aten.bitwise_{name}.Scalar", *({"self": edge[:n], "other": 0x70F0} for n in (4, 3)), exact=True)


@pytest.mark.parametrize("name", ["and", "or", "xor"])
@pytest.mark.parametrize("left", [torch.int64, torch.int8, torch.bool])
def test_bits_of_two_tensors(name: str, left: torch.dtype) -> None:
    for right in (torch.int64, torch.int32, torch.uint8):
        given = [{"self": of(left, s, 1), "other": whole(s[1:], 2, low=0, dtype=right)} for s in SHAPES[0]]
        text = check(f"aten.bitwise_{name}.Tensor", *given, exact=True)
        assert f"bit_{name}(" in text


def test_bits_of_floats_are_refused() -> None:
    with pytest.raises((Untranslatable, RuntimeError, NotImplementedError)):
        check("aten.bitwise_or.Scalar", *({"self": floats(s), "other": 2} for s in SHAPES[0]))


@pytest.mark.parametrize("name", ["left", "right"])
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
def test_shifts(name: str, dtype: torch.dtype) -> None:
    given = [{"self": whole(s, dtype=dtype), "other": whole(s, 1, low=0, dtype=dtype)} for s in SHAPES[0]]
    check(f"aten.bitwise_{name}_shift.Tensor", *given)
    check(f"aten.bitwise_{name}_shift.Tensor_Scalar", *({"self": g["self"], "other": 2} for g in given))


def test_shifts_of_floats_are_refused() -> None:
    with pytest.raises((Untranslatable, RuntimeError, NotImplementedError)):
        check("aten.bitwise_left_shift.Tensor_Scalar", *({"self": floats(s), "other": 2} for s in SHAPES[0]))
