"""Runs tasks, some at once, each in a process of its own: whatever one of them does, the others go on."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import time
from collections import deque
from collections.abc import Generator, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from ...verifier.zygote import Ended
from .problems import Problem
from .task import Record, Wanted, failed

if TYPE_CHECKING:
    from ...verifier.zygote import Forked, Zygote

MODULE = "solar_agent.agent.bench.child"
BLAS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
KEPT_BYTES = 1 << 16
FRAME = re.compile(r'File "[^"]*?([^"/]+/[^"/]+)", line (\d+)')
EXCEPTION = re.compile(r"(?:\w+\.)*\w*(?:Error|Exception|Exit|Interrupt)\b.*")
INTERNAL = 1


def open_pool(environment: Mapping[str, str], module: str = MODULE) -> Zygote:
    """The process that the tasks' own are forked from. As many of them as there are processors need one thread each."""
    from ...verifier.zygote import Zygote

    return Zygote(module, {**environment, **dict.fromkeys(BLAS, "1")})


@dataclass(slots=True)
class _Run:
    """`reply` and `output` are descriptors to read from; `limit_s` is wall time."""

    problem: Problem
    forked: Forked
    reply: int
    output: int
    limit_s: float
    began_s: float = field(default_factory=time.monotonic)
    replied: bytearray = field(default_factory=bytearray)
    printed: bytearray = field(default_factory=bytearray)
    timed_out: bool = False
    open: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.open = [self.reply, self.output]

    def read(self, descriptor: int) -> bool:
        """False at the end of it."""
        piece = os.read(descriptor, 1 << 16)
        if not piece:
            self.open.remove(descriptor)
        kept = self.replied if descriptor == self.reply else self.printed
        kept += piece
        if descriptor == self.output:
            del kept[:-KEPT_BYTES]
        return bool(piece)

    def close(self) -> None:
        self.forked.close()
        for descriptor in (self.reply, self.output):
            with suppress(OSError):
                os.close(descriptor)


def run_all(
    problems: Iterable[Problem],
    wanted: Wanted,
    zygote: Zygote,
    *,
    jobs: int,
    environment: Mapping[str, str] | None = None,
) -> Generator[tuple[Problem, Record], None, None]:
    """Records as they come; closing the iterator ends what is running. Raises ReferenceFailed when none can start."""
    zygote.ready()
    waiting = deque(problems)
    running: list[_Run] = []
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                running.append(_started(waiting.popleft(), wanted, zygote, environment or {}))
            for run in _ended(running):
                running.remove(run)
                record = _record(run)
                run.close()
                yield run.problem, record
    finally:
        for run in running:
            run.close()


def _started(problem: Problem, wanted: Wanted, zygote: Zygote, environment: Mapping[str, str]) -> _Run:
    request_read, request = os.pipe()
    reply, reply_write = os.pipe()
    output, output_write = os.pipe()
    task = {"name": problem.file_name, "file": str(problem.file.absolute()), "wanted": asdict(wanted)}
    try:
        forked = zygote.fork((request_read, reply_write, output_write))
    finally:
        for descriptor in (request_read, reply_write, output_write):
            os.close(descriptor)
    with suppress(BrokenPipeError), os.fdopen(request, "wb") as writing:
        writing.write(json.dumps({**task, "environment": dict(environment)}).encode())
    return _Run(problem, forked, reply, output, wanted.budget_s)


def _ended(running: list[_Run]) -> list[_Run]:
    """Waits until something happens; those that have ended, their time being over included."""
    owners = {descriptor: run for run in running for descriptor in run.open}
    deadline_s = min(run.began_s + run.limit_s for run in running)
    ends = [run.forked.fileno() for run in running]
    ready, _, _ = select.select([*owners, *ends], [], [], _left_s(deadline_s))
    for descriptor in owners.keys() & set(ready):
        owners[descriptor].read(descriptor)
    found = []
    for run in running:
        run.timed_out = _left_s(run.began_s + run.limit_s) == 0
        if run.timed_out:
            run.forked.kill()
            run.forked.wait()
        if run.timed_out or run.forked.poll() is not None:
            found.append(run)
    return found


def _left_s(deadline_s: float) -> float:
    return max(deadline_s - time.monotonic(), 0)


def _record(run: _Run) -> Record:
    """What the process replied, or why it did not; with its memory beside that of the program."""
    for descriptor in list(run.open):
        os.set_blocking(descriptor, False)
        with suppress(BlockingIOError):
            while run.read(descriptor):
                pass
    code = run.forked.wait()
    record = _replied(run) if code == 0 and not run.timed_out else None
    if record is None:
        record = failed(_why(run, code), INTERNAL)
        record["seconds"] = {"total": round(time.monotonic() - run.began_s, 3)}
    own = run.forked.ended or Ended(code, 0, 0.0)
    match record.pop("program", None):
        case {"peak_bytes": int() as peak_bytes, "cpu_s": float() | int() as cpu_s}:
            own = Ended(code, own.peak_bytes + peak_bytes, own.cpu_s + cpu_s)
        case _:
            pass
    return {**record, "cpu_seconds": round(own.cpu_s, 3), "peak_memory_bytes": own.peak_bytes}


def _replied(run: _Run) -> Record | None:
    try:
        found = json.loads(bytes(run.replied))
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _why(run: _Run, code: int) -> str:
    printed = bytes(run.printed).decode("utf-8", "replace")
    if run.timed_out:
        return f"not done within {run.limit_s:g} s; allow more with --budget"
    raised = next((line for line in reversed(printed.splitlines()) if EXCEPTION.fullmatch(line)), f"exit code {code}")
    if "MemoryError" in raised.partition(":")[0]:
        return "the translation or its check needs more memory than the limit"
    if code < 0:
        return f"the process of this problem was ended by {signal.Signals(-code).name}"
    frames = FRAME.findall(printed)
    where = f" at {frames[-1][0]}:{frames[-1][1]}" if frames else ""
    return f"internal error: {raised[:300]}{where}"
