"""F12: results nobody uses, arguments and buffers nobody reads.

Counters bill them, and everything of a matrix of which eight columns are read."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .lab import F32, Case, changed, opened

SHORT = """program short
input x[B, I]
param w = "narrow"[K, O]
for b<B, o<O, k<K: y[b, o] += x[b, k] * w[k, o]
output y
"""
WHOLE = """program whole
input x[B, I]
input extra[E]
param large = "large"[I, L]
param w = "narrow"[K, O]
param idle = "idle"[Z]
for b<B, c<L, i<I: ignored[b, c] += x[b, i] * large[i, c]
for b<B, o<O, k<K: y[b, o] += x[b, k] * w[k, o]
output y
"""
TEXTS = {"dead-product-left-out": SHORT, "dead-product-written": WHOLE}


@pytest.fixture(scope="module")
def case() -> Iterator[Case]:
    with opened("dead_code") as found:
        yield found


@pytest.mark.parametrize("name", TEXTS)
def test_with_and_without_the_dead_product_the_text_is_right(case: Case, name: str) -> None:
    certificate = case.accepted(TEXTS[name])
    assert certificate.dead == ("extra",)
    assert certificate.unused_state == ("large", "idle")


@pytest.mark.parametrize("name", TEXTS)
def test_only_what_an_output_needs_is_counted(case: Case, name: str) -> None:
    found = case.count(TEXTS[name])
    assert found.macs == 10 * 8 * 4 == 320  # with everything 10 * 256 * 256 + 320 = 655,680
    assert found.input_bytes == 10 * 8 * F32 == 320  # eight of the 256 columns of x
    assert found.weight_bytes == 8 * 4 * F32 == 128
    assert found.output_bytes == 10 * 4 * F32 == 160
    assert found.fused_bytes == found.unfused_bytes == 608  # with everything 289,364


def test_what_is_not_used_is_listed(case: Case) -> None:
    notes = case.count(WHOLE).notes
    assert "unused: extra, large, idle" in notes
    assert "not needed by any output, not counted: lines 7" in notes


def test_full_size_is_what_was_counted(case: Case) -> None:
    shapes = {name: entry.shape for name, entry in case.description.bindings.inputs.items()}
    assert shapes == {"x": (10, 256), "extra": (77,)}
    assert case.description.bindings.state["large"].shape == (256, 256)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("x[b, k]", "x[b, k + 1]", id="another-column"),
        pytest.param("x[b, k]", "x[b, I - K + k]", id="the-last-columns"),
        pytest.param("k<K: y", "k<K - 1: y", id="one-column-less"),
    ],
)
def test_wrong_slices_are_noticed(case: Case, old: str, new: str) -> None:
    case.rejected(changed(SHORT, old, new), "line 4", "differs from the original")


def test_the_dead_product_may_not_get_into_the_result(case: Case) -> None:
    text = changed(WHOLE, "output y\n", "for b<B, o<O: q[b, o] = y[b, o] + ignored[b, o]\noutput q\n")
    case.rejected(text, "line 9")
