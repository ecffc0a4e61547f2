"""What the nodes work with and the checkpoints must not hold: live objects, and the run's options."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .cache import Cache
from .gather import Facts
from .runfolder import RunFolder
from .state import Options, Progress, RunState, Usage
from .translators.base import Translator

if TYPE_CHECKING:
    from ..verifier.certificate import Certificate
    from ..verifier.types import Description

ACCEPTED = ("verified", "verified-in-part", "specialised")


@dataclass(slots=True)
class Checker:
    """The verifier bound to one reference. `budget_s`: wall time for one text."""

    verify: Callable[[str, float | None], Certificate]
    recheck: Callable[[str, Certificate], Certificate]


@dataclass(slots=True)
class Desk:
    options: Options
    program: str
    description: Description
    checker: Checker
    facts: Facts | None  # None: the translator reads no prompt
    translator: Translator
    run: RunFolder
    cache: Cache | None
    monotonic: Callable[[], float] = time.monotonic
    mark_s: float = field(init=False)

    def __post_init__(self) -> None:
        self.mark_s = self.monotonic()

    def lap_s(self) -> float:
        """Wall time since the last lap."""
        now = self.monotonic()
        spent, self.mark_s = now - self.mark_s, now
        return spent

    def left_s(self, state: RunState) -> float | None:
        """What is left of the wall budget; None when there is none."""
        if self.options.budget_s is None:
            return None
        return max(0.0, self.options.budget_s - state.get("elapsed_s", 0.0) - (self.monotonic() - self.mark_s))

    def tell(self, stage: str, message: str) -> None:
        if self.options.progress is not None:
            self.options.progress(Progress(stage, message))


def used(state: RunState) -> Usage:
    return Usage(state.get("input_tokens", 0), state.get("output_tokens", 0), state.get("cached_tokens", 0))


def cost_usd(usage: Usage, options: Options) -> float | None:
    """None without prices."""
    prices = options.prices
    if prices is None:
        return None
    cached_price = prices.cached if prices.cached is not None else prices.input
    fresh = usage.input_tokens - usage.cached_tokens
    return (fresh * prices.input + usage.cached_tokens * cached_price + usage.output_tokens * prices.output) / 1e6
