"""The child process: one JSON request per line in, one JSON reply per line out, arrays in a file beside it.

Nothing is ever unpickled on either side: arrays are a sequence of .npy records."""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import sys
import warnings
from collections.abc import Mapping
from contextlib import suppress
from io import BufferedWriter
from pathlib import Path
from typing import Any

import numpy as np

from ...ir.bindings import Scalar
from ..codec import bindings_to_plain, domains_to_plain, leaf_to_plain
from ..limits import die_with_parent, environment, lock
from ..tracecodec import traced_to_plain
from ..types import Array, Limits


class Arrays:
    """Arrays of one reply, each written once; `index` gives their record numbers."""

    def __init__(self, file: BufferedWriter) -> None:
        self._file = file
        self._seen: dict[int, int] = {}
        self._alive: list[Array] = []

    def add(self, array: Array) -> int:
        if id(array) not in self._seen:
            self._seen[id(array)] = len(self._alive)
            self._alive.append(array)
            np.save(self._file, np.ascontiguousarray(array).reshape(array.shape), allow_pickle=False)
        return self._seen[id(array)]

    def add_all(self, arrays: Mapping[str, Array]) -> dict[str, int]:
        return {name: self.add(array) for name, array in arrays.items()}


def serve(requests: int, replies: int, setup: Mapping[str, Any]) -> None:
    """Answer requests until the pipe closes."""
    from .session import Session

    temporary = Path(setup["temporary"])
    session = Session(Path(setup["path"]), setup["entry"], setup["inputs"], setup["mode"], Limits(**setup["limits"]))
    with os.fdopen(requests, "rb") as reading, os.fdopen(replies, "wb", buffering=0) as writing:
        for line in reading:
            reply = _answer(session, json.loads(line), temporary)
            writing.write(json.dumps(reply).encode() + b"\n")


def _answer(session: Any, request: Mapping[str, Any], temporary: Path) -> dict[str, Any]:  # noqa: ANN401
    from .faults import Refused, UserError

    try:
        with (temporary / f"{request['id']}.arrays").open("wb") as file:
            return {"ok": True, "id": request["id"], "result": _dispatch(session, request, Arrays(file))}
    except UserError as error:
        return {"ok": False, "id": request["id"], "kind": error.kind, "message": str(error)}
    except Refused as error:
        return {"ok": False, "id": request["id"], "kind": error.kind, "message": str(error)}
    except MemoryError:
        return {"ok": False, "id": request["id"], "kind": "memory", "message": "out of memory"}
    except RecursionError:
        message = "the program's values or modules are nested too deeply, or contain themselves"
        return {"ok": False, "id": request["id"], "kind": "failed", "message": message}


def _dispatch(session: Any, request: Mapping[str, Any], arrays: Arrays) -> dict[str, Any]:  # noqa: ANN401
    match request["do"]:
        case "describe":
            return _described(session)
        case "assignments":
            return {"assignments": [_assignment(item) for item in session.assignments()]}
        case "trial":
            done = session.trial(request["changes"], request["seed"], request["distribution"], request["precision"])
            return {
                "bindings": bindings_to_plain(done.bindings),
                "inputs": arrays.add_all(done.inputs),
                "state": arrays.add_all(done.state),
                "draws": [arrays.add(array) for array in done.draws],
                "leaves": [leaf_to_plain(leaf, _valued(leaf.value, arrays)) for leaf in done.leaves],
                "kept_state": done.kept_state,
                "seconds": done.seconds,
                "warnings": done.warnings,
            }
        case "known_state":
            return {"state": arrays.add_all(session.known_state(request["names"]))}
        case "trace":
            return traced_to_plain(session.trace(request["changes"]))
        case "feeding":
            notes = session.feeding(request["changes"], request["seed"], request["distribution"])
            return {"values": notes.values, "feeds": notes.feeds, "leaves": notes.leaves}
        case unknown:
            raise ValueError(f"unknown request {unknown!r}")


def _valued(value: Array | Scalar, arrays: Arrays) -> Scalar | dict[str, int]:
    return {"array": arrays.add(value)} if isinstance(value, np.ndarray) else value


def _described(session: Any) -> dict[str, Any]:  # noqa: ANN401
    done, file = session.describe()
    return {
        "entry": file.entry,
        "kind": file.kind,
        "framework_version": session.framework_version,
        "source": file.text,
        "sources": session.sources,
        "source_sha256": session.source_sha256,
        "signature": done.signature,
        "default_dtype": session.default_dtype,
        "bindings": bindings_to_plain(done.bindings),
        "domains": domains_to_plain(done.domains),
        "leaves": None if done.leaves is None else [leaf_to_plain(leaf, leaf.value) for leaf in done.leaves],
        "warnings": done.warnings,
    }


def _assignment(item: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        "label": item.label,
        "changes": dict(item.changes),
        "inputs": dict(item.inputs),
        "batch_one": item.batch_one,
        "not_varied": item.not_varied,
    }


def main(requests: int, replies: int, life: int) -> None:
    """Entry of the process: limits first, then torch (which a forked one has already), then the user's file."""
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=False)
    with os.fdopen(requests, "rb", buffering=0, closefd=False) as reading:
        setup = json.loads(reading.readline())
    for entry in setup["search_path"]:
        if entry not in sys.path:
            sys.path.append(entry)
    os.environ.update(environment(Path(setup["temporary"])))
    os.chdir(setup["temporary"])
    watch = die_with_parent(life, Path(setup["temporary"]))
    missing = lock(Limits(**setup["limits"]), Path(setup["temporary"]))
    warnings.simplefilter("ignore")
    import torch

    torch.set_num_threads(1)
    os.write(replies, json.dumps({"ok": True, "id": 0, "result": {"warnings": missing}}).encode() + b"\n")
    with suppress(BrokenPipeError):
        serve(requests, replies, setup)
    watch.join()  # the owner is gone, and this process must not end before its folder and its children
