"""Which modules load which: rooms point one way, and starting the program loads nothing heavy."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Packages that cost more than the whole start of the program may cost.
HEAVY = (
    "torch",
    "jax",
    "numpy",
    "langgraph",
    "langchain_core",
    "langsmith",
    "openai",
    "anthropic",
    "vcr",
    "pydantic",
    "islpy",
    "opt_einsum",
    "sympy",
    "rich",
    "lark",
    "jinja2",
    "yaml",
    "diskcache",
    "sqlite3",
)


def loaded_by(code: str) -> set[str]:
    """Top-level names in sys.modules after `code` ran in a fresh interpreter."""
    report = "\nimport json, sys\nsys.stderr.write(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
    ran = subprocess.run([sys.executable, "-c", code + report], capture_output=True, text=True, check=True)
    return set(json.loads(ran.stderr))


def test_rooms_import_only_downwards() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "1 kept, 0 broken" in ran.stdout


@pytest.mark.parametrize("room", ["agent", "verifier", "ir", "analysis"])
def test_rooms_name_each_other_relatively(room: str) -> None:
    """`import ir` would work in a checkout and nowhere else."""
    for path in (ROOT / room).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            outer = {name.split(".")[0] for name in names}
            assert not outer & {"agent", "verifier", "ir", "analysis", "solar_agent"}, f"{path}:{node.lineno}"


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["translate", "--help"]])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    code = f"""
import sys
sys.argv = ["solar-agent", *{arguments!r}]
from solar_agent.agent.cli import main
try:
    main()
except SystemExit as stop:
    assert stop.code in (0, None), stop.code
"""
    assert loaded_by(code) & set(HEAVY) == set()


@pytest.mark.parametrize(
    "room",
    [
        "ir.load",
        "ir.execute",
        "analysis.count",
        "analysis.bounds",
        "verifier.reference",
        "verifier.verify",
        "verifier.certificate",
    ],
)
def test_a_room_loads_no_framework_and_no_client(room: str) -> None:
    heavy = {"torch", "jax", "langgraph", "langchain_core", "langsmith", "openai", "anthropic", "vcr", "rich"}
    assert loaded_by(f"import solar_agent.{room}") & heavy == set()


def test_the_graph_is_imported_only_for_a_translation() -> None:
    heavy = {"torch", "jax", "langgraph", "openai", "anthropic", "vcr"}
    assert (
        loaded_by("import solar_agent.agent.translate, solar_agent.agent.cli, solar_agent.agent.report") & heavy
        == set()
    )
