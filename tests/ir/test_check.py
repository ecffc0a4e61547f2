"""What can be told about an elaborated program without running it."""

from __future__ import annotations

import pytest
from elaborating import bound, built
from solar_agent.ir.check import check
from solar_agent.ir.errors import IRError, Problem
from solar_agent.ir.load import load

INPUTS = {"x": "4 3", "i": "i64[4]", "c": "bool[]"}
HEAD = "input x[T, D]\ninput i[T] : int\ninput c[]\n"


def faults(text: str) -> list[Problem]:
    with pytest.raises(IRError) as caught:
        check(built(HEAD + text, INPUTS))
    return list(caught.value.problems)


def message(text: str) -> str:
    (problem,) = faults(text)
    assert problem.line >= 4 and problem.column >= 1 and problem.text
    return problem.message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("y = x[4, 0]\noutput y\n", "read out of bounds: axis 0 of x has size 4, but the index is 4"),
        ("for t<T: y[t] = x[t + 1, 0]\noutput y\n", "axis 0 of x has size 4, but t + 1 runs from 1 to 4"),
        ("for t<T: y[t] = x[t - 1, 0]\noutput y\n", "axis 0 of x has size 4, but t - 1 runs from -1 to 2"),
        ("for t<T: y[t] = x[t, 3]\noutput y\n", "axis 1 of x has size 3, but the index is 3"),
        ("for t<T: y[t] = x[0, 3 - t]\noutput y\n", "axis 1 of x has size 3, but -t + 3 runs from 0 to 3"),
        ("for t<T: y[t] = sum(d<5: x[t, d])\noutput y\n", "axis 1 of x has size 3, but d runs from 0 to 4"),
        ("for t<T: y[t] = x[i[t + 1], 0]\noutput y\n", "axis 0 of i has size 4, but t + 1 runs from 1 to 4"),
        ("view v[t<T, d<4] = x[t, d]\noutput v\n", "axis 1 of x has size 3, but d runs from 0 to 3"),
        ("for t<T: y[t] = (x[i[t + 1], 0] else 0)\noutput y\n", "axis 0 of i has size 4"),
        ("scan u<T carry h = x:\n    for d<D: g[d] = h[u + 1, d]\n    emit z = g\noutput z\n", "u + 1 runs from 1"),
        ("if? c:\n    for t<T: y[t] = x[t + 1, 0]\nelse: y = i\noutput y\n", "t + 1 runs from 1 to 4"),
        ("if? c: y = i\nelse:\n    for t<T: y[t] = x[t, 9]\noutput y\n", "the index is 9"),
    ],
)  # fmt: skip
def test_reads_out_of_bounds(text: str, said: str) -> None:
    found = message(text)
    assert said in found
    assert found.endswith("; guard the read, as in (x[…] else 0)")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("for t<T: y[t] = x[t, 0]\n", "write out of bounds: axis 0 of y has size 2, but t runs from 0 to 3"),
        ("y[2] = 1\n", "axis 0 of y has size 2, but the index is 2"),
        ("for t<2: y[t - 1] += 1\n", "axis 0 of y has size 2, but t - 1 runs from -1 to 0"),
    ],
)
def test_writes_out_of_bounds(text: str, said: str) -> None:
    found = message("tensor y[2] = 0\n" + text + "output y\n")
    assert said in found and "guard" not in found


def test_an_indirect_write_is_checked_where_its_index_is_read() -> None:
    text = "tensor y[4] = 0\nfor t<T: y[i[t + 1]] += 1\noutput y\n"
    assert "axis 0 of i has size 4, but t + 1 runs from 1 to 4" in message(text)


@pytest.mark.parametrize(
    "text",
    [
        "for t<T: y[t] = (x[t + 1, 0] else 0)",  # guarded
        "for t<T where t + 1 < T: y[t] = x[t + 1, 0]",  # the condition keeps it inside
        "for t<T, j<t: y[t, j] = x[t - 1 - j, 0]",  # so does the triangle
        "for t<T: y[t] = x[i[t], 0]",  # the data decides
        "for t<T: y[t] = x[t // 2 + t % 2, 0]",  # an enclosure only
        "for t<0: y[t] = x[9, 9]",  # never runs
        "scan u<0:\n    for t<T: g[t] = x[t + 9, 0]\n    emit y = g",
    ],
)
def test_what_only_a_run_can_tell_passes(text: str) -> None:
    program = built(f"{HEAD}{text}\noutput x\n", INPUTS)
    assert check(program) is program


def test_all_faults_are_told_at_once_and_each_once() -> None:
    found = faults("repeat k in 0..3: y = x[4, 3]\nfor t<T: z[t] = x[t + 1, 0]\noutput z\n")
    assert [(p.line, p.message.partition(";")[0]) for p in found] == [
        (4, "read out of bounds: axis 0 of x has size 4, but the index is 4"),
        (4, "read out of bounds: axis 1 of x has size 3, but the index is 3"),
        (5, "read out of bounds: axis 0 of x has size 4, but t + 1 runs from 1 to 4"),
    ]
    assert [p.trail for p in found] == [("k = 0",), ("k = 0",), ()]


def test_a_fault_in_a_function_names_the_calls_that_led_to_it() -> None:
    (problem,) = faults("def f(a[A, B]; k):\n    for b<A: y[b] = a[b + k, 0]\n    return y\nz = f(x; k=2)\noutput z\n")
    assert (problem.line, problem.text) == (5, "for b<A: y[b] = a[b + k, 0]")
    assert problem.trail == ("f(k=2) at line 7",)
    assert "line 5, column 14" in str(problem) and "\n    in f(k=2) at line 7" in str(problem)


def test_a_rebound_tensor_is_called_by_its_name_in_the_text() -> None:
    assert "axis 0 of y has size 4" in message("y = x + 1\ny = y + 1\nfor t<T: z[t] = y[t + 1, 0]\noutput z\n")


def test_loading_does_all_steps() -> None:
    text = "program p\ninput x[T, D]\nfor t<T: y[t] = x[t, 0]\noutput y\n"
    assert load(text, bound({"x": "4 3"})).name == "p"
    for wrong in ("output =\n", "output z\n", "input x[T, D]\ny = x[T, 0]\noutput y\n"):
        with pytest.raises(IRError):
            load(wrong, bound({"x": "4 3"}))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("for k<10**30: y[k] = x[0, 0]\noutput y\n", "y has too many elements"),
        ("for t<T: y[t] = sum(a<10**10, b<10**10: x[t, 0])\noutput y\n", "the iterators' extents are too large"),
        ("for t<T: y[t] = (x[t*10**25, 0] else 0)\noutput y\n", "the index 10000000000000000000000000*t is too large"),
        (
            "for t<T, " + ", ".join(f"a{k}<1" for k in range(60)) + ": y[t] = x[t, 0]\noutput y\n",
            "61 iterators; a statement has at most 48",
        ),
        ("tensor y[" + ", ".join(["1"] * 60) + "] = 0\noutput y\n", "y has 60 axes; at most 48"),
    ],
)
def test_more_than_machine_integers_and_arrays_can_hold(text: str, said: str) -> None:
    assert said in {problem.message for problem in faults(text)}
