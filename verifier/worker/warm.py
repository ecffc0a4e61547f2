"""What the zygote of the worker processes imports and runs once, so that none of them has to."""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from pathlib import Path

from . import light
from .main import main

_SAMPLE = """import torch


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = torch.nn.Linear(width, width)

    def forward(self, x):
        return torch.softmax(self.inner(x), dim=-1)


def get_inputs():
    return [torch.rand(3, 8)]


def get_init_inputs():
    return [8]
"""


def prepare() -> None:
    """torch, and the worker's own way through a program of no consequence."""
    warnings.simplefilter("ignore")
    import torch

    torch.set_num_threads(1)
    light.install()
    before = list(sys.path)
    with tempfile.TemporaryDirectory(prefix="solar-agent-") as folder:
        file = Path(folder) / "sample.py"
        file.write_text(_SAMPLE, encoding="utf-8")
        _run(file)
    sys.path[:] = before


def finish() -> None:
    """Nothing is left to end."""


def _run(file: Path) -> None:
    from ..types import Limits
    from .session import Session

    session = Session(file, None, (), "eval", Limits())
    session.describe()
    session.assignments()
    session.trial({}, 0, "normal", "promoted")


def child(requests: int, replies: int, life: int, output: int) -> None:
    """Entry of a forked worker process."""
    for stream in (1, 2):
        os.dup2(output, stream)
    os.close(output)
    tempfile.tempdir = None
    main(requests, replies, life)
