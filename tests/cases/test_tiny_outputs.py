"""F10: outputs smaller than the absolute tolerance of a careless check, which takes zeros for an answer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from solar_agent.verifier.compare import can_fail

from .lab import Case, changed, opened, results

LAST = "for b<B, n<N: y[b, n] = e[b, n] / z[b]\n"
TEXT = f"""program probabilities
input logits[B, N]
for b<B, n<N: top[b] max= logits[b, n]
for b<B, n<N: e[b, n] = exp(logits[b, n] - top[b])
for b<B, n<N: z[b] += e[b, n]
{LAST}output y
"""
WRONG = {
    "zeros": "for b<B, n<N: y[b, n] = 0 * e[b, n] / z[b]\n",
    "constant": "for b<B, n<N: y[b, n] = (0 * e[b, n] + 1) / N\n",
    "permuted": "for b<B, n<N: y[b, n] = e[b, N - 1 - n] / z[b]\n",
    "one-percent": "for b<B, n<N: y[b, n] = 1.01 * e[b, n] / z[b]\n",
    "not-normalised": "for b<B, n<N: y[b, n] = e[b, n] / z[0]\n",
}


@pytest.fixture(scope="module")
def case() -> Iterator[Case]:
    with opened("tiny_softmax") as found:
        yield found


def test_a_right_text_is_verified(case: Case) -> None:
    (leaf,) = case.accepted(TEXT).leaves
    assert leaf.shape == (4, 200_000)
    assert leaf.error < 1e-12


@pytest.mark.parametrize("name", WRONG)
def test_wrong_texts_are_rejected(case: Case, name: str) -> None:
    case.rejected(changed(TEXT, LAST, WRONG[name]), "line 6", "scaled error")


@pytest.mark.parametrize("name", ["zeros", "constant", "permuted"])
def test_they_are_rejected_at_full_size_where_outputs_are_tiny(case: Case, name: str) -> None:
    """800,000 probabilities of 8e-6 at most: within 1e-5 of zero, and yet wholly wrong."""
    (result,) = case.attempt(changed(TEXT, LAST, WRONG[name])).results
    expected = np.asarray(result.leaf.value)
    assert expected.max() < 8e-6
    assert np.allclose(np.asarray(result.ours), expected, rtol=1e-4, atol=1e-5)  # what a careless check sees
    assert result.status == "different"
    assert result.error > 0.3  # the spread of exp(u) for u in [0, 1)
    assert name != "zeros" or result.error == pytest.approx(1.0)


def test_every_trial_could_have_rejected_zeros_a_constant_and_a_permutation(case: Case) -> None:
    outcome = case.attempt(TEXT)
    (result,) = outcome.results
    assert (result.status, result.informative) == ("equal", True)
    assert can_fail(np.asarray(results(outcome.trial)[""]), result.tolerance)
    (leaf,) = case.verify(TEXT).leaves
    assert leaf.informative_trials == len([t for t in case.verify(TEXT).trials if t.precision == "promoted"])


@pytest.mark.xfail(strict=True, reason="mutants of the text are not run yet")
def test_the_score_of_mutants_is_part_of_the_certificate(case: Case) -> None:
    score = case.verify(TEXT).mutation_score
    assert score is not None and score > 0.9
