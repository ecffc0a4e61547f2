"""The prelude: functions written in the language itself, found by name and parsed when first used."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

from . import prelude, syntax
from .parse import parse

_DEF = re.compile(r"^def\s+([^\W\d]\w*)\s*\(", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Chunk:
    file: str
    text: str


@lru_cache(maxsize=1)
def _chunks() -> dict[str, _Chunk]:
    found: dict[str, _Chunk] = {}
    for file in sorted(files(prelude).iterdir(), key=lambda entry: entry.name):
        if file.name.endswith(".alir"):
            text = file.read_text(encoding="utf-8")
            starts = list(_DEF.finditer(text))
            ends = [match.start() for match in starts[1:]] + [len(text)]
            for match, end in zip(starts, ends, strict=True):
                found[match.group(1)] = _Chunk(file.name, text[match.start() : end])
    return found


def names() -> tuple[str, ...]:
    return tuple(_chunks())


def offered_names() -> tuple[str, ...]:
    """Those that a model is told of. The others serve the built-in rules."""
    return tuple(name for name, chunk in _chunks().items() if chunk.file.removesuffix(".alir") in prelude.OFFERED)


@cache
def function(name: str) -> syntax.Def | None:
    """The prelude function of that name, or None."""
    chunk = _chunks().get(name)
    if chunk is None:
        return None
    for statement in parse(chunk.text).body:
        if isinstance(statement, syntax.Def) and statement.name == name:
            return statement
    raise AssertionError(f"{chunk.file}: no definition of {name}")


def families() -> dict[str, tuple[str, ...]]:
    """Prelude file name to the names it defines, in order."""
    grouped: dict[str, list[str]] = {}
    for name, chunk in _chunks().items():
        grouped.setdefault(chunk.file, []).append(name)
    return {file: tuple(defined) for file, defined in grouped.items()}
