"""The same program with some of its outputs written down as constants, for outputs that do not depend on the inputs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ..ir.program import Const, Declare, Output, Program, Tensor


def with_constants(program: Program, positions: Collection[int]) -> Program:
    """`positions` in `program.outputs`; those outputs become constants of the same shape and type."""
    tensors = dict(program.tensors)
    body = list(program.body)
    outputs = list(program.outputs)
    for position in positions:
        output = outputs[position]
        if output.tensor is not None:
            name = f"{output.tensor}%constant{position}"
            tensors[name] = Tensor(name, tensors[output.tensor].shape, output.dtype)
            body.append(Declare(name, Const(0, output.dtype), output.source))
            outputs[position] = replace(output, tensor=name, unordered=None, indexes=None)
    return replace(program, tensors=tensors, body=tuple(body), outputs=tuple(outputs))


def show_outputs(outputs: Collection[Output]) -> str:
    return ", ".join(" ".join(output.source.text.split()) for output in outputs)
