"""You are the model: the prompt goes into a file, the answer comes from one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..places import cache_dir, private
from ..prompt import RenderedPrompt
from ..state import Usage
from .base import AnswerNeeded, Reply, Request


def prompt_text(prompt: RenderedPrompt) -> str:
    """What to paste into a chat window: the constant part, then the question."""
    return f"{prompt.system.rstrip()}\n\n{prompt.user}"


@dataclass(slots=True)
class Manual:
    """The first question is answered from `answer`; every further one ends the run with its prompt in a file."""

    answer: Path | None
    program: str
    out: Path | None
    why: str = ""
    name: str = "manual"
    model: str | None = None
    keeps_replies: bool = False
    prompted: bool = True
    asked: int = 0

    def ask(self, request: Request) -> Reply:
        self.asked += 1
        if self.answer is None:
            prompt = self._written(self._folder() / f"{self.program}.prompt.txt", request)
            raise AnswerNeeded(
                f"the prompt is in {prompt}: give it to any model, save the answer to a file, "
                "and run the same command with --answer FILE"
            )
        if self.asked == 1:
            try:
                return Reply(self.answer.read_text(encoding="utf-8"), Usage(), "")
            except (OSError, UnicodeDecodeError) as error:
                raise AnswerNeeded(f"the answer cannot be read: {error}") from error
        prompt = self._written(self.answer.with_name(f"{self.answer.name}.repair.txt"), request)
        raise AnswerNeeded(
            f"the answer in {self.answer} did not pass; what is wrong with it is in {prompt}: give that to the model, "
            f"save the new answer to {self.answer}, and run the same command again"
        )

    def close(self) -> None:
        """Nothing is open."""

    def warnings(self) -> tuple[str, ...]:
        return ()

    def _folder(self) -> Path:
        if self.out is None:
            return private(cache_dir() / "prompts")
        self.out.mkdir(parents=True, exist_ok=True)
        return self.out

    def _written(self, path: Path, request: Request) -> Path:
        path.write_text(prompt_text(request.prompt), encoding="utf-8")
        return path
