"""F08: index results of top-k and sort where scores are equal.

Checks reject a right order among ties, or look at the values alone and accept any indices."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from .lab import F32, I64, Case, changed, opened, results

TEXT = """program ranking
input scores[B, N]
(v, i) = topk(scores; k=5)
(s, j) = sort(scores)
output v
output i indexes scores along 1 giving v
output s
output j
"""
# Another order among ties: the last of equal scores first, by way of the reversed row.
LAST_FIRST = changed(
    TEXT,
    "(v, i) = topk(scores; k=5)\n",
    "view flipped[b<B, n<N] = scores[b, N - 1 - n]\n(v, f) = topk(flipped; k=5)\n"
    "for b<B, k<5: i[b, k] = N - 1 - f[b, k]\n",
)


@pytest.fixture(scope="module")
def case() -> Iterator[Case]:
    with opened("topk_ties") as found:
        yield found


def test_ties_there_are(case: Case) -> None:
    """Forty scores of four values: the original's own order is not that of first positions."""
    trial = case.trial()
    stable = np.argsort(-trial.inputs["scores"], axis=1, kind="stable")[:, :5]
    assert not np.array_equal(results(trial)["1"], stable)


@pytest.mark.parametrize("text", [TEXT, LAST_FIRST], ids=["first-of-equals", "last-of-equals"])
def test_any_order_among_ties_is_verified(case: Case, text: str) -> None:
    certificate = case.accepted(text)
    assert [(leaf.path, leaf.dtype, leaf.shape) for leaf in certificate.leaves] == [
        ("0", "f32", (6, 5)), ("1", "i64", (6, 5)), ("2", "f32", (6, 40)), ("3", "i64", (6, 40)),
    ]  # fmt: skip
    outcome = case.attempt(text)
    assert [result.status for result in outcome.results] == ["equal"] * 4
    assert not np.array_equal(outcome.results[1].ours, results(outcome.trial)["1"])


WRONG = {
    "smaller-element": ("select(k == 4, j[b, 0], i[b, k])", "x[i] is not v"),
    "repeated": ("i[b, k - k // 4]", "repeated"),
    "out-of-range": ("i[b, k] + N", "out of 0..40"),
}


@pytest.mark.parametrize("name", WRONG)
def test_one_wrong_index_is_noticed(case: Case, name: str) -> None:
    """The fifth index points at the smallest element, where the fourth does, or outside; the values are right."""
    index, reason = WRONG[name]
    text = changed(TEXT, "output v\noutput i", f"for b<B, k<5: w[b, k] = {index}\noutput v\noutput w")
    certificate = case.rejected(text, '"1"', "written by line 5: for b<B, k<5: w[b, k]")
    assert [failure.tensor for failure in certificate.failures] == ["1"]
    result = case.attempt(text).results[1]  # forty scores: the smallest is none of the five
    assert (result.status, reason in result.reason) == ("different", True), result.reason


def test_the_stable_sort_has_one_order_only(case: Case) -> None:
    backward = changed(TEXT, "(s, j) = sort(scores)\n", "view t[b<B, n<N] = scores[b, N - 1 - n]\n(s, q) = sort(t)\n"
                       "for b<B, n<N: j[b, n] = N - 1 - q[b, n]\n")  # fmt: skip
    case.rejected(backward, '"3"', "elements differ")


def test_a_claim_about_a_tensor_of_ones_own_making_proves_nothing(case: Case) -> None:
    """Everything is an index of the largest where the text says that all scores are equal."""
    text = changed(TEXT, "output v\noutput i indexes scores along 1 giving v\n",
                   "for b<B, n<N: same[b, n] = 0 * scores[b, n]\nfor b<B, k<5: none[b, k] = 0 * v[b, k]\n"
                   "for b<B, k<5: w[b, k] = int(k + 0*v[b, k])\n"
                   "output v\noutput w indexes same along 1 giving none\n")  # fmt: skip
    assert case.verify(text).verdict != "verified"


def test_sorting_is_no_arithmetic(case: Case) -> None:
    found = case.count(TEXT)
    assert (found.macs, found.flops) == (0, 0)
    assert found.input_bytes == 6 * 40 * F32
    assert found.output_bytes == 6 * 5 * (F32 + I64) + 6 * 40 * (F32 + I64)
