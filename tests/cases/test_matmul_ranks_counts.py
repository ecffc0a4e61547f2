"""F02: products written with operators: broadcast batches, two vectors, three operands, no layer, a tuple of results.

Counters see no layers, miss the product of two vectors, or cost three operands as one loop over all indices."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .lab import F32, Case, changed, opened

TEXT = """program products
input left[B, U, M, K]
input right[C, K, N]
input vector[D]
input rows[R, I]
input core[I, J]
input columns[R, J]
for b<B, c<C, m<M, n<N, k<K: stack[b, c, m, n] += left[b, 0, m, k] * right[c, k, n]
for d<D: dot[] += vector[d] * vector[d]
for r<R, i<I, j<J: form[r] += rows[r, i] * core[i, j] * columns[r, j]
output stack
output dot
output form
"""
FLAT = "for r<R, i<I, j<J: form[r] += rows[r, i] * core[i, j] * columns[r, j]\n"
TWO_STEPS = """for r<R, i<I, j<J: half[r, i] += core[i, j] * columns[r, j]
for r<R, i<I: form[r] += rows[r, i] * half[r, i]
"""
OTHER_ORDER = """for r<R, j<J, i<I: half[r, j] += core[i, j] * rows[r, i]
for r<R, j<J: form[r] += columns[r, j] * half[r, j]
"""


@pytest.fixture(scope="module")
def case() -> Iterator[Case]:
    with opened("matmul_ranks") as found:
        yield found


def test_a_right_text_is_verified_leaf_by_leaf(case: Case) -> None:
    certificate = case.accepted(TEXT)
    shapes = {leaf.path: leaf.shape for leaf in certificate.leaves}
    assert shapes == {"0": (5, 4, 3, 2), "1": (), "2": (6,)}  # the product of two vectors has rank 0


def test_work(case: Case) -> None:
    found = case.count(TEXT)
    stack = 5 * 4 * 3 * 2 * 7  # every pair of batches: 840; without broadcasting 5 * 3 * 2 * 7 = 210
    dot = 9
    form = 6 * 10 * 12 + 6 * 10  # core with columns first (720), then one product of 10 per row
    assert [row.macs for row in found.per_statement] == [stack, dot, form] == [840, 9, 780]
    assert found.macs == 1_629


def test_bytes_count_no_broadcast_copies(case: Case) -> None:
    found = case.count(TEXT)
    read = 5 * 3 * 7 + 4 * 7 * 2 + 9 + 6 * 10 + 10 * 12 + 6 * 12
    written = 5 * 4 * 3 * 2 + 1 + 6
    assert (read, written) == (422, 127)
    assert found.input_bytes == read * F32
    assert found.output_bytes == written * F32
    assert found.fused_bytes == (422 + 127) * F32 == 2_196


@pytest.mark.parametrize(
    ("steps", "macs"), [(TWO_STEPS, 780), (OTHER_ORDER, 6 * 12 * 10 + 6 * 12)], ids=["cheaper", "dearer"]
)
def test_an_order_that_the_text_writes_out_is_taken_at_its_word(case: Case, steps: str, macs: int) -> None:
    text = changed(TEXT, FLAT, steps)
    case.accepted(text)
    assert case.count(text).macs == 840 + 9 + macs


@pytest.mark.parametrize(
    ("old", "new", "line", "leaf"),
    [
        pytest.param("right[c, k, n]", "right[b % C, k, n]", 8, "0", id="batches-not-broadcast"),
        pytest.param("for d<D: dot[] += vector[d] * vector[d]", "for d<D: dot[] += vector[d]", 9, "1", id="dot"),
        pytest.param(" * columns[r, j]", "", 10, "2", id="an-operand-left-out"),
    ],
)
def test_wrong_products_are_named(case: Case, old: str, new: str, line: int, leaf: str) -> None:
    certificate = case.rejected(changed(TEXT, old, new), f"line {line}", f'"{leaf}"')
    assert [failure.tensor for failure in certificate.failures] == [leaf]


def test_the_rank_of_a_product_of_vectors_is_checked(case: Case) -> None:
    text = changed(TEXT, "for d<D: dot[] += vector[d] * vector[d]", "for u<1, d<D: dot[u] += vector[d] * vector[d]")
    case.rejected(text, '"1" at full size: expected f32[], got f32[1]')
