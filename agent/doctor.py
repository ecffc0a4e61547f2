"""What works on this machine and what does not, each with the next step. Looks, changes nothing, asks no network."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Literal

State = Literal["ok", "note", "fault"]
KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
BASE_URLS = {"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL"}
REDIRECTS = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", *BASE_URLS.values())


@dataclass(frozen=True, slots=True)
class Finding:
    """`fault`: a command of this tool cannot work; `note`: one way of using it cannot."""

    name: str
    state: State
    detail: str


def findings() -> tuple[Finding, ...]:
    return tuple(_findings())


def environment() -> dict[str, str]:
    """What a figure depends on, for reports and bug reports."""
    names = ("solar-agent", "torch", "numpy", "lark", "langgraph", "openai", "anthropic", "jax")
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpus": str(os.cpu_count()),
        **{name: _version(name) or "absent" for name in names},
    }


def _findings() -> Iterator[Finding]:
    yield Finding(
        "python", "ok" if sys.version_info >= (3, 11) else "fault", f"{platform.python_version()} ({sys.executable})"
    )
    yield _torch()
    yield _language()
    yield _devices()
    yield _cache()
    yield _rules()
    for provider in KEYS:
        yield _provider(provider)
    yield from _redirects()
    yield _isolation()


def _torch() -> Finding:
    found = _version("torch")
    if found is None:
        return Finding("torch", "fault", "absent; pip install 'solar-agent[torch]'")
    return Finding("torch", "ok", found)


def _language() -> Finding:
    from ..ir.bindings import Bindings, TensorType
    from ..ir.errors import IRError
    from ..ir.load import load

    text = "program check\ninput x[B, D]\ny = softmax(x)\noutput y\n"
    try:
        load(text, Bindings(inputs={"x": TensorType((2, 3), "f32")}))
    except (IRError, OSError) as error:
        return Finding("language", "fault", f"the prelude does not load ({error}); reinstall solar-agent")
    return Finding("language", "ok", "grammar and prelude load")


def _devices() -> Finding:
    from ..analysis.arch import ArchError, list_archs, load_arch

    try:
        names = [load_arch(name).name for name in list_archs()]
    except (ArchError, OSError) as error:
        return Finding("devices", "fault", f"{error}; reinstall solar-agent")
    return Finding("devices", "ok", ", ".join(names))


def _cache() -> Finding:
    from .cache import Cache

    cache = Cache()
    entries = cache.entries()
    cache.close()
    if cache.warnings:
        return Finding("cache", "note", "; ".join(cache.warnings))
    from .places import cache_dir

    return Finding("cache", "ok", f"{len(entries)} translations in {cache_dir()}")


def _rules() -> Finding:
    keys = " or ".join(KEYS.values())
    if any(os.environ.get(name) for name in KEYS.values()):
        return Finding("builtin", "ok", "translates by rule where --translator builtin asks for it")
    return Finding("builtin", "ok", f"translates by rule, as no {keys} is set")


def _provider(provider: str) -> Finding:
    package = _version(provider)
    if package is None:
        return Finding(provider, "note", f"the package is absent; pip install {provider}")
    if os.environ.get(KEYS[provider]):
        return Finding(provider, "ok", f"{package}, {KEYS[provider]} is set")
    return Finding(
        provider, "note", f"{package}, no key; set {KEYS[provider]}, or give --base-url of a server of your own"
    )


def _redirects() -> Iterator[Finding]:
    for name in REDIRECTS:
        if os.environ.get(name) or os.environ.get(name.lower()):
            yield Finding(name, "note", "is set: requests to the provider go there")


def _isolation() -> Finding:
    if sys.platform == "linux":
        return Finding(
            "isolation", "ok", "the program runs in a child process with limits of time, memory and file size"
        )
    return Finding("isolation", "note", f"{sys.platform} does not enforce the memory limit of the child process")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
