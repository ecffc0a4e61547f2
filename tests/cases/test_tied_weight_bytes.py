"""F13: one tensor under two names.

Counters read it twice, or forget the work of its second use."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .lab import F32, I64, Case, changed, opened

TWO_NAMES = """program tied
input words[B, T] : int
param e = "embed.weight"[V, D]
param w = "score.weight"[V, D]
for b<B, t<T, d<D: h[b, t, d] = e[words[b, t], d]
for b<B, t<T, v<V, d<D: y[b, t, v] += h[b, t, d] * w[v, d]
output y
"""
ONE_NAME = TWO_NAMES.replace('param w = "score.weight"[V, D]\n', "").replace("w[v, d]", "e[v, d]")
MODULES = """program tied
input words[B, T] : int
h = Embedding(words; name="embed")
output Linear(h; name="score")
"""
TEXTS = {"two-names": TWO_NAMES, "one-name": ONE_NAME, "prelude": MODULES}


@pytest.fixture(scope="module")
def case() -> Iterator[Case]:
    with opened("tied_weight") as found:
        yield found


def test_both_names_are_one_storage(case: Case) -> None:
    state = case.description.bindings.state
    assert set(state) == {"embed.weight", "score.weight"}
    first, second = state["embed.weight"], state["score.weight"]
    assert first.storage is not None
    assert (first.storage, first.offset, first.strides) == (second.storage, second.offset, second.strides)


@pytest.mark.parametrize("name", TEXTS)
def test_right_texts_are_verified(case: Case, name: str) -> None:
    certificate = case.accepted(TEXTS[name])
    assert certificate.unused_state == ()  # a name whose storage is read under the other one is no omission


@pytest.mark.parametrize("name", TEXTS)
def test_both_uses_work_and_one_is_read(case: Case, name: str) -> None:
    found = case.count(TEXTS[name])
    assert found.macs == 2 * 5 * 32 * 1_000 == 320_000
    assert found.input_bytes == 2 * 5 * I64 == 80
    assert found.weight_bytes == 1_000 * 32 * F32 == 128_000  # the head reads all of it, so the look-up adds nothing
    assert found.output_bytes == 2 * 5 * 1_000 * F32 == 40_000
    assert found.fused_bytes == 168_080  # read twice: 296,080


def test_state_is_drawn_once_for_both_names(case: Case) -> None:
    trial = case.trial("normal")
    assert trial.state["embed.weight"] is trial.state["score.weight"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("e[words[b, t], d]", "e[t, d]", id="position-for-word"),
        pytest.param("e[words[b, t], d]", "2 * e[words[b, t], d]", id="scaled-look-up"),
        pytest.param("h[b, t, d] * w[v, d]", "h[b, T - 1 - t, d] * w[v, d]", id="reversed"),
    ],
)
def test_wrong_uses_are_noticed(case: Case, old: str, new: str) -> None:
    case.rejected(changed(TWO_NAMES, old, new), "written by line 6", "fed by the statements of lines 5")
