"""Pointwise operators against torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from solar_agent.agent.builtin.model import Untranslatable

from .rulelab import check
from .samples import PAIRS, SHAPES, bools, floats, larger, of, whole

REAL = (
    "exp", "expm1", "tanh", "sigmoid", "erf", "sin", "cos", "exp2", "erfc", "tan", "sinh", "cosh", "asinh", "deg2rad",
    "rad2deg", "sinc", "special_ndtr", "special_expit", "special_expm1", "neg", "negative", "abs", "absolute", "square",
    "sign", "sgn", "floor", "ceil", "trunc", "fix", "frac", "round", "reciprocal", "positive",
)  # fmt: skip
POSITIVE = ("sqrt", "rsqrt", "log", "log1p", "log2", "log10", "special_entr", "special_log1p")


@pytest.mark.parametrize("name", REAL)
def test_functions_of_one_number(name: str) -> None:
    for shapes in SHAPES[:3:2]:
        check(f"aten.{name}.default", *({"self": 3 * floats(shape, 1)} for shape in shapes))


@pytest.mark.parametrize("name", POSITIVE)
def test_functions_of_one_positive_number(name: str) -> None:
    check(f"aten.{name}.default", *({"self": floats(shape).abs() + 0.1} for shape in SHAPES[0]))


def test_inverse_functions_of_angles() -> None:
    for name in ("asin", "acos", "atan", "arctan"):
        check(f"aten.{name}.default", *({"self": floats(shape).tanh()} for shape in SHAPES[0]))
    check("aten.acos.default", *({"self": torch.tensor([1.0, -1.0, 0.0])[:n]} for n in (3, 2)))
    two("aten.atan2.default", PAIRS[1], torch.float32, torch.float32)
    two("aten.atan2.default", PAIRS[0], torch.int64, torch.int64)


def test_inverse_hyperbolic_functions() -> None:
    check("aten.acosh.default", *({"self": floats(shape).abs() + 1.1} for shape in SHAPES[0]))
    check("aten.atanh.default", *({"self": floats(shape).tanh()} for shape in SHAPES[0]))


def test_whole_numbers_become_narrow_before_they_are_added() -> None:
    for dtype, name in ((torch.float16, "f16"), (torch.bfloat16, "bf16")):
        given = [{"self": floats(s, dtype=dtype), "other": of(torch.int64, s)} for s in SHAPES[0]]
        assert f"{name}(" in check("aten.add.Tensor", *given)
    given = [{"self": floats(s, dtype=torch.float16), "other": of(torch.int8, s)} for s in SHAPES[0]]
    assert "f16(" not in check("aten.add.Tensor", *given)


INTEGER = ("neg", "abs", "sign", "floor", "ceil", "trunc", "round", "square", "positive")


@pytest.mark.parametrize("name", INTEGER)
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int8])
def test_functions_of_whole_numbers_stay_whole(name: str, dtype: torch.dtype) -> None:
    check(f"aten.{name}.default", *({"self": whole(shape, dtype=dtype)} for shape in SHAPES[0]), exact=True)


@pytest.mark.parametrize("name", ["exp", "sqrt", "tanh", "sigmoid", "erf", "log1p", "exp2", "reciprocal", "sin"])
@pytest.mark.parametrize("dtype", [torch.int64, torch.bool])
def test_functions_of_whole_numbers_that_give_floats(name: str, dtype: torch.dtype) -> None:
    check(f"aten.{name}.default", *({"self": positive(of(dtype, shape))} for shape in SHAPES[0]))


def positive(given: torch.Tensor) -> torch.Tensor:
    return given | True if given.dtype == torch.bool else given.abs() + 1


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("name", ["exp", "neg", "sigmoid", "round", "frac"])
def test_the_storage_type_is_kept(name: str, dtype: torch.dtype) -> None:
    check(f"aten.{name}.default", *({"self": floats(shape, dtype=dtype)} for shape in SHAPES[0]))


def test_sign_of_bools() -> None:
    check("aten.sign.default", *({"self": bools(shape)} for shape in SHAPES[0]))


@pytest.mark.parametrize("decimals", [0, 2, -1])
def test_round_to_decimals(decimals: int) -> None:
    check("aten.round.decimals", *({"self": 30 * floats(s), "decimals": decimals} for s in SHAPES[0]))


@pytest.mark.parametrize("eps", [None, 0.01])
def test_logit(eps: float | None) -> None:
    check("aten.logit.default", *({"self": floats(s).sigmoid(), "eps": eps} for s in SHAPES[0]))


def test_numbers_in_the_place_of_those_that_are_none() -> None:
    given = torch.tensor([[1.0, float("nan"), 2.0], [float("inf"), -float("inf"), 0.0]])
    arguments = {"nan": 3.0, "posinf": 4.0, "neginf": -5.0}
    check("aten.nan_to_num.default", {"self": given, **arguments}, {"self": given[:, :2], **arguments})


TYPES = (torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.int32, torch.bool)


def two(
    name: str, shapes: tuple[tuple[int, ...], tuple[int, ...]], left: torch.dtype, right: torch.dtype, **more: Any
) -> str:
    a, b = shapes
    samples = [{"self": of(left, x, 1), "other": of(right, y, 2), **more} for x, y in ((a, b), (larger(a), larger(b)))]
    return check(name, *samples)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    name=st.sampled_from(["aten.add.Tensor", "aten.mul.Tensor", "aten.maximum.default", "aten.minimum.default"]),
    shapes=st.sampled_from(PAIRS),
    left=st.sampled_from(TYPES),
    right=st.sampled_from(TYPES),
)
def test_arithmetic_of_any_two_types(name: str, shapes: Any, left: torch.dtype, right: torch.dtype) -> None:
    two(name, shapes, left, right)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    shapes=st.sampled_from(PAIRS),
    left=st.sampled_from(TYPES[:-1]),
    right=st.sampled_from(TYPES[:-1]),
    alpha=st.sampled_from([1, 2, -3]),
    name=st.sampled_from(["aten.add.Tensor", "aten.sub.Tensor", "aten.rsub.Tensor"]),
)
def test_sums_with_alpha(name: str, shapes: Any, left: torch.dtype, right: torch.dtype, alpha: int) -> None:
    two(name, shapes, left, right, alpha=alpha)


@pytest.mark.parametrize("alpha", [0.5, 1.0])
def test_a_broken_alpha(alpha: float) -> None:
    two("aten.sub.Tensor", PAIRS[0], torch.float32, torch.float32, alpha=alpha)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "rsub"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.int32, torch.float16])
@pytest.mark.parametrize("number", [3, 0.25, -2])
def test_tensor_and_number(name: str, dtype: torch.dtype, number: float) -> None:
    check(f"aten.{name}.Scalar", *({"self": of(dtype, shape), "other": number} for shape in SHAPES[0]))


def test_a_number_that_is_a_size() -> None:
    text = check("aten.mul.Scalar", *({"self": floats(shape), "other": shape[0]} for shape in SHAPES[0]))
    assert " * N" in text
    roots = ({"self": floats(shape), "other": shape[-1] ** -0.5} for shape in SHAPES[0])
    assert "sqrt(" in check("aten.mul.Scalar", *roots)


def test_a_float_that_is_a_size_beside_whole_numbers() -> None:
    check("aten.mul.Scalar", *({"self": whole(shape), "other": float(shape[0])} for shape in SHAPES[0]))


@pytest.mark.parametrize("name", ["hypot", "logaddexp", "logaddexp2", "fmax", "fmin", "copysign.Tensor"])
def test_two_floats(name: str) -> None:
    full = name if "." in name else f"{name}.default"
    for shapes in PAIRS[:2]:
        two(f"aten.{full}", shapes, torch.float32, torch.float32)


def test_infinities_added_as_logarithms() -> None:
    low = torch.tensor([-float("inf"), 0.0, 2.0])
    check("aten.logaddexp.default", {"self": low, "other": low}, {"self": low[:2], "other": low[:2].flip(0)})


def test_nan_is_ignored_or_handed_on() -> None:
    some = torch.tensor([float("nan"), 1.0, float("nan"), 3.0])
    other = torch.tensor([1.0, float("nan"), float("nan"), 2.0])
    for name in ("fmax", "fmin", "maximum", "minimum"):
        check(f"aten.{name}.default", {"self": some, "other": other}, {"self": some[:2], "other": other[:2]})


@pytest.mark.parametrize("name", ["xlogy", "special_xlogy", "special_xlog1py"])
def test_products_with_a_logarithm(name: str) -> None:
    overload = {"xlogy": "Tensor"}.get(name, "default")
    left = torch.tensor([0.0, 1.0, -2.0, 0.0])
    right = torch.tensor([0.0, 3.0, 0.5, float("nan")])
    check(f"aten.{name}.{overload}", {"self": left, "other": right}, {"self": left[:2], "other": right[:2]})


def test_heaviside() -> None:
    given = torch.tensor([-1.0, 0.0, 2.0, float("nan")])
    check("aten.heaviside.default", {"self": given, "values": given + 7}, {"self": given[:2], "values": given[:2] + 7})


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 4, 5, -1, -2, 0.5, -0.5, 2.0, 1.7, -3.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_powers(exponent: float, dtype: torch.dtype) -> None:
    given = ({"self": floats(s, dtype=dtype).abs() + 0.5, "exponent": exponent} for s in SHAPES[0])
    text = check("aten.pow.Tensor_Scalar", *given)
    assert ("**" in text) == (exponent in (2, 3, 4, 5, -2, 1.7, -3.0))


@pytest.mark.parametrize("exponent", [0, 1, 2, 5, 0.5, 2.0])
def test_powers_of_whole_numbers(exponent: float) -> None:
    given = ({"self": whole(s, low=1, dtype=torch.int32), "exponent": exponent} for s in SHAPES[0])
    check("aten.pow.Tensor_Scalar", *given)


def test_powers_of_tensors_and_numbers() -> None:
    for left, right in ((torch.float32, torch.int64), (torch.int64, torch.float32), (torch.int32, torch.int64)):
        samples = ({"self": of(left, s).abs() + 1, "exponent": of(right, s[1:]).abs()} for s in SHAPES[0])
        check("aten.pow.Tensor_Tensor", *samples)
    for base in (2, 0.5):
        check("aten.pow.Scalar", *({"self": base, "exponent": whole(s, low=0)} for s in SHAPES[0]))
    check("aten.float_power.Tensor_Scalar", *({"self": whole(s), "exponent": 2} for s in SHAPES[0]))


@pytest.mark.parametrize("value", [1, 0.5])
@pytest.mark.parametrize("name", ["addcmul", "addcdiv"])
def test_sums_with_a_product(name: str, value: float) -> None:
    samples = [
        {"self": floats(s, 1), "tensor1": floats(s, 2), "tensor2": floats(s[1:], 3) + 4, "value": value}
        for s in SHAPES[0]
    ]
    check(f"aten.{name}.default", *samples)


def test_sums_of_whole_numbers_with_a_product() -> None:
    samples = [
        {"self": whole(s), "tensor1": whole(s, dtype=torch.int32), "tensor2": whole(s), "value": 3} for s in SHAPES[0]
    ]
    check("aten.addcmul.default", *samples)


def test_lerp() -> None:
    check("aten.lerp.Scalar", *({"self": floats(s), "end": floats(s, 1), "weight": 0.7} for s in SHAPES[0]))
    check(
        "aten.lerp.Tensor", *({"self": floats(s), "end": floats(s, 1), "weight": floats(s[1:], 2)} for s in SHAPES[0])
    )


def test_complex_numbers_are_refused() -> None:
    given = torch.zeros(2, 3, dtype=torch.complex64)
    with pytest.raises((Untranslatable, AssertionError, KeyError), match="complex"):
        check("aten.neg.default", {"self": given}, {"self": given[:1]})
