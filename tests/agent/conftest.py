from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from solar_agent.agent.state import Options, Progress
from solar_agent.verifier.types import Description

from .lab import AMBIENT, Judge, Server, product, serving


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in AMBIENT:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("SOLAR_AGENT_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def description() -> Description:
    return product()


@pytest.fixture
def judge() -> Judge:
    return Judge()


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as made:
        yield made


@pytest.fixture
def heard() -> list[Progress]:
    return []


@pytest.fixture
def options(heard: list[Progress]) -> Options:
    return Options(progress=heard.append)
