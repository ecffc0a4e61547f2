"""What goes wrong in user code, as one line that names the place in the user's file."""

from __future__ import annotations

import traceback
from pathlib import Path
from types import TracebackType
from typing import Literal

Kind = Literal["bad_input", "failed", "memory", "not_promotable", "unrecordable"]
_MEMORY_HINTS = ("can't allocate memory", "not enough memory", "Cannot allocate memory", "out of memory")
_LONGEST = 10_000
_NO_WIDE_KERNEL = ("not implemented for 'Double'", "not implemented for 'ComplexDouble'")


class Refused(Exception):
    """Something that the worker will not do; `kind` says which error the other side raises."""

    def __init__(self, message: str, kind: Kind = "failed") -> None:
        super().__init__(message)
        self.kind: Kind = kind


class TooSlow(BaseException):
    """Raised by the timer of a size attempt; not an Exception, so that user code does not swallow it."""


class UserError(Exception):
    """An exception of user code (`cause`), described in one line."""

    def __init__(self, message: str, cause: BaseException, kind: Kind, line: int | None) -> None:
        super().__init__(message)
        self.cause = cause
        self.kind: Kind = kind
        self.line = line


class Guard:
    """`with Guard("running forward()", folder):` turns whatever user code raises into a UserError."""

    def __init__(self, doing: str, folder: Path, kind: Kind = "failed") -> None:
        self._doing = doing
        self._folder = folder
        self._kind: Kind = kind

    def __enter__(self) -> Guard:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None or isinstance(error, TooSlow | Refused | UserError):
            return
        file, line = place(error, self._folder)
        where = f"{file}:{line}: " if file else ""
        message = f"{where}{describe(error)} (while {self._doing})"
        raise UserError(message, error, _kind_of(error, self._kind), line) from error


def place(error: BaseException, folder: Path) -> tuple[str, int | None]:
    """Deepest position of the traceback that lies in the user's folder, as (file name, line)."""
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename).parent == folder:
        return Path(error.filename).name, error.lineno
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if Path(frame.filename).is_relative_to(folder) and "site-packages" not in frame.filename:
            return Path(frame.filename).name, frame.lineno
    return "", None


def describe(error: BaseException) -> str:
    """Type and message on one line, cut to a readable length."""
    if isinstance(error, SystemExit):
        return f"the program called sys.exit({error.code!r})"
    text = str(error.msg) if isinstance(error, SyntaxError) else _text(error)
    text = " ".join(text[:_LONGEST].split())
    if len(text) > 300:
        text = text[:297] + "..."
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _text(error: BaseException) -> str:
    """An exception's own words. They come from user code too, which may raise anything."""
    try:
        return str(error)
    except BaseException:  # noqa: BLE001
        return ""


def _kind_of(error: BaseException, kind: Kind) -> Kind:
    text = _text(error)[:_LONGEST]
    if isinstance(error, MemoryError) or any(hint in text for hint in _MEMORY_HINTS):
        return "memory"
    if isinstance(error, NotImplementedError | RuntimeError) and any(hint in text for hint in _NO_WIDE_KERNEL):
        return "not_promotable"
    return kind
