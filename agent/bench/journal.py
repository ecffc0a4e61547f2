"""Results as they come, one JSON line each, so that a bench that was stopped goes on where it was."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ..faults import UsageFault
from .problems import Problem
from .summary import VERDICTS
from .task import Record, Wanted

FRAMEWORKS = ("solar-agent", "torch", "numpy")


def result_key(problem: Problem, wanted: Wanted) -> str:
    """The same program, asked for in the same way, of the same versions."""
    from ..translators.builtin import rules_version

    facts = [problem.label, problem.sha256(), asdict(replace(wanted, texts=None)), rules_version()]
    facts += [_version(name) for name in FRAMEWORKS]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


class Journal:
    """Raises UsageFault when the file cannot be written."""

    def __init__(self, path: Path, *, fresh: bool) -> None:
        self._known = {} if fresh else _read(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("w" if fresh else "a", encoding="utf-8")
        except OSError as error:
            raise UsageFault(f"cannot write to {path} ({error.strerror}); choose another --out") from None

    def get(self, key: str) -> Record | None:
        return self._known.get(key)

    def put(self, key: str, record: Record) -> None:
        """Whole even when the line before it was cut off."""
        self._file.write(f"\n{json.dumps({'key': key, 'record': record})}\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def _read(path: Path) -> dict[str, Record]:
    """Lines that are no results, as one that was cut off, are passed over."""
    if not path.is_file():
        return {}
    found: dict[str, Record] = {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(entry, dict) and is_record(entry.get("record")):
            found[str(entry.get("key"))] = entry["record"]
    return found


def is_record(found: object) -> bool:
    """Has it what a result of a problem is made of?"""
    if not isinstance(found, dict) or found.get("verdict") not in VERDICTS:
        return False
    seconds = found.get("seconds", "missing")
    if seconds is None:
        return True
    return isinstance(seconds, dict) and all(isinstance(value, int | float | None) for value in seconds.values())
