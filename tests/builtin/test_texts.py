"""Arithmetic on texts of sizes against Python's on numbers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solar_agent.agent.builtin.rules.texts import flat, minus, plus, quotient, remainder, scaled, share, times, unflat

NAMES = {"A": 7, "B": 3, "C": 12, "i": 5}
_LEAVES = st.sampled_from([*NAMES, "0", "1", "2", "6"])


def worth(text: str) -> int:
    value = eval(text, {}, NAMES)
    assert isinstance(value, int)
    return value


_OPERATIONS = {
    plus: lambda a, b: a + b,
    minus: lambda a, b: a - b,
    times: lambda a, b: a * b,
    scaled: lambda a, b: a * b,
    quotient: lambda a, b: a // b,
    remainder: lambda a, b: a % b,
}


@st.composite
def expressions(draw: st.DrawFn, depth: int = 4) -> tuple[str, int]:
    if depth == 0 or draw(st.booleans()):
        leaf = draw(_LEAVES)
        return leaf, worth(leaf)
    operation = draw(st.sampled_from(list(_OPERATIONS)))
    left, right = draw(expressions(depth=depth - 1)), draw(expressions(depth=depth - 1))
    if operation in (quotient, remainder):
        right = draw(st.sampled_from([("B", 3), ("2", 2), ("1", 1), (times("A", "B"), 21)]))
    return operation(left[0], right[0]), _OPERATIONS[operation](left[1], right[1])


@settings(max_examples=300, deadline=None)
@given(expressions())
def test_every_text_has_its_value(case: tuple[str, int]) -> None:
    text, value = case
    assert worth(text) == value


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (plus("i", "0"), "i"),
        (plus("i", "2", "-3"), "i - 1"),
        (plus("A", "B", "B"), "A + B*2"),
        (plus("A//3", plus("A//3", "A//3")), "(A//3)*3"),
        (minus("A + B - 2", "A"), "B - 2"),
        (minus("A", "B + 1"), "A - B - 1"),
        (minus("0", "A"), "-A"),
        (times("A", "4", "B"), "A*B*4"),
        (quotient("i + 1", "A*B"), "(i + 1) // (A*B)"),
        (remainder("i // A", "B"), "i // A % B"),
        (share(["A", "B", "4"], ["2", "B"]), "A*2"),
        (share(["A", "B"], ["C"]), "(A*B)//C"),
        (share(["A"], ["A"]), "1"),
        (flat(["i", "j", "k"], ["A", "1", "C"]), "i*C + k"),
        (flat([], []), "0"),
    ],
)
def test_texts_are_short(text: str, wanted: str) -> None:
    assert text == wanted


def test_positions_and_back() -> None:
    assert unflat("i", ["A", "1", "B", "C"]) == ["i // (B*C)", "0", "i // C % B", "i % C"]
    assert unflat("i", ["A"]) == ["i"]
