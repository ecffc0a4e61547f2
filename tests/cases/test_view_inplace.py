"""F14: writes through views of one tensor.

Translations drop such writes or let a view keep the old values."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from .lab import F32, Case, changed, opened, results

TEXT = """program aliases
input table[R, C]
for r<R, c<C: doubled[r, c] = table[r, c] * (2 - c % 2)
for r<R, c<C: holed[r, c] = select(r == c, 0.0, doubled[r, c])
for r<R, c<C: y[r, c] = select(r*C + c >= R*C - 3 and r*C + c < R*C - 1, holed[r, c] + 100.0, holed[r, c])
view even[r<R, c<(C + 1)//2] = y[r, 2*c]
output y
output even
"""
STEPS = """program aliases
input table[R, C]
tensor y[R, C]
for r<R, c<C: y[r, c] = table[r, c]
for r<R, c<(C + 1)//2: y[r, 2*c] *= 2.0
for d<min(R, C): y[d, d] = 0.0
for r<R, c<C where r*C + c >= R*C - 3 and r*C + c < R*C - 1: y[r, c] += 100.0
for r<R, c<(C + 1)//2: even[r, c] = y[r, 2*c]
output y
output even
"""
TEXTS = {"one-expression-each": TEXT, "step-by-step": STEPS}


@pytest.fixture(scope="module")
def case() -> Iterator[Case]:
    with opened("view_inplace") as found:
        yield found


@pytest.mark.parametrize("name", TEXTS)
def test_right_texts_are_verified(case: Case, name: str) -> None:
    case.accepted(TEXTS[name])


@pytest.mark.parametrize("name", TEXTS)
def test_exact_values(case: Case, name: str) -> None:
    outcome = case.attempt(TEXTS[name])
    assert outcome.trial.inputs["table"].tolist() == np.arange(1.0, 13.0).reshape(3, 4).tolist()
    y = [[0, 2, 6, 4], [10, 0, 14, 8], [18, 110, 100, 12]]
    even = [[0, 6], [10, 14], [18, 100]]
    for found in (results(outcome.trial), {r.leaf.path: r.ours for r in outcome.results}):
        assert np.asarray(found["0"]).tolist() == y
        assert np.asarray(found["1"]).tolist() == even


@pytest.mark.parametrize("name", TEXTS)
def test_the_three_steps_are_no_three_round_trips(case: Case, name: str) -> None:
    found = case.count(TEXTS[name])
    assert found.macs == 0
    assert found.input_bytes == (12 - 3) * F32  # of x, 48 bytes, the diagonal is overwritten before anybody reads it
    assert found.output_bytes == 12 * F32  # the second result lies in the first
    assert found.fused_bytes == 84
    assert found.fused_bytes < 48 + 3 * 2 * 48


STALE = {
    "view-is-a-copy": (
        "view even[r<R, c<(C + 1)//2] = y[r, 2*c]",
        "for r<R, c<(C + 1)//2: even[r, c] = doubled[r, 2*c]",
    ),
    "view-without-the-last-step": (
        "view even[r<R, c<(C + 1)//2] = y[r, 2*c]",
        "for r<R, c<(C + 1)//2: even[r, c] = holed[r, 2*c]",
    ),
}


@pytest.mark.parametrize("name", STALE)
def test_a_view_that_keeps_old_values_is_noticed(case: Case, name: str) -> None:
    text = changed(TEXT, *STALE[name])
    certificate = case.rejected(text, '"1"', "line 6")
    assert [failure.tensor for failure in certificate.failures] == ["1"]


def test_the_copy_gives_two_where_zero_is_right(case: Case) -> None:
    result = case.attempt(changed(TEXT, *STALE["view-is-a-copy"])).results[1]
    assert (result.status, np.asarray(result.ours)[0, 0]) == ("different", 2.0)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("R*C - 3 and", "R*C - 2 and", id="slice-off-by-one"),
        pytest.param("r == c", "r + c == C - 1", id="the-other-diagonal"),
        pytest.param("(2 - c % 2)", "(1 + c % 2)", id="odd-columns"),
    ],
)
def test_a_write_to_other_places_is_noticed(case: Case, old: str, new: str) -> None:
    certificate = case.rejected(changed(TEXT, old, new), "written by line 5: for r<R, c<C: y[r, c]")
    assert certificate.failures[0].tensor == "0"
