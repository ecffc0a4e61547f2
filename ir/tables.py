"""The parser's tables: built from grammar.lark, and kept beside it since building takes a third of a second.

`python -m solar_agent.ir.tables` writes grammar.tables.json again. A file that does not belong to this grammar and
this version of lark is not used."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import lark
from lark import Lark
from lark.grammar import Rule
from lark.lexer import TerminalDef

from .lexing import Postlex

_STARTS = ["start", "braced"]
_FILE = "grammar.tables.json"


@lru_cache(maxsize=1)
def parser() -> Lark:
    """The parser of the language, for the starts "start" (a text) and "braced" (one expression in braces)."""
    kept = files(__package__) / _FILE
    if kept.is_file():
        stored = json.loads(kept.read_text(encoding="utf-8"), object_hook=_integer_keys)
        if stored.get("of") == _identity():
            return Lark.__new__(Lark)._load(stored["tables"], postlex=Postlex())
    return build()


def build() -> Lark:
    """Builds the parser from the grammar."""
    return Lark(
        _grammar(), parser="lalr", lexer="basic", start=_STARTS, postlex=Postlex(), propagate_positions=True,
        maybe_placeholders=True,
    )  # fmt: skip


def stored() -> str:
    """Text of the file that keeps the tables."""
    data, memo = build().memo_serialize([TerminalDef, Rule])
    data["options"]["postlex"] = None
    data["parser"]["lexer_conf"]["postlex"] = None
    tables = {"data": data, "memo": memo}
    return json.dumps({"of": _identity(), "tables": tables}, sort_keys=True, separators=(",", ":")) + "\n"


def _grammar() -> str:
    return (files(__package__) / "grammar.lark").read_text(encoding="utf-8")


def _identity() -> str:
    return hashlib.sha256(f"{lark.__version__}\n{_grammar()}".encode()).hexdigest()


def _integer_keys(pairs: dict[str, Any]) -> dict[str | int, Any]:
    return {int(key) if key.isdigit() else key: value for key, value in pairs.items()}


if __name__ == "__main__":
    (Path(__file__).parent / _FILE).write_text(stored(), encoding="utf-8")
