"""Post-processing of tokens: indentation, and keywords that are keywords only where the grammar wants them."""

from __future__ import annotations

from collections.abc import Iterator

from lark import Token
from lark.indenter import Indenter

from .layout import TAB_COLUMNS

# keywords at the start of a statement, unless what follows shows that a tensor of that name is written
_STATEMENT = {
    "_PROGRAM", "_INPUT", "_PARAM", "_ATTR", "_DRAW", "_LET", "_TENSOR", "_SHAPE", "_VIEW", "_REQUIRE", "_FACT",
    "_OUTPUT", "_NEXT", "_EMIT", "_RETURN", "_FOR", "_REPEAT", "_SCAN", "_DEF",
}  # fmt: skip
_WRITES = {"EQUAL", "LSQB", "COMMA", "_PLUS_SET", "_TIMES_SET", "AND", "OR"}
# keywords between two operands: which statement they belong to ("" any, brackets included)
_BETWEEN = {
    "_WHERE": {""}, "_IN": {"_REPEAT", "_INPUT"}, "_CARRY": {"_SCAN"}, "_UNORDERED": {"_OUTPUT"},
    "_ALONG": {"_OUTPUT"}, "_WITH": {"_OUTPUT"}, "_INDEXES": {"_OUTPUT"}, "_GIVING": {"_OUTPUT"}, "UNIQUE": {"_INPUT"},
}  # fmt: skip
_OPERAND_ENDS = {"NAME", "NUMBER", "STRING", "RPAR", "RSQB", "ELLIPSIS"}
_BLOCKS = {"_FOR", "_REPEAT", "_SCAN", "_DEF", "IF", "_ELIF", "ELSE"}
_LINE_BREAK = {"_NL", "_INDENT", "_DEDENT"}


class Postlex(Indenter):  # type: ignore[misc]
    """Emits _INDENT and _DEDENT, drops line breaks inside brackets, and turns keywords used as names into names."""

    NL_type = "_NL"
    OPEN_PAREN_types = ["LPAR", "LSQB"]
    CLOSE_PAREN_types = ["RPAR", "RSQB"]
    INDENT_type = "_INDENT"
    DEDENT_type = "_DEDENT"
    tab_len = TAB_COLUMNS

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        return _contextual(list(super().process(stream)))


def _contextual(tokens: list[Token]) -> Iterator[Token]:
    first, depth, previous = "", 0, "_NL"
    for position, token in enumerate(tokens):
        following = tokens[position + 1].type if position + 1 < len(tokens) else "_NL"
        at_start = previous in _LINE_BREAK or (previous == "COLON" and depth == 0 and first in _BLOCKS)
        token = _retype(token, previous, following, "" if depth else first, at_start)
        if at_start:
            first = token.type
        previous = token.type
        depth += (previous in Postlex.OPEN_PAREN_types) - (previous in Postlex.CLOSE_PAREN_types)
        yield token


def _retype(token: Token, previous: str, following: str, first: str, at_start: bool) -> Token:
    """`first` is the keyword of the token's statement, "" within brackets."""
    kind = token.type
    if kind in _STATEMENT:
        if kind == "_INPUT" and previous == "_OUTPUT" and following == "STRING":
            return Token.new_borrow_pos("INPUT_SLOT", token.value, token)
        keep = at_start and (following not in _WRITES or kind == "_RETURN")
    elif kind in _BETWEEN:
        belongs = _BETWEEN[kind]
        operand = previous in _OPERAND_ENDS or (kind == "_ALONG" and previous == "_UNORDERED")
        keep = operand and (first in belongs or "" in belongs)
    elif kind == "STATE":
        keep = previous == "_OUTPUT" and following == "STRING"
    elif kind == "REVERSE":
        keep = previous == "_SCAN" and following != "COMPARE"
    else:
        keep = True
    return token if keep else Token.new_borrow_pos("NAME", token.value, token)
