"""Errors of the language room. Their text is what a model is shown when it has to repair a translation."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault of a text: what was expected, what came, and where (1-based line and column)."""

    message: str
    line: int = 0
    column: int = 0
    text: str = ""
    trail: tuple[str, ...] = ()

    def __str__(self) -> str:
        where = f"line {self.line}, column {self.column}: " if self.line else ""
        shown = f"\n    {self.text.strip()}" if self.text.strip() else ""
        trail = "".join(f"\n    in {step}" for step in self.trail)
        return f"{where}{self.message}{shown}{trail}"


class IRError(Exception):
    """A text that cannot be parsed, elaborated, checked or executed; carries every problem found."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems

    @classmethod
    def at(cls, message: str, line: int = 0, column: int = 0, text: str = "", trail: tuple[str, ...] = ()) -> IRError:
        return cls((Problem(message, line, column, text, trail),))
