"""Where a count of a KernelBench text differs from its reference figure, arithmetic closes the gap exactly."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks" / "kernelbench"
ROWS = json.loads((FOLDER / "differences.json").read_text())
EXPECTED = {f"L{p['level']}_{p['id']}": p for p in json.loads((FOLDER / "expected.json").read_text())["problems"]}


def value(expression: str, sizes: Mapping[str, int]) -> int:
    """Products, sums and floor divisions of named sizes."""
    return _value(ast.parse(expression, mode="eval").body, sizes)


def _value(node: ast.expr, sizes: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(int() as number):
            return number
        case ast.Name(name):
            return sizes[name]
        case ast.BinOp(left, ast.Mult(), right):
            return _value(left, sizes) * _value(right, sizes)
        case ast.BinOp(left, ast.Add(), right):
            return _value(left, sizes) + _value(right, sizes)
        case ast.BinOp(left, ast.FloorDiv(), right):
            assert _value(left, sizes) % _value(right, sizes) == 0
            return _value(left, sizes) // _value(right, sizes)
        case _:
            raise AssertionError(ast.dump(node))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['problem']}-{row['quantity']}")
def test_the_terms_add_up_to_both_figures(row: dict[str, object]) -> None:
    terms, sizes = row["terms"], row["sizes"]
    assert isinstance(terms, list) and isinstance(sizes, dict)
    assert sum(value(term["reference"], sizes) for term in terms) == row["reference"]
    assert sum(value(term["ours"], sizes) for term in terms) == row["ours"]
    assert EXPECTED[str(row["problem"])][str(row["quantity"])] == row["ours"] != row["reference"]
    assert row["right"] in ("ours", "reference")


def test_differences_are_few() -> None:
    assert len(ROWS) <= 0.05 * len(EXPECTED)
