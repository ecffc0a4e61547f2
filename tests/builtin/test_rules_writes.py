"""Writes through views: the base is kept elsewhere, also through chains of views."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from solar_agent.agent.builtin.model import Attributes, Num, Op, Tensor, Untranslatable
from solar_agent.agent.builtin.names import Names
from solar_agent.agent.builtin.rules import apply
from solar_agent.agent.builtin.writer import Writer
from solar_agent.verifier.worker.tensors import dtype_name

from . import rulelab
from .rulelab import check

Step = tuple[str, dict[str, Any]]
END = 9223372036854775807


def zipped(tensors: Sequence[torch.Tensor]) -> Tensor:
    dims = tuple(Num(tuple(sizes)) for sizes in zip(*(tensor.shape for tensor in tensors), strict=True))
    return Tensor(dims, dtype_name(tensors[0].dtype))


def argument(value: Any, count: int) -> Any:
    if isinstance(value, list):
        return tuple(argument(item, count) for item in value)
    return Num((value,) * count) if isinstance(value, int) and not isinstance(value, bool) else value


def viewed(tensor: torch.Tensor, step: Step) -> torch.Tensor:
    overload = rulelab._overload(step[0])
    given = {a.name: a.default_value for a in overload._schema.arguments[1:] if a.has_default_value()} | step[1]
    result: torch.Tensor = overload(tensor, *given.values())
    return result


def write(bases: Sequence[torch.Tensor], chain: Sequence[Step], value: Callable[[torch.Tensor], torch.Tensor]) -> str:
    """The rule's text for `view(base) = value(view)`, checked at every sample."""
    count = len(bases)
    base = zipped(bases)
    source, now, steps = base, list(bases), []
    for step in chain:
        now = [viewed(tensor, step) for tensor in now]
        result = zipped(now)
        overload = rulelab._overload(step[0])
        filled = {a.name: a.default_value for a in overload._schema.arguments[1:] if a.has_default_value()} | step[1]
        args = {"self": source, **{key: argument(item, count) for key, item in filled.items()}}
        steps.append(Op(step[0], args, (result,), "model.py:1"))
        source = result
    values = [value(tensor) for tensor in now]
    new, out = zipped(values), Tensor(base.dims, base.dtype)
    writer = Writer(Names(), Attributes())
    writer.declare(base, "input", "base")
    writer.declare(new, "input", "value")
    args = {"self": base, "value": new, "chain": tuple(steps)}
    apply(writer, Op("solar.write", args, (out,), "model.py:1"))
    text = "\n".join(["program rule", *writer.header, *writer.lines, f"output {writer.of(out)}"]) + "\n"
    for before, item in zip(bases, values, strict=True):
        after = before.clone()
        part = after
        for step in chain:
            part = viewed(part, step)
        part.copy_(item)
        wide = after.double() if after.is_floating_point() else after
        rulelab._compare(text, {"base": before, "value": item}, [after], [wide], True, (), {}, ())
    return text


def like(tensor: torch.Tensor) -> torch.Tensor:
    return torch.randn(tensor.shape)


PARTS: list[Step] = [
    ("aten.slice.Tensor", {"dim": 0, "start": 1, "end": END, "step": 1}),
    ("aten.slice.Tensor", {"dim": -1, "start": 0, "end": -1, "step": 2}),
    ("aten.select.int", {"dim": 0, "index": -1}),
    ("aten.select.int", {"dim": -1, "index": 1}),
    ("aten.transpose.int", {"dim0": 0, "dim1": -1}),
    ("aten.unsqueeze.default", {"dim": 1}),
    ("aten.diagonal.default", {"offset": 1, "dim1": 0, "dim2": -1}),
    ("aten.narrow.default", {"dim": 0, "start": 1, "length": 2}),
    ("aten.detach.default", {}),
]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(PARTS), max_size=3))
def test_chains(chain: list[Step]) -> None:
    rank = 3
    for name, _ in chain:
        if rank < 2 and name in ("aten.diagonal.default", "aten.transpose.int") or rank < 1:
            return
        rank += {"aten.select.int": -1, "aten.diagonal.default": -1, "aten.unsqueeze.default": 1}.get(name, 0)
    bases = [torch.randn(9, 10, 11), torch.randn(10, 12, 9)]
    try:
        parts = [bases[0]]
        for step in chain:
            parts.append(viewed(parts[-1], step))
    except (IndexError, RuntimeError):
        return
    write(bases, chain, like)


def test_a_slice() -> None:
    text = write([torch.randn(2, 5), torch.randn(3, 8)], [PARTS[1]], like)
    assert "tensor base1[N, C] = base" in text
    assert "base1[n, c*2] = value[n, c]" in text


def test_reshaped_parts() -> None:
    chain: list[Step] = [
        ("aten.slice.Tensor", {"dim": 1, "start": 0, "end": 4, "step": 1}),
        ("aten.unflatten.int", {"dim": 1, "sizes": [2, 2]}),
    ]
    write([torch.randn(2, 5), torch.randn(3, 8)], chain, like)


def test_everything_is_overwritten() -> None:
    whole: Step = ("aten.slice.Tensor", {"dim": 0, "start": 0, "end": END, "step": 1})
    assert "tensor" not in write([torch.randn(2, 5), torch.randn(3, 8)], [whole], like)


def test_types_of_what_is_written() -> None:
    bases = [torch.randn(2, 5), torch.randn(3, 8)]
    write(bases, [PARTS[0]], lambda part: torch.arange(part.numel()).reshape(part.shape))
    write(bases, [PARTS[0]], lambda part: torch.randn(part.shape) > 0)
    counts = [torch.arange(10).reshape(2, 5), torch.arange(24).reshape(3, 8)]
    write(counts, [PARTS[0]], lambda part: 10 * torch.randn(part.shape))


def test_elements_that_share_memory() -> None:
    bases = [torch.randn(2, 5), torch.randn(3, 8)]
    with pytest.raises(Untranslatable, match="share memory"):
        write(bases, [("aten.unfold.default", {"dimension": 1, "size": 3, "step": 1})], like)
    with pytest.raises(Untranslatable, match="a write through"):
        write(bases, [("aten.relu.default", {})], like)


def test_scattered_parts() -> None:
    shapes = ((3, 5), (4, 8))
    samples = [{"self": torch.randn(a, b), "src": torch.randn(a, b - 1), "dim": 1, "start": 1} for a, b in shapes]
    check("aten.slice_scatter.default", *samples, exact=True)
    samples = [{"self": torch.randn(a, b), "src": torch.arange(a), "dim": 1, "index": -1} for a, b in shapes]
    check("aten.select_scatter.default", *samples, exact=True)
    samples = [{"self": torch.randn(a, a), "src": torch.randn(a - 1), "offset": 1} for a, _ in shapes]
    check("aten.diagonal_scatter.default", *samples, exact=True)


@pytest.mark.parametrize("arguments", [{}, {"offset": 1}, {"offset": -2}, {"offset": -1, "dim1": 0, "dim2": 2}])
def test_diag_embed(arguments: dict[str, int]) -> None:
    check("aten.diag_embed.default", *({"self": torch.randn(n, 3), **arguments} for n in (2, 4)), exact=True)


@pytest.mark.parametrize("offset", [0, 1, -1])
def test_diag(offset: int) -> None:
    check("aten.diag.default", *({"self": torch.randn(n), "diagonal": offset} for n in (2, 4)), exact=True)
    check("aten.diag.default", *({"self": torch.randn(n, n), "diagonal": offset} for n in (2, 4)), exact=True)
    check("aten.diagflat.default", *({"self": torch.randn(n), "offset": offset} for n in (2, 4)), exact=True)


@pytest.mark.parametrize("shapes", [((3, 3), (5, 5)), ((2, 4), (3, 7)), ((2, 2, 2), (3, 3, 3))])
def test_fill_diagonal(shapes: tuple[tuple[int, ...], ...]) -> None:
    bases = [torch.randn(*shape) for shape in shapes]
    base = zipped(bases)
    out = Tensor(base.dims, base.dtype)
    writer = Writer(Names(), Attributes())
    writer.declare(base, "input", "base")
    args = {"self": base, "fill_value": Num((2, 2)), "wrap": False}
    apply(writer, Op("aten.fill_diagonal.default", args, (out,), "model.py:1"))
    text = "\n".join(["program rule", *writer.header, *writer.lines, f"output {writer.of(out)}"]) + "\n"
    for before in bases:
        after = before.clone().fill_diagonal_(2)
        rulelab._compare(text, {"base": before}, [after], [after.double()], True, (), {}, ())
