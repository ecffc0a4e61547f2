"""Where the tool keeps its own files: one private folder per user."""

from __future__ import annotations

import os
from pathlib import Path


def cache_dir() -> Path:
    """`SOLAR_AGENT_CACHE`, else the user's cache folder; made with mode 0700. Raises OSError."""
    named = os.environ.get("SOLAR_AGENT_CACHE")
    if named:
        return private(Path(named).expanduser())
    base = os.environ.get("XDG_CACHE_HOME")
    parent = Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache"
    return private(parent / "solar-agent")


def private(folder: Path) -> Path:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.stat().st_mode & 0o077:
        folder.chmod(0o700)
    return folder


def write_private(path: Path, text: str) -> None:
    """Whole or not at all, readable by the user only; the parent folder exists."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(text)
    beside.replace(path)
