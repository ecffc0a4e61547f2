"""Translation by rule: recordings of a program's operators become one text. No model, no key, no network."""

from __future__ import annotations

from .model import Untranslatable
from .program import translate

__all__ = ["Untranslatable", "translate"]
