"""Point counts and images against brute force on random small nests."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from solar_agent.analysis.image import Image, box_of, image
from solar_agent.analysis.points import approximations, count, holds
from solar_agent.analysis.region import Region, add_part, complement, count_parts, disjoint, elements
from solar_agent.analysis.space import Space, at_least, equals, space_of
from solar_agent.ir import indices
from solar_agent.ir.program import AllOf, AnyOf, Compare, Index, Iter, Loop

NAMES = ("i", "j", "k")


def linear(coefficients: dict[str, int], const: int = 0) -> Index:
    return indices.of_terms({Iter(name): c for name, c in coefficients.items()}, const)


@st.composite
def index_strategy(draw: st.DrawFn, names: tuple[str, ...] = NAMES) -> Index:
    base = linear({name: draw(st.integers(-2, 3)) for name in names}, draw(st.integers(-4, 6)))
    match draw(st.integers(0, 4)):
        case 0:
            return indices.floor_div(base, draw(st.integers(1, 3)))
        case 1:
            return indices.modulo(base, draw(st.integers(1, 4)))
        case 2:
            return indices.iterator(draw(st.sampled_from(names)))
        case _:
            return base


@st.composite
def condition_strategy(draw: st.DrawFn) -> Compare | AnyOf:
    one = Compare(draw(index_strategy()), draw(st.sampled_from(["<", "<=", ">", ">=", "==", "!="])))
    if draw(st.integers(0, 5)):
        return one
    other = Compare(draw(index_strategy()), draw(st.sampled_from(["<", ">=", "=="])))
    return AnyOf((one, AllOf((other, Compare(draw(index_strategy()), ">=")))))


@st.composite
def space_strategy(draw: st.DrawFn) -> Space:
    loops: list[Loop] = []
    for name in NAMES:
        if loops and draw(st.booleans()):
            outer = draw(st.sampled_from([loop.name for loop in loops]))
            extent = linear({outer: draw(st.integers(-1, 1))}, draw(st.integers(1, 4)))
        else:
            extent = indices.constant(draw(st.integers(1, 5)))
        loops.append(Loop(name, extent))
    conditions = tuple(draw(st.lists(condition_strategy(), max_size=3)))
    return space_of(tuple(loops), AllOf(conditions) if conditions else None)


def points(space: Space) -> list[dict[str, Any]]:
    found = []
    for point in product(*(range(size) for _, size in space.sizes)):
        env: dict[str, Any] = dict(zip(space.names, point, strict=True))
        if all(bool(holds(constraint, env)) for constraint in space.constraints):
            found.append(env)
    return found


def value(index: Index, env: dict[str, Any]) -> int:
    from solar_agent.analysis.points import values

    return int(values(index, env))


def touched(space: Space, index: tuple[Index, ...], shape: tuple[int, ...]) -> set[tuple[int, ...]]:
    found = {tuple(value(e, env) for e in index) for env in points(space)}
    return {at for at in found if all(0 <= x < size for x, size in zip(at, shape, strict=True))}


SETTINGS = settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))


@SETTINGS
@given(space_strategy())
def test_count_is_the_number_of_points(space: Space) -> None:
    assert count(space) == len(points(space))


@SETTINGS
@given(space_strategy(), st.lists(index_strategy(), min_size=1, max_size=3), st.lists(st.integers(1, 9), min_size=3,
                                                                                      max_size=3))
def test_image_is_the_set_of_touched_elements(space: Space, index: list[Index], sizes: list[int]) -> None:
    shape = tuple(sizes[: len(index)])
    found = image(space, tuple(index), shape)
    assert found.exact
    parts = () if found.part is None else (found.part,)
    assert members(shape, parts) == touched(space, tuple(index), shape)
    assert count_parts(shape, parts) == len(touched(space, tuple(index), shape))


def members(shape: tuple[int, ...], parts: Any) -> set[tuple[int, ...]]:
    return {tuple(env[name] for name in box.names) for part in parts for box in (box_of(shape, part),)
            for env in points(box)}


@SETTINGS
@given(st.lists(space_strategy(), min_size=2, max_size=4), index_strategy(), index_strategy())
def test_union_of_images(spaces: list[Space], first: Index, second: Index) -> None:
    shape = (6, 7)
    region = Region(shape)
    want: set[tuple[int, ...]] = set()
    for space in spaces:
        region = add_part(region, image(space, (first, second), shape))
        want |= touched(space, (first, second), shape)
    assert elements(region) == len(want)
    pieces = [frozenset(piece) for piece in disjoint(region)]
    assert sum(count(box_of(shape, piece)) for piece in pieces) == len(want)
    if len(region.parts) == 1:
        outside = sum(count(box_of(shape, frozenset(piece))) for piece in complement(region.parts[0]))
        assert outside == 6 * 7 - len(want)


def test_triangle_of_any_size_is_counted_at_once() -> None:
    n = 1_000_000
    space = space_of((Loop("i", indices.constant(n)), Loop("j", linear({"i": 1}, 1))))
    assert count(space) == n * (n + 1) // 2


def test_padding_taps_are_left_out() -> None:
    # 3 taps at 5 positions, padding 1: the first tap of the first and the last tap of the last position fall outside
    loops = (Loop("p", indices.constant(5)), Loop("r", indices.constant(3)))
    at = linear({"p": 1, "r": 1}, -1)
    inside = (at_least(at), at_least(indices.subtract(indices.constant(4), at)))
    assert count(space_of(loops).with_constraints(inside)) == 5 * 3 - 2


def test_window_of_a_very_long_axis_is_an_interval() -> None:
    n = 10**12
    space = Space((("p", n // 2), ("r", 3)))
    found = image(space, (linear({"p": 2, "r": 1}),), (n + 5,))
    assert found.exact and found.part is not None
    assert count_parts((n + 5,), (found.part,)) == n + 1  # 2*(n/2 - 1) + 2 is the last


def test_flattening_covers_all_axes_without_enumeration() -> None:
    i = indices.iterator("i")
    shape = (4096, 3000, 2000)
    middle = indices.modulo(indices.floor_div(i, 2000), 3000)
    digits = (indices.floor_div(i, 6_000_000), middle, indices.modulo(i, 2000))
    assert image(Space((("i", 4096 * 6_000_000),)), digits, shape) == Image(frozenset())


def test_three_slices_are_the_whole() -> None:
    region = Region((10, 12))
    for start in (8, 0, 4):
        space = Space((("n", 10), ("c", 4)))
        region = add_part(region, image(space, (linear({"n": 1}), linear({"c": 1}, start)), (10, 12)))
    assert region.whole


def test_impossible_constraint_leaves_nothing() -> None:
    assert count(Space((("i", 5),), (equals(linear({"i": 1}), 9),))) == 0


@pytest.mark.parametrize(("stride", "want"), [(2, 500), (3, 334)])
def test_strides_skip(stride: int, want: int) -> None:
    found = image(Space((("i", want),)), (linear({"i": stride}),), (1000,))
    assert found.part is not None
    assert count_parts((1000,), (found.part,)) == want


def test_alternatives_of_long_axes_are_split() -> None:
    n = 100_000
    near = AllOf((Compare(linear({"i": 1, "j": -1}, 1), ">="), Compare(linear({"j": 1, "i": -1}, 1), ">=")))
    first = Compare(linear({"j": 1}), "==")
    space = space_of((Loop("i", indices.constant(n)), Loop("j", indices.constant(n))), AnyOf((near, first)))
    assert count(space) == (3 * n - 2) + (n - 2)  # a band of three diagonals, and a column that meets it twice


def test_what_is_too_large_is_an_upper_bound_and_noted() -> None:
    n = 100_000
    loops = (Loop("i", indices.constant(n)), Loop("j", linear({"i": 1}, 1)), Loop("k", linear({"j": 1}, 1)))
    approximations.clear()
    assert count(space_of(loops)) == n**3
    assert approximations
    approximations.clear()
