"""What flows through the agent: the options of a run, what comes out of it, and the graph's plain state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    from ..verifier.certificate import Certificate
    from ..verifier.types import Description

Provider = Literal["openai", "anthropic"]
AttemptKind = Literal["translate", "repair", "fresh"]

StopReason = Literal[
    "accepted",  # a text passed (wholly, in part or specialised)
    "attempts",  # the attempt budget is spent
    "tokens",
    "money",
    "wall",
    "identical",  # the model repeats itself, also after a fresh prompt
    "truncated",  # the answer does not fit the output limit
    "undecided",  # the verifier found no fault and yet could not tell right from wrong: no repair can help
    "refused",  # no text can pass, or no rule covers the program
    "declined",  # the model refuses to answer, or a content filter stops it
    "provider",  # key, network, rate limit, broken answer
    "answer-needed",  # manual: the next answer has to be written by somebody
    "drift",  # replay: a prompt or the recording changed
]


@dataclass(frozen=True, slots=True)
class Progress:
    """One line for whoever waits. `wait_s` is set while the run sleeps before it asks again."""

    stage: str
    message: str
    wait_s: float | None = None


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars per million tokens; `cached` is what a prompt token read from the provider's cache costs."""

    input: float
    output: float
    cached: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """One run. Everything has a default; `cli.py` fills in what the user said."""

    translator: str = "auto"  # auto | builtin | openai | anthropic | manual | replay:DIR
    provider: Provider | None = None  # replay and auto: which one when there is a choice
    base_url: str | None = None
    model: str | None = None
    escalate_to: str | None = None  # model of the fresh attempt
    api: Literal["chat", "responses"] = "chat"  # openai only
    submit_tool: bool = False  # the answer comes as arguments of the tool `submit_ir`
    worked_examples: bool = True  # whether the prompt shows them; a replay asks as its recording did
    answer: Path | None = None  # manual: file with the answer
    entry: str | None = None
    inputs: str | None = None
    mode: Literal["eval", "train"] = "eval"
    max_attempts: int = 5
    max_tokens: int | None = None  # all attempts together, input and output
    max_cost_usd: float | None = None
    prices: Prices | None = None
    budget_s: float | None = None
    answer_tokens: int = 16_000  # output limit of one answer
    trials: int | None = None
    seed: int = 0
    verify_budget_s: float | None = None
    time_limit_s: float | None = None  # of one run of the program; None: the verifier's own
    use_cache: bool = True
    resume: bool = True
    out: Path | None = None  # where the best attempt and the report are saved on giving up
    progress: Callable[[Progress], None] | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens. `input_tokens` includes `cached_tokens`, those read from the provider's prompt cache."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
        )


@dataclass(frozen=True, slots=True)
class TranslatorInfo:
    """`name`: builtin, openai, anthropic, manual, replay, cache. `why` says why this one was taken."""

    name: str
    model: str | None
    attempts: int
    usage: Usage
    cost_usd: float | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One answer. `text` is the ALIR in it (empty: none found); `verdict` a verdict, or "identical" to `same_as`."""

    number: int
    kind: AttemptKind
    text: str
    verdict: str
    feedback: str
    same_as: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslationResult:
    """`text` is the accepted translation, or the best attempt when there is none (then `stop` is not "accepted").

    `message` is one line: the cause and the next step. `saved` is the folder with best attempt and report."""

    verdict: str
    exit_code: int
    stop: StopReason
    message: str
    text: str | None
    certificate: Certificate | None
    description: Description | None
    translator: TranslatorInfo
    attempts: tuple[Attempt, ...] = ()
    from_cache: bool = False
    saved: Path | None = None
    warnings: tuple[str, ...] = ()


class AttemptState(TypedDict):
    """A checkpointed attempt: the text lies in the run's folder under `sha256`."""

    number: int
    kind: AttemptKind
    sha256: str
    verdict: str
    feedback: str
    score: list[float]
    same_as: int | None
    certificate: str | None


class RunState(TypedDict, total=False):
    """The graph's state: JSON-plain, hashes and names instead of sources (checkpoints are files in clear)."""

    run_id: str
    source_sha256: str
    prompt_version: str
    attempts: list[AttemptState]
    plan: AttemptKind
    fresh_used: bool
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    elapsed_s: float
    model: str
    stop: StopReason
    message: str
    warnings: list[str]
