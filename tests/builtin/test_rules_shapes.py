"""Axes permuted, added, removed and broadcast."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from solar_agent.agent.builtin.model import Untranslatable

from .rulelab import check

SHAPES = ((2, 3, 4), (5, 1, 6))


def over(name: str, *, shapes: Any = SHAPES, **arguments: Any) -> str:
    return check(name, *({"self": torch.randn(shape), **arguments} for shape in shapes), exact=True)


@settings(max_examples=12, deadline=None)
@given(st.permutations(range(4)), st.lists(st.booleans(), min_size=4, max_size=4))
def test_permute(order: list[int], from_the_back: list[bool]) -> None:
    dims = [axis - 4 if back else axis for axis, back in zip(order, from_the_back, strict=True)]
    over("aten.permute.default", shapes=((2, 3, 4, 5), (5, 1, 6, 2)), dims=dims)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("aten.transpose.int", {"dim0": 0, "dim1": -1}),
        ("aten.swapaxes.default", {"axis0": 1, "axis1": 0}),
        ("aten.swapdims.default", {"dim0": -2, "dim1": -1}),
        ("aten.mT.default", {}),
        ("aten.adjoint.default", {}),
        ("aten.movedim.int", {"source": 0, "destination": 2}),
        ("aten.movedim.intlist", {"source": [2, 0], "destination": [0, 1]}),
        ("aten.moveaxis.int", {"source": -1, "destination": 0}),
        ("aten.unsqueeze.default", {"dim": 0}),
        ("aten.unsqueeze.default", {"dim": -1}),
        ("aten.squeeze.dim", {"dim": 0}),
        ("aten.diagonal.default", {"offset": 1, "dim1": 0, "dim2": 2}),
        ("aten.diagonal.default", {"offset": -1, "dim1": -1, "dim2": 0}),
        ("aten.permute_copy.default", {"dims": [2, 1, 0]}),
        ("aten.real.default", {}),
    ],
)
def test_axes(name: str, arguments: dict[str, Any]) -> None:
    over(name, **arguments)


@pytest.mark.parametrize(("offset", "length"), [(0, "min("), (1, "min("), (-1, "min(")])
def test_diagonals_of_matrices_that_are_wide_or_high(offset: int, length: str) -> None:
    text = over("aten.diagonal.default", shapes=((2, 7), (6, 3), (5, 4)), offset=offset, dim1=0, dim2=1)
    assert length in text


@pytest.mark.parametrize("name", ["aten.t.default", "aten.numpy_T.default", "aten.mH.default", "aten.matrix_H.default"])
def test_matrices(name: str) -> None:
    assert "view " in over(name, shapes=((2, 3), (4, 5)))


def test_a_vector_is_its_own_transpose() -> None:
    assert "view " not in over("aten.t.default", shapes=((3,), (4,)))


@pytest.mark.parametrize("arguments", [{"dim": 1}, {"dim": -1}])
def test_squeeze(arguments: dict[str, Any]) -> None:
    over("aten.squeeze.dim", shapes=((2, 1, 1), (4, 1, 1)), **arguments)
    over("aten.squeeze.dims", shapes=((2, 1, 1), (4, 1, 1)), dim=[1, 2])
    over("aten.squeeze.default", shapes=((2, 1, 1), (4, 1, 1)))


@pytest.mark.parametrize("size", [[4, -1, 5], [-1, 3, 5], [2, 4, 3, 5]])
def test_expand(size: list[int]) -> None:
    if size[-3] == -1:
        check("aten.expand.default", *({"self": torch.randn(n, 1, 5), "size": size} for n in (2, 4)), exact=True)
    else:
        wanted = [size[:-2] + [n, 5] for n in (3, 4)]
        samples = [{"self": torch.randn(1, n, 5), "size": w} for n, w in zip((3, 4), wanted, strict=True)]
        check("aten.expand.default", *samples, exact=True)


def test_broadcasts() -> None:
    samples = [{"self": torch.randn(1, d), "other": torch.randn(b, t, d)} for b, t, d in ((2, 3, 4), (5, 1, 6))]
    assert "= self[0, " in check("aten.expand_as.default", *samples, exact=True)
    pairs = [{"tensors": [torch.randn(a, 1), torch.randn(b)]} for a, b in ((2, 3), (4, 5))]
    check("aten.broadcast_tensors.default", *pairs, exact=True)
    check("aten.broadcast_to.default", *({"self": torch.randn(n), "size": [3, n]} for n in (2, 4)), exact=True)


def test_an_axis_that_is_broadcast_at_some_sizes_only() -> None:
    samples = [{"self": torch.randn(n), "size": [3]} for n in (1, 3)]
    with pytest.raises(Untranslatable, match="broadcast at some sizes"):
        check("aten.expand.default", *samples)


@pytest.mark.parametrize("indexing", ["ij", "xy"])
def test_meshgrid(indexing: str) -> None:
    samples = [
        {"tensors": [torch.randn(a), torch.randn(b), torch.randn(2)], "indexing": indexing} for a, b in ((3, 4), (5, 1))
    ]
    check("aten.meshgrid.indexing", *samples, exact=True)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("shape", [(), (3,), (3, 4)])
def test_atleast(rank: int, shape: tuple[int, ...]) -> None:
    shapes = (shape, tuple(size + 2 for size in shape))
    over(f"aten.atleast_{rank}d.default", shapes=shapes)
    sequences = [{"tensors": [torch.randn(shape), torch.randn(2)]} for shape in shapes]
    check(f"aten.atleast_{rank}d.Sequence", *sequences, exact=True)


@pytest.mark.parametrize(("size", "step"), [(3, 1), (2, 2), (2, 3)])
def test_unfold(size: int, step: int) -> None:
    over("aten.unfold.default", shapes=((2, 9), (3, 12)), dimension=1, size=size, step=step)


def test_complex_numbers_and_strides_are_refused() -> None:
    with pytest.raises(Untranslatable, match="strides"):
        over("aten.as_strided.default", shapes=((6,), (8,)), size=[2, 2], stride=[2, 1])
