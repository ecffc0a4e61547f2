"""One retry loop for every provider: it honours what the server asks for, up to a limit, and shows that it waits."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import TypeVar

from .state import Progress

T = TypeVar("T")


class ProviderError(Exception):
    """No answer can be had now; one line with the cause and the next step. `retry_after_s` is the server's wish;
    `out_of_time`: the caller's own deadline ended it."""

    def __init__(self, message: str, retry_after_s: float | None = None, *, out_of_time: bool = False) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        self.out_of_time = out_of_time


class Transient(Exception):
    """Asking again may help. `hint_s` is how long the server wants to be left alone."""

    def __init__(self, cause: str, hint_s: float | None = None, tries: int | None = None) -> None:
        super().__init__(cause)
        self.hint_s = hint_s
        self.tries = tries


@dataclass(frozen=True, slots=True)
class Clock:
    """Time as the loop sees it; tests put their own in."""

    now: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


@dataclass(frozen=True, slots=True)
class Policy:
    """`tries` requests at most, all within `deadline_s`; a hint above `hint_cap_s` ends the run at once."""

    tries: int = 6
    first_wait_s: float = 1.0
    longest_wait_s: float = 60.0
    hint_cap_s: float = 120.0
    deadline_s: float = 900.0


@dataclass(frozen=True, slots=True)
class Retry:
    policy: Policy = Policy()
    clock: Clock = Clock()
    jitter: random.Random = field(default_factory=random.Random)
    progress: Callable[[Progress], None] | None = None

    def call(self, send: Callable[[], T], who: str, deadline_s: float | None = None) -> T:
        """Calls `send` until it answers. Raises ProviderError when it will not."""
        limit_s = min(self.policy.deadline_s, deadline_s if deadline_s is not None else self.policy.deadline_s)
        end = self.clock.monotonic() + limit_s
        tried = 0
        while True:
            tried += 1
            try:
                return send()
            except Transient as fault:
                wait_s = self._wait(fault, tried, who)
                if self.clock.monotonic() + wait_s > end:
                    raise ProviderError(
                        f"{who}: {fault}; gave up as waiting {spoken(wait_s)} more would pass the limit of "
                        f"{spoken(limit_s)}; run the same command again later, it resumes",
                        fault.hint_s,
                        out_of_time=deadline_s is not None and deadline_s <= limit_s,
                    ) from fault
                self._show(who, fault, wait_s)
                self.clock.sleep(wait_s)

    def _wait(self, fault: Transient, tried: int, who: str) -> float:
        if fault.hint_s is not None and fault.hint_s > self.policy.hint_cap_s:
            raise ProviderError(
                f"{who}: {fault}; retry after {spoken(fault.hint_s)}: run the same command again then, it resumes",
                fault.hint_s,
            ) from fault
        if tried >= min(self.policy.tries, fault.tries or self.policy.tries):
            raise ProviderError(
                f"{who}: {fault}, after {tried} request{'s' if tried > 1 else ''}; "
                "run the same command again later, it resumes",
                fault.hint_s,
            ) from fault
        backoff_s = min(self.policy.longest_wait_s, self.policy.first_wait_s * 2.0 ** (tried - 1))
        if fault.hint_s is not None:
            return fault.hint_s + 0.25 * self.jitter.random()
        return backoff_s * (0.5 + 0.5 * self.jitter.random())

    def _show(self, who: str, fault: Transient, wait_s: float) -> None:
        if self.progress is not None:
            self.progress(Progress("wait", f"{who}: {fault}; asking again in {spoken(wait_s)}", wait_s))


def retry_after_s(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds, milliseconds (`retry-after-ms`) or an HTTP date; None when there is no hint that can be read."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None or value is None:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except ValueError:
        return None


def _number(value: str | None) -> float | None:
    try:
        number = float(value) if value is not None else None
    except ValueError:
        return None
    return number if number is not None and 0 <= number < float("inf") else None


def spoken(seconds: float) -> str:
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"
