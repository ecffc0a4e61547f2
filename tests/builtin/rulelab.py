"""One operator, several samples of arguments: its rule's text against torch.

The arguments are zipped as the translator zips recordings, so a number that differs between samples has to come out as
an expression in sizes. Values are compared in float64, storage types with a run in the operator's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
from solar_agent.agent.builtin.model import Attributes, Num, Op, Tensor
from solar_agent.agent.builtin.names import Names
from solar_agent.agent.builtin.rules import apply
from solar_agent.agent.builtin.writer import Writer
from solar_agent.ir.bindings import Bindings, TensorType
from solar_agent.ir.execute import Values, execute
from solar_agent.ir.load import load
from solar_agent.verifier.traced import DType
from solar_agent.verifier.worker.draws import DrawLog
from solar_agent.verifier.worker.modes import Run
from solar_agent.verifier.worker.tensors import dtype_name

Sample = Mapping[str, Any]
_DROPPED = ("device", "layout", "pin_memory", "memory_format", "generator")


def check(
    name: str,
    *samples: Sample,
    exact: bool = False,
    unchecked: Sequence[int] = (),
    state: Mapping[str, str] | None = None,
    beside: Sequence[Mapping[str, torch.Tensor]] = (),
) -> str:
    """Run the rule of `name` ("aten.add.Tensor") on samples of its arguments by schema name; gives the text back.

    `unchecked`: results that are not compared (and need not be made). `state`: argument -> the path under which it is
    captured state instead of an input. `beside`: for each sample, tensors that the program has besides
    the arguments, so that numbers can be expressed in their sizes. Random operators draw once and are replayed."""
    overload = _overload(name)
    filled = [_filled(overload, sample) for sample in samples]
    logs = [DrawLog() for _ in samples]
    results = [_run(overload, sample, log, wide=False) for sample, log in zip(filled, logs, strict=True)]
    extra = list(beside) or [{} for _ in samples]
    text = _text(name, filled, results, unchecked, state or {}, extra, len(logs[0].drawn))
    for sample, native, log, more in zip(filled, results, logs, extra, strict=True):
        wide = _run(overload, sample, DrawLog(replay=tuple(log.drawn)), wide=True)
        _compare(text, {**sample, **more}, native, wide, exact, unchecked, state or {}, log.drawn)
    return text


def _overload(name: str) -> Any:
    space, packet, overload = name.split(".")
    return getattr(getattr(getattr(torch.ops, space), packet), overload)


def _filled(overload: Any, sample: Sample) -> dict[str, Any]:
    arguments = overload._schema.arguments
    unknown = set(sample) - {argument.name for argument in arguments}
    assert not unknown, f"{overload} has no arguments {unknown}: {overload._schema}"
    return {
        a.name: sample.get(a.name, a.default_value if a.has_default_value() else None)
        for a in arguments
        if a.name not in _DROPPED
    }


def _run(overload: Any, sample: Sample, log: DrawLog, *, wide: bool) -> list[Any]:
    def widened(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value.double() if wide and value.is_floating_point() else value.clone()
        if isinstance(value, list | tuple):
            return [widened(item) for item in value]
        if wide and isinstance(value, torch.dtype) and value.is_floating_point:
            return torch.float64
        return value

    positional = [a.name for a in overload._schema.arguments if not a.kwarg_only and a.name in sample]
    keywords = {key: widened(value) for key, value in sample.items() if key not in positional}
    usual = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64 if wide else usual)
    random = torch.Tag.nondeterministic_seeded in overload.tags
    try:
        with Run(log, promote=wide) if random else nullcontext():
            out = overload(*[widened(sample[key]) for key in positional], **keywords)
    finally:
        torch.set_default_dtype(usual)
    return list(out) if isinstance(out, list | tuple) else [out]


def _zip(values: Sequence[Any], path: str, found: dict[str, Tensor]) -> Any:
    first = values[0]
    match first:
        case torch.Tensor():
            dims = tuple(Num(tuple(sizes)) for sizes in zip(*(value.shape for value in values), strict=True))
            return found.setdefault(path, Tensor(dims, dtype_name(first.dtype), argument=path))
        case bool() | str() | None:
            assert all(value == first for value in values)
            return first
        case int() | float():
            return Num(tuple(values))
        case torch.dtype():
            return DType(dtype_name(first))
        case list() | tuple():
            return tuple(_zip(items, f"{path}_{i}", found) for i, items in enumerate(zip(*values, strict=True)))
    raise AssertionError(f"no such argument: {first!r}")


def _text(
    name: str,
    samples: Sequence[Sample],
    results: Sequence[Sequence[Any]],
    unchecked: Sequence[int],
    state: Mapping[str, str],
    beside: Sequence[Mapping[str, torch.Tensor]],
    draws: int,
) -> str:
    found: dict[str, Tensor] = {}
    args = {key: _zip([sample[key] for sample in samples], key, found) for key in samples[0]}
    for key in beside[0]:
        _zip([more[key] for more in beside], key, found)
    outs = tuple(
        None if not isinstance(column[0], torch.Tensor) else _zip(column, f"result{i}", {})
        for i, column in enumerate(zip(*results, strict=True))
    )
    for out in outs:
        if out is not None:
            out.argument = None
    writer = Writer(Names(), Attributes())
    for path, tensor in found.items():
        if path in state:
            tensor.argument, tensor.state = None, state[path]
        else:
            writer.declare(tensor, "input", path)
    op = Op(name, args, outs, "model.py:1", draws=tuple(range(draws)))
    apply(writer, op)
    lines = [f"output {writer.of(out)}" for i, out in enumerate(outs) if out is not None and i not in unchecked]
    return "\n".join(["program rule", *writer.header, *writer.lines, *lines]) + "\n"


def _tensors(sample: Sample) -> dict[str, torch.Tensor]:
    found: dict[str, torch.Tensor] = {}

    def walk(path: str, value: Any) -> None:
        if isinstance(value, torch.Tensor):
            found[path] = value
        elif isinstance(value, list | tuple):
            for index, item in enumerate(value):
                walk(f"{path}_{index}", item)

    for key, value in sample.items():
        walk(key, value)
    return found


def _compare(
    text: str,
    sample: Sample,
    native: Sequence[Any],
    wide: Sequence[Any],
    exact: bool,
    unchecked: Sequence[int],
    state: Mapping[str, str],
    drawn: Sequence[Any],
) -> None:
    tensors = _tensors(sample)
    types = {path: TensorType(tuple(tensor.shape), dtype_name(tensor.dtype)) for path, tensor in tensors.items()}
    values = {
        path: tensor.double().numpy() if tensor.is_floating_point() else tensor.numpy()
        for path, tensor in tensors.items()
    }
    bindings = Bindings(
        {path: t for path, t in types.items() if path not in state},
        {state[path]: t for path, t in types.items() if path in state},
        tuple(TensorType(tuple(draw.shape), dtype_name(draw.dtype)) for draw in drawn),
    )
    program = load(text, bindings)
    run = execute(
        program,
        Values(
            {p: v for p, v in values.items() if p not in state},
            {state[p]: v for p, v in values.items() if p in state},
            tuple(draw.double().numpy() if draw.is_floating_point() else draw.numpy() for draw in drawn),
        ),
    )
    checked = [i for i in range(len(wide)) if isinstance(wide[i], torch.Tensor) and i not in unchecked]
    for i, output, got in zip(checked, program.outputs, run.outputs, strict=True):
        assert output.dtype == dtype_name(native[i].dtype), (
            f"storage type {output.dtype}, torch {native[i].dtype}\n{text}"
        )
        wanted = wide[i].numpy()
        assert np.shape(got) == wanted.shape, f"shape {np.shape(got)}, torch {wanted.shape}\n{text}"
        tolerance = 0.0 if exact or not native[i].is_floating_point() else 1e-12
        np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance, err_msg=text)
