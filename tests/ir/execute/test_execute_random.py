"""Random nests: the fast interpreter gives what the slow one gives, or both refuse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solar_agent.ir.errors import IRError
from solar_agent.ir.execute import Values, access, context, execute, matmul, nest, nodes, products, reduce

from . import oracle
from .random_programs import Maker

COMMON = settings(max_examples=250, derandomize=True, deadline=None, database=None)


@st.composite
def programs(draw):
    randoms = draw(st.randoms(use_true_random=False))
    maker = Maker(randoms.randrange)
    return maker.program(), maker.arrays


def outcome(run):
    try:
        return run()
    except (IRError, oracle.WrongProgramError) as error:
        return error


def compare(program, arrays):
    want = outcome(lambda: oracle.outputs(program, oracle.run(program, arrays)))
    got = outcome(lambda: execute(program, Values(inputs=arrays)).outputs)
    if isinstance(want, Exception) or isinstance(got, Exception):
        assert isinstance(want, Exception) and isinstance(got, Exception), (want, got)
        return
    for one, other in zip(got, want, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one.astype(float), other.astype(float), rtol=1e-12)


@COMMON
@given(programs())
def test_random_nests(case):
    compare(*case)


@pytest.fixture(params=["taps", "blocks"], scope="module")
def tiny_parts(request):
    """Parts of a few elements, so that small programs take the ways of large ones."""
    patch = pytest.MonkeyPatch()
    for module in (nodes, reduce, nest, products):
        patch.setattr(module, "CHUNK_ELEMENTS", 5)
    patch.setattr(products, "COPY_ELEMENTS", 6)
    patch.setattr(products, "_SMALL_REDUCTION", 0)
    patch.setattr(access, "_FIXED_ELEMENTS", 3)
    patch.setattr(context, "_SEARCH_ELEMENTS", 7)
    patch.setattr(matmul, "_LEAST_ROWS", 2)
    patch.setattr(nest, "_LARGE_POINTS", 0)
    if request.param == "taps":
        patch.setattr(reduce, "_MOST_TAPS", 10**6)
    else:
        patch.setattr(reduce, "_MOST_TAPS", 0)
        patch.setattr(nest, "_MOST_ROUNDS", 0)
    yield
    patch.undo()


def test_random_nests_in_tiny_parts(tiny_parts):
    @COMMON
    @given(programs())
    def run(case):
        compare(*case)

    run()
