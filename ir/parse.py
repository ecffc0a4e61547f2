"""Text to syntax tree."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

from lark import Token, Tree, UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, UnexpectedToken
from lark.indenter import DedentError

from . import syntax
from .build import build_expression, build_program
from .errors import IRError, Problem
from .tables import parser

_MOST_PROBLEMS = 12
_SHOWN = {
    "_NL": "end of line", "_INDENT": "an indented block", "_DEDENT": "end of block", "$END": "end of text",
    "NAME": "a name", "NUMBER": "a number", "STRING": "a string", "SIGN": "+ or -", "FACTOR": "* / // or %",
    "POWER": "**", "COMPARE": "a comparison", "LSQB": "[", "RSQB": "]", "LPAR": "(", "RPAR": ")", "COLON": ":",
    "COMMA": ",", "EQUAL": "=", "ELLIPSIS": "...", "SEMICOLON": ";", "QMARK": "?",
}  # fmt: skip
_QUOTED = re.compile(r'"[^"]*"|\'[^\']*\'|#.*')
_EXPRESSION = {"NAME", "NUMBER", "STRING", "LPAR", "LSQB", "SIGN", "NOT"}


def parse(text: str) -> syntax.Program:
    """Parses a whole text.

    Raises IRError with every syntax problem that can be told apart: after one, its statement is left out and
    parsing goes on."""
    lines = text.split("\n")
    left, problems = list(lines), list[Problem]()
    while True:
        try:
            tree = parser().parse("\n".join(left) + "\n", start="start")
        except (UnexpectedInput, DedentError) as error:
            problem, skip = _explain(error, lines)
            problems.append(problem)
            if not _blank(left, skip) or len(problems) >= _MOST_PROBLEMS:
                raise IRError(tuple(problems)) from None
            continue
        if problems:
            raise IRError(tuple(problems))
        return _built(tree, tuple(lines))


def _built(tree: Tree[Token], lines: tuple[str, ...]) -> syntax.Program:
    try:
        return build_program(tree, lines)
    except IRError as error:
        shown = (replace(p, text=lines[p.line - 1] if 0 < p.line <= len(lines) else "") for p in error.problems)
        raise IRError(tuple(shown)) from None


@lru_cache(maxsize=4096)
def parse_expression(text: str) -> syntax.Expr:
    """Parses one expression, as in the braces of a string."""
    try:
        tree: Tree[Token] | Token = parser().parse(text, start="expr")
    except UnexpectedInput as error:
        raise IRError.at(f"cannot read the expression {text!r}: {_expected(error)}") from None
    return build_expression(tree)


def _blank(lines: list[str], number: int) -> bool:
    """Removes statement `number` (1-based line) so that parsing can go on; False where that cannot help."""
    if not 1 <= number <= len(lines) or not lines[number - 1].strip() or lines[number - 1].rstrip().endswith(":"):
        return False
    following = next((line for line in lines[number:] if line.strip()), "")
    if _indent(following) > _indent(lines[number - 1]):
        return False
    lines[number - 1] = ""
    return True


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _explain(error: UnexpectedInput | DedentError, lines: list[str]) -> tuple[Problem, int]:
    """The problem to show, and the line to leave out before trying again (0: none)."""
    if isinstance(error, DedentError):
        return Problem("the indentation matches no outer block"), 0
    opened = _open_bracket(lines, len(lines) + 1)
    if isinstance(error, UnexpectedToken) and error.token.type == "$END" and opened is not None:
        text = lines[opened[0] - 1]
        return Problem(f"'{text[opened[1] - 1]}' is not closed", *opened, text), opened[0]
    if isinstance(error, UnexpectedEOF) or not isinstance(error.line, int) or error.line < 1:
        return Problem(f"the text ends too early: {_expected(error)}", len(lines), 1, lines[-1]), 0
    line = error.line
    opened = _open_bracket(lines, line)
    if opened is not None:
        text = lines[opened[0] - 1]
        return Problem(f"'{text[opened[1] - 1]}' is not closed", *opened, text), opened[0]
    if isinstance(error, UnexpectedCharacters):
        message = f"unexpected character {lines[line - 1][error.column - 1 : error.column]!r}"
        return Problem(message, line, error.column, lines[line - 1]), line
    return Problem(_expected(error), line, error.column, lines[line - 1] if line <= len(lines) else ""), line


def _open_bracket(lines: list[str], before: int) -> tuple[int, int] | None:
    """Line and column of the last bracket that is still open where line `before` begins."""
    stack: list[tuple[int, int]] = []
    for number, line in enumerate(lines[: before - 1], 1):
        for column, char in enumerate(_QUOTED.sub(lambda m: " " * len(m.group()), line), 1):
            if char in "([":
                stack.append((number, column))
            elif char in ")]" and stack:
                stack.pop()
    return stack[-1] if stack else None


def _expected(error: UnexpectedInput) -> str:
    found = "end of text"
    if isinstance(error, UnexpectedToken):
        kind = error.token.type
        found = _SHOWN[kind] if kind in ("_NL", "_INDENT", "_DEDENT", "$END") else repr(str(error.token))
    accepted = set(getattr(error, "accepts", None) or getattr(error, "expected", None) or ())
    return f"found {found}, expected {_describe(accepted)}"


def _describe(accepted: set[str]) -> str:
    names = set(accepted)
    shown = []
    if _EXPRESSION - {"LSQB", "SIGN", "NOT"} <= names:
        shown.append("an expression")
        names -= _EXPRESSION
    if "_LET" in names:
        shown.append("a statement")
        names = {name for name in names if not name.startswith("_") and name != "IF"}
    shown += sorted(_SHOWN.get(name, name.strip("_").lower()) for name in names if not name.startswith("__"))
    return ", ".join(shown) or "something else"
