"""The running original: a child process that loads the user's file, and the requests it is sent.

torch is imported only there. The child gets an environment from scratch and limits of its own (`limits.py`); it is
killed with everything it started when the reference is closed."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from io import BufferedReader
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..ir.dtypes import DTYPES
from .codec import bindings_from_plain, description_from_plain, leaf_from_plain
from .limits import environment
from .tracecodec import traced_from_plain
from .traced import Traced
from .types import (
    Array,
    Assignment,
    BadInput,
    Description,
    Distribution,
    Feeding,
    Limits,
    Mode,
    NotPromotable,
    Precision,
    ReferenceFailed,
    Trial,
    Unrecordable,
)
from .worker import light
from .zygote import Forked, Zygote

_START = "import sys; from solar_agent.verifier.worker.main import main; main(*map(int, sys.argv[1:]))"
_INPUT = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*([A-Za-z0-9]+)\s*\[([^\]]*)\]\s*(?:,|$)")
_SIZE = re.compile("[0-9]{1,12}")
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
_LARGEST_REPLY = 256 << 20
_GRACE_S = 0.5


def parse_inputs(text: str) -> tuple[tuple[str, str, tuple[int, ...]], ...]:
    """`"x=f32[8,128], ids=i64[4]"` as (name, storage type, shape). Raises BadInput."""
    found = []
    position = 0
    while position < len(text):
        match = _INPUT.match(text, position)
        if match is None or match[2] not in DTYPES:
            raise BadInput(f'--inputs: expected name=type[sizes], like "x=f32[8,128]", at "{text[position:].strip()}"')
        sizes = [part.strip() for part in match[3].split(",") if part.strip()]
        if not all(_SIZE.fullmatch(part) for part in sizes):
            raise BadInput(f"--inputs: the sizes of {match[1]} must be whole numbers below 10^12, not [{match[3]}]")
        found.append((match[1], match[2], tuple(int(part) for part in sizes)))
        position = match.end()
    return tuple(found)


class _Output:
    """What the child prints, read in a thread so that it never blocks; only the last `limit` bytes are kept."""

    def __init__(self, stream: IO[bytes], limit: int) -> None:
        self._tail = bytearray()
        self._limit = limit
        self._stream = stream
        self._thread = threading.Thread(target=self._drain, daemon=True)
        self._thread.start()

    def _drain(self) -> None:
        with suppress(OSError, ValueError):
            while piece := os.read(self._stream.fileno(), 1 << 16):
                self._tail += piece
                del self._tail[: -self._limit]

    def text(self) -> str:
        self._thread.join(_GRACE_S)
        return bytes(self._tail).decode("utf-8", "replace")


class RunningReference:
    """Requests to one child process, which is started when the first of them needs it, and again after a failure."""

    def __init__(
        self,
        path: Path,
        entry: str | None,
        inputs: tuple[tuple[str, str, tuple[int, ...]], ...],
        mode: Mode,
        limits: Limits,
        temporary: Path,
        zygote: Zygote | None = None,
    ) -> None:
        self._path = path
        self._zygote = zygote if zygote is not None and light.suits(path.read_text("utf-8", "replace")) else None
        self._setup = {"path": str(path), "entry": entry, "inputs": inputs, "mode": mode, "limits": asdict(limits)}
        self._mode: Mode = mode
        self._limits = limits
        self._temporary = temporary
        self._process: subprocess.Popen[bytes] | Forked | None = None
        self._output: _Output | None = None
        self._requests = -1
        self._replies = -1
        self._life = -1
        self._count = 0
        self._warnings: tuple[str, ...] = ()
        self._description: Description | None = None
        self._assignments: tuple[Assignment, ...] | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """Protections that this machine does not offer."""
        return self._warnings

    def describe(self) -> Description:
        if self._description is None:
            result, _ = self._ask({"do": "describe"}, "describing the program")
            fixed = {"path": str(self._path), "framework": "torch", "mode": self._mode}
            self._description = description_from_plain({**result, **fixed})
        return self._description

    def assignments(self) -> tuple[Assignment, ...]:
        if self._assignments is None:
            result, _ = self._ask({"do": "assignments"}, "looking for small sizes")
            self._assignments = tuple(_assignment(item) for item in result["assignments"])
        return self._assignments

    def trial(self, assignment: Assignment, seed: int, distribution: Distribution, precision: Precision) -> Trial:
        request = {
            "do": "trial",
            "changes": dict(assignment.changes),
            "seed": seed,
            "distribution": distribution,
            "precision": precision,
        }
        result, arrays = self._ask(request, f"running it at {assignment.label}")
        return Trial(
            assignment=assignment,
            seed=seed,
            distribution=distribution,
            precision=precision,
            bindings=bindings_from_plain(result["bindings"]),
            inputs={name: arrays[index] for name, index in result["inputs"].items()},
            state={name: arrays[index] for name, index in result["state"].items()},
            draws=tuple(arrays[index] for index in result["draws"]),
            leaves=tuple(leaf_from_plain(leaf, arrays) for leaf in result["leaves"]),
            kept_state=tuple(result["kept_state"]),
            seconds=result["seconds"],
            warnings=tuple(result["warnings"]),
        )

    def feeding(self, assignment: Assignment, seed: int, distribution: Distribution) -> Feeding:
        request = {"do": "feeding", "changes": dict(assignment.changes), "seed": seed, "distribution": distribution}
        result, _ = self._ask(request, f"running it at {assignment.label}")
        values = tuple(tuple(item) for item in result["values"])
        return Feeding(values, tuple(tuple(item) for item in result["feeds"]), result["leaves"])

    def known_state(self, names: Collection[str]) -> Mapping[str, Array]:
        result, arrays = self._ask({"do": "known_state", "names": sorted(names)}, "finding values at full size")
        return {name: arrays[index] for name, index in result["state"].items()}

    def trace(self, changes: Mapping[str, int]) -> Traced:
        result, _ = self._ask({"do": "trace", "changes": dict(changes)}, "recording its operators")
        return traced_from_plain(result)

    def close(self) -> None:
        """Kill the child and everything it started."""
        process, self._process = self._process, None
        if process is None:
            return
        if isinstance(process, Forked):
            process.kill()
            process.wait()
        else:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for descriptor in (self._requests, self._replies, self._life):
            with suppress(OSError):
                os.close(descriptor)
        if process.stdout is not None:
            if self._output is not None:
                self._output.text()
            process.stdout.close()
        if isinstance(process, Forked):
            process.close()

    def _start(self) -> None:
        request_read, self._requests = os.pipe()
        self._replies, reply_write = os.pipe()
        life_read, self._life = os.pipe()
        ends = (request_read, reply_write, life_read)
        self._process = self._fresh(ends) if self._zygote is None else _forked(self._zygote, ends)
        os.close(request_read)
        os.close(reply_write)
        os.close(life_read)
        assert self._process.stdout is not None
        self._output = _Output(self._process.stdout, self._limits.output_bytes)
        self._send({**self._setup, "temporary": str(self._temporary), "search_path": _search_path()})
        reply = self._receive(self._limits.start_s, "starting")
        self._warnings = tuple(reply["result"]["warnings"])

    def _fresh(self, ends: tuple[int, ...]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-I", "-c", _START, *map(str, ends)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=self._temporary,
            env=worker_environment(self._temporary),
            pass_fds=ends,
            start_new_session=True,
        )

    def _ask(self, request: Mapping[str, Any], doing: str) -> tuple[dict[str, Any], list[Array]]:
        if self._process is None:
            self._start()
        self._count += 1
        self._send({**request, "id": self._count})
        reply = self._receive(self._limits.request_s, doing)
        file = self._temporary / f"{self._count}.arrays"
        try:
            if reply["ok"]:
                return reply["result"], _read_arrays(file)
        finally:
            file.unlink(missing_ok=True)
        raise self._refusal(str(reply["kind"]), str(reply["message"]))

    def _refusal(self, kind: str, message: str) -> Exception:
        if kind == "bad_input":
            return BadInput(message)
        if kind == "not_promotable":
            return NotPromotable(message)
        if kind == "unrecordable":
            return Unrecordable(message)
        if kind == "memory":
            limit = self._limits.memory_bytes / (1 << 30)
            return ReferenceFailed(f"needs more memory than the limit of {limit:g} GiB: {message}")
        return ReferenceFailed(message)

    def _send(self, message: Mapping[str, Any]) -> None:
        rest = json.dumps(message).encode() + b"\n"
        with suppress(BrokenPipeError):  # a dead child is noticed when its reply is read
            while rest:
                rest = rest[os.write(self._requests, rest) :]

    def _receive(self, seconds: float, doing: str) -> dict[str, Any]:
        """The next reply line. Raises ReferenceFailed, with the child gone, on a timeout or when it ended."""
        deadline = time.monotonic() + seconds
        line = bytearray()
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([self._replies], [], [], max(deadline - time.monotonic(), 0))
            if not ready:
                raise self._hung(seconds, doing)
            piece = os.read(self._replies, 1 << 20)
            if not piece:
                raise self._died(doing)
            line += piece
            if len(line) > _LARGEST_REPLY:
                self.close()
                raise ReferenceFailed(f"the program's description is larger than {_LARGEST_REPLY >> 20} MiB ({doing})")
        reply: dict[str, Any] = json.loads(line)
        return reply

    def _hung(self, seconds: float, doing: str) -> ReferenceFailed:
        assert self._process is not None and self._output is not None
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGUSR1)  # makes the child print where it is
            time.sleep(_GRACE_S)
        output = self._output
        self.close()
        return ReferenceFailed(f"no answer within the limit of {seconds:g} s{self._where(output)} ({doing})")

    def _died(self, doing: str) -> ReferenceFailed:
        assert self._process is not None and self._output is not None
        process, output = self._process, self._output
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_S)
        code = process.poll()
        self.close()
        return ReferenceFailed(f"{self._ending(code, output)}{self._where(output)} ({doing})")

    def _ending(self, code: int | None, output: _Output) -> str:
        match code:
            case None:
                return "the program closed its connection"
            case int() if code == -signal.SIGXCPU or code == -signal.SIGKILL and self._limits.cpu_s < 1:
                return f"used up the limit of {self._limits.cpu_s} s of processor time"
            case int() if code == -signal.SIGKILL:
                return "the program was killed (out of memory, or the limit on processor time)"
            case int() if code < 0:
                return f"the program crashed ({signal.Signals(-code).name})"
            case _ if "ModuleNotFoundError: No module named 'torch'" in output.text():
                return "torch is not installed: pip install 'solar-agent[torch]'"
            case _:
                return f"the program ended its process (exit code {code})"

    def _where(self, output: _Output) -> str:
        """The innermost line of the user's folder in what the fault handler printed."""
        folder = str(self._path.parent)
        text = output.text()
        start = max(text.rfind("Current thread"), text.rfind("most recent call first"))
        if start < 0:
            return ""
        for file, line in _FRAME.findall(text[start:]):
            if file.startswith(folder) and "site-packages" not in file:
                return f" at {Path(file).name}:{line}"
        return ""


def _forked(zygote: Zygote, ends: tuple[int, ...]) -> Forked:
    output_read, output_write = os.pipe()
    try:
        return zygote.fork((*ends, output_write), output_read)
    except ReferenceFailed:
        os.close(output_read)
        raise
    finally:
        os.close(output_write)


def worker_environment(temporary: Path) -> dict[str, str]:
    return {**environment(temporary), "TORCHDYNAMO_DISABLE": "1", "PYTORCH_JIT": "0"}


def open_zygote() -> Zygote:
    """For `open_reference`: worker processes that are forked from one that has imported torch."""
    return Zygote("solar_agent.verifier.worker.warm", worker_environment(Path(tempfile.gettempdir())))


def _search_path() -> list[str]:
    """Where the parent finds modules, for a package that is not installed in the interpreter's own folders."""
    return [entry for entry in sys.path if entry and Path(entry).is_absolute()]


def _assignment(plain: Mapping[str, Any]) -> Assignment:
    return Assignment(
        plain["label"],
        dict(plain["changes"]),
        {name: tuple(shape) for name, shape in plain["inputs"].items()},
        plain["batch_one"],
        tuple(plain["not_varied"]),
    )


def _read_arrays(file: Path) -> list[Array]:
    arrays: list[Array] = []
    with file.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        while stream.tell() < size:
            arrays.append(_read_array(stream))
    return arrays


def _read_array(stream: BufferedReader) -> Array:
    array: Array = np.load(stream, allow_pickle=False)
    return array


@contextmanager
def open_reference(
    path: Path,
    *,
    entry: str | None = None,
    inputs: str | None = None,
    mode: Mode = "eval",
    limits: Limits | None = None,
    zygote: Zygote | None = None,
) -> Iterator[RunningReference]:
    """The program in `path`, ready for requests. Raises BadInput when there is no such file or `inputs` is malformed;
    everything else that is wrong with it shows at the first request."""
    path = path.absolute()
    if not path.is_file():
        raise BadInput(f"no such file: {path}")
    wanted = parse_inputs(inputs) if inputs else ()
    with tempfile.TemporaryDirectory(prefix="solar-agent-", ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary).resolve()
        reference = RunningReference(path.resolve(), entry, wanted, mode, limits or Limits(), folder, zygote)
        try:
            yield reference
        finally:
            reference.close()
