"""What goes to stdout and stderr, and how: one document or one report there, one line each here."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from .document import Json
    from .state import Progress


def emit(value: Mapping[str, Json]) -> None:
    from .document import dumps

    click.echo(dumps(value))


def error(message: str) -> None:
    _line(f"error: {message}" if not message.startswith("internal error: ") else message, "red")


def warn(warnings: Iterable[str]) -> None:
    for warning in dict.fromkeys(warnings):
        _line(f"warning: {warning}", "yellow")


def _line(message: str, colour: str) -> None:
    """One line, whatever the message holds."""
    word, colon, rest = " ".join(message.split()).partition(":")
    click.echo(click.style(word, fg=colour) + colon + rest, err=True)


class Status:
    """Shows where a run is: on a terminal one line with the seconds, erased in the end; elsewhere a line per step."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._live = not quiet and sys.stderr.isatty()
        self._done = threading.Event()
        self._step: Progress | None = None
        self._began_s = 0.0

    def __enter__(self) -> Callable[[Progress], None]:
        if self._live:
            threading.Thread(target=self._redraw, daemon=True).start()
        return self._show

    def __exit__(self, *_: object) -> None:
        self._done.set()
        if self._live:
            click.echo("\r\x1b[2K", nl=False, err=True)

    def _show(self, step: Progress) -> None:
        self._step, self._began_s = step, time.monotonic()
        if self._live:
            self._draw()
        elif not self._quiet:
            click.echo(f"{step.stage}: {step.message}", err=True)

    def _redraw(self) -> None:
        while not self._done.wait(1.0):
            self._draw()

    def _draw(self) -> None:
        if self._step is not None and not self._done.is_set():
            elapsed_s = time.monotonic() - self._began_s
            shown = f"{self._step.stage}: {self._step.message} ({elapsed_s:.0f} s)"
            click.echo(f"\r\x1b[2K{shown[: shutil.get_terminal_size().columns - 1]}", nl=False, err=True)
