"""give_up: no text passed; save the best one and the story of all."""

from __future__ import annotations

import difflib
import json
from pathlib import Path

from ..desk import Desk, used
from ..state import AttemptState, RunState

SAVED = "; the best attempt is in"


def give_up(state: RunState, desk: Desk) -> RunState:
    saved = save_attempts(state, desk)
    return {"message": f"{state['message']}{SAVED} {saved}"}


def best_attempt(attempts: list[AttemptState]) -> AttemptState | None:
    """The nearest one; of equals the latest. None when no answer held a program."""
    tried = [attempt for attempt in attempts if attempt["same_as"] is None and attempt["score"] != [-1.0]]
    return max(tried, key=lambda attempt: (attempt["score"], attempt["number"]), default=None)


def saved_folder(desk: Desk) -> Path:
    return desk.options.out or desk.run.folder / "result"


def save_attempts(state: RunState, desk: Desk) -> Path:
    """best.alir, best.diff (what it changed of the attempt before it), attempts/N.alir and report.json."""
    folder = saved_folder(desk)
    (folder / "attempts").mkdir(parents=True, exist_ok=True)
    attempts = state.get("attempts", [])
    texts = {attempt["number"]: desk.run.text("texts", attempt["sha256"]) for attempt in attempts}
    for number, text in texts.items():
        (folder / "attempts" / f"{number}.alir").write_text(text, encoding="utf-8")
    best = best_attempt(attempts)
    if best is not None:
        number = best["number"]
        (folder / "best.alir").write_text(texts[number], encoding="utf-8")
        (folder / "best.diff").write_text(_diff(texts, number), encoding="utf-8")
    usage = used(state)
    report = {
        "stop": state.get("stop"),
        "message": state.get("message"),
        "source_sha256": state.get("source_sha256"),
        "best": best["number"] if best is not None else None,
        "tokens": {"input": usage.input_tokens, "output": usage.output_tokens, "cached": usage.cached_tokens},
        "attempts": attempts,
    }
    (folder / "report.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return folder


def _diff(texts: dict[int, str], number: int) -> str:
    before = texts.get(number - 1, "").splitlines(keepends=True)
    names = (f"attempt {number - 1}", f"attempt {number}")
    return "".join(difflib.unified_diff(before, texts[number].splitlines(keepends=True), *names))
