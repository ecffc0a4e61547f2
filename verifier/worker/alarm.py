"""A soft limit on processor time inside the worker: it interrupts Python code, not a running kernel."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from .faults import TooSlow


def _ring(signum: int, frame: FrameType | None) -> None:
    raise TooSlow


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Raises TooSlow in the body after `seconds` of processor time."""
    before = signal.signal(signal.SIGPROF, _ring)
    signal.setitimer(signal.ITIMER_PROF, max(seconds, 0.001))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
