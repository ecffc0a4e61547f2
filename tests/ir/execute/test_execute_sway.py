"""Decisions that are too close to call, taken the other way."""

from __future__ import annotations

import numpy as np
import pytest
from solar_agent.ir.bindings import Bindings, TensorType
from solar_agent.ir.execute import Values, execute
from solar_agent.ir.load import load

CLOSE = 1.0 + 1e-15
APART = 1.0 + 1e-6


def both(text: str, **inputs: list[float] | list[list[float]]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    arrays = {name: np.array(values, np.float64) for name, values in inputs.items()}
    bound = {name: TensorType(array.shape, "f32") for name, array in arrays.items()}
    program = load(text, Bindings(inputs=bound))
    plain = execute(program, Values(arrays, {}, []))
    other = execute(program, Values(arrays, {}, []), swayed=True)
    return [np.asarray(o) for o in plain.outputs], [np.asarray(o) for o in other.outputs]


@pytest.mark.parametrize(
    ("values", "chosen", "other"),
    [
        ([1.0, CLOSE, 0.5], 1, 0),  # open: the last bits decide
        ([1.0, APART, 0.5], 1, 1),  # decided
        ([1.0, 1.0, 0.5], 0, 0),  # an exact tie is decided: the first position
    ],
)
def test_position_of_the_largest(values: list[float], chosen: int, other: int) -> None:
    plain, swayed = both("program p\ninput x[N]\nfor n<N: i[] argmax= x[n]\noutput i\n", x=values)
    assert (plain[0], swayed[0]) == (chosen, other)


@pytest.mark.parametrize(
    ("values", "plain", "swayed"),
    [
        ([3.0, CLOSE, 1.0, 0.0], [0, 1], [0, 2]),
        ([3.0, 1.0, 1.0, 0.0], [0, 1], [0, 2]),  # PyTorch leaves the order of equals open
        ([3.0, APART, 1.0, 0.0], [0, 1], [0, 1]),
    ],
)
def test_topk(values: list[float], plain: list[int], swayed: list[int]) -> None:
    first, second = both("program p\ninput x[N]\n(v, i) = topk(x; k=2)\noutput v\noutput i\n", x=values)
    assert first[1].tolist() == plain and second[1].tolist() == swayed
    np.testing.assert_allclose(first[0], second[0], rtol=1e-12)


def test_stable_order_of_equals_stays() -> None:
    first, second = both("program p\ninput x[N]\n(v, i) = sort(x)\noutput i\n", x=[1.0, 1.0, 0.0, CLOSE])
    assert first[0].tolist() == [2, 0, 1, 3]
    assert second[0].tolist() == [2, 0, 3, 1]


@pytest.mark.parametrize(
    ("relation", "pair", "plain", "swayed"),
    [
        ("<", (1.0, CLOSE), 1, 0),
        (">=", (1.0, CLOSE), 0, 1),
        ("<", (1.0, APART), 1, 1),
        ("<=", (1.0, 1.0), 1, 1),
        ("==", (1.0, CLOSE), 0, 1),
    ],
)
def test_comparison(relation: str, pair: tuple[float, float], plain: int, swayed: int) -> None:
    text = f"program p\ninput x[N]\ny = int(x[0] {relation} x[1])\noutput y\n"
    first, second = both(text, x=list(pair))
    assert (first[0], second[0]) == (plain, swayed)


@pytest.mark.parametrize(
    ("function", "value", "plain", "swayed"),
    [
        ("floor", 3.0 - 1e-15, 2.0, 3.0),
        ("floor", 3.0, 3.0, 3.0),
        ("ceil", 3.0 + 1e-15, 4.0, 3.0),
        ("round", 2.5 + 1e-15, 3.0, 2.0),
        ("round", 2.5, 2.0, 2.0),
        ("floor", 2.9, 2.0, 2.0),
    ],
)
def test_rounding_to_integers(function: str, value: float, plain: float, swayed: float) -> None:
    first, second = both(f"program p\ninput x[N]\ny = {function}(x)\noutput y\n", x=[value])
    assert (first[0].tolist(), second[0].tolist()) == ([plain], [swayed])
