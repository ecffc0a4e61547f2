"""Text to checked program, in one step."""

from __future__ import annotations

from .bindings import Bindings
from .check import check
from .elaborate import elaborate
from .parse import parse
from .program import Program


def load(text: str, bindings: Bindings) -> Program:
    """Parses, elaborates and checks a text at one assignment of sizes.

    Raises IRError with every problem of the first of these steps that finds any."""
    return check(elaborate(parse(text), bindings))
