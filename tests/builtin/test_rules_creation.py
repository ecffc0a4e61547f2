"""Tensors made from numbers, and triangles, against torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from solar_agent.agent.builtin.model import Untranslatable

from .rulelab import check
from .samples import SHAPES, floats, of, whole

BESIDE = [{"x": torch.zeros(3, 5)}, {"x": torch.zeros(7, 4)}]
TYPES = (None, torch.float32, torch.float16, torch.int32, torch.bool)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", ["zeros", "ones"])
def test_constants_of_given_sizes(name: str, dtype: torch.dtype | None) -> None:
    sizes = ([3, 5, 2], [7, 4, 2])
    text = check(f"aten.{name}.default", *({"size": s, "dtype": dtype} for s in sizes), beside=BESIDE)
    assert "[N, C, 2]" in text


@pytest.mark.parametrize("dtype", TYPES)
def test_constants_like_a_tensor(dtype: torch.dtype | None) -> None:
    for name in ("zeros_like", "ones_like"):
        check(f"aten.{name}.default", *({"self": floats(s), "dtype": dtype} for s in SHAPES[0]))
    for name in ("new_zeros", "new_ones"):
        check(f"aten.{name}.default", *({"self": whole(s), "size": [s[1], 2], "dtype": dtype} for s in SHAPES[0]))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("number", [0, 2.5, True, float("-inf")])
def test_full(dtype: torch.dtype | None, number: float) -> None:
    if number == float("-inf") and dtype not in (torch.float32, torch.float16):
        pytest.skip("no whole number")
    sizes = ([3, 5], [7, 4])
    check("aten.full.default", *({"size": s, "fill_value": number, "dtype": dtype} for s in sizes), beside=BESIDE)
    check("aten.full_like.default", *({"self": floats(s), "fill_value": number, "dtype": dtype} for s in SHAPES[0]))
    given = [{"self": floats(s), "size": [s[1]], "fill_value": number, "dtype": dtype} for s in SHAPES[0]]
    check("aten.new_full.default", *given)


def test_full_of_a_size() -> None:
    check("aten.full.default", *({"size": [2], "fill_value": n} for n in (3, 7)), beside=BESIDE)
    check("aten.full.default", *({"size": [2], "fill_value": n**-0.5} for n in (3, 7)), beside=BESIDE)


def test_single_numbers() -> None:
    for number in (3, 2.5, True):
        check(
            "aten.scalar_tensor.default", {"s": number, "dtype": torch.float32}, {"s": number, "dtype": torch.float32}
        )
    check("aten.scalar_tensor.default", *({"s": n, "dtype": torch.int64} for n in (3, 7)), beside=BESIDE)


def test_an_empty_tensor_has_no_start() -> None:
    with pytest.raises(Exception, match="(?i)writ"):
        check("aten.empty_like.default", *({"self": floats(s)} for s in SHAPES[0]))


@pytest.mark.parametrize("dtype", [None, torch.float32, torch.int32, torch.float16])
def test_ranges(dtype: torch.dtype | None) -> None:
    check("aten.arange.default", *({"end": n, "dtype": dtype} for n in (3, 7)), beside=BESIDE)
    check("aten.arange.start", *({"start": 2, "end": n + 2, "dtype": dtype} for n in (3, 7)), beside=BESIDE)
    steps: Any = ({"start": 1, "end": 2 * n, "step": 2, "dtype": dtype} for n in (3, 7))
    check("aten.arange.start_step", *steps, beside=BESIDE)
    downwards: Any = ({"start": n - 1, "end": -1, "step": -1, "dtype": dtype} for n in (3, 7))
    check("aten.arange.start_step", *downwards, beside=BESIDE)


def test_ranges_of_floats() -> None:
    check("aten.arange.start_step", *({"start": 0.0, "end": 1.0, "step": 0.25} for _ in range(2)))
    check("aten.arange.default", *({"end": float(n)} for n in (3, 7)), beside=BESIDE)
    check("aten.arange.start", *({"start": 0.5, "end": n + 0.5} for n in (3, 7)), beside=BESIDE)
    scaled: Any = ({"start": float(n), "end": 2 * float(n), "step": 1.0} for n in (3, 7))
    check("aten.arange.start_step", *scaled, beside=BESIDE)


@pytest.mark.parametrize("ends", [(0, 1), (-1.0, 1.0), (2, 5.5)])
@pytest.mark.parametrize("counts", [(3, 7), (1, 4), (6, 6), (1, 1)])
def test_even_steps(ends: tuple[float, float], counts: tuple[int, int]) -> None:
    beside = [{"x": torch.zeros(n, 2)} for n in counts]
    check("aten.linspace.default", *({"start": ends[0], "end": ends[1], "steps": n} for n in counts), beside=beside)
    check("aten.logspace.default", *({"start": ends[0], "end": ends[1], "steps": n} for n in counts), beside=beside)


@pytest.mark.parametrize("name", ["hann_window", "hamming_window", "blackman_window"])
def test_windows(name: str) -> None:
    check(f"aten.{name}.default", *({"window_length": n} for n in (3, 7)), beside=BESIDE)
    for periodic in (False, True):
        given: Any = ({"window_length": n, "periodic": periodic} for n in (3, 7))
        check(f"aten.{name}.periodic", *given, beside=BESIDE)


@pytest.mark.parametrize("dtype", TYPES)
def test_identity_matrices(dtype: torch.dtype | None) -> None:
    check("aten.eye.default", *({"n": n, "dtype": dtype} for n in (3, 7)), beside=BESIDE)
    check("aten.eye.m", *({"n": n, "m": m, "dtype": dtype} for n, m in ((3, 5), (7, 4))), beside=BESIDE)


def test_one_hot() -> None:
    given = [{"self": whole(s, low=0), "num_classes": 10} for s in SHAPES[0]]
    check("aten.one_hot.default", *given)
    check("aten.one_hot.default", *({"self": torch.arange(n), "num_classes": n + 1} for n in (3, 7)))


@pytest.mark.parametrize("name", ["tril", "triu"])
@pytest.mark.parametrize("diagonal", [0, 1, -1, 2, -3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool, torch.bfloat16])
def test_triangles(name: str, diagonal: int, dtype: torch.dtype) -> None:
    for shapes in (((3, 3), (5, 5)), ((2, 3, 4), (3, 5, 2))):
        check(f"aten.{name}.default", *({"self": of(dtype, s), "diagonal": diagonal} for s in shapes))


def test_a_diagonal_that_is_a_size() -> None:
    given = ({"self": floats((n, 2 * n + 1)), "diagonal": n + 1} for n in (3, 5))
    text = check("aten.triu.default", *given)
    assert "where" in text


@pytest.mark.parametrize("name", ["tril_indices", "triu_indices"])
@pytest.mark.parametrize("strict", [False, True])
def test_indices_of_triangles(name: str, strict: bool) -> None:
    offset = 0 if not strict else -1 if name == "tril_indices" else 1
    beside = [{"x": torch.zeros(n)} for n in (4, 23)]
    check(f"aten.{name}.default", *({"row": n, "col": n, "offset": offset} for n in (4, 23)), beside=beside)


def test_indices_of_other_shapes_are_refused() -> None:
    with pytest.raises(Untranslatable, match="square"):
        check("aten.tril_indices.default", *({"row": n, "col": n, "offset": 2} for n in (4, 4)))
