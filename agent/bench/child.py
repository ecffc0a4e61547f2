"""The process that each program gets on the translating side: forked from one that has imported all of it."""

from __future__ import annotations

import faulthandler
import json
import os
import resource
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ...verifier.zygote import Zygote

SAMPLE = """program sample
input x[B, D]
y = softmax(x)
for b<B, d<D, e<D: z[b, d] += y[b, e] * x[b, e]
output z
"""
_workers: list[Zygote] = []


def prepare() -> None:
    """Imports what a run needs, and starts the process that the programs' own are forked from."""
    import importlib

    for name in ("stages", "translate", "graph", "prompt", "document", "faults", "bench.task", "builtin"):
        importlib.import_module(f"solar_agent.agent.{name}")
    for name in ("agent.nodes.recheck", "verifier.verify", "verifier.reference", "analysis.count", "analysis.bounds"):
        importlib.import_module(f"solar_agent.{name}")
    for name in ("langgraph.graph", "langgraph.checkpoint.sqlite", "langsmith"):
        importlib.import_module(name)

    _use_once()
    from ...verifier.reference import open_zygote

    zygote = open_zygote()
    zygote.ready()
    _workers.append(zygote)


def _use_once() -> None:
    """What is read and built at first use: grammar, prelude, types of devices."""
    from ...analysis.arch import load_arch
    from ...analysis.bounds import bounds
    from ...analysis.count import count
    from ...ir.bindings import Bindings, TensorType
    from ...ir.execute import Values, execute
    from ...ir.load import load
    from ..translators.builtin import rules_version

    program = load(SAMPLE, Bindings(inputs={"x": TensorType((2, 3), "f32")}))
    execute(program, Values(inputs={"x": np.ones((2, 3))}, state={}, draws=()))
    count(program)
    bounds(program, load_arch("H100_PCIe"))
    rules_version()


def finish() -> None:
    for zygote in _workers:
        zygote.close()


def child(request: int, reply: int, output: int) -> None:
    """One task in, one record out; what goes wrong beyond the foreseen ends the process with its traceback."""
    from ...verifier.types import Limits
    from .task import Laps, Wanted, perform

    os.dup2(output, 1)
    os.dup2(output, 2)
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (Limits().memory_bytes, Limits().memory_bytes))
    with os.fdopen(request, "rb") as reading:
        task = json.loads(reading.read())
    os.environ.update(task["environment"])
    laps = Laps()
    zygote = _workers[0]
    wanted = Wanted(**{**task["wanted"], "archs": tuple(task["wanted"]["archs"])})
    record = perform(task["name"], Path(task["file"]), wanted, zygote, laps)
    others = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    record["program"] = {"peak_bytes": max(zygote.peak_bytes, others), "cpu_s": zygote.cpu_s}
    with os.fdopen(reply, "wb") as writing:
        writing.write(json.dumps(record).encode())
    os._exit(0)
