"""Text to syntax tree."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from lark import Token, Tree, UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from . import layout, syntax
from .build import build_expression, build_program
from .errors import IRError, Problem
from .tables import parser

_MOST_PROBLEMS = 12
_MOST_CHARACTERS = 500_000
_MOST_LEVELS = 120
_SHOWN = {
    "_NL": "end of line", "_INDENT": "an indented block", "_DEDENT": "end of block", "$END": "end of text",
    "NAME": "a name", "NUMBER": "a number", "STRING": "a string", "SIGN": "+ or -", "LSQB": "'['", "RSQB": "']'",
    "LPAR": "'('", "RPAR": "')'", "COLON": "':'", "COMMA": "','", "EQUAL": "'='", "_PLUS_SET": "'+='",
    "_TIMES_SET": "'*='", "_RANGE": "'..'", "ELLIPSIS": "'...'", "SEMICOLON": "';'", "QMARK": "'?'", "LBRACE": "'{'",
    "RBRACE": "'}'",
}  # fmt: skip
_HINTS = {
    ".": "a decimal point has digits on both sides, and names have no dots",
    "@": "write a matrix product as a sum: sum(k<K: a[i, k] * b[k, j])",
    "&": "write 'and'",
    "|": "write 'or'",
    "!": "write 'not', or != between two values",
    "^": "a power is written **",
    "\\": "a line goes on inside brackets, without a backslash",
}
_NO_STATEMENT = {
    "while": "there is no while: scan t<T … has a trip count, and if? chooses by a tensor's value",
    "import": "there is nothing to import",
    "from": "there is nothing to import",
    "class": "there are no classes: write a def, its compile-time arguments behind ';'",
}
_EXPRESSION = {"NAME", "NUMBER", "STRING", "LPAR", "LSQB", "SIGN", "NOT"}
_OPERATOR = {"SIGN", "FACTOR", "POWER", "COMPARE", "AND", "OR", "IF", "LPAR", "LSQB"}


def parse(text: str) -> syntax.Program:
    """Parses a whole text.

    Raises IRError with every syntax problem that can be told apart: after one, its statement is left out and
    parsing goes on."""
    if len(text) > _MOST_CHARACTERS:
        raise IRError.at(f"the text has {len(text):,} characters; at most {_MOST_CHARACTERS:,} are read")
    lines = tuple(text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    left, problems = list(lines), list[Problem]()
    try:
        tree = _tree(left, lines, problems)
        if tree is not None and not problems:
            _check_depth(tree)
            return build_program(tree, lines)
    except IRError as error:
        problems += (replace(p, text=_line(lines, p.line)) for p in error.problems)
    except RecursionError:
        problems.append(Problem("the text is nested too deeply"))
    raise IRError(tuple(sorted(problems, key=lambda problem: (problem.line, problem.column))))


@lru_cache(maxsize=4096)
def parse_expression(text: str) -> syntax.Expr:
    """Parses one expression, as in the braces of a string."""
    _, fault = layout.spans([text])
    if fault is not None or "\n" in text:
        raise IRError.at(f"cannot read the expression {text!r}: {fault.message if fault else 'it has several lines'}")
    try:
        tree: Tree[Token] | Token = parser().parse(f"{{{text}}}", start="braced")
        if isinstance(tree, Tree):
            _check_depth(tree)
        return build_expression(tree)
    except UnexpectedInput as error:
        raise IRError.at(f"cannot read the expression {text!r}: {_explain(error)}") from None


def _tree(left: list[str], lines: tuple[str, ...], problems: list[Problem]) -> Tree[Token] | None:
    """The parse tree; None where the text could not be mended after a problem. `left` is mended on the way."""
    while len(problems) < _MOST_PROBLEMS:
        found, fault = layout.spans(left)
        fault = fault or layout.misindented(found, left)
        if fault is not None:
            problems.append(Problem(fault.message, fault.line, fault.column, _line(lines, fault.line)))
            if fault.indent is not None:
                layout.move(left, found, fault.line, fault.indent)
            elif not layout.leave_out(left, found, fault.line):
                return None
            continue
        try:
            return parser().parse("\n".join(left) + "\n", start="start")
        except UnexpectedInput as error:
            problem = _problem(error, left, lines)
        problems.append(problem)
        if not layout.leave_out(left, found, problem.line):
            return None
    return None


def _problem(error: UnexpectedInput, left: list[str], lines: tuple[str, ...]) -> Problem:
    line = error.line if isinstance(error.line, int) and error.line > 0 else len(lines)
    line = min(line, len(lines))
    while line > 1 and not left[line - 1].strip():
        line -= 1
    moved = len(lines[line - 1]) - len(left[line - 1])
    column = error.column + moved if isinstance(error.column, int) and line == error.line else len(lines[line - 1]) + 1
    word = lines[line - 1].split(maxsplit=1)[:1]
    if word and word[0] in _NO_STATEMENT:
        return Problem(_NO_STATEMENT[word[0]], line, lines[line - 1].index(word[0]) + 1, lines[line - 1])
    return Problem(_explain(error), line, max(column, 1), lines[line - 1])


def _line(lines: tuple[str, ...], number: int) -> str:
    return lines[number - 1] if 0 < number <= len(lines) else ""


def _check_depth(tree: Tree[Token]) -> None:
    """Bounds the recursion of everything that follows."""
    level: list[Tree[Token]] = [tree]
    for _ in range(_MOST_LEVELS):
        level = [child for node in level for child in node.children if isinstance(child, Tree)]
        if not level:
            return
    where = level[0].meta
    line, column = (0, 0) if where.empty else (where.line, where.column)
    raise IRError.at("this is nested too deeply; split it into several statements", line, column)


def _explain(error: UnexpectedInput) -> str:
    if isinstance(error, UnexpectedCharacters):
        hint = _HINTS.get(error.char, "")
        return f"unexpected character {error.char!r}{': ' if hint else ''}{hint}"
    found = "end of text"
    if isinstance(error, UnexpectedToken):
        kind = error.token.type
        found = _SHOWN[kind] if kind in ("_NL", "_INDENT", "_DEDENT", "$END") else repr(str(error.token))
    accepted = set(getattr(error, "accepts", None) or getattr(error, "expected", None) or ())
    return f"found {found}, expected {_describe(accepted)}{_hint(found, accepted)}"


def _hint(found: str, accepted: set[str]) -> str:
    """What a writer who thinks of Python is told."""
    match found:
        case "':'" if "RSQB" in accepted:
            return "; there are no slices, index with iterators"
        case "'in'" if "_WHERE" in accepted:
            return "; an iterator is written name < extent"
        case "';'":
            return "; each statement has a line of its own"
        case _:
            return ""


def _describe(accepted: set[str]) -> str:
    names = set(accepted)
    shown = []
    if _EXPRESSION - {"LSQB", "SIGN", "NOT"} <= names:
        shown.append("an expression")
        names -= _EXPRESSION
    if {"FACTOR", "POWER"} <= names:
        shown.append("an operator")
        names -= _OPERATOR
    if "_LET" in names:
        shown.append("a statement")
        names = {name for name in names if not name.startswith("_") and name != "IF"}
    shown += sorted(_SHOWN.get(name, f"'{name.strip('_').lower()}'") for name in names)
    return " or ".join([*([", ".join(shown[:-1])] if shown[1:] else []), *shown[-1:]]) or "something else"
