"""F17: dropout in training mode and noise drawn in forward().

Checks let both sides draw for themselves, or take dropout for nothing without saying so, or loosen the tolerance."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from .lab import F32, Case, changed, opened, results

TEXT = """program noisy
input x[B, I]
param w = "project.weight"[O, I]
attr p = "self.dropout.p"
draw mask[B, O]
draw noise[B, O]
for b<B, o<O: h[b, o] = sum(i<I: x[b, i] * w[o, i])
for b<B, o<O: y[b, o] = h[b, o] * mask[b, o] / (1 - p) + noise[b, o] * 0.01
output y
"""
IN_EVAL = """program noisy
input x[B, I]
param w = "project.weight"[O, I]
draw noise[B, O]
for b<B, o<O: y[b, o] = sum(i<I: x[b, i] * w[o, i]) + noise[b, o] * 0.01
output y
"""


@pytest.fixture(scope="module")
def case() -> Iterator[Case]:
    with opened("random_forward", mode="train") as found:
        yield found


@pytest.fixture(scope="module")
def quiet() -> Iterator[Case]:
    with opened("random_forward") as found:
        yield found


def test_draws_are_replayed_and_the_verdict_says_so(case: Case) -> None:
    certificate = case.accepted(TEXT)
    assert certificate.flags == ("stochastic",)
    assert certificate.mode == "train"
    (leaf,) = certificate.leaves
    assert leaf.error < 1e-12 and leaf.tolerance == 1e-9  # the tolerance of any other program


def test_the_description_lists_both_draws(case: Case) -> None:
    assert [(draw.shape, draw.dtype) for draw in case.description.bindings.draws] == [((50, 30), "f32")] * 2
    assert case.description.mode == "train"


def test_what_was_drawn_is_what_the_original_used(case: Case) -> None:
    trial = case.trial()
    mask, noise = trial.draws
    kept = trial.inputs["x"] @ trial.state["project.weight"].T * mask / 0.75
    assert np.allclose(kept + 0.01 * noise, results(trial)[""], rtol=0, atol=1e-12)
    assert set(np.unique(mask)) == {0.0, 1.0}
    assert 0.65 < mask.mean() < 0.85  # a quarter is dropped
    assert 0 <= noise.min() and noise.max() < 1  # noqa: SIM300


def test_another_seed_draws_another_mask(case: Case) -> None:
    first, second = case.trial(seed=1), case.trial(seed=2)
    assert not np.array_equal(first.draws[0], second.draws[0])
    share = np.mean(first.draws[0] != second.draws[0])
    assert share == pytest.approx(2 * 0.25 * 0.75, abs=0.05)  # 37 percent: one keeps what the other drops


def test_work_and_bytes(case: Case) -> None:
    found = case.count(TEXT)
    assert found.macs == 50 * 20 * 30 == 30_000
    assert found.input_bytes == 50 * 20 * F32
    assert found.weight_bytes == 30 * 20 * F32
    assert found.output_bytes == 50 * 30 * F32
    assert found.fused_bytes == (1_000 + 600 + 1_500) * F32  # neither mask nor noise is stored


def test_in_evaluation_mode_dropout_is_nothing_and_the_mode_is_shown(quiet: Case) -> None:
    certificate = quiet.accepted(IN_EVAL)
    assert (certificate.mode, certificate.flags) == ("eval", ("stochastic",))
    assert len(quiet.description.bindings.draws) == 1


def test_a_text_of_the_other_mode_is_rejected(case: Case, quiet: Case) -> None:
    case.rejected(IN_EVAL, "line 5")
    quiet.rejected(TEXT, "draw noise[B, O]")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(" * mask[b, o] / (1 - p)", "", id="dropout-left-out"),
        pytest.param(" / (1 - p)", "", id="kept-values-not-scaled"),
        pytest.param(" / (1 - p)", " / p", id="scaled-by-the-dropped-share"),
        pytest.param(" + noise[b, o] * 0.01", "", id="noise-left-out"),
        pytest.param("draw mask[B, O]\ndraw noise[B, O]", "draw noise[B, O]\ndraw mask[B, O]", id="draws-swapped"),
    ],
)
def test_wrong_uses_of_the_draws_are_noticed(case: Case, old: str, new: str) -> None:
    case.rejected(changed(TEXT, old, new), "line 8: for b<B, o<O: y[b, o]", "differs from the original")
