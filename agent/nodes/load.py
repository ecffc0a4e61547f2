"""load: which program this run is about."""

from __future__ import annotations

from ..desk import Desk
from ..state import RunState


def load(state: RunState, desk: Desk) -> RunState:
    return {"run_id": desk.run.name, "source_sha256": desk.description.source_sha256}
