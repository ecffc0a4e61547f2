"""Lines, brackets, quotes and indentation of a text, judged before the grammar sees it.

A text without faults here cannot upset the lexer's handling of indentation. Where a fault is found, the text is mended
just enough for the rest to be judged too."""

from __future__ import annotations

import re
from dataclasses import dataclass

TAB_COLUMNS = 8
_MASKED = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|#.*|[\"']")
_WORD = re.compile(r"\w+")
_HEADERS = {"for", "repeat", "if", "elif", "else", "scan", "def"}
_CLOSES = {")": "(", "]": "["}


@dataclass(frozen=True, slots=True)
class Fault:
    """`indent`: the column where the line would be right (None: it is wrong in itself)."""

    message: str
    line: int
    column: int
    indent: int | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """A statement's lines `first` to `last` (1-based) and its first word. It `opens` a block when it ends in a colon;
    `headless` when it begins as a block does and has no colon at all."""

    first: int
    last: int
    indent: int
    word: str
    opens: bool
    headless: bool


def indent_of(line: str) -> int:
    """Columns of white space in front."""
    lead = line[: len(line) - len(line.lstrip(" \t"))]
    return len(lead) + lead.count("\t") * (TAB_COLUMNS - 1)


def spans(lines: list[str]) -> tuple[list[Span], Fault | None]:
    """The statements of a text by lines, up to the first fault in quotes or brackets."""
    found: list[Span] = []
    stack: list[tuple[str, int, int]] = []
    first = 0
    for number, line in enumerate(lines, 1):
        code, quote = _code(line)
        if quote is not None:
            return found, Fault(f"the string that {line[quote]} begins has no end on this line", number, quote + 1)
        if not stack and not code.strip(" \t"):
            continue
        first = first if stack else number
        fault = _brackets(code, number, stack)
        if fault is not None:
            return found, fault
        if not stack:
            found.append(_span(lines, first, number))
    if stack:
        char, number, column = stack[0]
        return found, Fault(f"'{char}' is not closed", number, column)
    return found, None


def _span(lines: list[str], first: int, last: int) -> Span:
    found = _WORD.match(lines[first - 1].lstrip(" \t"))
    word = found.group() if found else ""
    code = "".join(_code(line)[0] for line in lines[first - 1 : last]).rstrip()
    headless = word in _HEADERS and not _has_colon(code)
    return Span(first, last, indent_of(lines[first - 1]), word, code.endswith(":"), headless)


def _has_colon(code: str) -> bool:
    """Whether a colon stands outside of brackets."""
    depth = 0
    for char in code:
        depth += (char in "([") - (char in ")]")
        if char == ":" and depth == 0:
            return True
    return False


def _code(line: str) -> tuple[str, int | None]:
    """The line with strings and its comment blanked out, and where a quote stands that nothing closes."""
    alone = next((match.start() for match in _MASKED.finditer(line) if match.group() in ("'", '"')), None)
    return _MASKED.sub(lambda match: "_" * len(match.group()) if match.group()[0] != "#" else "", line), alone


def _brackets(code: str, number: int, stack: list[tuple[str, int, int]]) -> Fault | None:
    for column, char in enumerate(code, 1):
        if char in "([":
            stack.append((char, number, column))
        elif char in ")]":
            if not stack:
                return Fault(f"'{char}' closes nothing", number, column)
            opened, line, where = stack.pop()
            if opened != _CLOSES[char] and line < number:
                return Fault(f"'{opened}' is not closed", line, where)
            if opened != _CLOSES[char]:
                return Fault(f"'{char}' does not close the '{opened}' of column {where}", number, column)
    return None


def misindented(found: list[Span], lines: list[str]) -> Fault | None:
    """The first statement that stands at a column where none can."""
    levels = [0]
    header: Span | None = None
    for before, span in zip([None, *found], found, strict=False):
        column = len(lines[span.first - 1]) - len(lines[span.first - 1].lstrip(" \t")) + 1
        if header is not None and span.indent > header.indent:
            levels.append(span.indent)
        elif header is not None and header.word in _HEADERS:
            break
        elif span.indent > levels[-1] and before is not None and before.headless:
            return Fault("':' is missing at the end", before.last, len(lines[before.last - 1].rstrip()) + 1)
        elif span.indent > levels[-1]:
            return Fault("this line is indented, but no block begins here", span.first, column, levels[-1])
        deeper = levels[-1]
        while span.indent < levels[-1]:
            deeper = levels.pop()
        if span.indent != levels[-1]:
            return Fault("the indentation matches no outer block", span.first, column, deeper)
        header = span if span.opens else None
    if header is None or header.word not in _HEADERS:
        return None
    return Fault("an indented block is expected after this line", header.first, 1 + header.indent)


def leave_out(lines: list[str], found: list[Span], number: int) -> bool:
    """Replaces the statement on line `number` by one that does nothing; False where that has been done before."""
    inside = [span for span in found if span.first <= number <= span.last]
    span = inside[0] if inside else _span(lines, number, number)
    after = next((other for other in found if other.first > span.last), None)
    opens = (span.opens or span.headless) and (not inside if after is None else after.indent > span.indent)
    neutral = " " * span.indent + ("if 1:" if opens else "require 1")
    if lines[span.first - 1] == neutral:
        return False
    lines[span.first - 1 : span.last] = [neutral] + [""] * (span.last - span.first)
    return True


def move(lines: list[str], found: list[Span], number: int, indent: int) -> None:
    """Moves the statement on line `number`, and those behind it that stand as deep, so that it begins at `indent`."""
    start = next(span for span in found if span.first == number)
    for span in found:
        if span.first < number:
            continue
        if span.indent < start.indent:
            break
        for line in range(span.first - 1, span.last):
            bare = lines[line].lstrip(" \t")
            lines[line] = " " * max(indent_of(lines[line]) + indent - start.indent, 0) + bare
