"""What the child process may do. `lock` runs in the child before any user code: an accident guard (time, memory, disk,
network), not a boundary against an attacker."""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import shutil
import signal
import struct
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from .types import Limits

_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 22, 38
_KILL, _ALLOW, _ERRNO = 0x80000000, 0x7FFF0000, 0x00050000
_EPERM, _EACCES, _AF_UNIX = 1, 13, 1
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
# machine -> (audit architecture, then the numbers of socket, setsid, setpgid, io_uring_setup)
_SYSCALLS = {
    "x86_64": (0xC000003E, 41, 112, 109, 425),
    "aarch64": (0xC00000B7, 198, 157, 154, 425),
}
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_READ_ACCESS = (1 << 0) | (1 << 2) | (1 << 3)  # execute, read file, read directory
_WRITE_FILE, _TRUNCATE = 1 << 1, 1 << 14


def environment(temporary: Path) -> dict[str, str]:
    """The child's whole environment: nothing of the parent's, so no keys and no proxies."""
    home = str(temporary)
    return {
        "HOME": home,
        "TMPDIR": home,
        "XDG_CACHE_HOME": home,
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "TOKENIZERS_PARALLELISM": "false",
        "HF_HUB_OFFLINE": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        **_model_cache(),
    }


def _model_cache() -> dict[str, str]:
    """The user's Hugging Face cache, for configurations that are on this machine already; never the token beside it."""
    usual = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    home = os.environ.get("HF_HOME") or f"{usual}/huggingface"
    cache = Path(os.environ.get("HF_HUB_CACHE") or f"{home}/hub").expanduser().absolute()
    return {"HF_HUB_CACHE": str(cache)} if cache.is_dir() else {}


def lock(limits: Limits, temporary: Path) -> tuple[str, ...]:
    """Apply every limit this platform has to the calling process; returns a warning for each that is missing."""
    missing = list(_resource_limits(limits))
    if sys.platform != "linux":
        return (*missing, f"no network or file restrictions on {sys.platform}")
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        return (*missing, "network is not blocked: no_new_privs was refused")
    try:
        _write_only_below(libc, temporary)
    except OSError as error:
        missing.append(f"files outside the temporary folder are not write-protected ({error.strerror})")
    try:
        _no_network(libc)
    except OSError as error:
        missing.append(f"network is not blocked ({error.strerror})")
    return tuple(missing)


def die_with_parent(life: int, temporary: Path) -> threading.Thread:
    """When the other end of the pipe `life` closes, because its owner ended in whatever way, the thread removes the
    temporary folder and kills the process group. It is started before `lock`, which binds the calling thread."""

    def wait() -> None:
        while os.read(life, 1):
            pass
        shutil.rmtree(temporary, ignore_errors=True)
        os.killpg(0, signal.SIGKILL)

    watch = threading.Thread(target=wait, daemon=True)
    watch.start()
    return watch


def _resource_limits(limits: Limits) -> Iterator[str]:
    wanted = {
        "RLIMIT_CPU": limits.cpu_s,
        "RLIMIT_CORE": 0,
        "RLIMIT_FSIZE": limits.file_bytes,
        "RLIMIT_NOFILE": limits.open_files,
        "RLIMIT_AS": limits.memory_bytes,
    }
    for name, value in wanted.items():
        kind = getattr(resource, name, None)
        if kind is None:
            yield f"{name} is not available"
            continue
        hard = resource.getrlimit(kind)[1]
        least = value if hard == resource.RLIM_INFINITY else min(value, hard)
        try:
            resource.setrlimit(kind, (least, least))
        except (ValueError, OSError):
            yield f"{name} could not be set"


def _instruction(code: int, operand: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, operand)


def _filter(machine: str) -> bytes:
    """seccomp program: only AF_UNIX sockets, no io_uring, and no leaving the process group that gets killed."""
    audit, socket, setsid, setpgid, io_uring = _SYSCALLS[machine]
    program = [_instruction(_LOAD, 4), _instruction(_EQUAL, audit, 1, 0), _instruction(_RETURN, _KILL)]
    program.append(_instruction(_LOAD, 0))
    if machine == "x86_64":  # the x32 calls
        program += [_instruction(_AT_LEAST, 0x40000000, 0, 1), _instruction(_RETURN, _KILL)]
    for number in (setsid, setpgid, io_uring):
        program += [_instruction(_EQUAL, number, 0, 1), _instruction(_RETURN, _ERRNO | _EPERM)]
    program += [_instruction(_EQUAL, socket, 0, 3), _instruction(_LOAD, 16), _instruction(_EQUAL, _AF_UNIX, 1, 0)]
    program += [_instruction(_RETURN, _ERRNO | _EACCES), _instruction(_RETURN, _ALLOW)]
    return b"".join(program)


def _no_network(libc: ctypes.CDLL) -> None:
    machine = platform.machine()
    if machine not in _SYSCALLS:
        raise OSError(0, f"no filter for {machine}")
    program = ctypes.create_string_buffer(_filter(machine))
    length = (len(program) - 1) // 8
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxP", length, ctypes.addressof(program)))
    if libc.prctl(_PR_SET_SECCOMP, 2, ctypes.byref(header), 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp was refused")


def _write_only_below(libc: ctypes.CDLL, temporary: Path) -> None:
    """Landlock: everything may be read, only `temporary` and the null device may be written."""
    call = libc.syscall
    call.restype = ctypes.c_long
    version = call(_CREATE_RULESET, None, 0, 1)
    if version < 1:
        raise OSError(0, "Landlock is not available")
    handled = (1 << {1: 13, 2: 14}.get(version, 15)) - 1
    attributes = struct.pack("Q", handled)
    ruleset = call(_CREATE_RULESET, attributes, len(attributes), 0)
    if ruleset < 0:
        raise OSError(ctypes.get_errno(), "Landlock was refused")
    file_access = (_READ_ACCESS & ~(1 << 3) | _WRITE_FILE | _TRUNCATE) & handled
    for path, access in ((Path("/"), _READ_ACCESS), (temporary, handled), (Path("/dev/null"), file_access)):
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rule = struct.pack("=Qi", access, descriptor)
        failed = call(_ADD_RULE, ruleset, 1, rule, 0)
        os.close(descriptor)
        if failed:
            raise OSError(ctypes.get_errno(), f"Landlock refused {path}")
    if call(_RESTRICT_SELF, ruleset, 0):
        raise OSError(ctypes.get_errno(), "Landlock was refused")
    os.close(ruleset)
