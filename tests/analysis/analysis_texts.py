"""Short ways to bind and load a text in tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from solar_agent.ir.bindings import Bindings, Constant, TensorType
from solar_agent.ir.load import load
from solar_agent.ir.program import Program

Shape = Sequence[int]


def tensor(*shape: int, dtype: str = "f32", **layout: object) -> TensorType:
    return TensorType(shape, dtype, **layout)  # type: ignore[arg-type]


def program(
    text: str,
    inputs: Mapping[str, TensorType] | None = None,
    state: Mapping[str, TensorType] | None = None,
    attrs: Mapping[str, Constant] | None = None,
    draws: Sequence[TensorType] = (),
) -> Program:
    return load(f"program t\n{text}", Bindings(inputs or {}, state or {}, tuple(draws), attrs or {}))
