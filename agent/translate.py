"""`translate`: from a file to a verified text, through the cache or the graph."""

from __future__ import annotations

from pathlib import Path

from .state import Options, TranslationResult


def translate(path: Path, options: Options) -> TranslationResult:
    """Raises the verifier's BadInput and ReferenceFailed; every other end is a result with its exit code."""
    raise NotImplementedError


def stored_translation(path: Path, options: Options) -> TranslationResult | None:
    """The cached translation as it is, neither run nor checked again; None if there is none."""
    raise NotImplementedError
