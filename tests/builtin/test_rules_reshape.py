"""Reshapes: groups of axes merged and split, at random factors, with sizes that follow the input's."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from solar_agent.agent.builtin.model import Num, Untranslatable
from solar_agent.agent.builtin.rules.reshape import Group, grouped

from .rulelab import check

_FACTORS = st.integers(1, 3)


def merged(factors: list[int], cuts: list[bool]) -> list[int]:
    """Products of neighbouring factors; a cut after a factor starts a new one."""
    runs: list[list[int]] = [[]]
    for factor, cut in zip(factors, cuts, strict=True):
        runs[-1].append(factor)
        if cut:
            runs.append([])
    return [math.prod(run) for run in runs if run]


@st.composite
def reshapes(draw: Any) -> tuple[list[list[int]], list[bool], list[bool]]:
    count = draw(st.integers(1, 6))
    samples = [[draw(_FACTORS) for _ in range(count)] for _ in range(3)]
    cuts = [draw(st.booleans()) for _ in range(count)], [draw(st.booleans()) for _ in range(count)]
    return samples, *cuts


@settings(max_examples=60, deadline=None)
@given(reshapes())
def test_random_groups(case: tuple[list[list[int]], list[bool], list[bool]]) -> None:
    samples, first, second = case
    filled = [{"self": torch.randn(*merged(factors, first)), "shape": merged(factors, second)} for factors in samples]
    beside = [{"sizes": torch.zeros(factors)} for factors in samples]
    check("aten.reshape.default", *filled, exact=True, beside=beside)


def test_sizes_follow_the_input() -> None:
    samples = [{"self": torch.randn(b, t, 12), "size": [b, t, 3, 4]} for b, t in ((2, 3), (1, 5))]
    assert "view view1[b<B, t<T, i<3, j<4] = self[b, t, i*4 + j]" in check("aten.view.default", *samples, exact=True)


def test_the_free_axis_is_a_product_or_a_quotient() -> None:
    samples = [{"self": torch.randn(2, t, d), "size": [2, -1]} for t, d in ((3, 4), (5, 6))]
    assert "t<T*D] = self[b, t // D, t % D]" in check("aten.view.default", *samples, exact=True)
    samples = [{"self": torch.randn(t, 4 * d), "size": [t, 4, -1]} for t, d in ((3, 4), (5, 6))]
    assert "c<C//4] = self[n, i*(C//4) + c]" in check("aten.view.default", *samples, exact=True)


def test_one_axis_of_a_group_has_no_expression_of_its_own() -> None:
    samples = [
        {"self": torch.randn(5 * h * k), "size": [h, 5 * k]} for h, k in ((2, 7), (3, 11), (4, 13))
    ]  # fmt: skip
    text = check("aten.view.default", *samples, exact=True, beside=[{"heads": torch.zeros(h)} for h in (2, 3, 4)])
    assert "N//N2] = self[" in text


def test_windows() -> None:
    samples = [
        {"self": torch.randn(n, 2 * h, 2 * w, 3), "shape": [n, h, 2, w, 2, 3]} for n, h, w in ((2, 3, 2), (1, 2, 5))
    ]
    text = check("aten.reshape.default", *samples, exact=True)
    assert "self[n, c*2 + i, h*2 + j, k]" in text.replace("w", "k")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("aten.flatten.using_ints", {"start_dim": 1}),
        ("aten.flatten.using_ints", {"start_dim": 0, "end_dim": 1}),
        ("aten.ravel.default", {}),
        ("aten._unsafe_view.default", {"size": [-1, 6]}),
        ("aten.unflatten.int", {"dim": -1, "sizes": [2, -1]}),
        ("aten.view_as.default", {"other": torch.zeros(24)}),
        ("aten.reshape_as.default", {"other": torch.zeros(3, 8)}),
    ],
)
def test_other_forms(name: str, arguments: dict[str, Any]) -> None:
    if "other" in arguments:
        check(name, *({"self": torch.randn(2, 2, 6), **arguments} for _ in range(2)), exact=True)
        return
    check(name, *({"self": torch.randn(n, 4, 6), **arguments} for n in (2, 3)), exact=True)


def test_rank_zero_and_lone_elements() -> None:
    check("aten.view.default", *({"self": torch.randn(()), "size": [1, 1]} for _ in range(2)), exact=True)
    check("aten.view.default", *({"self": torch.randn(1, 1), "size": []} for _ in range(2)), exact=True)


def test_the_same_shape_is_another_name() -> None:
    samples = [{"self": torch.randn(n, 4), "size": [n, 4]} for n in (2, 3)]
    assert "view " not in check("aten.view.default", *samples, exact=True)


def test_groups_keep_apart_what_agrees_in_all_samples() -> None:
    sources = [Num((2, 3)), Num((6, 6)), Num((1, 1)), Num((1, 4))]
    results = [Num((2, 3)), Num((2, 3)), Num((3, 2)), Num((1, 4)), Num((1, 1))]
    op: Any = None
    assert grouped(op, sources, results) == [Group((0,), (0,)), Group((1,), (1, 2)), Group((3,), (3,))]


def test_empty_axes() -> None:
    check("aten.view.default", *({"self": torch.zeros(n, 0), "size": [n, 1, 0]} for n in (2, 3)), exact=True)
    with pytest.raises(Untranslatable, match="empty"):
        check("aten.view.default", *({"self": torch.zeros(n, 0), "size": [0, 4]} for n in (2, 3)), exact=True)


def test_bits_are_not_read_as_another_type() -> None:
    samples = [{"self": torch.randn(n), "dtype": torch.int32} for n in (2, 3)]
    with pytest.raises(Untranslatable, match="bits"):
        check("aten.view.dtype", *samples)
