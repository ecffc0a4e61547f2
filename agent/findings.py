"""All that a command has found out about one program; what is not there is None."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from .exitcodes import Exit
from .state import Attempt, TranslatorInfo

if TYPE_CHECKING:
    from ..analysis.bounds import Bounds
    from ..analysis.count import Counts
    from ..ir.bindings import Bindings
    from ..ir.program import Program, Statement
    from ..verifier.certificate import Certificate
    from ..verifier.types import Description


@dataclass(frozen=True, slots=True)
class Analysis:
    """Counts at full size, and bounds by device name."""

    counts: Counts
    bounds: Mapping[str, Bounds]


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """`file` is what the user named; `program` its text at full size. `bindings` are set for a lifted graph, which has
    no description. `message` is one line, the cause and the next step, when something is missing."""

    file: Path
    exit_code: int = Exit.VERIFIED
    verdict: str | None = None
    description: Description | None = None
    translator: TranslatorInfo | None = None
    attempts: tuple[Attempt, ...] = ()
    from_cache: bool = False
    text: str | None = None
    text_path: Path | None = None
    program: Program | None = None
    bindings: Bindings | None = None
    certificate: Certificate | None = None
    analysis: Analysis | None = None
    written: tuple[Path, ...] = ()
    warnings: tuple[str, ...] = ()
    message: str = ""

    def failing(self, message: str) -> Findings:
        return replace(self, message=message)


def nest_count(body: Sequence[Statement]) -> int:
    from ..ir.program import Branch, Nest, Scan

    total = 0
    for statement in body:
        match statement:
            case Nest():
                total += 1
            case Scan():
                total += nest_count(statement.body)
            case Branch():
                total += nest_count(statement.then) + nest_count(statement.orelse)
            case _:
                pass
    return total


def line_count(text: str) -> int:
    """Lines that say something: neither blank nor comment."""
    return sum(1 for line in text.splitlines() if line.strip() and not line.strip().startswith("#"))
