"""What the executor refuses: the message names the place and the numbers."""

from __future__ import annotations

import numpy as np
import pytest
from solar_agent.ir.elaborate import elaborate
from solar_agent.ir.errors import IRError
from solar_agent.ir.execute import Values, execute
from solar_agent.ir.load import load
from solar_agent.ir.parse import parse

from .lab import bindings, numbers


def failure(text, inputs, *, values=None, top=None, **options):
    bound = bindings(inputs)
    program = elaborate(parse(f"program t\n{text}\n"), bound)
    with pytest.raises(IRError) as caught:
        execute(program, values or numbers(bound, 0, top), **options)
    (problem,) = caught.value.problems
    return problem


def test_read_out_of_bounds_names_everything():
    problem = failure("input x[N]\nfor i<N, r<3: y[i] += x[i + r - 1]\noutput y", {"x": (5,)})
    assert problem.line == 3
    assert "read of x out of bounds: axis 0 has size 5" in problem.message
    assert "`i + r - 1` is -1 at i = 0, r = 0" in problem.message
    assert "x[i + r - 1]" in problem.text


def test_a_triangle_is_not_its_bounding_box():
    text = "input x[N]\nfor i<N, j<i+1: s[i,j] = x[i-j]\nfor i<N, j<i+2: y[i] += s[i,j]\noutput y"
    problem = failure(text, {"x": (4,)})
    assert problem.line == 4
    assert "axis 1 has size 4, but index `j` is 4 at j = 4" in problem.message or "not been written" in problem.message


def test_unwritten_element_is_named():
    text = "input x[N]\ntensor s[N]\nfor i<N where i != 2: s[i] = x[i]\nfor i<N: y[i] = s[i] * 2\noutput y"
    problem = failure(text, {"x": (4,)})
    assert problem.line == 5
    assert "read of s[i], which has not been written, at i = 2" in problem.message


def test_unwritten_output():
    problem = failure("input x[N]\ntensor y[N]\nfor i<N-1: y[i] = x[i]\noutput y", {"x": (4,)})
    assert problem.line == 5
    assert "element [3] of y has not been written" in problem.message


def test_write_out_of_bounds():
    problem = failure("input x[N]\ntensor y[N]\nfor i<N: y[2*i] = x[i]\noutput y", {"x": (4,)})
    assert "write to y out of bounds: axis 0 has size 4, but index `2*i` is 4 at i = 2" in problem.message


def test_element_written_twice():
    problem = failure("input x[N]\ntensor y[N]\nfor i<N: y[i//2] = x[i]\noutput y", {"x": (4,)})
    assert "writes element [0] more than once with different values" in problem.message


def test_scattered_element_written_twice():
    text = "input i[N] : int\ninput x[N]\ntensor y[3] = 0\nfor n<N: y[i[n]] = x[n]\noutput y"
    values = Values({"i": np.array([0, 2, 2]), "x": np.array([1.0, 2.0, 3.0])})
    problem = failure(text, {"i": ((3,), "i64"), "x": (3,)}, values=values)
    assert "element [2] more than once with different values, 3.0 and 2.0" in problem.message
    again = Values({"i": np.array([0, 2, 2]), "x": np.array([1.0, np.nan, np.nan])})
    program = load(f"program t\n{text}\n", bindings({"i": ((3,), "i64"), "x": (3,)}))
    np.testing.assert_array_equal(execute(program, again).outputs[0], [1.0, 0.0, np.nan])


def test_index_from_data():
    text = "input i[N] : int\ninput x[V, D]\nfor n<N, d<D: y[n,d] = x[i[n],d]\noutput y"
    values = Values({"i": np.array([0, 3, -1]), "x": np.ones((3, 2))})
    problem = failure(text, {"i": ((3,), "i64"), "x": (3, 2)}, values=values)
    assert "read of x out of bounds: axis 0 has size 3, but index `i[n]` is 3 at n = 1" in problem.message


def test_declared_range():
    text = "input i[N] : int in 0..5\nfor n<N: y[n] = i[n]\noutput y"
    problem = failure(text, {"i": ((3,), "i64")}, values=Values({"i": np.array([0, 4, 5])}))
    assert problem.line == 2
    assert "input i[2] is 5, outside of the declared range 0..5" in problem.message


def test_declared_unique():
    text = "input i[N] : int in 0..5 unique\nfor n<N: y[n] = i[n]\noutput y"
    problem = failure(text, {"i": ((3,), "i64")}, values=Values({"i": np.array([0, 4, 0])}))
    assert "unique" in problem.message


def test_fact():
    text = 'param m = "mask"[N, N]\ninput x[N]\nfact m[i,j] == (j <= i)\nfor i<N: y[i] = x[i] * m[i,0]\noutput y'
    bound = bindings({"x": (3,)}, {"mask": (3, 3)})
    program = load(f"program t\n{text}\n", bound)
    good = np.tril(np.ones((3, 3)))
    execute(program, Values({"x": np.ones(3)}, {"mask": good}))
    bad = good.copy()
    bad[1, 2] = 1
    with pytest.raises(IRError, match=r"fact about m .* is false at i = 1, j = 2"):
        execute(program, Values({"x": np.ones(3)}, {"mask": bad}))


def test_arg_max_over_nothing():
    problem = failure("input x[N]\nfor i<N, j<i: y[i] argmax= x[j]\noutput y", {"x": (4,)})
    assert "over nothing" in problem.message


def test_shape_of_a_given_tensor():
    problem = failure("input x[N]\ny = x + 1\noutput y", {"x": (4,)}, values=Values({"x": np.ones(5)}))
    assert "shape (5,)" in problem.message and "(4,)" in problem.message
    problem = failure("input x[N]\ny = x + 1\noutput y", {"x": (4,)}, values=Values())
    assert "no value was given for input 'x'" in problem.message


def test_memory_limit_is_told_before_the_allocation():
    text = "input x[N]\nfor i<N, j<N, k<N: y[i,j,k] = x[i] * x[j] * x[k]\noutput y"
    problem = failure(text, {"x": (3000,)})
    assert problem.line == 3
    assert "216,000,000,000 bytes" in problem.message
    problem = failure(text, {"x": (30,)}, limit_bytes=100_000)
    assert "over the limit of 100,000 bytes" in problem.message


def test_trail_of_a_call():
    text = "def f(x[N]):\n    for i<N: y[i] = x[i+1]\n    return y\ninput x[N]\nz = f(x)\noutput z"
    problem = failure(text, {"x": (4,)})
    assert problem.line == 3
    assert any("f" in step for step in problem.trail)


def test_a_sum_over_more_points_than_anybody_waits_for():
    problem = failure("input x[N]\nfor i<N: y[i] = sum(k<10**12: x[i])\noutput y", {"x": (4,)})
    assert (problem.line, problem.message) == (3, "4,000,000,000,000 points are too many to execute")


def test_scans_with_more_rounds_than_anybody_waits_for(monkeypatch):
    monkeypatch.setattr("solar_agent.ir.execute.driver._MOST_TURNS", 100)
    text = "input x[N]\nscan t<60 carry h = x:\n    for i<N: g[i] = h[i] + 1\n    next h = g\noutput h"
    problem = failure(text, {"x": (4,)})
    assert (problem.line, problem.message.partition(",")[0]) == (4, "more than 100 statements would be executed")


def test_a_transform_of_more_points_than_fit_in_memory():
    problem = failure("input x[N]\n(p, q) = rfft(x; n=10**12)\noutput p", {"x": (4,)})
    assert problem.line == 3
    assert problem.message.startswith("rfft() needs 8,000,000,000,016 bytes on top of")
