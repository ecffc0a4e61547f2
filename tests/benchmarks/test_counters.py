"""Each disagreement with another counter is closed by arithmetic, and so is each with an oracle."""

from __future__ import annotations

import importlib
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]
FOLDER = REPOSITORY / "benchmarks" / "counters"
sys.path.insert(0, str(FOLDER))
sums = importlib.import_module("sums")
FILE = json.loads((FOLDER / "disagreements.json").read_text())
ROWS: list[dict[str, Any]] = FILE["rows"]
ORACLES = json.loads((FOLDER / "oracles.json").read_text())
STRUCTURE = json.loads((FOLDER / "structure.json").read_text())


def label(row: dict[str, Any]) -> str:
    return f"{row['problem']}-{row['counter']}"


def test_there_is_one_row_for_each_disagreement() -> None:
    assert len({label(row) for row in ROWS}) == len(ROWS) > 400
    for one in FILE["coverage"]:
        rows = [
            row for row in ROWS if row["counter"] == one["counter"] and row["problem"].startswith(f"{one['level']}_")
        ]
        assert len(rows) == one["with_ours"] - one["equal_exact"]
        assert one["runs"] + sum(one["fails"].values()) == one["problems"]


@pytest.mark.parametrize("row", ROWS, ids=label)
def test_the_arithmetic_closes_the_gap_exactly(row: dict[str, Any]) -> None:
    problem = FILE["problems"][row["problem"]]
    quantities = {name: sums.value(text) for name, text in problem["quantities"].items()}
    assert sums.value(row["sum"], {"exact": problem["exact"], **quantities}) == row["theirs"] != row["ours"]
    assert row["ours"] == problem["exact"] == FILE["ours"][row["problem"]]["macs"]
    assert row["right"] == STRUCTURE.get(row["problem"], {}).get("right", "ours")
    assert row["reasons"] and "unexplained" not in row["reasons"]
    assert set(row["reasons"]) <= set(FILE["reasons"])


@pytest.mark.parametrize("problem", FILE["problems"])
def test_a_quantity_is_positive_and_made_of_several_numbers(problem: str) -> None:
    """A single number is what a counter told, and only where its own rule is not one product of a tensor's sizes."""
    for name, text in FILE["problems"][problem]["quantities"].items():
        assert sums.value(text) > 0
        assert any(sign in text for sign in "*+") or name.startswith(("ptflops_", "einsum_as_read", "bias")), name


@pytest.mark.parametrize("problem", STRUCTURE)
def test_what_shapes_do_not_show_is_the_whole_difference_of_our_two_counts(problem: str) -> None:
    """Beside padding, and beside operators that no result hangs on at all, which our nominal count leaves out too."""
    named = FILE["problems"][problem]["quantities"]
    assert named[STRUCTURE[problem]["quantity"]] == STRUCTURE[problem]["text"]
    ours = FILE["ours"][problem]
    rest = sums.value(named["padding"]) if "padding" in named else 0
    explained = sums.value(STRUCTURE[problem]["text"]) + rest
    assert explained >= ours["macs_nominal"] - ours["macs"] > 0


def test_our_counts_are_the_oracles() -> None:
    """Or the file says where not, and that arithmetic with a reason closes the gap."""
    compare = importlib.import_module("compare")
    here = [one["problem"] for one in ORACLES if one["problem"] in FILE["ours"]]
    assert len(here) >= 0.9 * len(ORACLES)
    missed = list(compare.missed_oracles(FILE["ours"], here))
    assert missed == FILE["oracles"]
    assert all(one["known"] for one in missed)
    assert {(one["problem"], one["quantity"]) for one in missed} <= {("L3_48", "macs"), ("L3_33", "fused_bytes")}


def test_oracles_agree_with_the_figures_of_the_translated_problems() -> None:
    """Both tables were made independently; they differ where differences.json says so."""
    known = {
        (one["problem"], one["quantity"])
        for one in json.loads((FOLDER.parent / "kernelbench" / "differences.json").read_text())
    }
    expected = json.loads((FOLDER.parent / "kernelbench" / "expected.json").read_text())["problems"]
    by_name = {f"L{one['level']}_{one['id']}": one for one in expected}
    fields = (("macs", "exact"), ("macs_nominal", "nominal"), ("fused_bytes", "compulsory_bytes"))
    different = {
        (oracle["problem"], quantity)
        for oracle in ORACLES
        for quantity, field in fields
        if oracle["problem"] in by_name and by_name[oracle["problem"]][quantity] not in (None, oracle[field])
    }
    assert different == known


def test_no_oracle_comes_twice() -> None:
    assert max(Counter(one["problem"] for one in ORACLES).values()) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [("2*3+4", 10), ("(64*64-64*65//2)", 2016), ("exact + 3*(2+1) - a", 12), ("-2+5", 3)],
)
def test_arithmetic_of_whole_numbers(text: str, expected: int) -> None:
    assert sums.value(text, {"exact": 10, "a": 7}) == expected


@pytest.mark.parametrize("text", ["1.5*2", "5//2", "2**3", "f(1)", "True", "1 < 2"])
def test_nothing_else_is_arithmetic(text: str) -> None:
    with pytest.raises(ValueError):
        sums.value(text)


def test_sums_of_products_that_come_often() -> None:
    texts = {"2*3": 1, "7-2": 2, "4*5": 3}
    assert sums.joined(texts) == "2*3 + 2*(7-2) + 3*4*5"
    assert sums.value(sums.joined(texts)) == 76
