"""Runs a text both ways, at given shapes, on seeded numbers."""

from __future__ import annotations

import numpy as np
from solar_agent.ir.bindings import Bindings, TensorType
from solar_agent.ir.dtypes import integer_range, kind
from solar_agent.ir.execute import Values, execute
from solar_agent.ir.execute.values import NUMPY_TYPES
from solar_agent.ir.load import load

from . import oracle


def typed(spec):
    """`(2, 3)` is float32, `((2, 3), "i8")` names the storage type."""
    if len(spec) == 2 and isinstance(spec[1], str):
        return TensorType(tuple(spec[0]), spec[1])
    return TensorType(tuple(spec), "f32")


def draw(rng, kept, top=None):
    """Numbers for one tensor; `top` bounds integers (exclusive)."""
    if kind(kept.dtype) == "float":
        return np.asarray(rng.standard_normal(kept.shape))
    if kind(kept.dtype) == "bool":
        return np.asarray(rng.random(kept.shape) < 0.5)
    low, high = (0, top) if top is not None else integer_range(kept.dtype)
    drawn = rng.integers(max(low, -(2**40)), min(high, 2**40), kept.shape)
    return np.asarray(drawn).astype(NUMPY_TYPES[kept.dtype])


def bindings(inputs, state=None, attrs=None):
    return Bindings(
        {name: typed(spec) for name, spec in inputs.items()},
        {name: typed(spec) for name, spec in (state or {}).items()},
        (),
        attrs or {},
    )


def numbers(bound, seed=0, top=None):
    rng = np.random.default_rng(seed)
    return Values(
        {name: draw(rng, kept, top) for name, kept in bound.inputs.items()},
        {name: draw(rng, kept, top) for name, kept in bound.state.items()},
    )


def by_tensor(program, values):
    table = {"input": values.inputs, "state": values.state}
    return {
        name: table[tensor.external.kind][tensor.external.key]
        for name, tensor in program.tensors.items()
        if tensor.external is not None
    }


def slow(program, values):
    return oracle.outputs(program, oracle.run(program, by_tensor(program, values)))


def assert_same(got, want):
    assert len(got) == len(want)
    for one, other in zip(got, want, strict=True):
        if not isinstance(other, np.ndarray):
            assert one == other
            continue
        assert one.shape == other.shape
        if other.dtype.kind == "f":
            assert one.dtype == np.float64
            np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11)
        else:
            np.testing.assert_array_equal(one, other)


def check(text, inputs, state=None, attrs=None, *, seed=0, top=None):
    """Both interpreters agree; returns the fast one's outputs."""
    bound = bindings(inputs, state, attrs)
    program = load(text, bound)
    values = numbers(bound, seed, top)
    want = slow(program, values)
    got = execute(program, values).outputs
    assert_same(got, want)
    return got
