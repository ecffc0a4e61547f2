"""Slices, picks and splits, with ends that are open, negative, beyond the axis, or sizes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from solar_agent.agent.builtin.model import Untranslatable

from .rulelab import check

OPEN = 9223372036854775807
_ENDS = st.one_of(st.none(), st.just(OPEN), st.integers(-6, 6))


@settings(max_examples=40, deadline=None)
@given(_ENDS, _ENDS, st.integers(1, 3), st.integers(0, 1))
def test_random_slices(start: int | None, end: int | None, step: int, axis: int) -> None:
    arguments = {"dim": axis, "start": start, "end": end, "step": step}
    check("aten.slice.Tensor", *({"self": torch.randn(n, n + 2), **arguments} for n in (7, 9, 12)), exact=True)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"start": 1, "end": OPEN}, "c<C - 1] = self[n, c + 1]"),
        ({"start": 0, "end": -1}, "c<C - 1] = self[n, c]"),
        ({"start": -3, "end": OPEN}, "i<3] = self[n, i + C - 3]"),
        ({"start": 1, "end": OPEN, "step": 2}, "c<C//2] = self[n, c*2 + 1]"),
        ({"start": 0, "end": 4}, "i<4] = self[n, i]"),
    ],
)
def test_readable_extents(arguments: dict[str, int], text: str) -> None:
    samples = [{"self": torch.randn(n, c), "dim": 1, **arguments} for n, c in ((2, 9), (3, 12))]
    assert text in check("aten.slice.Tensor", *samples, exact=True)


def test_a_whole_slice_is_another_name() -> None:
    samples = [{"self": torch.randn(n), "start": 0, "end": OPEN} for n in (2, 3)]
    assert "view " not in check("aten.slice.Tensor", *samples, exact=True)


def test_ends_that_are_sizes() -> None:
    samples = [{"self": torch.randn(2 * n + 1), "start": n, "end": 2 * n} for n in (3, 4, 6)]
    beside = [{"length": torch.zeros(n)} for n in (3, 4, 6)]
    assert "n<N2] = self[n + N2]" in check("aten.slice.Tensor", *samples, exact=True, beside=beside)


def test_ends_beyond_the_axis_at_some_sizes() -> None:
    samples = [{"self": torch.randn(n), "start": 0, "end": 5} for n in (3, 4, 7, 9)]
    assert "m<min(N, 5)] = self[m]" in check("aten.slice.Tensor", *samples, exact=True)
    samples = [{"self": torch.randn(n), "start": -5, "end": OPEN} for n in (3, 4, 7, 9)]
    assert "= self[n + max(N - 5, 0)]" in check("aten.slice.Tensor", *samples, exact=True)


def test_ends_without_an_expression() -> None:
    samples = [{"self": torch.randn(20 + n), "start": 0, "end": end} for n, end in ((1, 3), (2, 9), (3, 4), (4, 16))]
    with pytest.raises(Untranslatable, match="no expression"):
        check("aten.slice.Tensor", *samples)


@pytest.mark.parametrize("index", [0, 2, -1, -3])
def test_select(index: int) -> None:
    for shapes in (((3, 4), (5, 6)), ((4,), (6,))):
        check("aten.select.int", *({"self": torch.randn(*s), "dim": -1, "index": index} for s in shapes), exact=True)


def test_narrow() -> None:
    samples = [{"self": torch.randn(n, 2 * n), "dim": 1, "start": -n, "length": n - 1} for n in (3, 4, 6)]
    check("aten.narrow.default", *samples, exact=True)


def test_unbind() -> None:
    text = check("aten.unbind.int", *({"self": torch.randn(n, 3), "dim": 1} for n in (2, 4)), exact=True)
    assert "= self[n, 2]" in text


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("aten.chunk.default", {"chunks": 3, "dim": -1}),
        ("aten.unsafe_chunk.default", {"chunks": 2, "dim": -1}),
        ("aten.split.Tensor", {"split_size": 4, "dim": -1}),
        ("aten.split.sizes", {"split_size": [2, 1, 9], "dim": -1}),
        ("aten.split_with_sizes.default", {"split_sizes": [2, 1, 9], "dim": -1}),
        ("aten.tensor_split.sections", {"sections": 3, "dim": -1}),
        ("aten.tensor_split.indices", {"indices": [2, -3], "dim": -1}),
        ("aten.hsplit.int", {"sections": 2}),
        ("aten.hsplit.array", {"indices": [1, 3]}),
    ],
)
def test_splits(name: str, arguments: dict[str, Any]) -> None:
    check(name, *({"self": torch.randn(n, 12), **arguments} for n in (2, 3)), exact=True)


def test_splits_along_other_axes() -> None:
    check("aten.vsplit.int", *({"self": torch.randn(4 * n, 3), "sections": 2} for n in (2, 3)), exact=True)
    check("aten.dsplit.int", *({"self": torch.randn(n, 3, 4), "sections": 2} for n in (2, 3)), exact=True)


def test_parts_of_a_size() -> None:
    text = check("aten.chunk.default", *({"self": torch.randn(3 * n), "chunks": 3} for n in (2, 5)), exact=True)
    assert "n<N//3] = self[n + (N//3)*2]" in text
    samples = [{"self": torch.randn(n, 8 + n), "split_sizes": [3, 5, n], "dim": 1} for n in (2, 5)]
    assert "n<N] = self[i, n + 8]" in check("aten.split_with_sizes.default", *samples, exact=True).replace(
        "i<N] = self[n, i", "n<N] = self[i, n"
    )
    text = check("aten.split.Tensor", *({"self": torch.randn(n), "split_size": 4} for n in (9, 11)), exact=True)
    assert "n<N - 8] = self[n + 8]" in text
