"""Post-processing of tokens: indentation, and keywords that are keywords only where the grammar wants them."""

from __future__ import annotations

from collections.abc import Iterator

from lark import Token
from lark.indenter import Indenter

_STATEMENT = {
    "_PROGRAM", "_INPUT", "_PARAM", "_ATTR", "_DRAW", "_LET", "_TENSOR", "_SHAPE", "_VIEW", "_REQUIRE", "_FACT",
    "_OUTPUT", "_NEXT", "_EMIT", "_RETURN", "_FOR", "_REPEAT", "_SCAN", "_DEF",
}  # fmt: skip
_ON_LINE = {
    "_CARRY": "_SCAN", "REVERSE": "_SCAN", "_UNORDERED": "_OUTPUT", "_ALONG": "_OUTPUT", "_WITH": "_OUTPUT",
    "_INDEXES": "_OUTPUT", "_GIVING": "_OUTPUT", "STATE": "_OUTPUT", "UNIQUE": "_INPUT",
}  # fmt: skip
_BLOCKS = {"_FOR", "_REPEAT", "_SCAN", "_DEF", "IF", "_ELIF", "ELSE"}
_LINE_BREAK = {"_NL", "_INDENT", "_DEDENT"}
_NOT_AFTER_KEYWORD = {"EQUAL", "LSQB", "COMMA", "COLON", "PLUSEQUAL", "STAREQUAL", "__ANON_1", "__ANON_2", "_NL"}


class Postlex(Indenter):
    """Emits _INDENT and _DEDENT, drops line breaks inside brackets, and turns keywords used as names into names."""

    NL_type = "_NL"
    OPEN_PAREN_types = ["LPAR", "LSQB"]
    CLOSE_PAREN_types = ["RPAR", "RSQB"]
    INDENT_type = "_INDENT"
    DEDENT_type = "_DEDENT"
    tab_len = 8

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        return _contextual(list(super().process(stream)))


def _contextual(tokens: list[Token]) -> Iterator[Token]:
    first, depth = "", 0
    for position, token in enumerate(tokens):
        following = tokens[position + 1].type if position + 1 < len(tokens) else "_NL"
        previous = tokens[position - 1].type if position else "_NL"
        at_start = previous in _LINE_BREAK or (previous == "COLON" and depth == 0 and first in _BLOCKS)
        token = _retype(token, previous, following, first, at_start, depth)
        if at_start:
            first = token.type
        depth += (token.type in Postlex.OPEN_PAREN_types) - (token.type in Postlex.CLOSE_PAREN_types)
        tokens[position] = token
        yield token


def _retype(token: Token, previous: str, following: str, first: str, at_start: bool, depth: int) -> Token:
    kind = token.type
    if kind == "_INPUT" and previous == "_OUTPUT" and following == "STRING":
        return Token.new_borrow_pos("INPUT_SLOT", token.value, token)
    if kind in _STATEMENT:
        keep = at_start and (following not in _NOT_AFTER_KEYWORD or kind == "_RETURN")
    elif kind == "STATE":
        keep = first == "_OUTPUT" and previous == "_OUTPUT" and following == "STRING"
    elif kind in _ON_LINE:
        keep = first == _ON_LINE[kind] and depth == 0 and previous != first or kind == "REVERSE" and previous == first
    else:
        keep = True
    return token if keep else Token.new_borrow_pos("NAME", token.value, token)
