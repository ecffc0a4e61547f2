"""F06: a look-up by index inputs reads the rows that are asked for, not the whole table.

Counters charge the whole table, or its parameters as multiply-adds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from solar_agent.analysis.arch import load_arch
from solar_agent.analysis.bounds import bounds

from .lab import F32, I64, Case, changed, opened

TEXT = """program bag
param e = "vectors.weight"[V, D]
input words[B, T] : int in 0..V
for b<B, t<T, d<D: y[b, d] += e[words[b, t], d]
output y
"""
WORDS = 50_000


@pytest.fixture(scope="module")
def case() -> Iterator[Case]:
    with opened("embedding_rows") as found:
        yield found


def test_a_right_text_is_verified(case: Case) -> None:
    certificate = case.accepted(TEXT)
    assert certificate.assumed_ranges == ("line 3: input words[B, T] : int in 0..V",)


def test_work_is_adds_alone(case: Case) -> None:
    found = case.count(TEXT)
    assert found.macs == found.macs_nominal == 0
    assert found.vector_ops == found.flops == 4 * (16 - 1) * 64 == 3_840


def test_at_most_the_rows_that_are_asked_for(case: Case) -> None:
    found = case.count(TEXT)
    assert found.weight_bytes == 4 * 16 * 64 * F32  # 64 rows of 256 bytes
    assert found.input_bytes == 4 * 16 * I64 == 512
    assert found.output_bytes == 4 * 64 * F32 == 1_024
    assert found.fused_bytes == 64 * 256 + 512 + 1_024 == 17_920  # the table has 12,800,000
    assert bounds(case.program(TEXT), load_arch("H100_PCIe")).fused_s == pytest.approx(17_920 / 2.039e12)


def test_the_report_says_that_it_depends_on_distinct_rows(case: Case) -> None:
    (note,) = case.count(TEXT).notes
    assert "vectors.weight" in note and "chosen by data" in note and "fewer when indices repeat" in note
    found = bounds(case.program(TEXT), load_arch("H100_PCIe"))
    assert "rows chosen by data are taken to be distinct" in found.assumptions


def test_indices_are_drawn_inside_the_table(case: Case) -> None:
    domain = case.description.domains["words"]
    assert (domain.factory, domain.low, domain.high) == ("randint", 0, WORDS - 1)
    for assignment in (*case.reference.assignments(), case.own_sizes()):
        rows = assignment.changes.get("const.WORDS", WORDS)
        assert rows < 20 or assignment.label == "its own sizes"
        for distribution in ("large", "negative"):  # those that reach for the ends of a range
            drawn = case.reference.trial(assignment, 3, distribution, "promoted").inputs["words"]
            assert drawn.dtype == np.int64
            assert drawn.min() >= 0 and drawn.max() < rows, (assignment, distribution)


def test_indices_repeat_in_some_trials(case: Case) -> None:
    drawn = case.trial("ties").inputs["words"]
    assert len(np.unique(drawn)) <= drawn.size // 2


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        pytest.param("e[words[b, t], d]", "e[t % V, d]", 'never used by the text: input "words"', id="position"),
        pytest.param("y[b, d] +=", "y[b, d] max=", "line 4", id="maximum"),
        pytest.param("e[words[b, t], d]", "e[words[b, 0], d]", "line 4", id="first-word"),
    ],
)
def test_wrong_look_ups_are_noticed(case: Case, old: str, new: str, part: str) -> None:
    case.rejected(changed(TEXT, old, new), part)


def test_a_range_that_leaves_out_rows_is_no_excuse(case: Case) -> None:
    case.rejected(changed(TEXT, "int in 0..V", "int in 0..V - 1"), "leaves out values", "line 3")
