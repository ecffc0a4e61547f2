"""Tensors joined, padded, flipped, rolled and repeated."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from solar_agent.agent.builtin.model import Untranslatable

from .rulelab import check

INF = float("inf")


def over(name: str, shapes: Any, **arguments: Any) -> str:
    return check(name, *({"self": torch.randn(*shape), **arguments} for shape in shapes), exact=True)


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_cat(dim: int, count: int) -> None:
    def tensors(a: int, b: int) -> list[torch.Tensor]:
        shapes = [[a, b, a + 1] for _ in range(count)]
        for extra, shape in enumerate(shapes):
            shape[dim] += extra
        return [torch.randn(*shape) for shape in shapes]

    check(
        "aten.cat.default", {"tensors": tensors(2, 3), "dim": dim}, {"tensors": tensors(4, 2), "dim": dim}, exact=True
    )


def test_cat_of_types_and_of_nothing() -> None:
    samples = [{"tensors": [torch.randn(n), torch.arange(3), torch.ones(2, dtype=torch.bool)]} for n in (2, 4)]
    assert "f32(" in check("aten.cat.default", *samples, exact=True)
    samples = [{"tensors": [torch.zeros(0), torch.randn(n, 2)], "dim": -1} for n in (2, 4)]
    check("aten.cat.default", *samples, exact=True)
    bools = [{"tensors": [torch.randn(n) > 0, torch.randn(2) > 0]} for n in (2, 4)]
    check("aten.concat.default", *bools, exact=True)


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("count", [1, 3])
def test_stack(dim: int, count: int) -> None:
    samples = [{"tensors": [torch.randn(n, 3) for _ in range(count)], "dim": dim} for n in (2, 4)]
    check("aten.stack.default", *samples, exact=True)


def test_stack_of_numbers() -> None:
    check("aten.stack.default", *({"tensors": [torch.randn(()), torch.randn(())]} for _ in range(2)), exact=True)


@pytest.mark.parametrize("name", ["hstack", "vstack", "dstack", "column_stack", "row_stack", "block_diag"])
@pytest.mark.parametrize("shape", [(3,), (3, 2)])
def test_other_stacks(name: str, shape: tuple[int, ...]) -> None:
    samples = [{"tensors": [torch.randn(n, *shape[1:]) for _ in range(3)]} for n in (3, 5)]
    check(f"aten.{name}.default", *samples, exact=True)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(-1, 3), min_size=1, max_size=3).flatmap(
        lambda a: st.tuples(st.just(a), st.lists(st.integers(-1, 3), min_size=len(a), max_size=len(a)))
    ),
    st.sampled_from([None, 1.5, -INF]),
)
def test_constant_padding(sides: tuple[list[int], list[int]], value: float | None) -> None:
    pad = [number for pair in zip(*sides, strict=True) for number in pair]
    arguments = {"pad": pad, "mode": "constant", "value": value}
    over("aten.pad.default", ((3, 4, 5), (4, 6, 3)), **arguments)


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize("pad", [[1, 2], [2, 0, 0, 1], [1, 1, 2, 1, 0, 2]])
def test_mirrored_padding(mode: str, pad: list[int]) -> None:
    rank = len(pad) // 2
    shapes = ((2, 3, *(4, 5, 6)[:rank]), (1, 2, *(6, 3, 4)[:rank]))
    over("aten.pad.default", shapes, pad=pad, mode=mode)


def test_other_names_of_padding() -> None:
    over("aten.constant_pad_nd.default", ((2, 3), (4, 5)), pad=[1, 0], value=2)
    over("aten.reflection_pad1d.default", ((2, 3), (4, 5)), padding=[1, 2])
    over("aten.replication_pad2d.default", ((2, 3, 4), (4, 5, 3)), padding=[1, 2, 0, 1])
    over("aten._pad_circular.default", ((2, 3, 4), (4, 5, 3)), pad=[1, 2])


def test_padding_of_whole_numbers_by_sizes() -> None:
    samples = [{"self": torch.arange(n), "pad": [0, 2 * n], "value": 3} for n in (2, 3, 5)]
    check("aten.pad.default", *samples, exact=True)
    bools = [{"self": torch.arange(n) > 1, "pad": [1, 0], "value": 1} for n in (2, 3)]
    check("aten.pad.default", *bools, exact=True)
    with pytest.raises(Untranslatable, match="negative"):
        over("aten.pad.default", ((1, 2, 5), (1, 2, 6)), pad=[-1, 2], mode="circular")


@pytest.mark.parametrize("dims", [[0], [-1], [0, 1]])
def test_flip(dims: list[int]) -> None:
    over("aten.flip.default", ((2, 3), (4, 5)), dims=dims)


def test_flips_and_turns() -> None:
    over("aten.fliplr.default", ((2, 3), (4, 5)))
    over("aten.flipud.default", ((2, 3), (4, 5)))
    for turns in (-1, 0, 1, 2):
        over("aten.rot90.default", ((2, 3, 4), (4, 5, 2)), k=turns, dims=[2, 0])


@pytest.mark.parametrize(
    ("shifts", "dims"), [([1], [0]), ([-2, 3], [1, 0]), ([1, 1], [0, 0]), ([-3], [-1]), ([2], []), ([0], [0])]
)
def test_roll(shifts: list[int], dims: list[int]) -> None:
    over("aten.roll.default", ((2, 3), (4, 5)), shifts=shifts, dims=dims)


def test_roll_by_half_a_size() -> None:
    samples = [{"self": torch.randn(n), "shifts": [-(n // 2)], "dims": [0]} for n in (4, 6, 10)]
    assert "(n + N//2) % N" in check("aten.roll.default", *samples, exact=True)


def test_repeats() -> None:
    over("aten.repeat.default", ((2, 3), (4, 5)), repeats=[2, 1, 3])
    over("aten.tile.default", ((2, 3), (4, 5)), dims=[2])
    over("aten.tile.default", ((2, 3), (4, 5)), dims=[3, 1, 2])
    over("aten.repeat_interleave.self_int", ((2, 3), (4, 5)), repeats=2, dim=1)
    over("aten.repeat_interleave.self_int", ((2, 3), (4, 5)), repeats=3)
    samples = [{"self": torch.randn(1, 3), "repeats": [n, 1]} for n in (2, 4)]
    check("aten.repeat.default", *samples, exact=True, beside=[{"batch": torch.zeros(n)} for n in (2, 4)])
    with pytest.raises(Untranslatable, match="depends on values"):
        over("aten.repeat_interleave.self_Tensor", ((2, 3), (2, 3)), repeats=torch.tensor([1, 2]), dim=0)
