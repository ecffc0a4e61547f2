"""gather: what the model will see, and what had to be left out of it."""

from __future__ import annotations

from ..desk import Desk
from ..prompt import prompt_version
from ..state import RunState


def gather(state: RunState, desk: Desk) -> RunState:
    return {
        "prompt_version": prompt_version(),
        "warnings": [*desk.description.warnings, *(desk.facts.warnings if desk.facts else ())],
        "attempts": [],
        "plan": "translate",
        "fresh_used": False,
        "input_tokens": 0,
        "output_tokens": 0,
        "cached_tokens": 0,
        "elapsed_s": desk.lap_s(),
    }
