"""F09: results with NaN in them.

Checks call NaN against NaN a failure, or drop such positions and pass with hardly anything compared."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from solar_agent.verifier.verify import verify

from .lab import Case, changed, opened, results

TEXT = """program logarithms
input x[B, N]
for b<B, n<N: y[b, n] = log(x[b, n])
for b<B, n<N: safe[b, n] = select(x[b, n] > 0, y[b, n], 0.0)
for b<B, n<N: running[b, n] = sum(k<n+1: y[b, k])
for b<B, n<N: larger[b, n] = max(x[b, n], y[b, n])
output safe
output running
output larger
"""


@pytest.fixture(scope="module")
def case() -> Iterator[Case]:
    with opened("nonfinite") as found:
        yield found


def test_the_share_that_could_be_compared_is_reported(case: Case) -> None:
    safe, running, larger = case.accepted(TEXT).leaves
    assert safe.compared == 1.0
    assert running.compared < larger.compared < 1.0  # one NaN spoils the rest of its row


def test_a_leaf_that_is_hardly_finite_is_drawn_again_on_positive_numbers(case: Case) -> None:
    certificate = case.verify(TEXT)
    assert "positive" in certificate.distributions
    running = certificate.leaves[1]
    assert running.informative_trials >= 2


def test_shares_on_what_get_inputs_draws(case: Case) -> None:
    outcome = case.attempt(TEXT)
    safe, running, larger = (result.compared / result.elements for result in outcome.results)
    assert safe == 1.0
    assert running < 0.1  # a row of 64 stays finite up to its first negative number
    assert 0.35 < larger < 0.65  # about half of the numbers are positive
    assert [result.informative for result in outcome.results] == [True, False, larger >= 0.5]
    assert all(result.status == "equal" for result in outcome.results)


def test_without_better_numbers_such_a_leaf_is_not_verified(case: Case) -> None:
    """Three trials as get_inputs draws, none of them on positive numbers."""
    certificate = verify(case.reference, TEXT, trials=3)
    assert certificate.verdict == "verified-in-part"
    assert [leaf.status for leaf in certificate.leaves] == ["verified", "not-compared", "verified"]
    assert '"1" was not compared well enough' in certificate.feedback()


def test_nan_lies_where_the_logarithm_has_it(case: Case) -> None:
    trial = case.trial()
    found = results(trial)
    negative = trial.inputs["x"] < 0
    assert np.array_equal(np.isnan(found["2"]), negative)  # maximum passes NaN on
    assert np.isfinite(found["0"]).all()


@pytest.mark.parametrize(
    ("old", "new", "leaf"),
    [
        pytest.param(
            "larger[b, n] = max(x[b, n], y[b, n])",
            "larger[b, n] = select(y[b, n] > x[b, n], y[b, n], x[b, n])", "2", id="maximum-hides-nan",
        ),
        pytest.param("sum(k<n+1: y[b, k])", "sum(k<n+1: safe[b, k])", "1", id="sum-without-nan"),
        pytest.param("y[b, n] = log(x[b, n])", "y[b, n] = log(abs(x[b, n]))", "1", id="logarithm-of-magnitudes"),
    ],
)  # fmt: skip
def test_hidden_nan_is_noticed(case: Case, old: str, new: str, leaf: str) -> None:
    case.rejected(changed(TEXT, old, new), f'"{leaf}"', "NaN or infinity at other positions", "NaN must propagate")


def test_an_infinity_is_no_nan(case: Case) -> None:
    text = changed(TEXT, "y[b, n] = log(x[b, n])", "y[b, n] = select(x[b, n] > 0, log(x[b, n]), -inf)")
    case.rejected(text, "NaN or infinity at other positions")
