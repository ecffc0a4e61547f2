"""What every translator is asked and answers, and the rules that hold for all of them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from ..extract import NoText
from ..prompt import RenderedPrompt
from ..retry import ProviderError, Retry, Transient, retry_after_s
from ..state import Usage

TOOL_NAME = "submit_ir"
TOOL_DESCRIPTION = "Hand in the translation: the whole ALIR program as text."
TOOL_SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string", "description": "the whole program, from `program NAME` to its outputs"}},
    "required": ["text"],
    "additionalProperties": False,
}
PREVIEW_CHARACTERS = 200
TOOL_TRIES = 3
LARGER = 2  # a cut answer is asked for once more with this many times the limit
FATAL_CODES = ("insufficient_quota", "billing_hard_limit_reached")


class Declined(Exception):
    """The model will not answer, or a content filter stopped it: asking the same model again does not help."""


class Truncated(Exception):
    """The answer does not fit the output limit; what came is thrown away."""

    def __init__(self, limit_tokens: int, usage: Usage) -> None:
        super().__init__(
            f"the answer was cut at the output limit of {limit_tokens} tokens, also after one retry with more room; "
            f"allow longer answers (--answer-tokens {limit_tokens * LARGER}) or use another model"
        )
        self.usage = usage


class NoRule(Exception):
    """The rules do not cover the program; the message names the operator, where it is called, and what to do."""


class AnswerNeeded(Exception):
    """Somebody has to write the next answer; the message says where the prompt lies and what to do."""


class Drift(Exception):
    """A recording does not fit what is asked now; the message names the section and lines that differ."""


@dataclass(frozen=True, slots=True)
class Request:
    """One question. `model` overrides the translator's own."""

    kind: str
    prompt: RenderedPrompt
    answer_tokens: int
    model: str | None = None
    deadline_s: float | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer. Either `text` is the model's message, or `program` the text handed in through the tool.

    `complaint`: the tool was called, and never with a text."""

    text: str
    usage: Usage
    model: str
    program: str | None = None
    complaint: str = ""


class Translator(Protocol):
    """`keeps_replies`: an answer costs something, so the run keeps it and never asks the same twice. `prompted`: it
    answers a prompt, and is told what was wrong with an answer; else it has one answer, always the same."""

    @property
    def name(self) -> str: ...

    @property
    def model(self) -> str | None: ...

    @property
    def why(self) -> str: ...

    @property
    def keeps_replies(self) -> bool: ...

    @property
    def prompted(self) -> bool: ...

    def ask(self, request: Request) -> Reply:
        """Raises ProviderError, Declined, Truncated, AnswerNeeded, Drift, NoRule."""

    def close(self) -> None: ...

    def warnings(self) -> tuple[str, ...]:
        """What the user should know once the run is over."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """`arguments` is what the model sent, JSON of any kind, or the text that was not JSON."""

    id: str
    arguments: object


@dataclass(frozen=True, slots=True)
class Exchange:
    """A tool call that was wrong, and what the model is told about it."""

    call: ToolCall
    complaint: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What a provider sent, its own words stripped off."""

    finish: Literal["complete", "cut", "declined"]
    text: str
    usage: Usage
    model: str
    calls: tuple[ToolCall, ...] = ()
    detail: str = ""


class Wire(Protocol):
    """One provider's format. `send` makes one request and raises Transient or ProviderError."""

    @property
    def name(self) -> str: ...

    def send(self, request: Request, model: str, limit_tokens: int, exchanges: tuple[Exchange, ...]) -> Answer: ...

    def close(self) -> None: ...


@dataclass(slots=True)
class Client:
    """A translator over a wire: retries, the output limit, refusals and the tool's arguments are settled here."""

    wire: Wire
    model: str
    retry: Retry = field(default_factory=Retry)
    why: str = ""
    keeps_replies: bool = True
    prompted: bool = True

    @property
    def name(self) -> str:
        return self.wire.name

    def ask(self, request: Request) -> Reply:
        usage = Usage()
        exchanges: tuple[Exchange, ...] = ()
        for _ in range(TOOL_TRIES):
            answer = self._whole(request, exchanges, usage)
            usage = answer.usage
            if not answer.calls:
                return Reply(answer.text, usage, answer.model)
            try:
                return Reply(answer.text, usage, answer.model, submitted(answer.calls[-1]))
            except NoText as error:
                exchanges += (Exchange(answer.calls[-1], str(error)),)
        return Reply("", usage, answer.model, complaint=exchanges[-1].complaint)

    def _whole(self, request: Request, exchanges: tuple[Exchange, ...], before: Usage) -> Answer:
        """An uncut answer; its usage includes `before`."""
        usage = before
        for limit in (request.answer_tokens, request.answer_tokens * LARGER):
            answer = self._sent(request, limit, exchanges)
            usage += answer.usage
            match answer.finish:
                case "complete":
                    return replace(answer, usage=usage)
                case "declined":
                    raise Declined(
                        f"{self.name}: the model declined to answer{answer.detail}; try another model (--model)"
                    )
                case "cut":
                    continue
        raise Truncated(request.answer_tokens * LARGER, usage)

    def _sent(self, request: Request, limit: int, exchanges: tuple[Exchange, ...]) -> Answer:
        model = request.model or self.model
        return self.retry.call(
            lambda: self.wire.send(request, model, limit, exchanges), self.name, request.deadline_s
        )

    def close(self) -> None:
        self.wire.close()

    def warnings(self) -> tuple[str, ...]:
        return ()


def submitted(call: ToolCall) -> str:
    """The text in a tool call. Raises NoText, whose message quotes a bounded part of what came."""
    arguments = call.arguments
    if isinstance(arguments, dict) and isinstance(arguments.get("text"), str) and arguments["text"].strip():
        return str(arguments["text"])
    shown = arguments if isinstance(arguments, str) else json.dumps(arguments, default=str)
    if len(shown) > PREVIEW_CHARACTERS:
        shown = f"{shown[:PREVIEW_CHARACTERS]}… ({len(shown)} characters)"
    raise NoText(
        f"{TOOL_NAME} needs an object with the one field \"text\", the whole ALIR program as a string that is not "
        f"empty; it got {shown}. Nothing was checked. Call it again."
    )


def status_fault(who: str, status: int, headers: Any, message: str, code: str | None, now: float) -> Exception:  # noqa: ANN401
    """What an HTTP error status means: Transient where asking again may help."""
    line = " ".join(message.split())[:300]
    if status in (401, 403):
        return ProviderError(f"{who}: the key was refused ({status}): {line}")
    if status == 404:
        return ProviderError(f"{who}: not found ({status}): {line}; check --model and --base-url")
    if code in FATAL_CODES:
        return ProviderError(f"{who}: the account's quota is spent ({code}): {line}")
    if status in (408, 409, 429) or status >= 500:
        reason = {429: "rate limit", 529: "overloaded"}.get(status, "server fault")
        return Transient(f"{reason} ({status})", retry_after_s(headers, now))
    return ProviderError(f"{who}: the request was refused ({status}): {line}")


def html_fault(who: str, body: str) -> ProviderError:
    start = " ".join(body.split())[:80]
    return ProviderError(f"{who}: the server answered with a page, not JSON ({start!r}); check --base-url")


def no_finish(who: str, finish: object) -> Transient:
    return Transient(f"the answer ended without saying why (finish {finish!r})", tries=2)
