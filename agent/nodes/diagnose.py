"""diagnose: what to do after a failed attempt: repair it, start from another angle, or stop with the reason."""

from __future__ import annotations

from ..desk import Desk, cost_usd, used
from ..state import RunState, StopReason
from ..translators.builtin import INSTEAD
from .check import NO_FAULT

REPAIRS_IN_A_ROW = 2


def diagnose(state: RunState, desk: Desk) -> RunState:
    attempts = state["attempts"]
    latest = attempts[-1]
    if latest["verdict"] == "refused":
        return {"stop": "refused", "message": _first_line(latest["feedback"])}
    if latest["score"][1:2] == [NO_FAULT] and latest["same_as"] is None:
        reason = " ".join(latest["feedback"].split())
        return {"stop": "undecided", "message": f"no fault was found, yet the check could not decide. {reason}"}
    if latest["same_as"] is not None and state["fresh_used"]:
        message = f"attempt {latest['number']} is attempt {latest['same_as']} again, also after a fresh start"
        return {"stop": "identical", "message": message}
    if not desk.translator.prompted:
        message = f"the built-in translation did not pass: {_first_line(latest['feedback'])}; {INSTEAD}"
        return {"stop": "attempts", "message": message}
    stop = _spent(state, desk)
    if stop is not None:
        return {"stop": stop[0], "message": stop[1]}
    if latest["same_as"] is not None:
        desk.tell("diagnose", f"attempt {latest['number']} is attempt {latest['same_as']} again: starting afresh")
        return {"plan": "fresh", "fresh_used": True}
    repairs = [attempt["kind"] for attempt in attempts[-REPAIRS_IN_A_ROW:]]
    if repairs == ["repair"] * REPAIRS_IN_A_ROW and not state["fresh_used"]:
        desk.tell("diagnose", f"{REPAIRS_IN_A_ROW} repairs did not help: starting afresh")
        return {"plan": "fresh", "fresh_used": True}
    desk.tell("diagnose", _first_line(latest["feedback"]))
    return {"plan": "repair"}


def _spent(state: RunState, desk: Desk) -> tuple[StopReason, str] | None:
    options, usage = desk.options, used(state)
    total = usage.input_tokens + usage.output_tokens
    if len(state["attempts"]) >= options.max_attempts:
        return "attempts", f"all {options.max_attempts} attempts failed (--max-attempts allows more)"
    if options.max_tokens is not None and total >= options.max_tokens:
        return "tokens", f"{total} of {options.max_tokens} tokens are spent (--max-tokens allows more)"
    cost = cost_usd(usage, options)
    if options.max_cost_usd is not None and cost is not None and cost >= options.max_cost_usd:
        return "money", f"${cost:.3g} of ${options.max_cost_usd:.3g} are spent (--max-cost allows more)"
    left_s = desk.left_s(state)
    if left_s is not None and left_s <= 0:
        return "wall", f"the {options.budget_s:.3g} s for this run are over (--budget allows more)"
    return None


def _first_line(feedback: str) -> str:
    """The first fault; the line before it only counts them."""
    lines = [line.strip() for line in feedback.splitlines() if line.strip()]
    return next((line.removeprefix("1. ") for line in lines if line.startswith("1. ")), lines[0] if lines else "failed")
