"""The translation by rule: no key, no network, the same text every time."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from ..state import Usage
from .base import NoRule, Reply, Request

if TYPE_CHECKING:
    from ...verifier.types import Reference

RULES = "rules over torch's operator graph"
WHY = f"no key, no network: {RULES}"
INSTEAD = "a language model may know how: --translator openai, anthropic or manual"


@dataclass(slots=True)
class Builtin:
    reference: Reference
    why: str = WHY
    name: str = "builtin"
    model: str | None = None
    keeps_replies: bool = False
    prompted: bool = False

    def ask(self, request: Request) -> Reply:
        from ..builtin import Untranslatable, translate

        try:
            text = translate(self.reference)
        except Untranslatable as error:
            raise NoRule(f"{' '.join(str(error).split())}; {INSTEAD}") from None
        return Reply(text, Usage(), "", program=text)

    def close(self) -> None:
        """Nothing is open."""

    def warnings(self) -> tuple[str, ...]:
        return ()


@lru_cache
def rules_version() -> str:
    """Of the rules' code: another one may give another text for the same program."""
    folder = Path(__file__).parents[1] / "builtin"
    digest = hashlib.sha256(version("solar-agent").encode())
    for path in sorted(folder.rglob("*.py")):
        digest.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return digest.hexdigest()[:16]
