"""Operators that work element by element."""

from __future__ import annotations

from ..model import Op
from ..writer import Writer
from .registry import rule


@rule("aten.relu")
def relu(w: Writer, op: Op) -> None:
    w.call(op, "relu", op.tensor("self"))
