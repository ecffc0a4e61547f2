"""accept: the text passed; keep it for the next time."""

from __future__ import annotations

from ..cache import Entry, translation_key
from ..desk import Desk
from ..state import RunState
from ..translators.builtin import rules_version


def accept(state: RunState, desk: Desk) -> RunState:
    attempt = state["attempts"][-1]
    if desk.cache is not None and attempt["certificate"] is not None:
        rules = "" if desk.translator.prompted else rules_version()
        desk.cache.put(
            Entry(
                key=translation_key(desk.description.source_sha256, desk.options, rules),
                program=desk.program,
                verdict=attempt["verdict"],
                text=desk.run.text("texts", attempt["sha256"]),
                certificate=desk.run.text("certificates", attempt["certificate"]),
                description=desk.description.to_json(),
            )
        )
    count = len(state["attempts"])
    return {"stop": "accepted", "message": f"{attempt['verdict']} after {count} attempt{'s' if count > 1 else ''}"}
