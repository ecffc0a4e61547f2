"""The programs outside KernelBench have the form that can be measured; nothing here runs them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

OUTSIDE = Path(__file__).parents[2] / "benchmarks" / "outside"
PROGRAMS = sorted([*OUTSIDE.glob("small/*.py"), *OUTSIDE.glob("models/*.py")])
_DRAWN = {"rand", "randn", "randint"}


def _named(tree: ast.Module, kind: type[ast.ClassDef] | type[ast.FunctionDef]) -> dict[str, ast.AST]:
    return {node.name: node for node in tree.body if isinstance(node, kind)}


def _constants(tree: ast.Module) -> dict[str, ast.expr]:
    return {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def test_there_are_enough_of_both_kinds() -> None:
    assert len(list(OUTSIDE.glob("small/*.py"))) >= 24
    assert len(list(OUTSIDE.glob("models/*.py"))) >= 22


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_program_has_one_entry_and_inputs_of_named_sizes(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree), "the first line says what is in it"
    functions, classes, constants = _named(tree, ast.FunctionDef), _named(tree, ast.ClassDef), _constants(tree)

    entries = [name for name in ("fn", "forward", "run") if name in functions]
    assert ("Model" in classes) + len(entries) == 1
    makers = [functions[name] for name in ("get_inputs", "example_inputs") if name in functions]
    assert len(makers) == 1
    assert _names(makers[0]) & constants.keys(), "sizes of inputs are constants of the module"
    assert _DRAWN & {node.attr for node in ast.walk(makers[0]) if isinstance(node, ast.Attribute)}
    used = {name for node in tree.body if not isinstance(node, ast.Assign) for name in _names(node)}
    assert constants.keys() <= used, f"unused: {sorted(constants.keys() - used)}"


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_program_downloads_nothing(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            assert node.func.attr not in {"from_pretrained", "load_state_dict_from_url", "hf_hub_download"}
            if node.func.attr == "create_model":
                wanted = {word.arg: word.value for word in node.keywords}
                assert ast.literal_eval(wanted["pretrained"]) is False
