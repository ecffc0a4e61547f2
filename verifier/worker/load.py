"""Load the user's file: run it (with other literals if asked), find the entry, build the object."""

from __future__ import annotations

import ast
import importlib
import inspect
import random
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Literal

import numpy as np
import torch

from ...ir.bindings import Constant
from . import light, pretrained
from .faults import Guard, Refused
from .source import INIT_NAME, Spot, find_spots, imported_names, local_sources, rewritten

MODULE_NAME = "solar_user_program"
_FUNCTION_NAMES = ("fn", "forward", "run")
_INPUT_SOURCES = ("get_inputs", "example_inputs")
_MOST_BITS = 1024


@dataclass(frozen=True, slots=True)
class File:
    """The user's file and options; `spots` are its size literals."""

    path: Path
    text: str
    entry: str
    kind: Literal["module", "function"]
    spots: tuple[Spot, ...]
    inputs: tuple[tuple[str, str, tuple[int, ...]], ...]
    siblings: frozenset[str] = frozenset()

    @property
    def folder(self) -> Path:
        return self.path.parent


@dataclass(frozen=True, slots=True)
class Built:
    """One live program. `call` is what a run calls; `model` is None for a function."""

    namespace: dict[str, Any]
    model: torch.nn.Module | None
    call: Callable[..., Any]
    constructor: Mapping[str, object]
    signature: inspect.Signature


def read_file(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise Refused(f"no such file: {path}", "bad_input") from None
    except IsADirectoryError:
        raise Refused(f"{path} is a folder, not a Python file", "bad_input") from None
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"cannot read {path}: {error}", "bad_input") from None


def open_file(path: Path, entry: str | None, inputs: tuple[tuple[str, str, tuple[int, ...]], ...]) -> File:
    """Raises Refused (bad input) or UserError when the file cannot be loaded or has no entry."""
    text = read_file(path)
    with Guard("reading the file", path.parent, "bad_input"):
        tree = ast.parse(text, filename=str(path))
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    libraries = frozenset(name.partition(".")[0] for name, _ in imported_names(tree))
    if libraries & {"jax", "flax"} and "torch" not in libraries:
        raise Refused(f"{path.name} is a JAX program; only PyTorch programs can be run so far", "bad_input")
    by_name = pretrained.wanted(local_sources(path, text).values())
    if by_name:
        pretrained.before_import(libraries)
    _import_libraries(tree, path)
    if light.suits(text):
        light.install()
    if by_name:
        pretrained.install()
    if "numpy" in sys.modules and ".random" in text:
        importlib.import_module("numpy.random")
    name, kind = _find_entry(tree, entry, path)
    return File(path, text, name, kind, find_spots(tree, name), inputs, _siblings(tree, path))


def _import_libraries(tree: ast.Module, path: Path) -> None:
    """Import what the file imports, outside any mode; a file beside it is left to the file itself."""
    for name, line in imported_names(tree):
        if _is_local(name, path.parent):
            continue
        optional = any(isinstance(node, ast.Try | ast.FunctionDef) and _spans(node, line) for node in ast.walk(tree))
        try:
            importlib.import_module(name)
        except ImportError as error:
            if not optional:
                raise Refused(f"{path.name}:{line}: cannot import {name}: {error}", "bad_input") from None


def _siblings(tree: ast.Module, path: Path) -> frozenset[str]:
    """Modules beside the file, when it imports any of them."""
    if not any(_is_local(name, path.parent) for name, _ in imported_names(tree)):
        return frozenset()
    return frozenset(entry.stem for entry in path.parent.iterdir() if entry.suffix == ".py" or entry.is_dir())


def _spans(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _is_local(name: str, folder: Path) -> bool:
    base = folder / name.split(".")[0]
    return base.with_suffix(".py").is_file() or base.is_dir()


def _find_entry(tree: ast.Module, entry: str | None, path: Path) -> tuple[str, Literal["module", "function"]]:
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    modules = [cls.name for cls in classes if _has_forward(cls, classes)]
    if entry is not None:
        if entry in functions:
            return entry, "function"
        if entry in {cls.name for cls in classes} | _assigned_names(tree) | _imported_as(tree):
            return entry, "module"
        raise Refused(f'{path.name} has no "{entry}"; it offers {_listed(modules + functions)}', "bad_input")
    if "Model" in {cls.name for cls in classes} or "Model" in _assigned_names(tree) | _imported_as(tree):
        return "Model", "module"
    if len(modules) == 1:
        return modules[0], "module"
    named = [name for name in functions if name in _FUNCTION_NAMES]
    if len(named) == 1 and not modules:
        return named[0], "function"
    raise Refused(
        f"{path.name} has no Model, nor one nn.Module alone, nor one function named fn, forward or run; "
        f"--entry chooses: it offers {_listed(modules + functions)}",
        "bad_input",
    )


def _listed(names: list[str]) -> str:
    shown = [name for name in names if name not in (*_INPUT_SOURCES, INIT_NAME)]
    return ", ".join(shown) if shown else "nothing, no module and no function"


def _has_forward(cls: ast.ClassDef, classes: list[ast.ClassDef]) -> bool:
    """Is it an nn.Module by its bases, as far as the text tells?"""
    for base in cls.bases:
        name = base.attr if isinstance(base, ast.Attribute) else base.id if isinstance(base, ast.Name) else ""
        if name.endswith("Module"):
            return True
        parent = next((other for other in classes if other.name == name and other is not cls), None)
        if parent is not None and _has_forward(parent, classes):
            return True
    return False


def _assigned_names(tree: ast.Module) -> set[str]:
    return {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _imported_as(tree: ast.Module) -> set[str]:
    return {
        alias.asname or alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }


def seed_everything(seed: int) -> None:
    torch.manual_seed(seed)
    random.seed(seed)
    if "numpy.random" in sys.modules:
        np.random.seed(seed % (1 << 32))


def execute(file: File, changes: Mapping[str, int]) -> dict[str, Any]:
    """Run the file's top level in a fresh module; modules beside it are loaded anew."""
    _forget_local(file)
    pretrained.turn(file.folder, changes)
    module = ModuleType(MODULE_NAME)
    module.__file__ = str(file.path)
    sys.modules[MODULE_NAME] = module
    torch.set_default_dtype(torch.float32)
    with Guard("loading the file", file.folder, "bad_input"):
        code = compile(rewritten(file.text, file.spots, changes), str(file.path), "exec")
        exec(code, vars(module))
    return vars(module)


def _forget_local(file: File) -> None:
    """Modules beside the file were loaded with tensors of another run's device; they are loaded anew."""
    if file.siblings:
        for name in [name for name in sys.modules if name.partition(".")[0] in file.siblings]:
            del sys.modules[name]


def build(file: File, namespace: dict[str, Any], mode: str) -> Built:
    """Construct the entry. Call it under the modes and the seed that are wanted."""
    found = namespace.get(file.entry)
    if file.kind == "function":
        if not callable(found):
            raise Refused(f"{file.entry} is not a function", "bad_input")
        return Built(namespace, None, found, {}, inspect.signature(found))
    constructor: Mapping[str, object] = {}
    if isinstance(found, type):
        args, kwargs = _init_arguments(file, namespace)
        constructor = _named_arguments(found, args, kwargs)
        with Guard(f"constructing {file.entry}", file.folder), torch.no_grad():
            found = found(*args, **kwargs)
    if not isinstance(found, torch.nn.Module):
        if callable(found) and not isinstance(found, type):
            return Built(namespace, None, found, {}, inspect.signature(found))
        raise Refused(f"{file.entry} is neither an nn.Module nor a function", "bad_input")
    if mode == "eval":
        found.eval()
    return Built(namespace, found, found, constructor, inspect.signature(found.forward))


def _init_arguments(file: File, namespace: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    maker = namespace.get(INIT_NAME)
    if maker is None:
        return [], {}
    with Guard("running get_init_inputs()", file.folder):
        made = maker()
    match made:
        case dict():
            return [], made
        case list() | tuple():
            return list(made), {}
        case None:
            return [], {}
        case _:
            return [made], {}


def _named_arguments(cls: type, args: list[Any], kwargs: dict[str, Any]) -> dict[str, object]:
    """Constructor arguments by parameter name, defaults included."""
    try:
        bound = inspect.signature(cls).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return dict(kwargs)
    bound.apply_defaults()
    return dict(bound.arguments)


def passed_arguments(file: File, namespace: dict[str, Any]) -> frozenset[str]:
    """Constructor parameters that get_init_inputs gives a value, so that their defaults do not count."""
    found = namespace.get(file.entry)
    if not isinstance(found, type):
        return frozenset()
    args, kwargs = _init_arguments(file, namespace)
    try:
        return frozenset(inspect.signature(found).bind(*args, **kwargs).arguments)
    except (TypeError, ValueError):
        return frozenset(kwargs)


def signature_text(built: Built) -> str:
    return str(built.signature)


def is_user_function(value: object) -> bool:
    return isinstance(value, FunctionType) and value.__module__ == MODULE_NAME


def plain_constant(value: object, depth: int = 0) -> tuple[bool, Constant]:
    """(True, value) when it is a number, bool, string, None or a (nested) list or tuple of those."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > _MOST_BITS:
        return False, None
    if value is None or isinstance(value, bool | int | float | str):
        return True, value
    if isinstance(value, tuple | list) and depth < 4:
        parts = [plain_constant(item, depth + 1) for item in value]
        return all(ok for ok, _ in parts), tuple(part for _, part in parts)
    return False, None
