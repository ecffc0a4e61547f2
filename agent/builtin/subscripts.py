"""x[:, :h, 0] as one operator of its own.

Python's indexing leaves out slices that keep an axis whole: how many operators it makes depends on the sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...verifier.traced import Argument, Operator, Ref, Traced, Value
from .ssa import refs_in

NAME = "solar.subscript.default"


@dataclass(frozen=True, slots=True)
class _Part:
    """What is taken of each axis of the source: every `step`-th from `start`; only that one where not `kept`."""

    starts: tuple[int, ...]
    steps: tuple[int, ...]
    kept: tuple[bool, ...]

    def then(self, other: _Part) -> _Part:
        """`other` is taken of what this gives."""
        starts, steps, kept = list(self.starts), list(self.steps), list(self.kept)
        axes = (axis for axis, keeps in enumerate(self.kept) if keeps)
        for axis, start, step, keeps in zip(axes, other.starts, other.steps, other.kept, strict=True):
            starts[axis] += steps[axis] * start
            steps[axis] *= step
            kept[axis] = keeps
        return _Part(tuple(starts), tuple(steps), tuple(kept))


def subscripted(traced: Traced) -> Traced:
    """The recording with slices, picks and aliases that follow one another on one line as one operator."""
    reads = Counter(ref for o in traced.operators for value in o.arguments.values() for ref in refs_in(value))
    reads.update(result.value for result in traced.results if result.value is not None)
    reads.update(traced.final_state.values())
    found: list[Operator] = []
    parts: dict[int, _Part] = {}
    moved: dict[int, int] = {}
    for index, operator in enumerate(traced.operators):
        part = _part(operator, traced.values)
        before = found[-1] if found else None
        last = len(found) - 1
        if part is not None and before is not None and last in parts and _follows(operator, before, reads):
            parts[last] = parts[last].then(part)
            found[-1] = _operator(replace(before, results=operator.results), parts[last])
            continue
        moved[index] = len(found)
        if part is not None:
            parts[len(found)] = part
            operator = _operator(operator, part)
        found.append(operator)
    drawn = {moved[index]: draws for index, draws in traced.drawn.items()}
    return replace(traced, operators=tuple(found), drawn=drawn)


def _operator(operator: Operator, part: _Part) -> Operator:
    source = operator.arguments["self"]
    arguments: dict[str, Argument] = {"self": source, "starts": part.starts, "steps": part.steps, "kept": part.kept}
    return replace(operator, name=NAME, arguments=arguments)


def _follows(operator: Operator, before: Operator, reads: Counter[int]) -> bool:
    (value,) = before.results
    same_place = (operator.where, operator.call) == (before.where, before.call)
    return same_place and value is not None and operator.arguments["self"] == Ref(value) and reads[value] == 1


def _part(operator: Operator, values: Sequence[Value]) -> _Part | None:
    source = operator.arguments.get("self")
    if not isinstance(source, Ref):
        return None
    shape = values[source.value].shape
    rank = len(shape)
    starts, steps, kept = [0] * rank, [1] * rank, [True] * rank
    axis = operator.arguments.get("dim")
    start: Argument = operator.arguments.get("start") or 0
    step = operator.arguments.get("step")
    match operator.name:
        case "aten.alias.default":
            return _Part(tuple(starts), tuple(steps), tuple(kept))
        case "aten.slice.Tensor":
            pass
        case "aten.select.int":
            start, step = operator.arguments["index"], 1
        case _:
            return None
    if not (isinstance(axis, int) and isinstance(start, int) and isinstance(step, int)):
        return None
    starts[axis] = max(0, min(start + shape[axis] if start < 0 else start, shape[axis]))
    steps[axis], kept[axis] = step, operator.name == "aten.slice.Tensor"
    return _Part(tuple(starts), tuple(steps), tuple(kept))
