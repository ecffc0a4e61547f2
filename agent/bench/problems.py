"""Which files a bench runs: the levels of a KernelBench checkout, or a folder of programs."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..faults import UsageFault

LEVEL = re.compile(r"level(\d+)")
NUMBERED = re.compile(r"(\d+)_[\w-]+\.py")
RANGE = re.compile(r"(\d+)(?:-(\d+))?")
NOT_PROGRAMS = ("_", ".", "test_", "conftest")


@dataclass(frozen=True, slots=True)
class Problem:
    """`level`: the folder's number, or its name below the root; `id` is None where files have no numbers."""

    name: str
    level: int | str
    id: int | None
    file: Path

    @property
    def label(self) -> str:
        return f"{self.level}/{self.name}"

    @property
    def file_name(self) -> str:
        """For what is written of it; different for different problems of one bench."""
        level = f"L{self.level}" if self.id is not None else str(self.level).replace("/", "_").strip("._")
        return f"{level}_{self.name}" if level else self.name

    def sha256(self) -> str:
        return hashlib.sha256(self.file.read_bytes()).hexdigest()


def numbers(text: str | None, option: str) -> tuple[int, ...] | None:
    """`"1,3,7-9"` in order; None without a text. Raises UsageFault."""
    if text is None:
        return None
    found: list[int] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        match = RANGE.fullmatch(part)
        if match is None or len(part) > 12:
            raise UsageFault(f"{option} {text!r} is no list of numbers; write it like 1,2,5-9")
        found += range(int(match[1]), int(match[2] or match[1]) + 1)
    if not found:
        raise UsageFault(f"{option} {text!r} names no number; write it like 1,2,5-9")
    return tuple(dict.fromkeys(found))


def kernelbench(root: Path, levels: Iterable[int], ids: Iterable[int] | None) -> tuple[Problem, ...]:
    """Problems of a checkout, or of the folder KernelBench inside it. Raises UsageFault."""
    folder = root / "KernelBench" if (root / "KernelBench").is_dir() else root
    there = {int(match[1]): path for path in _folders(folder) if (match := LEVEL.fullmatch(path.name))}
    if not there:
        raise UsageFault(f"{root} has no folder KernelBench/level1; give a checkout of KernelBench with --root")
    found = []
    for level in levels:
        if level not in there:
            raise UsageFault(f"there is no level {level} in {folder}; it has {', '.join(map(str, sorted(there)))}")
        found += _numbered(level, there[level])
    wanted = None if ids is None else set(ids)
    chosen = tuple(problem for problem in found if wanted is None or problem.id in wanted)
    if not chosen:
        raise UsageFault(f"no problem of {folder} is chosen by --level and --ids; leave --ids out for all of a level")
    return chosen


def programs(root: Path) -> tuple[Problem, ...]:
    """All Python files below `root` that may be programs. Raises UsageFault."""
    if root.is_file():
        return (Problem(root.stem, ".", None, root),)
    files = [path for path in sorted(root.rglob("*.py")) if path.is_file() and _may_be_program(path.relative_to(root))]
    if not files:
        raise UsageFault(f"{root} has no Python file; give a folder of programs with --root")
    return tuple(Problem(path.stem, path.parent.relative_to(root).as_posix(), None, path) for path in files)


def _folders(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.is_dir()] if folder.is_dir() else []


def _numbered(level: int, folder: Path) -> list[Problem]:
    found = [(NUMBERED.fullmatch(path.name), path) for path in folder.iterdir()]
    problems = [Problem(path.stem, level, int(match[1]), path) for match, path in found if match]
    return sorted(problems, key=lambda problem: (problem.id or 0, problem.name))


def _may_be_program(path: Path) -> bool:
    return not any(part.startswith(NOT_PROGRAMS) for part in path.parts)
