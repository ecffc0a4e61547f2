"""A process that has imported what others need, and forks one of them per request.

What is forked is as separate as a process started afresh: a session, an end and, once it has locked itself, limits of
its own. The zygote runs nothing else and has one thread, because only such a process may be forked."""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .types import ReferenceFailed

_START = "import sys; from solar_agent.verifier.zygote import serve; serve(*sys.argv[1:])"
_FORK, _READY = b"f", b"r"
_MOST_DESCRIPTORS = 8
_PR_SET_PDEATHSIG = 1
_START_S, _FORK_S = 90.0, 30.0
_GRACE_S = 5.0  # for a process whose owner is gone: it removes its folder and ends by itself
_MAXRSS_BYTES = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True, slots=True)
class Ended:
    """`code` as subprocess has it: negative for a signal. `peak_bytes`: largest resident memory, what is shared with
    the zygote included; `cpu_s`: processor time."""

    code: int
    peak_bytes: int
    cpu_s: float


class Forked:
    """The owner's side of one forked process, with what it uses of subprocess.Popen. Closing it kills the process with
    its group; when the owner ends in whatever way, that happens after a grace."""

    def __init__(self, channel: socket.socket, stdout: int | None, ends: list[Ended]) -> None:
        self._channel = channel
        self._ends = ends
        self._buffer = bytearray()
        self.ended: Ended | None = None
        line = self._line(_FORK_S)
        if line is None:
            self._channel.close()
            raise ReferenceFailed("no process could be forked; end some others, and run the same command again")
        self.pid = int(json.loads(line)["pid"])
        self.stdout = None if stdout is None else os.fdopen(stdout, "rb", buffering=0)

    def fileno(self) -> int:
        """Readable once the process has ended."""
        return self._channel.fileno()

    def poll(self) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        """Raises subprocess.TimeoutExpired."""
        if self.ended is None:
            line = self._line(timeout)
            self.ended = Ended(**json.loads(line)) if line else Ended(-signal.SIGKILL, 0, 0.0)
            self._ends.append(self.ended)
        return self.ended.code

    def send_signal(self, number: int) -> None:
        with suppress(OSError):
            self._channel.send(bytes([number]))

    def kill(self) -> None:
        """The process and its group; `wait` then tells how it ended."""
        self.send_signal(signal.SIGKILL)

    def close(self) -> None:
        self.kill()
        if self.ended is None:
            self.wait(_FORK_S)
        self._channel.close()
        if self.stdout is not None:
            self.stdout.close()

    def _line(self, timeout: float | None) -> bytes | None:
        """The zygote's next line; None when it is gone. Raises subprocess.TimeoutExpired."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while b"\n" not in self._buffer:
            left = None if deadline is None else max(deadline - time.monotonic(), 0)
            if not select.select([self._channel], [], [], left)[0]:
                raise subprocess.TimeoutExpired("fork", timeout or 0)
            try:
                piece = self._channel.recv(4096)
            except ConnectionError:
                piece = b""
            if not piece:
                return None
            self._buffer += piece
        line, _, rest = bytes(self._buffer).partition(b"\n")
        self._buffer = bytearray(rest)
        return line


class Zygote:
    """Starts a zygote that imports `module`: `prepare()` of it runs once, `child(*descriptors)` in each forked process,
    and `finish()` in the end.

    It may be used by processes that this one forks. It ends, with all that it forked, when all of them have."""

    def __init__(self, module: str, environment: Mapping[str, str]) -> None:
        self._control, theirs = socket.socketpair()
        self._ends: list[Ended] = []
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        self._ready = False
        path = [entry for entry in sys.path if entry and Path(entry).is_absolute()]
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", _START, str(theirs.fileno()), module, json.dumps(path)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            env=dict(environment),
            pass_fds=(theirs.fileno(),),
            start_new_session=True,
        )
        theirs.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def peak_bytes(self) -> int:
        """Largest resident memory of the processes forked for this one; 0 when none has ended."""
        return max((ended.peak_bytes for ended in self._ends), default=0)

    @property
    def cpu_s(self) -> float:
        """Processor time of the processes forked for this one that have ended."""
        return sum(ended.cpu_s for ended in self._ends)

    def ready(self) -> None:
        """Waits until it can fork. Raises ReferenceFailed."""
        if self._ready:
            return
        if not select.select([self._control], [], [], _START_S)[0]:
            raise ReferenceFailed(f"no answer within {_START_S:g} s (starting)")
        if self._control.recv(1) != _READY:
            raise ReferenceFailed(self._why())
        self._ready = True

    def fork(self, descriptors: Sequence[int], stdout: int | None = None) -> Forked:
        """A new process that gets copies of `descriptors`; `stdout` is the owner's end of what it prints to.

        Raises ReferenceFailed."""
        self.ready()
        ours, theirs = socket.socketpair()
        try:
            socket.send_fds(self._control, [_FORK], [theirs.fileno(), *descriptors])
        except OSError as error:
            ours.close()
            raise ReferenceFailed(f"the process that forks the others is gone ({error.strerror})") from None
        finally:
            theirs.close()
        return Forked(ours, stdout, self._ends)

    def close(self) -> None:
        self._control.close()
        try:
            self._process.wait(_FORK_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._errors.close()

    def __enter__(self) -> Zygote:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _why(self) -> str:
        self._process.wait()
        self._errors.seek(0)
        text = self._errors.read().decode("utf-8", "replace")
        if "ModuleNotFoundError: No module named 'torch'" in text:
            return "torch is not installed: pip install 'solar-agent[torch]'"
        last = next((line for line in reversed(text.splitlines()) if line.strip()), f"code {self._process.returncode}")
        return f"the process that forks the others did not start: {last}"


@dataclass(slots=True)
class _Kid:
    """`deadline_s`: when it is killed, as its owner is gone."""

    pid: int
    channel: socket.socket
    deadline_s: float | None = None


class _Server:
    """The zygote's own side: one thread, no user code."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._kids: dict[int, _Kid] = {}
        self._wake, self._woken = socket.socketpair()
        for end in (self._wake, self._woken):
            end.setblocking(False)
        signal.signal(signal.SIGCHLD, _nothing)
        signal.set_wakeup_fd(self._woken.fileno(), warn_on_full_buffer=False)

    def run(self) -> list[int] | None:
        """The descriptors of a request, in the process forked for it; None once owner and processes are gone."""
        owned = True
        while owned or self._kids:
            listened = [kid.channel for kid in self._kids.values() if kid.deadline_s is None]
            requests = [self._control] if owned else []
            ready, _, _ = select.select([*requests, self._wake, *listened], [], [], self._patience_s())
            if self._wake in ready:
                with suppress(BlockingIOError):
                    self._wake.recv(4096)
            for kid in [kid for kid in self._kids.values() if kid.channel in ready]:
                self._told(kid)
            self._reap()
            if self._control in ready:
                message, descriptors, _, _ = socket.recv_fds(self._control, 1, _MOST_DESCRIPTORS)
                owned = bool(message)
                if message and (found := self._fork(descriptors)) is not None:
                    return found
        return None

    def _patience_s(self) -> float | None:
        """Until the next deadline; whoever is past its own is killed here."""
        now = time.monotonic()
        for kid in self._kids.values():
            if kid.deadline_s is not None and kid.deadline_s <= now:
                _kill_group(kid.pid)
        return min((max(kid.deadline_s - now, 0.1) for kid in self._kids.values() if kid.deadline_s), default=None)

    def _told(self, kid: _Kid) -> None:
        """A byte is a signal to pass on; the end of the channel is the owner's."""
        try:
            byte = kid.channel.recv(1)
        except ConnectionError:
            byte = b""
        if not byte:
            kid.deadline_s = time.monotonic() + _GRACE_S
        elif byte[0] == signal.SIGKILL:
            _kill_group(kid.pid)
        else:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(kid.pid, byte[0])

    def _reap(self) -> None:
        """What has ended is told to its owner, and what it left behind is killed while its number is still its own."""
        for kid in list(self._kids.values()):
            if os.waitid(os.P_PID, kid.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                continue
            _kill_group(kid.pid)
            _, status, used = os.wait4(kid.pid, 0)
            told = {
                "code": os.waitstatus_to_exitcode(status),
                "peak_bytes": used.ru_maxrss * _MAXRSS_BYTES,
                "cpu_s": used.ru_utime + used.ru_stime,
            }
            with suppress(OSError):
                kid.channel.sendall(json.dumps(told).encode() + b"\n")
            kid.channel.close()
            del self._kids[kid.pid]

    def _fork(self, descriptors: list[int]) -> list[int] | None:
        channel = socket.socket(fileno=descriptors[0])
        zygote = os.getpid()
        try:
            pid = os.fork()
        except OSError:  # too many processes: the owner sees its channel end
            pid = -1
        if pid:
            for descriptor in descriptors[1:]:
                os.close(descriptor)
        if pid < 0:
            channel.close()
            return None
        if pid:
            with suppress(OSError):
                channel.sendall(json.dumps({"pid": pid}).encode() + b"\n")
            self._kids[pid] = _Kid(pid, channel)
            return None
        os.setsid()
        _die_with(zygote)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for end in (self._control, self._wake, self._woken, channel, *(kid.channel for kid in self._kids.values())):
            end.close()
        return descriptors[1:]


def _nothing(*_: object) -> None:
    """The signal itself wakes the loop."""


def _kill_group(pid: int) -> None:
    """Before its first step a process is not yet the leader of its group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def _die_with(parent: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def threads() -> int:
    """Of this process; 1 where the system does not tell."""
    tasks = Path("/proc/self/task")
    return len(list(tasks.iterdir())) if tasks.is_dir() else 1


def serve(control: str, module: str, path: str) -> None:
    """Entry of the zygote, and of each process that it forks."""
    for entry in json.loads(path):
        if entry not in sys.path:
            sys.path.append(entry)
    owner = socket.socket(fileno=int(control))
    prepared = importlib.import_module(module)
    prepared.prepare()
    if threads() > 1:
        raise RuntimeError(f"{module} has started a thread, so it cannot be forked")
    gc.collect()
    gc.freeze()
    server = _Server(owner)
    owner.sendall(_READY)
    descriptors = server.run()
    if descriptors is not None:
        child: Callable[..., None] = prepared.child
        child(*descriptors)
    else:
        prepared.finish()
