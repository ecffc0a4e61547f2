"""The SDK's own code over a recording: no network, and whatever differs from it is an error that says what."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..cassette import Meta, explain, find_folder, library_versions, recorder
from ..retry import Policy, Retry, Transient
from ..state import Options, Provider
from .base import Answer, Client, Drift, Exchange, Reply, Request, Wire
from .choose import NO_KEY, wire

PROVIDERS: tuple[Provider, ...] = ("anthropic", "openai")


@dataclass(slots=True)
class Played:
    """A wire whose transport is the recording."""

    inner: Wire
    cassette: Any
    stack: ExitStack

    @property
    def name(self) -> str:
        return self.inner.name

    def send(self, request: Request, model: str, limit_tokens: int, exchanges: tuple[Exchange, ...]) -> Answer:
        from vcr.errors import CannotOverwriteExistingCassetteException, UnhandledHTTPRequestError

        missing = (CannotOverwriteExistingCassetteException, UnhandledHTTPRequestError)
        try:
            return self.inner.send(request, model, limit_tokens, exchanges)
        except missing:
            raise Drift("") from None
        except Transient as fault:
            if _caused_by(fault, missing):
                raise Drift("") from None
            raise

    def close(self) -> None:
        self.inner.close()
        self.stack.close()


@dataclass(slots=True)
class Replay:
    """Model and output limit are the recording's; `framework` is what the program runs on now, with its version."""

    client: Client
    meta: Meta
    played: Played
    libraries: dict[str, str]
    why: str = ""
    keeps_replies: bool = False
    prompted: bool = True
    asked: int = field(default=0)

    @property
    def name(self) -> str:
        return "replay"

    @property
    def worked_examples(self) -> bool:
        return self.meta.worked_examples

    @property
    def model(self) -> str | None:
        return self.client.model

    def ask(self, request: Request) -> Reply:
        position = self.asked
        self.asked += 1
        turns = self.meta.turns
        if position < len(turns):
            request = replace(request, answer_tokens=turns[position].answer_tokens)
        try:
            return self.client.ask(request)
        except Drift:
            reason = explain(self.meta, position, request.prompt, self.libraries)
            raise Drift(f"the recording of `{self.meta.program}` does not fit any more: {reason}") from None

    def unplayed(self) -> int:
        """How many recorded answers were not asked for."""
        return len(self.played.cassette) - int(self.played.cassette.play_count)

    def warnings(self) -> tuple[str, ...]:
        left = self.unplayed()
        if not left:
            return ()
        return (f"replay: {left} of {len(self.played.cassette)} recorded answers were not asked for",)

    def close(self) -> None:
        self.played.close()


def opened(folder: Path, options: Options, program: str, source_sha256: str, framework: str, why: str) -> Replay:
    """Raises Drift when there is no such recording. `framework` is like "torch 2.13.0"."""
    place = find_folder(folder, program, source_sha256)
    meta = Meta.read(place)
    provider = _provider(options, meta, place)
    recorded = meta.wires[provider]
    path = place / recorded["file"]
    if not path.is_file():
        raise Drift(f"{path} is not there, though {place.name}/meta.json names it")
    asked_as = replace(options, api="chat", submit_tool=False)  # what the recorder asks for
    stack = ExitStack()
    cassette = stack.enter_context(recorder("none").use_cassette(str(path)))
    played = Played(wire(provider, asked_as, NO_KEY, None), cassette, stack)
    client = Client(played, recorded["model"], Retry(Policy(tries=1)), why)
    name, _, number = framework.partition(" ")
    return Replay(client, meta, played, library_versions(name, number), f"{why}, recorded for {provider}")


def _provider(options: Options, meta: Meta, place: Path) -> Provider:
    there = [provider for provider in PROVIDERS if provider in meta.wires]
    wanted = options.provider or (there[0] if there else None)
    if wanted is None or wanted not in there:
        raise Drift(f"{place} has no recording for {wanted or 'any provider'}, only for {', '.join(there) or 'none'}")
    return wanted


def _caused_by(error: BaseException | None, kinds: tuple[type[BaseException], ...]) -> bool:
    while error is not None:
        if isinstance(error, kinds):
            return True
        error = error.__cause__ or error.__context__
    return False
