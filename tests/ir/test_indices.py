"""Arithmetic on quasi-affine indices keeps their value at every point, and their canonical form."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from solar_agent.ir import indices as ix
from solar_agent.ir.elaborate.simplify import most, range_of, ranges_of, simplify
from solar_agent.ir.program import (
    AllOf,
    AnyOf,
    Apply,
    Atom,
    Cast,
    Compare,
    Const,
    Div,
    Fetch,
    Index,
    IndexValue,
    Iter,
    Loop,
    Mod,
    Read,
)

RANGES = {"i": (0, 3), "j": (0, 4), "k": (0, 1)}
POINTS = [dict(zip(RANGES, point, strict=True)) for point in itertools.product(range(4), range(5), range(2))]
QUICK = settings(
    derandomize=True, deadline=None, max_examples=150, phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)  # fmt: skip


def at(index: Index, point: Mapping[str, int]) -> int:
    return index.const + sum(coefficient * atom_at(atom, point) for atom, coefficient in index.terms)


def atom_at(atom: Atom, point: Mapping[str, int]) -> int:
    match atom:
        case Iter(name):
            return point[name]
        case Div(arg, by):
            return at(arg, point) // by
        case Mod(arg, by):
            return at(arg, point) % by
        case Fetch():
            raise AssertionError("no tensor here")


def _grown(inner: st.SearchStrategy[Index]) -> st.SearchStrategy[Index]:
    factors, divisors = st.integers(-6, 6), st.integers(1, 6)
    return st.one_of(
        st.builds(ix.add, inner, inner),
        st.builds(ix.subtract, inner, inner),
        st.builds(ix.scale, inner, factors),
        st.builds(ix.floor_div, inner, divisors),
        st.builds(ix.modulo, inner, divisors),
    )


INDICES: st.SearchStrategy[Index] = st.recursive(
    st.one_of(st.sampled_from(["i", "j", "k"]).map(ix.iterator), st.integers(-9, 9).map(ix.constant)),
    _grown,
    max_leaves=6,
)


def canonical(index: Index) -> bool:
    shown = [ix.show_atom(atom) for atom, _ in index.terms]
    inner = [atom.arg for atom, _ in index.terms if isinstance(atom, Div | Mod)]
    return shown == sorted(set(shown)) and all(c for _, c in index.terms) and all(canonical(arg) for arg in inner)


@QUICK
@given(INDICES, INDICES, st.integers(-6, 6), st.integers(1, 6))
def test_operations_keep_values(a: Index, b: Index, factor: int, by: int) -> None:
    for point in POINTS:
        x, y = at(a, point), at(b, point)
        assert at(ix.add(a, b), point) == x + y
        assert at(ix.subtract(a, b), point) == x - y
        assert at(ix.scale(a, factor), point) == x * factor
        assert at(ix.floor_div(a, by), point) == x // by
        assert at(ix.modulo(a, by), point) == x % by


@QUICK
@given(INDICES, INDICES)
def test_results_are_canonical(a: Index, b: Index) -> None:
    assert canonical(a)
    assert ix.add(a, b) == ix.add(b, a)
    assert ix.subtract(a, a) == ix.constant(0)
    assert ix.add(ix.subtract(a, b), b) == a


@QUICK
@given(INDICES)
def test_intervals_enclose_all_values(index: Index) -> None:
    bounds = ix.interval(index, RANGES)
    assert bounds is not None
    values = [at(index, point) for point in POINTS]
    assert bounds[0] <= min(values) and max(values) <= bounds[1]
    if ix.is_affine(index):
        assert bounds == (min(values), max(values))


@QUICK
@given(INDICES)
def test_simplifying_keeps_values_on_the_ranges(index: Index) -> None:
    simple = simplify(index, RANGES)
    assert canonical(simple)
    assert all(at(simple, point) == at(index, point) for point in POINTS)
    assert simplify(simple, RANGES) == simple


@QUICK
@given(INDICES, INDICES)
def test_substituting_is_evaluating_inside(index: Index, value: Index) -> None:
    replaced = ix.substitute(index, {"i": value})
    for point in POINTS:
        assert at(replaced, point) == at(index, {**point, "i": at(value, point)})
    assert ix.substitute(index, {}) == index


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("0", ix.constant(0)),
        ("-i", ix.scale(ix.iterator("i"), -1)),
        ("i + 2*j - 1", ix.of_terms({Iter("j"): 2, Iter("i"): 1}, -1)),
        ("(i + 1)//2", ix.floor_div(ix.add(ix.iterator("i"), ix.constant(1)), 2)),
        ("i + j//4", ix.floor_div(ix.of_terms({Iter("i"): 4, Iter("j"): 1}, 0), 4)),
        ("(3*i)%8", ix.modulo(ix.of_terms({Iter("i"): 11}, 0), 8)),
        ("0", ix.modulo(ix.iterator("i"), 1)),
        (
            "ids[b, i + 1]",
            Index(((Fetch(Read("ids", (ix.iterator("b"), ix.add(ix.iterator("i"), ix.constant(1))))), 1),)),
        ),
    ],
)
def test_indices_are_shown_as_they_are_written(text: str, index: Index) -> None:
    assert ix.show(index) == text


@pytest.mark.parametrize(
    ("index", "simple"),
    [
        (ix.floor_div(ix.of_terms({Iter("i"): 8, Iter("j"): 1}, 0), 8), ix.iterator("i")),
        (ix.modulo(ix.of_terms({Iter("i"): 8, Iter("j"): 1}, 0), 8), ix.iterator("j")),
        (ix.modulo(ix.iterator("j"), 5), ix.iterator("j")),
        (ix.floor_div(ix.iterator("j"), 5), ix.constant(0)),
        (ix.floor_div(ix.add(ix.iterator("j"), ix.constant(5)), 5), ix.constant(1)),
        (ix.modulo(ix.add(ix.iterator("j"), ix.constant(5)), 5), ix.iterator("j")),
        (ix.floor_div(ix.add(ix.iterator("j"), ix.constant(-5)), 5), ix.constant(-1)),
    ],
)
def test_divisions_that_do_nothing_are_dropped(index: Index, simple: Index) -> None:
    assert simplify(index, RANGES) == simple


def test_nested_divisions_become_one() -> None:
    inner = ix.floor_div(ix.iterator("n"), 4)
    assert simplify(ix.floor_div(inner, 8), {"n": (0, 999)}) == ix.floor_div(ix.iterator("n"), 32)


def test_an_index_that_reads_a_tensor_has_no_interval() -> None:
    fetched = Index(((Fetch(Read("ids", (ix.iterator("i"),))), 2),), 1)
    assert ix.interval(fetched, RANGES) is None
    assert ix.interval(ix.floor_div(fetched, 4), RANGES) is None
    assert ix.iterators(fetched) == {"i"}
    assert not ix.is_affine(fetched)
    assert ix.substitute(fetched, {"i": ix.constant(3)}) == Index(((Fetch(Read("ids", (ix.constant(3),))), 2),), 1)
    assert [read.tensor for read in ix.index_reads(ix.modulo(fetched, 4))] == ["ids"]


def test_ranges_of_triangles_and_empty_loops() -> None:
    loops = (
        Loop("i", ix.constant(4)),
        Loop("j", ix.add(ix.iterator("i"), ix.constant(1))),
        Loop("k", ix.subtract(ix.constant(2), ix.iterator("j"))),
        Loop("z", ix.constant(0)),
    )
    assert ranges_of(loops, {"t": (0, 6)}) == {"t": (0, 6), "i": (0, 3), "j": (0, 3), "k": (0, 1), "z": (0, 0)}
    assert most(ix.subtract(ix.constant(-3), ix.iterator("i")), {"i": (0, 3)}) == 0
    assert range_of(ix.constant(5), {}) == (0, 4)


def test_reads_and_iterators_of_expressions() -> None:
    inner = Read("ids", (ix.iterator("b"),))
    gather = Read("table", (Index(((Fetch(inner), 1),)), ix.iterator("d")))
    expr = Apply(
        "add", (Cast(gather, "f32"), Apply("mul", (IndexValue(ix.iterator("i")), Const(2, "i64")), "i64")), "f32"
    )
    assert list(ix.reads(expr)) == [gather, inner]
    assert ix.expr_iterators(expr) == {"b", "d", "i"}


def test_conjuncts_are_flattened_and_disjunctions_kept() -> None:
    a, b, c = (Compare(ix.iterator(name), "<") for name in "ijk")
    either = AnyOf((b, c))
    assert ix.conjuncts(None) == ()
    assert ix.conjuncts(AllOf((a, AllOf((b, either))))) == (a, b, either)
    assert ix.condition_iterators(AllOf((a, either))) == {"i", "j", "k"}
