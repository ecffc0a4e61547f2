"""The kept tables of the parser belong to the grammar, and a parser made from them is the grammar's."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest
from solar_agent import ir
from solar_agent.ir import tables
from solar_agent.ir.build import build_program
from solar_agent.ir.parse import parse

TEXT = """\
program p
input x[B, C] : int in 0..V unique
for b<B, c<C where b != c: y[b] += sum(i<c: (x[b, i] else 0)) * 1.5e3
def f(a[..., D]; k=1): return a
if? s:
    (p, q) = f(x; k)
scan reverse t<T carry h = x: next h = h
output y unordered along 1 with p
"""


def test_the_kept_tables_are_those_of_this_grammar() -> None:
    kept = json.loads((files(ir) / "grammar.tables.json").read_text(encoding="utf-8"))
    assert kept["of"] == tables._identity(), "run python -m solar_agent.ir.tables"
    assert kept["of"] == json.loads(tables.stored())["of"]


def test_a_parser_from_the_kept_tables_reads_as_one_from_the_grammar() -> None:
    lines = tuple(TEXT.split("\n"))
    assert parse(TEXT) == build_program(tables.build().parse(TEXT, start="start"), lines)


def test_tables_of_another_grammar_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[bool] = []
    monkeypatch.setattr(tables, "_identity", lambda: "another")
    monkeypatch.setattr(tables, "build", lambda: built.append(True))
    tables.parser.__wrapped__()
    assert built == [True]


def test_the_kept_tables_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "build", lambda: pytest.fail("the grammar was built"))
    parser = tables.parser.__wrapped__()
    assert parser.parse("output x\n", start="start").data == "start"


def test_the_identity_changes_with_the_version_of_lark(monkeypatch: pytest.MonkeyPatch) -> None:
    before = tables._identity()
    monkeypatch.setattr("lark.__version__", "0.0.1")
    assert tables._identity() != before


def test_the_file_is_plain_json() -> None:
    kept = json.loads((files(ir) / "grammar.tables.json").read_text(encoding="utf-8"))
    assert set(kept) == {"of", "tables"} and set(kept["tables"]) == {"data", "memo"}
