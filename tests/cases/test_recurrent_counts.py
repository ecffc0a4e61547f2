"""F03: work of a recurrent layer: two layers, two directions, a projection, serial dependence, a tuple of results.

Counters count it once instead of once a step, or forget the projection or the second direction."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from solar_agent.analysis.arch import load_arch
from solar_agent.analysis.bounds import bounds

from .lab import F32, Case, changed, opened

MODULE = """program tagger
input words[N, T, I]
(states, last, cells) = LSTM(words; name="lstm")
output states
output last
output cells
"""
WRITTEN = """program tagger
input words[N, T, I]
def gates(x[T, N, I]; sfx):
    param w = "lstm.weight_ih_{sfx}"[G, I]
    param b = "lstm.bias_ih_{sfx}"[G]
    for t<T, n<N, g<G: u[t, n, g] = sum(i<I: x[t, n, i] * w[g, i]) + b[g]
    return u
def cell(u[N, G], h[N, R], c[N, H]; sfx):
    param w = "lstm.weight_hh_{sfx}"[G, R]
    param b = "lstm.bias_hh_{sfx}"[G]
    param pr = "lstm.weight_hr_{sfx}"[R, H]
    for n<N, g<G: a[n, g] = u[n, g] + sum(r<R: h[n, r] * w[g, r]) + b[g]
    for n<N, k<H: d[n, k] = sigmoid(a[n, H + k]) * c[n, k] + sigmoid(a[n, k]) * tanh(a[n, 2*H + k])
    for n<N, k<H: e[n, k] = sigmoid(a[n, 3*H + k]) * tanh(d[n, k])
    for n<N, r<R: f[n, r] = sum(k<H: e[n, k] * pr[r, k])
    return f, d
def onward(x[T, N, I], h0[N, R], c0[N, H]; sfx):
    u = gates(x; sfx=sfx)
    scan t<T carry h = h0, c = c0:
        view now[n<N, g<4*H] = u[t, n, g]
        (f, d) = cell(now, h, c; sfx=sfx)
        next h = f
        next c = d
        emit ys = f
    return ys, h, c
def backward(x[T, N, I], h0[N, R], c0[N, H]; sfx):
    u = gates(x; sfx=sfx)
    scan reverse t<T carry h = h0, c = c0:
        view now[n<N, g<4*H] = u[t, n, g]
        (f, d) = cell(now, h, c; sfx=sfx)
        next h = f
        next c = d
        emit ys = f
    return ys, h, c
attr R = "self.lstm.proj_size"
attr H = "self.lstm.hidden_size"
attr L = "self.lstm.num_layers"
tensor h0[N, R] = 0
tensor c0[N, H] = 0
tensor last[2*L, N, R]
tensor cells[2*L, N, H]
view x[t<T, n<N, i<I] = words[n, t, i]
repeat i in 0..L:
    (f, hf, cf) = onward(x, h0, c0; sfx="l{i}")
    (b, hb, cb) = backward(x, h0, c0; sfx="l{i}_reverse")
    for n<N, r<R: last[2*i, n, r] = hf[n, r]
    for n<N, r<R: last[2*i + 1, n, r] = hb[n, r]
    for n<N, k<H: cells[2*i, n, k] = cf[n, k]
    for n<N, k<H: cells[2*i + 1, n, k] = cb[n, k]
    x = cat(f, b; dim=2)
for n<N, t<T, r<2*R: y[n, t, r] = x[t, n, r]
output y
output last
output cells
"""
TEXTS = {"prelude": MODULE, "written": WRITTEN}
FIRST = 40 * 6 + 40 * 4 + 4 * 10  # gates of the input and of the state, then the projection: 440
SECOND = 40 * 8 + 40 * 4 + 4 * 10  # its input is both directions of the first layer: 520
BIASES = 2 * 40


@pytest.fixture(scope="module")
def case() -> Iterator[Case]:
    with opened("lstm_projection") as found:
        yield found


@pytest.mark.parametrize("name", TEXTS)
def test_right_texts_are_verified(case: Case, name: str) -> None:
    certificate = case.accepted(TEXTS[name])
    assert [leaf.shape for leaf in certificate.leaves] == [(3, 7, 8), (4, 3, 4), (4, 3, 10)]


@pytest.mark.parametrize("name", TEXTS)
def test_work_and_bytes(case: Case, name: str) -> None:
    found = case.count(TEXTS[name])
    assert 2 * (FIRST + SECOND) == 1_920  # both directions of both layers
    assert found.macs == 3 * 7 * 1_920 == 40_320
    weights = 2 * (FIRST + SECOND) + 4 * BIASES
    assert weights == 2_240
    assert found.weight_bytes == weights * F32  # once, not once a step
    assert found.input_bytes == 3 * 7 * 6 * F32
    assert found.output_bytes == (3 * 7 * 8 + 4 * 3 * 4 + 4 * 3 * 10) * F32
    assert found.fused_bytes == (126 + 2_240 + 336) * F32 == 10_808


@pytest.mark.parametrize("name", TEXTS)
def test_time_is_sequential(case: Case, name: str) -> None:
    """Four loops of seven steps; the two directions of a layer do not wait for one another."""
    (note,) = [note for note in case.count(TEXTS[name]).notes if "sequential" in note]
    assert note == "sequential: 4 loops of 7 dependent steps, 14 in the longest chain"


def test_only_the_unfused_bound_reads_the_weights_in_every_step(case: Case) -> None:
    found = bounds(case.program(MODULE), load_arch("H100_PCIe"))
    assert found.binding == "DRAM bandwidth"
    assert found.fused_s == pytest.approx(10_808 / 2.039e12)
    recurrent = 4 * (40 * 4 + 4 * 10)  # weights of the state and of the projection, read in each of 7 steps
    assert case.count(MODULE).unfused_bytes > 7 * recurrent * F32


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        pytest.param("scan reverse t<T", "scan t<T", ['"1"', "last[2*i + 1, n, r] = hb"], id="both-directions-onward"),
        pytest.param("f[n, r] = sum(k<H: e[n, k] * pr[r, k])", "f[n, r] = e[n, r]", ['"0"'], id="no-projection"),
        pytest.param("        next h = f\n        next c = d\n        emit ys = f\n    return ys, h, c\ndef backward",
                     "        next c = d\n        emit ys = f\n    return ys, h, c\ndef backward", ['"1"'],
                     id="state-not-carried"),
    ],
)  # fmt: skip
def test_wrong_recurrences_are_noticed(case: Case, old: str, new: str, parts: list[str]) -> None:
    case.rejected(changed(WRITTEN, old, new), *parts, "differs from the original")
