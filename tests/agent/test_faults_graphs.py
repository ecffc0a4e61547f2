"""Einsum graphs that nobody lifted, or that were damaged since: one line, exit code 2."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from .test_cli import Said

LAYERS = {"start": {"type": "start"}}
BINDINGS = {"inputs": {"x": ["f32", [4]]}, "state": {}, "draws": [], "attrs": {}}
TEXT = "program p\ninput x[N]\ny = x + 1\noutput y\n"


def graph(layers: str = "", **origin: object) -> str:
    sha256 = hashlib.sha256(json.dumps(LAYERS, sort_keys=True).encode()).hexdigest()
    facts = {"format": 1, "layers_sha256": sha256, "verdict": "verified", "bindings": json.dumps(BINDINGS)}
    return f"layers: {layers or json.dumps(LAYERS)}\nsolar_agent: {json.dumps(facts | {'text': TEXT} | origin)}\n"


def analysed(text: str, capsys: pytest.CaptureFixture[str], folder: Path) -> Said:
    path = folder / "einsum_graph.yaml"
    path.write_text(text, encoding="utf-8")
    return Said(capsys, "analyze", path, "--json", "-q")


def test_a_graph_that_is_whole(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    said = analysed(graph(), capsys, tmp_path)
    assert (said.code, said.document["verdict"]) == (0, "verified")


@pytest.mark.parametrize(
    "layers",
    ["{a: 2020-01-01}", "{1: 2, a: 3}", "{2020-01-01: 2}", "{a: !!binary aGVsbG8=}", "{a: !!set {x, y}}", "{}"],
)
def test_layers_of_another_kind(layers: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    said = analysed(graph(layers), capsys, tmp_path)
    assert (said.code, said.document["exit_code"]) == (2, 2)
    assert "were changed after they were lifted" in said.err


def test_aliases_are_not_unfolded(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Ten lines that stand for 10**9 items."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 9)]
    said = analysed("\n".join([*lines, "layers: {start: *a8}", "solar_agent: {format: 1}\n"]), capsys, tmp_path)
    assert said.code == 2
    assert "has an alias" in said.err


@pytest.mark.parametrize(
    "bindings",
    [
        "[]", "5", "{", "[" * 100_000, '{"inputs": 5}', json.dumps(BINDINGS | {"inputs": {"x": ["f32", [-4]]}}),
        json.dumps(BINDINGS | {"inputs": {"x": ["f32", ["4"]]}}),
        json.dumps(BINDINGS | {"inputs": {"x": ["f32", [4.5]]}}),
        json.dumps(BINDINGS | {"inputs": {"x": ["f32", [10**30]]}}),
        json.dumps(BINDINGS | {"inputs": {"x": ["q9", [4]]}}),
        json.dumps(BINDINGS | {"attrs": []}), json.dumps(BINDINGS | {"state": None}),
    ],
    ids=range(12),
)  # fmt: skip
def test_damaged_bindings(bindings: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    said = analysed(graph(bindings=bindings), capsys, tmp_path)
    assert (said.code, said.document["exit_code"]) == (2, 2)
    assert "is damaged" in said.err and said.err.count("\n") == 1
