"""Expressions found for numbers that differ between samples."""

import math

import pytest
from solar_agent.agent.builtin.model import Num, Symbol
from solar_agent.agent.builtin.numbers import express

WIDTH, HEADS, LENGTH = Symbol("W", (96, 16, 24, 24)), Symbol("H", (4, 4, 4, 2)), Symbol("T", (10, 5, 7, 7))
COPIES = [Symbol(f"copy{k}", (48, 8, 12, 12)) for k in range(40)]


def head_widths() -> list[int]:
    return [width // heads for width, heads in zip(WIDTH.values, HEADS.values, strict=True)]  # type: ignore[operator]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([math.sqrt(n) for n in head_widths()], "sqrt(W//H)"),
        ([n**-0.5 for n in head_widths()], "1.0 / sqrt(W//H)"),
        ([1.0 / n for n in head_widths()], "1.0 / (W//H)"),
        ([-1.0 / n for n in WIDTH.values], "-1.0 / W"),
        ([1.0 / (2 * n + 1) for n in LENGTH.values], "1.0 / (2*T + 1)"),
        ([float(n - 5) for n in LENGTH.values], "T - 5"),
    ],
)
def test_floats_are_functions_of_whole_expressions(values: list[float], text: str) -> None:
    assert express(Num(tuple(values)), [LENGTH, HEADS, WIDTH]) == text


SIDE, WINDOW = Symbol("S", (16, 10, 14, 11)), Symbol("K", (4, 3, 3, 5))


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ((0, 0, 0, 1), "S%2"),
        ((0, 1, 2, 1), "S%K"),
        ((0, 2, 1, 4), "(-S)%K"),
        ((4, 3, 4, 2), "S//K"),
        ((4, 4, 5, 3), "-(-S//K)"),
        ((16, 12, 15, 15), "S + (-S)%K"),
    ],
)
def test_divisions_that_leave_something(values: tuple[int, ...], text: str) -> None:
    assert express(Num(values), [Symbol("B", (4, 3, 1, 5)), SIDE, WINDOW]) == text


def test_many_symbols_of_one_value_do_not_hide_others() -> None:
    assert express(Num(tuple(head_widths())), [*COPIES, LENGTH, HEADS, WIDTH]) == "W//H"


@pytest.mark.parametrize("values", [(0.1, 0.7, 0.3, 0.9), (math.inf, 1.0, 2.0, 3.0), (math.nan, 1.0, 2.0, 3.0)])
def test_no_expression(values: tuple[float, ...]) -> None:
    assert express(Num(values), [*COPIES, LENGTH, HEADS, WIDTH]) is None
