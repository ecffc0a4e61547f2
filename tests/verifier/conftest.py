"""The programs beside this file, opened in this process: a child process of its own costs two seconds each."""

import warnings
from pathlib import Path

import pytest
from solar_agent.verifier.types import Limits

PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture
def program(monkeypatch):
    """`program(name, mode=..., entry=..., inputs=...)` is the worker's session on that program."""
    from solar_agent.verifier.worker import light
    from solar_agent.verifier.worker.session import Session

    monkeypatch.setattr(light, "install", lambda: None)  # stand-ins for torch's imports are for a process of its own

    def opened(name, mode="eval", entry=None, inputs=()):
        path = name if isinstance(name, Path) else PROGRAMS / f"{name}.py"
        return Session(path, entry, inputs, mode, Limits())

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as in the worker: the user's program may warn
        yield opened
