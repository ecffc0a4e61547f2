"""A diskcache `Disk` that keeps text only: nothing is ever unpickled, and no file beside the database is opened."""

from __future__ import annotations

from typing import Any

import diskcache

MODE_RAW = 1  # diskcache's number for "the value is in the row"


class RowRefused(ValueError):
    """A row that this program never writes: a pickle, a file reference, or something other than text."""


class TextDisk(diskcache.Disk):  # type: ignore[misc]  # diskcache has no types
    def put(self, key: object) -> tuple[str, bool]:
        if not isinstance(key, str):
            raise TypeError(f"a cache key is text, not {type(key).__name__}")
        return key, True

    def get(self, key: object, raw: object) -> str:
        if not raw or not isinstance(key, str):
            raise RowRefused("a cache row whose key is not text")
        return key

    def store(self, value: object, read: bool, key: Any = None) -> tuple[int, int, None, str]:  # noqa: ANN401
        if read or not isinstance(value, str):
            raise TypeError(f"a cache value is text, not {type(value).__name__}")
        return 0, MODE_RAW, None, value

    def fetch(self, mode: object, filename: object, value: object, read: bool) -> str:
        if mode != MODE_RAW or filename is not None or read or not isinstance(value, str):
            raise RowRefused(f"a cache row of mode {mode!r}: only text in the row itself is read")
        return value

    def remove(self, file_path: object) -> None:
        """No value lies in a file, so there is none to remove, whatever a row says."""
