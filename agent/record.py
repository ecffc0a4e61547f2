"""Makes recordings: answers from files go through a loopback server, the real SDKs and the real graph into cassettes.

    python -m solar_agent.agent.record FILE… --answers DIR --cassettes DIR --origin TEXT

Answers are DIR/PROGRAM/1.txt, 2.txt … in the order of the questions. When the next one is missing, the exact question
is written to N.prompt.txt beside it and the recording stops; once N.txt is there, the same command goes on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .cache import LANGUAGE_VERSION
from .cassette import ESTIMATED, META, Meta, Turn, library_versions, lines_of, recorder, scan, turn_of
from .exitcodes import Exit
from .loopback import Speaker, speaking
from .prompt import prompt_version
from .retry import Policy, Retry
from .state import Options, Provider, TranslationResult
from .translate import checker_for, translate_with
from .translators.base import AnswerNeeded, Client, Reply, Request, Wire
from .translators.choose import KEYS, NO_KEY, wire
from .translators.manual import prompt_text
from .translators.openai import OpenAIWire

if TYPE_CHECKING:
    from ..verifier.certificate import Certificate
    from ..verifier.types import Description
    from .desk import Checker

FORMATS = {"openai": "chat completions", "anthropic": "messages"}


@dataclass(slots=True)
class Recording:
    """A translator that takes its answers from files and lets the client hear them over the wire."""

    client: Client
    speaker: Speaker
    answers: Path
    turns: list[Turn] = field(default_factory=list)
    lines: dict[str, str] = field(default_factory=dict)
    why: str = "recording"
    keeps_replies: bool = False
    prompted: bool = True

    @property
    def name(self) -> str:
        return self.client.name

    @property
    def model(self) -> str | None:
        return self.client.model

    def ask(self, request: Request) -> Reply:
        number = len(self.turns) + 1
        answer = self.answers / f"{number}.txt"
        question = self.answers / f"{number}.prompt.txt"
        self.answers.mkdir(parents=True, exist_ok=True)
        question.write_text(prompt_text(request.prompt), encoding="utf-8")
        if not answer.is_file():
            raise AnswerNeeded(f"answer {question} in {answer}, then run this again")
        self.speaker.text = answer.read_text(encoding="utf-8")
        reply = self.client.ask(request)
        self.turns.append(turn_of(request.kind, request.answer_tokens, request.prompt))
        self.lines |= lines_of(request.prompt)
        return reply

    def warnings(self) -> tuple[str, ...]:
        return ()

    def close(self) -> None:
        self.client.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the answers come from, who wrote them, and where the recordings go."""

    answers: Path
    cassettes: Path
    origin: str
    model: str
    providers: tuple[Provider, ...] = ("anthropic", "openai")


def record(path: Path, place: Place, options: Options) -> TranslationResult:
    """Records one program with every provider; what the run came to. Nothing is kept when an answer is missing.

    Raises the verifier's BadInput and ReferenceFailed."""
    from ..verifier.reference import open_reference

    with open_reference(path, entry=options.entry, inputs=options.inputs, mode=options.mode) as reference:
        checker = remembering(checker_for(reference, options))
        return record_with(reference.describe(), checker, path.stem, place, options)


def record_with(
    description: Description, checker: Checker, program: str, place: Place, options: Options
) -> TranslationResult:
    options = replace(options, use_cache=False, resume=False, model=place.model, submit_tool=False, api="chat")
    folder = place.cassettes / program
    made: list[Recording] = []
    with speaking() as speaker, ExitStack() as files:
        for provider in place.providers:
            recording = Recording(_client(provider, speaker, options), speaker, place.answers / program)
            made.append(recording)
            beside = folder / f".{provider}.new"
            beside.unlink(missing_ok=True)
            files.callback(beside.unlink, missing_ok=True)
            with _taped(provider, beside, place):
                result = translate_with(description, checker, program, options, recording)
            if result.stop not in ("accepted", "attempts", "identical", "undecided", "refused"):
                return result
        for provider in place.providers:
            (folder / f".{provider}.new").replace(folder / f"{provider}.yaml")
    meta = _meta(description, program, place, options, made[-1])
    meta = replace(meta, verdict=result.verdict, certificate=_hash(result))
    (folder / META).write_text(meta.to_json(), encoding="utf-8")
    return result


def _hash(result: TranslationResult) -> str | None:
    return None if result.certificate is None else result.certificate.hash


def remembering(checker: Checker) -> Checker:
    """Each text is verified once, however many providers it is recorded for."""
    known: dict[str, Certificate] = {}

    def verify(text: str, left_s: float | None) -> Certificate:
        if text not in known:
            known[text] = checker.verify(text, left_s)
        return known[text]

    return replace(checker, verify=verify)


@contextmanager
def _taped(provider: Provider, path: Path, place: Place) -> Iterator[None]:
    facts = {"origin": place.origin, "wire_format": FORMATS[provider], "usage": ESTIMATED}
    secrets = tuple(key for key in (os.environ.get(name) for name in KEYS.values()) if key)
    with recorder("all", secrets, facts).use_cassette(str(path)):
        yield
    if path.is_file():
        scan(path, secrets)


def _client(provider: Provider, speaker: Speaker, options: Options) -> Client:
    """Asks as it would ask the provider itself, so that the replay's requests are the same."""
    made: Wire = wire(provider, options, NO_KEY, speaker.base_url(provider))
    if isinstance(made, OpenAIWire):
        made = replace(made, limit_field="max_completion_tokens")
    return Client(made, options.model or "", Retry(Policy(tries=1)))


def _meta(description: Description, program: str, place: Place, options: Options, recording: Recording) -> Meta:
    return Meta(
        program=program,
        source_sha256=description.source_sha256,
        origin=place.origin,
        verdict="",
        usage=ESTIMATED,
        prompt_version=prompt_version(),
        language_version=LANGUAGE_VERSION,
        libraries=library_versions(description.framework, description.framework_version),
        wires={
            provider: {"file": f"{provider}.yaml", "format": FORMATS[provider], "model": place.model}
            for provider in place.providers
        },
        turns=tuple(recording.turns),
        lines=recording.lines,
        entry=options.entry,
        inputs=options.inputs,
        mode=options.mode,
        worked_examples=options.worked_examples,
    )


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--answers", required=True, type=click.Path(file_okay=False, path_type=Path))
@click.option("--cassettes", required=True, type=click.Path(file_okay=False, path_type=Path))
@click.option("--origin", required=True, help="Who wrote the answers, and from what.")
@click.option("--model", default="recorded", show_default=True, help="The model's name in requests and answers.")
@click.option("--entry")
@click.option("--inputs")
@click.option("--mode", type=click.Choice(["eval", "train"]), default="eval", show_default=True)
@click.option("--worked-examples/--no-worked-examples", default=True, help="Whether the prompt shows them.")
@click.option("--max-attempts", type=int, default=5, show_default=True)
def main(files: tuple[Path, ...], answers: Path, cassettes: Path, origin: str, model: str, **asked: object) -> None:
    """Records the answers to the questions about FILES."""
    from ..verifier.types import BadInput, ReferenceFailed

    place = Place(answers=answers, cassettes=cassettes, origin=origin, model=model)
    worst = Exit.VERIFIED
    for path in files:
        try:
            result = record(path, place, Options(**asked))  # type: ignore[arg-type]
        except (BadInput, ReferenceFailed) as error:
            click.echo(f"{path.stem}: {error}", err=True)
            worst = max(worst, Exit.USAGE)
            continue
        click.echo(f"{path.stem}: {result.stop}: {result.message}", err=True)
        worst = max(worst, Exit(result.exit_code))
    raise SystemExit(int(worst))


if __name__ == "__main__":
    main()
