"""Slices that keep an axis whole at some sizes, where Python's indexing makes no operator of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from solar_agent.agent.builtin.program import text_of
from solar_agent.agent.builtin.subscripts import NAME, subscripted
from solar_agent.ir.bindings import Bindings
from solar_agent.verifier.reference import open_reference
from solar_agent.verifier.traced import Call, Operator, Ref, Result, Traced, Value
from solar_agent.verifier.verify import verify

SOURCE = """
import torch
from torch import nn
import torch.nn.functional as F

BLOCK = 4
LENGTH = 12


class Model(nn.Module):
    def __init__(self, block):
        super().__init__()
        self.block = block

    def forward(self, x):
        batch, length, width = x.shape
        filled = F.pad(x, (0, 0, 0, -length % self.block))
        blocks = filled.reshape(batch, -1, self.block, width)
        centred = blocks - blocks.mean(2, keepdim=True)
        return centred.reshape(batch, -1, width)EXPRESSION * 2


def get_inputs():
    return [torch.randn(3, LENGTH, 5)]


def get_init_inputs():
    return [BLOCK]
"""


@pytest.mark.parametrize("expression", ["[:, :length, 1::2]", "[:, -length:, -1]"])
def test_slices_and_picks_of_one_line_are_one_operator(tmp_path: Path, expression: str) -> None:
    path = tmp_path / "program.py"
    path.write_text(SOURCE.replace("EXPRESSION", expression))
    with open_reference(path) as reference:
        sizes = [{}, *(dict(assignment.changes) for assignment in reference.assignments())]
        recordings = [subscripted(reference.trace(changes)) for changes in sizes]
        text = text_of(recordings, "program")
        certificate = verify(reference, text)
    assert certificate.verdict == "verified", certificate.feedback() + "\n" + text
    names = [operator.name for operator in recordings[0].operators]
    assert names.count(NAME) == 1 and "aten.slice.Tensor" not in names


def _recorded(*operators: Operator) -> Traced:
    values = (Value((4, 6), "f32", 0), Value((4, 5), "f32", 0), Value((5,), "f32", 0), Value((5,), "f32", 1))
    return Traced(values, (Call("", "Model", None),), operators, {"x": 0}, {}, (Result("", 3),), Bindings())


def _operator(name: str, source: int, result: int, **arguments: int) -> Operator:
    return Operator(name, {"self": Ref(source), **arguments}, (result,), (), 0, "model.py:3")


def test_starts_and_steps_are_composed() -> None:
    cut = _operator("aten.slice.Tensor", 0, 1, dim=1, start=-5, end=6, step=1)
    picked = _operator("aten.select.int", 1, 2, dim=0, index=-1)
    (merged, _) = subscripted(_recorded(cut, picked, _operator("aten.neg.default", 2, 3))).operators
    assert merged.arguments == {"self": Ref(0), "starts": (3, 1), "steps": (1, 1), "kept": (False, True)}
    assert merged.results == (2,)


def test_a_whole_slice_is_one_that_takes_everything() -> None:
    (merged, _) = subscripted(_recorded(_operator("aten.alias.default", 0, 1), _operator("aten.sum", 1, 3))).operators
    assert merged.name == NAME
    assert merged.arguments == {"self": Ref(0), "starts": (0, 0), "steps": (1, 1), "kept": (True, True)}


def test_what_something_else_reads_stays() -> None:
    cut = _operator("aten.slice.Tensor", 0, 1, dim=1, start=0, end=5, step=1)
    picked = _operator("aten.select.int", 1, 2, dim=0, index=0)
    assert len(subscripted(_recorded(cut, picked, _operator("aten.neg.default", 1, 3))).operators) == 3
