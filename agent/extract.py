"""From a model's answer to the ALIR text in it."""

from __future__ import annotations

import re
from dataclasses import dataclass

OURS = ("alir", "ir")
OPENING = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*([^\s`]*)[^`]*$")
STARTS_PROGRAM = re.compile(r"(?:\s*#[^\n]*\n|\s*\n)*\s*program\s+\w")


class NoText(Exception):
    """The answer holds no program; the message says what was found instead."""


@dataclass(frozen=True, slots=True)
class Block:
    label: str
    text: str


def program_text(answer: str) -> str:
    """The last ```alir block whole (```ir too); else the only block that begins with `program`; else a bare program.

    Raises NoText."""
    if not answer.strip():
        raise NoText("the answer was empty")
    blocks = fenced_blocks(answer)
    ours = [block for block in blocks if block.label in OURS]
    if ours:
        return _filled(ours[-1])
    programs = [block for block in blocks if STARTS_PROGRAM.match(block.text)]
    if len(programs) == 1:
        return programs[0].text
    unlabelled = [block for block in blocks if not block.label]
    if len(unlabelled) == 1:
        return _filled(unlabelled[0])
    if STARTS_PROGRAM.match(answer):
        return answer.strip("\n") + "\n"
    raise NoText(_what_came(blocks))


def fenced_blocks(answer: str) -> list[Block]:
    """Markdown fences at the start of a line. A block ends at a line of its own fence, at least as long, and nothing
    else; backticks inside its lines belong to it. One that is never closed runs to the end."""
    blocks: list[Block] = []
    lines: list[str] = []
    fence = label = ""
    for line in answer.splitlines():
        opening = None if fence else OPENING.match(line)
        if opening:
            fence, label, lines = opening[1], opening[2].lower(), []
        elif fence and _closes(line, fence):
            blocks.append(Block(label, _joined(lines)))
            fence = ""
        elif fence:
            lines.append(line)
    if fence:
        blocks.append(Block(label, _joined(lines)))
    return blocks


def _closes(line: str, fence: str) -> bool:
    stripped = line.strip()
    return len(stripped) >= len(fence) and set(stripped) == {fence[0]}


def _joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _filled(block: Block) -> str:
    if not block.text.strip():
        raise NoText("the answer's code block was empty")
    return block.text


def _what_came(blocks: list[Block]) -> str:
    if not blocks:
        return "the answer has no ```alir block and does not begin with `program NAME`"
    labels = ", ".join(f"```{block.label}" for block in blocks)
    return f"the answer has no ```alir block, only {labels}: write the whole program in one ```alir block"
