"""Verified translations by the program they are of: text, certificate and description, as JSON in one private database.

A fault of the database is a miss with one warning, never an error: a cached text is checked again before it counts."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from .places import cache_dir, private
from .state import Options

LANGUAGE_VERSION = 1
LOCK_WAIT_S = 60
# sqlite says these of a database that is whole: it is left where it is.
INTACT = ("locked", "busy", "readonly", "read-only", "full", "unable to open", "permission", "disk i/o")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Entry:
    """One translation. `description` and `certificate` are JSON text as the verifier writes it."""

    key: str
    program: str
    verdict: str
    text: str
    certificate: str
    description: str


def translation_key(source_sha256: str, options: Options, rules: str = "") -> str:
    """Sizes are no part of it: one text serves them all, and the source closure holds their defaults. `rules` is the
    version of those that wrote the text; a model's text has none, whichever model it was."""
    facts = [source_sha256, LANGUAGE_VERSION, options.entry, options.inputs, options.mode, *([rules] if rules else [])]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


class Cache:
    """The user's cache, or the one at `folder`. Usable by many processes at once."""

    def __init__(self, folder: Path | None = None) -> None:
        self.warnings: list[str] = []
        self._folder = folder
        self._store: Any = None

    def get(self, key: str) -> Entry | None:
        found = self._guarded(lambda store: store.get(key, default=None), None)
        if found is None:
            return None
        entry = _decoded(key, found)
        if entry is None:
            self._warn(f"cache: entry {key[:12]} is damaged and was dropped")
            self.remove(key)
        return entry

    def put(self, entry: Entry) -> None:
        self._guarded(lambda store: store.set(entry.key, _encoded(entry)), False)

    def remove(self, prefix: str = "") -> int:
        """Drops the entries whose key starts with `prefix` (all of them without one); how many there were."""
        return sum(self._guarded(partial(_deleted, key), 0) for key in self._keys(prefix))

    def entries(self, prefix: str = "") -> tuple[Entry, ...]:
        found = (self.get(key) for key in self._keys(prefix))
        return tuple(sorted((entry for entry in found if entry), key=lambda entry: (entry.program, entry.key)))

    def export(self, folder: Path, prefix: str = "") -> tuple[Path, ...]:
        """Writes NAME-KEY.alir with NAME-KEY.json, its certificate, beside it; the texts' paths."""
        folder.mkdir(parents=True, exist_ok=True)
        written = []
        for entry in self.entries(prefix):
            path = folder / f"{_file_name(entry.program)}-{entry.key[:12]}.alir"
            path.write_text(entry.text, encoding="utf-8")
            path.with_suffix(".json").write_text(entry.certificate, encoding="utf-8")
            written.append(path)
        return tuple(written)

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None

    def _keys(self, prefix: str) -> list[str]:
        def listed(store: Any) -> list[str]:  # noqa: ANN401
            return [key for key in _readable_keys(store) if key.startswith(prefix)]

        return self._guarded(listed, [])

    def _guarded(self, action: Callable[[Any], T], otherwise: T) -> T:
        import diskcache

        try:
            return action(self._opened())
        except diskcache.Timeout:
            self._warn(f"cache: busy for {LOCK_WAIT_S} s, going on without it")
        except sqlite3.Error as error:
            self._set_aside(error)
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            self._warn(f"cache: going on without it ({error})")
        return otherwise

    def _opened(self) -> Any:  # noqa: ANN401
        if self._store is None:
            import diskcache

            from .cachedisk import TextDisk

            self._store = diskcache.Cache(
                str(self._place()), timeout=LOCK_WAIT_S, disk=TextDisk, sqlite_journal_size_limit=1 << 22
            )
        return self._store

    def _place(self) -> Path:
        return private(self._folder if self._folder is not None else cache_dir() / "translations")

    def _set_aside(self, error: sqlite3.Error) -> None:
        self.close()
        if any(sign in str(error).lower() for sign in INTACT):
            self._warn(f"cache: going on without it ({error})")
            return
        damaged = self._place() / "cache.db"
        aside = damaged.with_name(f"cache.db.damaged-{time.time_ns()}")
        try:
            damaged.replace(aside)
        except OSError:
            self._warn(f"cache: damaged ({error}), going on without it")
            return
        for rest in ("-wal", "-shm"):
            damaged.with_name(f"cache.db{rest}").unlink(missing_ok=True)
        self._warn(f"cache: damaged ({error}); moved aside to {aside.name}, starting an empty one")

    def _warn(self, message: str) -> None:
        if not self.warnings:
            self.warnings.append(message)


def _readable_keys(store: Any) -> Iterator[str]:  # noqa: ANN401
    """diskcache's own iteration stops at the first foreign row; these are asked for one by one."""
    for key, raw in store._sql("SELECT key, raw FROM Cache ORDER BY rowid").fetchall():
        if raw and isinstance(key, str):
            yield key


def _deleted(key: str, store: Any) -> int:  # noqa: ANN401
    return int(store.delete(key))


def _encoded(entry: Entry) -> str:
    payload = json.dumps(asdict(entry), sort_keys=True)
    return json.dumps({"sha256": hashlib.sha256(payload.encode()).hexdigest(), "payload": payload})


def _decoded(key: str, stored: str) -> Entry | None:
    try:
        outer = json.loads(stored)
        payload = outer["payload"]
        if hashlib.sha256(payload.encode()).hexdigest() != outer["sha256"]:
            return None
        entry = Entry(**json.loads(payload))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return entry if entry.key == key and all(isinstance(value, str) for value in asdict(entry).values()) else None


def _file_name(program: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "_-" else "_" for letter in program)[:60] or "program"
