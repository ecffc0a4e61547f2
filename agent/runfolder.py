"""The folder of one run: texts, certificates and replies by hash, and the lock that keeps two runs apart."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from .places import cache_dir, private, write_private
from .state import Options, Usage
from .translators.base import Reply, Request


def run_id(source_sha256: str, prompt_version: str, options: Options, who: str) -> str:
    """The same program asked of the same model in the same way: such a run may be taken up again."""
    facts: list[object] = [source_sha256, prompt_version, options.entry, options.inputs, options.mode, who]
    facts += [options.model, options.base_url, options.api, options.submit_tool, options.escalate_to]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:24]


def request_sha256(request: Request, who: str, model: str | None) -> str:
    prompt = request.prompt
    facts = [who, request.model or model, request.answer_tokens, prompt.system, prompt.program, prompt.task]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


@dataclass(slots=True)
class RunFolder:
    """`name` is the run's id, with the process's number added when another process works on the same run."""

    name: str
    folder: Path
    lock: int

    @staticmethod
    def opened(name: str) -> RunFolder:
        for candidate in (name, f"{name}-{os.getpid()}"):
            folder = private(runs_dir() / candidate)
            lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
                continue
            return RunFolder(candidate, folder, lock)
        raise OSError(f"the run folder {name} is locked twice over")

    def keep_text(self, kind: str, text: str) -> str:
        sha256 = hashlib.sha256(text.encode()).hexdigest()
        write_private(private(self.folder / kind) / sha256, text)
        return sha256

    def text(self, kind: str, sha256: str) -> str:
        return (self.folder / kind / sha256).read_text(encoding="utf-8")

    def keep_reply(self, sha256: str, reply: Reply) -> None:
        usage = [reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.cached_tokens]
        data = {"text": reply.text, "program": reply.program, "model": reply.model, "usage": usage}
        data["complaint"] = reply.complaint
        write_private(private(self.folder / "replies") / sha256, json.dumps(data))

    def reply(self, sha256: str) -> Reply | None:
        path = self.folder / "replies" / sha256
        if not path.is_file():
            return None
        data = json.loads(path.read_text(encoding="utf-8"))
        return Reply(data["text"], Usage(*data["usage"]), data["model"], data["program"], data["complaint"])

    def forget(self) -> None:
        """Drops texts and replies: the next run starts anew."""
        for kind in ("texts", "certificates", "replies"):
            shutil.rmtree(self.folder / kind, ignore_errors=True)

    def close(self, *, remove: bool = False) -> None:
        if remove:
            shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self.lock)


def forget_runs() -> int:
    """Drops the folders of all runs that nobody is working on; how many there were."""
    dropped = 0
    for folder in sorted(runs_dir().iterdir()):
        run = RunFolder.opened(folder.name)
        if run.name == folder.name:
            dropped += 1
        run.close(remove=True)
    return dropped


def runs_dir() -> Path:
    return private(cache_dir() / "runs")
