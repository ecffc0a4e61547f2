"""F18: state that state_dict() does not list: a plain tensor, a layer in a list, a buffer left out, a drawn number.

Checks build the model a second time or copy what is registered, so that outputs differ for no fault of the text."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from .lab import F32, Case, changed, opened, results

TEXT = """program hidden
input x[B, D]
param r = "rotation"[D, D]
param s = "shift"[D]
param w = "layers.0.weight"[O, D]
param c = "layers.0.bias"[O]
attr gain = "self.strength"
for b<B, d<D: t[b, d] = sum(k<D: x[b, k] * r[k, d]) + s[d]
for b<B, o<O: y[b, o] = (sum(d<D: t[b, d] * w[o, d]) + c[o]) * gain
output y
"""


@pytest.fixture(scope="module")
def case() -> Iterator[Case]:
    with opened("unregistered_state") as found:
        yield found


def test_a_right_text_is_verified(case: Case) -> None:
    certificate = case.accepted(TEXT)
    assert certificate.unused_state == ()


def test_all_state_is_there_by_path(case: Case) -> None:
    shapes = {name: entry.shape for name, entry in case.description.bindings.state.items()}
    assert shapes == {"rotation": (6, 6), "shift": (6,), "layers.0.weight": (6, 6), "layers.0.bias": (6,)}
    gain = case.description.bindings.attrs["self.strength"]
    assert isinstance(gain, float) and 0 <= gain < 1


def test_state_is_read_from_the_object_that_ran(case: Case) -> None:
    """Values and the drawn number of a trial give its results; nothing is drawn or built again."""
    trial = case.trial()
    state, gain = trial.state, trial.bindings.attrs["self.strength"]
    turned = trial.inputs["x"] @ state["rotation"] + state["shift"]
    expected = (turned @ state["layers.0.weight"].T + state["layers.0.bias"]) * gain
    assert np.allclose(expected, results(trial)[""], rtol=0, atol=1e-12)


def test_plain_tensors_are_drawn_afresh_like_parameters(case: Case) -> None:
    first, second = case.trial(seed=1), case.trial(seed=2)
    assert all(not np.array_equal(first.state[name], second.state[name]) for name in first.state)
    assert first.kept_state == ()


def test_bytes(case: Case) -> None:
    found = case.count(TEXT)
    assert found.weight_bytes == (36 + 36 + 6 + 6) * F32 == 336
    assert found.macs == 2 * 5 * 6 * 6
    assert found.fused_bytes == 336 + 2 * 5 * 6 * F32


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        pytest.param(" + s[d]", "", 'param "shift"', id="buffer-left-out"),
        pytest.param("r[k, d]", "r[d, k]", "line 9", id="plain-tensor-transposed"),
        pytest.param(" + c[o]", "", 'param "layers.0.bias"', id="bias-of-the-listed-layer-left-out"),
        pytest.param(" * gain", "", "line 9", id="number-left-out"),
    ],
)
def test_forgotten_state_is_named(case: Case, old: str, new: str, hint: str) -> None:
    case.rejected(changed(TEXT, old, new), hint, "differs from the original")


def test_state_that_is_not_there_is_named(case: Case) -> None:
    case.rejected(changed(TEXT, '"layers.0.bias"', '"layers.bias"'), "layers.bias", "layers.0.bias")
