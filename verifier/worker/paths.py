"""The way that a program takes at some sizes: which operators each of its modules calls. Sizes at which it takes
another way than at full size say nothing about that."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from ..types import Mode
from .faults import Refused, UserError
from .load import File

_COPIES = frozenset({"aten.contiguous", "aten.clone", "aten.to", "aten.alias", "aten.detach", "aten.unbind"})
Way = Mapping[str, frozenset[str]]


def chooses(file: File) -> bool:
    """Is there any choice in the program's own code?"""
    return any(isinstance(node, ast.If | ast.IfExp | ast.While) for node in ast.walk(ast.parse(file.text)))


def way_of(file: File, mode: Mode, changes: Mapping[str, int]) -> Way | None:
    """None where the operators cannot be recorded."""
    from .recording import record

    try:
        traced = record(file, mode, changes)
    except (Refused, UserError):
        return None
    found: dict[str, set[str]] = {}
    for operator in traced.operators:
        packet = operator.name.rpartition(".")[0].removesuffix("_")
        if packet not in _COPIES:
            found.setdefault(traced.calls[operator.call].path, set()).add(packet)
    return {path: frozenset(names) for path, names in found.items()}


def same_way(one: Way, other: Way) -> bool:
    """In the modules that both have: there may be more or fewer layers."""
    return all(names == other[path] for path, names in one.items() if path in other)
