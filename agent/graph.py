"""The graph: load, gather, translate, check, then accept, or diagnose and translate again, or give up.

Whether the cache has the program is settled before (`nodes.recheck`): a hit must not pay for importing any of this."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .desk import ACCEPTED, Desk
from .nodes.accept import accept
from .nodes.check import check
from .nodes.diagnose import diagnose
from .nodes.gather import gather
from .nodes.give_up import give_up
from .nodes.load import load
from .nodes.translate import translate
from .places import cache_dir
from .retry import ProviderError
from .state import RunState
from .translators.base import AnswerNeeded, Declined, Drift, NoRule, Truncated

NODES: dict[str, Callable[[RunState, Desk], RunState]] = {
    "load": load,
    "gather": gather,
    "translate": translate,
    "check": check,
    "accept": accept,
    "diagnose": diagnose,
    "give_up": give_up,
}
FAULTS = (ProviderError, Declined, Truncated, AnswerNeeded, Drift, NoRule)
STEPS_PER_ATTEMPT = 3
STEPS_AROUND = 5


def after_check(state: RunState) -> str:
    return "accept" if state["attempts"][-1]["verdict"] in ACCEPTED else "diagnose"


def after_diagnose(state: RunState) -> str:
    return "give_up" if "stop" in state else "translate"


@dataclass(frozen=True, slots=True)
class RunEnd:
    """`fault`: what the translator raised; the state is then the one at which it can be taken up again."""

    state: RunState
    fault: Exception | None = None


def run_graph(desk: Desk, *, resume: bool) -> RunEnd:
    """Runs to the end, from the last checkpoint when this run was cut off."""
    _no_tracing()
    import langsmith

    with closing(_connection(resume)) as connection, langsmith.tracing_context(enabled=False):
        graph = _compiled(desk, connection)
        config = _config(desk)
        unfinished = bool(graph.get_state(config).next)
        if not unfinished:
            graph.checkpointer.delete_thread(desk.run.name)
            if not desk.options.use_cache:
                desk.run.forget()
        else:
            desk.tell("resume", "taking up the run that was cut off")
        try:
            state: RunState = graph.invoke(None if unfinished else {}, config, durability="sync")
        except FAULTS as fault:
            return RunEnd(graph.get_state(config).values, fault)
        graph.checkpointer.delete_thread(desk.run.name)
        return RunEnd(state)


def _compiled(desk: Desk, connection: sqlite3.Connection) -> Any:  # noqa: ANN401
    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.graph import END, START, StateGraph

    builder = StateGraph(RunState)
    for name, node in NODES.items():
        builder.add_node(name, _bound(node, desk))
    builder.add_edge(START, "load")
    builder.add_edge("load", "gather")
    builder.add_edge("gather", "translate")
    builder.add_edge("translate", "check")
    builder.add_conditional_edges("check", after_check, ["accept", "diagnose"])
    builder.add_conditional_edges("diagnose", after_diagnose, ["translate", "give_up"])
    builder.add_edge("accept", END)
    builder.add_edge("give_up", END)
    return builder.compile(checkpointer=SqliteSaver(connection))


def _bound(node: Callable[[RunState, Desk], RunState], desk: Desk) -> Any:  # noqa: ANN401
    def step(state: RunState) -> RunState:
        return node(state, desk)

    return step


def _config(desk: Desk) -> dict[str, Any]:
    steps = STEPS_PER_ATTEMPT * desk.options.max_attempts + STEPS_AROUND
    return {"configurable": {"thread_id": desk.run.name}, "recursion_limit": steps}


def _connection(resume: bool) -> sqlite3.Connection:
    """The checkpoints of all runs, readable by the user only; in memory when there is nothing to take up later."""
    where = ":memory:"
    if resume:
        path = cache_dir() / "checkpoints.db"
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        Path(path).chmod(0o600)
        where = str(path)
    return sqlite3.connect(where, timeout=60, check_same_thread=False)


def _no_tracing() -> None:
    """Before langgraph is imported: no tracing to anybody, and checkpoints that hold plain data only."""
    os.environ["LANGSMITH_TRACING_V2"] = "false"
    os.environ["LANGCHAIN_TRACING_V2"] = "false"
    os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"
