"""From what the user said and what the environment holds to a translator."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ..retry import ProviderError, Retry
from ..state import Options, Provider
from .base import Client, Translator, Wire
from .builtin import RULES, WHY, Builtin

if TYPE_CHECKING:
    from ...verifier.types import Description, Reference

KEYS: dict[Provider, str] = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
URLS: dict[Provider, str] = {"anthropic": "ANTHROPIC_BASE_URL", "openai": "OPENAI_BASE_URL"}
MODELS: dict[Provider, str] = {"anthropic": "ANTHROPIC_MODEL", "openai": "OPENAI_MODEL"}
# The models in the SDKs' own first examples (anthropic 2.14, openai 3.57); any other by --model or environment.
FIRST_MODELS: dict[Provider, str] = {"anthropic": "claude-opus-5-5", "openai": "gpt-5.5"}
NO_KEY = "no-key-needed"
HELP = (
    "set it, or name a compatible server with --translator openai --base-url URL --model NAME, or use "
    "--translator builtin (rules, no model), --translator manual (you take the prompt to a model and bring the answer) "
    "or --translator replay:DIR (recorded answers)"
)


@dataclass(frozen=True, slots=True)
class Choice:
    """`why` is told to the user."""

    kind: str
    provider: Provider | None
    folder: Path | None
    why: str


def chosen(options: Options, environment: Mapping[str, str]) -> Choice:
    """Raises ProviderError when nothing can be asked, ValueError for an unknown name."""
    name = options.translator
    if name.startswith("replay:"):
        return Choice("replay", options.provider, Path(name.removeprefix("replay:")), f"replay of {name[7:]}")
    match name:
        case "manual":
            return Choice("manual", None, None, "manual was asked for")
        case "openai" | "anthropic":
            return Choice(name, name, None, f"{name} was asked for")
        case "auto":
            return _automatic(options, environment)
        case "builtin":
            return Choice("builtin", None, None, WHY)
        case _:
            raise ValueError(
                f"unknown translator {name!r}; there are auto, builtin, openai, anthropic, manual and replay:DIR"
            )


def _automatic(options: Options, environment: Mapping[str, str]) -> Choice:
    wanted = [options.provider] if options.provider else list(KEYS)
    found = [provider for provider in wanted if environment.get(KEYS[provider])]
    if found:
        also = f" (of the keys for {' and '.join(found)}, the first)" if len(found) > 1 else ""
        return Choice(found[0], found[0], None, f"{KEYS[found[0]]} is set{also}")
    if options.base_url is not None:
        provider: Provider = options.provider or "openai"
        return Choice(provider, provider, None, f"--base-url names a server, asked in {provider}'s format")
    unset = " or ".join(KEYS[provider] for provider in wanted)
    if options.provider is None and options.model is None:
        return Choice("builtin", None, None, f"no {unset} is set, so without a model: {RULES}")
    raise ProviderError(f"no key: {unset} is not set; {HELP}")


def by_rule(options: Options) -> bool:
    """Whether no model would be asked. False where nobody could be."""
    try:
        return chosen(options, os.environ).kind == "builtin"
    except ProviderError:
        return False


def opened(options: Options, program: str, description: Description, reference: Reference | None) -> Translator:
    """Raises ProviderError, Drift (a recording that is not there), ValueError. `reference` is what `builtin` reads."""
    choice = chosen(options, os.environ)
    match choice.kind:
        case "builtin":
            if reference is None:
                raise ProviderError(f"{choice.why}, but the program is not running; {HELP}")
            return Builtin(reference, choice.why)
        case "manual":
            from .manual import Manual

            return Manual(options.answer, program, options.out, choice.why)
        case "replay":
            from .replay import opened as opened_replay

            assert choice.folder is not None
            framework = f"{description.framework} {description.framework_version}"
            return opened_replay(choice.folder, options, program, description.source_sha256, framework, choice.why)
        case _:
            assert choice.provider is not None
            return live(choice.provider, options, choice.why)


def live(provider: Provider, options: Options, why: str) -> Client:
    """The SDK itself is imported at the first request."""
    key = os.environ.get(KEYS[provider], "")
    base_url = options.base_url or os.environ.get(URLS[provider])
    if not key:
        if base_url is None:
            raise ProviderError(f"{provider}: no key: {KEYS[provider]} is not set; {HELP}")
        key = NO_KEY
    named = options.model or os.environ.get(MODELS[provider])
    if named is None and base_url is not None and not _official(base_url):
        raise ProviderError(
            f"{provider}: which model of {urlsplit(base_url).netloc}? Name it with --model or {MODELS[provider]}"
        )
    retry = Retry(progress=options.progress)
    return Client(wire(provider, options, key, base_url), named or FIRST_MODELS[provider], retry, why)


def wire(provider: Provider, options: Options, key: str, base_url: str | None) -> Wire:
    match provider:
        case "openai":
            from . import openai

            return openai.OpenAIWire(
                key, base_url or openai.BASE_URL, api=options.api, submit_tool=options.submit_tool
            )
        case "anthropic":
            from . import anthropic

            return anthropic.MessagesWire(key, base_url or anthropic.BASE_URL, submit_tool=options.submit_tool)


def _official(base_url: str) -> bool:
    return (urlsplit(base_url).hostname or "").endswith((".openai.com", ".anthropic.com"))
