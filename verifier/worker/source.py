"""The user's file as text: its local imports, the integer literals that say sizes, and the file with some of them
replaced. Nothing here runs user code or knows torch."""

from __future__ import annotations

import ast
import hashlib
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

Where = Literal["const", "inputs", "init", "default", "body", "shape"]
Position: TypeAlias = tuple[int, int, int, int]
INPUT_NAMES = ("get_inputs", "example_inputs")
INIT_NAME = "get_init_inputs"
_MAX_POWER = 64
_LEAST, _GREATEST = 2.0**-6, 2.0**14
_MOST_LANDMARKS = 16
_ARITHMETIC: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
}
_DATA_CALLS = frozenset({"tensor", "as_tensor", "array", "asarray", "manual_seed", "seed", "range"})
_NOT_SIZES = frozenset({"dim", "axis", "dims", "seed", "low", "diagonal", "dtype", "device", "generator"})


@dataclass(frozen=True, slots=True)
class Spot:
    """An integer literal of the source (or a literal arithmetic expression) that can be given another value."""

    label: str
    value: int
    where: Where
    position: Position


def literal_int(node: ast.expr) -> int | None:
    """The value of an integer literal or of arithmetic on integer literals; None for anything else."""
    match node:
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=int(value)):
            return value
        case ast.BinOp(left=left, op=op, right=right):
            return _fold(literal_int(left), op, literal_int(right))
        case _:
            return None


def _fold(left: int | None, op: ast.operator, right: int | None) -> int | None:
    function = _ARITHMETIC.get(type(op))
    if function is None or left is None or right is None:
        return None
    if isinstance(op, ast.FloorDiv) and right == 0:
        return None
    if isinstance(op, ast.Pow | ast.LShift) and not 0 <= right <= _MAX_POWER:
        return None
    return function(left, right)


def _position(node: ast.expr) -> Position:
    return node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def _called_name(node: ast.Call) -> str:
    match node.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""


def _literals(node: ast.expr | None, label: str, where: Where) -> Iterator[Spot]:
    """Size literals inside an expression; a literal beside names in arithmetic is a ratio and stays."""
    if node is None:
        return
    value = literal_int(node)
    if value is not None:
        if value > 0:
            yield Spot(label, value, where, _position(node))
        return
    match node:
        case ast.Tuple(elts=items) | ast.List(elts=items):
            for index, item in enumerate(items):
                yield from _literals(item, f"{label}.{index}", where)
        case ast.Dict(keys=keys, values=items):
            for key, item in zip(keys, items, strict=True):
                name = str(key.value) if isinstance(key, ast.Constant) else "?"
                yield from _literals(item, f"{label}.{name}", where)
        case ast.BinOp(left=ast.List() | ast.Tuple() as left, op=ast.Mult(), right=right):
            yield from _literals(left, label, where)
            yield from _literals(right, f"{label}.len", where)
        case ast.BinOp(left=left, right=right):
            yield from _inside_arithmetic(left, label, where)
            yield from _inside_arithmetic(right, label, where)
        case ast.Call():
            yield from _call_literals(node, label, where)
        case ast.Subscript(value=inner) | ast.Attribute(value=inner) | ast.Starred(value=inner):
            yield from _literals(inner, label, where)
        case _:
            return


def _inside_arithmetic(node: ast.expr, label: str, where: Where) -> Iterator[Spot]:
    if literal_int(node) is None:
        yield from _literals(node, label, where)


def _call_literals(node: ast.Call, label: str, where: Where) -> Iterator[Spot]:
    if isinstance(node.func, ast.Attribute):
        yield from _literals(node.func.value, label, where)
    if _called_name(node) in _DATA_CALLS:
        return
    for index, item in enumerate(node.args):
        yield from _literals(item, f"{label}({index})", where)
    for keyword in node.keywords:
        if keyword.arg not in _NOT_SIZES:
            yield from _literals(keyword.value, f"{label}({keyword.arg})", where)


def _assigned(target: ast.expr, value: ast.expr, where: Where, prefix: str) -> Iterator[Spot]:
    match target, value:
        case ast.Tuple(elts=names) | ast.List(elts=names), ast.Tuple(elts=items) | ast.List(elts=items):
            if len(names) == len(items):
                for name, item in zip(names, items, strict=True):
                    yield from _assigned(name, item, where, prefix)
        case ast.Name(id=name), _:
            yield from _literals(value, f"{prefix}{name}", where)
        case ast.Attribute(attr=name), _:
            yield from _literals(value, f"{prefix}{name}", where)
        case _:
            return


def _statements(body: list[ast.stmt], where: Where, prefix: str) -> Iterator[Spot]:
    for statement in body:
        match statement:
            case ast.Assign(targets=targets, value=value):
                yield from _assigned(targets[0], value, where, prefix)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                yield from _assigned(target, value, where, prefix)
            case ast.Return(value=value) | ast.Expr(value=value):
                yield from _literals(value, f"{prefix}return", where)
            case ast.With(body=inner) | ast.If(body=inner) | ast.For(body=inner):
                yield from _statements(inner, where, prefix)
            case _:
                continue


def _defaults(cls: ast.ClassDef) -> Iterator[Spot]:
    for item in cls.body:
        if isinstance(item, ast.FunctionDef) and item.name == "__init__":
            positional = [*item.args.posonlyargs, *item.args.args]
            for name, value in zip(reversed(positional), reversed(item.args.defaults), strict=False):
                yield from _literals(value, f"arg.{name.arg}", "default")
            for name, keyword in zip(item.args.kwonlyargs, item.args.kw_defaults, strict=True):
                yield from _literals(keyword, f"arg.{name.arg}", "default")


def _bodies(tree: ast.Module) -> Iterator[Spot]:
    for cls in tree.body:
        if isinstance(cls, ast.ClassDef):
            for item in cls.body:
                if isinstance(item, ast.FunctionDef) and item.name == "__init__":
                    yield from _statements(item.body, "body", f"{cls.name}.__init__.")


def find_spots(tree: ast.Module, entry: str) -> tuple[Spot, ...]:
    """Literals at module level, in get_inputs and get_init_inputs, in the entry's constructor defaults, and ("body")
    in constructors; labels are unique."""
    found: list[Spot] = list(_statements([s for s in tree.body if not isinstance(s, ast.If)], "const", "const."))
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name, body=body) if name in INPUT_NAMES:
                found += _statements(body, "inputs", f"{name}.")
            case ast.FunctionDef(name=name, body=body) if name == INIT_NAME:
                found += _statements(body, "init", f"{name}.")
            case ast.ClassDef(name=name) if name == entry:
                found += _defaults(node)
    found += _bodies(tree)
    return _unique(found)


def _unique(spots: list[Spot]) -> tuple[Spot, ...]:
    labels: dict[str, int] = {}
    unique: dict[Position, Spot] = {}
    for spot in spots:
        if spot.position in unique:
            continue
        labels[spot.label] = count = labels.get(spot.label, 0) + 1
        label = spot.label if count == 1 else f"{spot.label}#{count}"
        unique[spot.position] = Spot(label, spot.value, spot.where, spot.position)
    return tuple(unique.values())


def landmarks(tree: ast.Module) -> tuple[float, ...]:
    """Numbers of moderate size written in functions and classes, apart from those that make inputs, larger ones first:
    results may change their form there (thresholds, limits)."""
    made = (*INPUT_NAMES, INIT_NAME)
    bodies = [
        node
        for node in tree.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.name not in made
    ]
    nodes = [node for body in bodies for node in ast.walk(body)]
    negated = {id(node.operand) for node in nodes if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)}
    numbers = {
        -float(node.value) if id(node) in negated else float(node.value)
        for node in nodes
        if isinstance(node, ast.Constant)
        and isinstance(node.value, int | float)
        and not isinstance(node.value, bool)
        and _LEAST <= node.value <= _GREATEST
    }
    return tuple(sorted(numbers, key=lambda number: (-abs(number), number))[:_MOST_LANDMARKS])


class _Replace(ast.NodeTransformer):
    def __init__(self, values: Mapping[Position, int]) -> None:
        self._values = values
        self._lines = frozenset(position[0] for position in values)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.stmt) and self._lines.isdisjoint(range(node.lineno, (node.end_lineno or 0) + 1)):
            return node
        if isinstance(node, ast.Constant | ast.BinOp):
            value = self._values.get(_position(node))
            if value is not None:
                return ast.copy_location(ast.Constant(value), node)
        return super().generic_visit(node)


def rewritten(text: str, spots: tuple[Spot, ...], changes: Mapping[str, int]) -> ast.Module:
    """The syntax tree of `text` with the named spots replaced; positions stay those of the original text."""
    tree = ast.parse(text)
    values = {spot.position: changes[spot.label] for spot in spots if spot.label in changes}
    if not values:
        return tree
    replaced: ast.Module = _Replace(values).visit(tree)
    return replaced


def imported_names(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Absolute module names that the file imports anywhere, with their lines."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((alias.name, node.lineno) for alias in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module, node.lineno
            case _:
                continue


def local_sources(path: Path, text: str) -> dict[str, str]:
    """The file and every module of its directory that it imports, directly or not: name relative to it -> text."""
    found = {path.name: text}
    waiting = [text]
    while waiting:
        try:
            tree = ast.parse(waiting.pop())
        except SyntaxError:
            continue
        for name, _ in imported_names(tree):
            base = path.parent.joinpath(*name.split("."))
            for file in (base.with_suffix(".py"), base / "__init__.py"):
                key = str(file.relative_to(path.parent))
                if key not in found and file.is_file():
                    found[key] = file.read_text(encoding="utf-8", errors="replace")
                    waiting.append(found[key])
    return found


def sources_sha256(sources: Mapping[str, str]) -> str:
    """Hash of the syntax trees, entry file first, the others by name: comments and layout do not count. What is not
    Python counts as it is."""
    entry, *others = sources
    digest = hashlib.sha256()
    for name in (entry, *sorted(others)):
        text = sources[name]
        digest.update((text if name.endswith(".json") else ast.dump(ast.parse(text))).encode())
        digest.update(b"\0")
    return digest.hexdigest()
