"""What the user chose, as the command line hands it on, and the click options that ask for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

import click

LONGEST_S = 1e8  # about three years; clocks of the system take no more
Command: TypeAlias = Callable[..., int]
Decorator: TypeAlias = Callable[[Command], Command]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    json: bool
    quiet: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramChoice:
    """How the program in the file is found and run. `time_limit` is in seconds per run."""

    entry: str | None
    inputs: str | None
    mode: Literal["eval", "train"]
    time_limit: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialChoice:
    trials: int | None
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceChoice:
    arch: str
    precision: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    translator: str
    provider: Literal["openai", "anthropic"] | None
    base_url: str | None
    model: str | None
    escalate_to: str | None
    api: Literal["chat", "responses"]
    submit_tool: bool
    answer: Path | None
    max_attempts: int
    max_tokens: int | None
    max_cost: float | None
    prices: str | None
    budget: float | None
    answer_tokens: int
    cache: bool
    resume: bool


class AboveZero(click.FloatRange):
    """A number above zero and up to `most`, so no infinity and not "not a number"."""

    def __init__(self, most: float = 1e12) -> None:
        super().__init__(min=0, min_open=True)
        self._most = most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401
        number = float(super().convert(value, param, ctx))
        if not number <= self._most:
            self.fail(f"{value} is not a number up to {self._most:g}", param, ctx)
        return number


class Seed(click.types.IntParamType):
    """What random generators take: 32 bits."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:  # noqa: ANN401
        return int(click.IntRange(-(1 << 31), (1 << 31) - 1).convert(value, param, ctx))


def packed(into: type[T], name: str, options: list[Decorator]) -> Decorator:
    """A decorator that adds `options` and hands their values on as one `into` under `name`."""
    names = [field.name for field in fields(into)]  # type: ignore[arg-type]

    def decorate(command: Command) -> Command:
        @wraps(command)
        def with_choice(**values: object) -> int:
            chosen = {key: values.pop(key) for key in names}
            return command(**values, **{name: into(**chosen)})

        decorated: Command = with_choice
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


def _set_debug(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        context.find_root().ensure_object(dict)["debug"] = True


def _note_json(context: click.Context, _: click.Parameter, value: bool) -> bool:
    """An error is a document too, when documents were asked for."""
    context.find_root().ensure_object(dict)["json"] = value
    return value


def debug_option(command: T) -> T:
    option = click.option(
        "--debug",
        is_flag=True,
        expose_value=False,
        callback=_set_debug,
        is_eager=True,
        help="Show the traceback of an error.",
    )
    return option(command)  # type: ignore[type-var]


def output_options(command: Command) -> Command:
    options: list[Decorator] = [
        click.option("--json", is_flag=True, callback=_note_json, is_eager=True, help="One JSON document on stdout."),
        click.option("-q", "--quiet", is_flag=True, help="No progress on stderr."),
        debug_option,
    ]
    return packed(Output, "output", options)(command)


def program_options(command: Command) -> Command:
    options: list[Decorator] = [
        click.option(
            "--entry", metavar="NAME", help="The module class or function to take, when the file has several."
        ),
        click.option("--inputs", metavar="SPEC", help='Inputs, when the file has no get_inputs: "x=f32[8,128]".'),
        click.option(
            "--mode",
            type=click.Choice(["eval", "train"]),
            default="eval",
            show_default=True,
            help="eval, or train: the mode that the constructor leaves.",
        ),
        click.option(
            "--time-limit",
            type=AboveZero(LONGEST_S),
            metavar="SECONDS",
            help="Longest time for one run of the program.",
        ),
    ]
    return packed(ProgramChoice, "program", options)(command)


def trial_options(command: Command) -> Command:
    options: list[Decorator] = [
        click.option("--trials", type=click.IntRange(min=1), metavar="N", help="Comparisons with the original."),
        click.option(
            "--seed", type=Seed(), default=0, show_default=True, metavar="N", help="Seed of weights and inputs."
        ),
    ]
    return packed(TrialChoice, "trial", options)(command)


def device_options(command: Command) -> Command:
    options: list[Decorator] = [
        click.option(
            "--arch",
            default="H100_PCIe",
            show_default=True,
            metavar="A[,B…]",
            help="Devices: names of `arch ls`, or YAML files.",
        ),
        click.option(
            "--precision",
            metavar="TYPE",
            help="Type of all floats: bf16, COMPUTE:STORAGE, or ieee (float32 without TF32).",
        ),
    ]
    return packed(DeviceChoice, "device", options)(command)


def model_options(command: Command) -> Command:
    positive = click.IntRange(min=1)
    above_zero = AboveZero()
    options: list[Decorator] = [
        click.option(
            "--translator",
            default="auto",
            show_default=True,
            metavar="T",
            help="auto, builtin, openai, anthropic, manual, or replay:DIR.",
        ),
        click.option(
            "--provider",
            type=click.Choice(["openai", "anthropic"]),
            help="Which one, where auto or replay has the choice.",
        ),
        click.option("--base-url", metavar="URL", help="A server that speaks the provider's protocol."),
        click.option("--model", metavar="NAME", help="Model that translates."),
        click.option("--escalate-to", metavar="NAME", help="Model of the fresh attempt after failing repairs."),
        click.option(
            "--api",
            type=click.Choice(["chat", "responses"]),
            default="chat",
            show_default=True,
            help="OpenAI interface to use.",
        ),
        click.option("--submit-tool", is_flag=True, help="Ask for the answer as a tool call."),
        click.option(
            "--answer", type=click.Path(path_type=Path), metavar="FILE", help="manual: the file that holds the answer."
        ),
        click.option(
            "--max-attempts",
            type=positive,
            default=5,
            show_default=True,
            metavar="N",
            help="Answers to ask for at most.",
        ),
        click.option("--max-tokens", type=positive, metavar="N", help="Tokens of all attempts together."),
        click.option("--max-cost", type=above_zero, metavar="USD", help="Money; needs --prices."),
        click.option("--prices", metavar="IN,OUT[,CACHED]", help="US dollars per million tokens."),
        click.option("--budget", type=above_zero, metavar="SECONDS", help="Wall time of the whole run."),
        click.option(
            "--answer-tokens",
            type=positive,
            default=16_000,
            show_default=True,
            metavar="N",
            help="Output limit of one answer.",
        ),
        click.option("--cache/--no-cache", default=True, help="Use verified translations of earlier runs."),
        click.option("--resume/--no-resume", default=True, help="Go on with a run that was stopped."),
    ]
    return packed(ModelChoice, "model", options)(command)
