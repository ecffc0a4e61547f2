"""A function in a process of its own: limits on time and memory, and whatever it does to torch is gone afterwards."""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

Answer = dict[str, Any]
LONGEST_REASON = 200


@dataclass(frozen=True, slots=True)
class Job:
    """`work` returns plain data; `label` comes back beside it."""

    label: tuple[str, ...]
    work: Callable[[], Answer]


@dataclass(slots=True)
class _Running:
    job: Job
    process: int
    pipe: int
    until_s: float
    text: bytearray = field(default_factory=bytearray)


def run_all(jobs: Iterable[Job], at_once: int, limit_s: float, memory_bytes: int) -> Iterator[tuple[Job, Answer]]:
    """Answers as they come; {"fails": why} for a job that raised, crashed, or went over a limit."""
    waiting, running = deque(jobs), dict[int, _Running]()
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                started = _started(waiting.popleft(), limit_s, memory_bytes)
                running[started.pipe] = started
            yield from _answers(running, limit_s)
    finally:
        for one in running.values():
            _ended(one)


def _started(job: Job, limit_s: float, memory_bytes: int) -> _Running:
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if process == 0:
        os.close(reading)
        _child(job, writing, memory_bytes)
    os.close(writing)
    return _Running(job, process, reading, time.monotonic() + limit_s)


def _child(job: Job, writing: int, memory_bytes: int) -> None:
    try:
        os.setsid()
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
        with os.fdopen(writing, "w") as pipe:
            pipe.write(json.dumps(_tried(job)))
    finally:
        os._exit(0)


def _tried(job: Job) -> Answer:
    try:
        return job.work()
    except BaseException as error:  # noqa: BLE001
        frame = traceback.extract_tb(error.__traceback__)[-1]
        return {"fails": f"{reason(error)} ({os.path.basename(frame.filename)}:{frame.lineno})"}


def reason(error: BaseException) -> str:
    text = " ".join(str(error).split())
    text = text if len(text) <= LONGEST_REASON else text[: LONGEST_REASON - 3] + "..."
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _answers(running: dict[int, _Running], limit_s: float) -> Iterator[tuple[Job, Answer]]:
    first = min(one.until_s for one in running.values())
    ready, _, _ = select.select(list(running), [], [], max(first - time.monotonic(), 0))
    for pipe in ready:
        one = running[pipe]
        piece = os.read(pipe, 1 << 16)
        one.text += piece
        if not piece:
            del running[pipe]
            status = _ended(one)
            yield one.job, json.loads(one.text) if one.text else {"fails": f"its process ended ({status})"}
    for one in [one for one in running.values() if one.until_s <= time.monotonic()]:
        del running[one.pipe]
        _ended(one)
        yield one.job, {"fails": f"not done within {limit_s:g} s"}


def _ended(one: _Running) -> str:
    """Kills what is left of it."""
    os.close(one.pipe)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(one.process, signal.SIGKILL)
    with suppress(ProcessLookupError):
        os.kill(one.process, signal.SIGKILL)
    _, status = os.waitpid(one.process, 0)
    code = os.waitstatus_to_exitcode(status)
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"
