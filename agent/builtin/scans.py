"""A rolled-up loop of the source as a `scan`: carried values, invariants, and what every turn gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .model import Num, Op, Symbol, Tensor
from .structure import Readers, Run, Slot, slots_of, walk, where_of
from .writer import Writer

if TYPE_CHECKING:
    from .emit import Emitter, Scope


def scan(emitter: Emitter, scope: Scope, runs: Sequence[Run]) -> None:
    w = scope.writer
    outer = [scope.resolve(values) for values in zip(*(run.turns[0].uses for run in runs), strict=True)]
    slots = _slots(runs)
    counts = Num(tuple(len(run.turns) for run in runs))
    count = w.number(counts, Op("loop", {}, (), where_of(runs[0])))
    inner, index, names = _inner(scope, runs, count)
    tensors: dict[int, Tensor] = {}
    carries: dict[int, tuple[str, Tensor]] = {}
    for slot in slots:
        source = outer[slot.positions[0]]
        proxy = Tensor(tuple(Num(tuple(d.values[i] for i in index)) for d in source.dims), source.dtype)
        name = w.of(source) if slot.fed_by is None else w.fresh("carry")
        inner.name(proxy, name, w.sizes(source))
        if slot.fed_by is not None:
            carries[slot.fed_by] = (name, source)
        tensors.update(dict.fromkeys(slot.positions, proxy))
    starts = ", ".join(f"{name} = {w.of(source)}" for name, source in carries.values())
    lines = _body(emitter, scope, inner, index, runs, tensors, carries)
    w.line(f"scan {names}<{count}{' carry ' + starts if starts else ''}:")
    w.lines.extend(lines.texts)
    w.names.used.discard(names)
    _after(scope, runs, emitter.readers[id(runs[0].turns[0].flat)], carries, lines.emitted, count)


class _Lines:
    def __init__(self) -> None:
        self.texts: list[str] = []
        self.emitted: dict[int, str] = {}


def _inner(scope: Scope, runs: Sequence[Run], count: str) -> tuple[Writer, list[int], str]:
    """The body's writer, over samples (sample of the scope, turn)."""
    w = scope.writer
    index = [sample for sample, run in enumerate(runs) for _ in run.turns]
    (name,) = w.iterators(1, like=("T",))
    w.names.used.add(name)
    turn = Symbol(name, tuple(k for run in runs for k in range(len(run.turns))))
    inner = w.over(index, [turn])
    inner.lines, inner.depth = [], w.depth + 1
    return inner, index, name


def _body(
    emitter: Emitter,
    scope: Scope,
    inner: Writer,
    index: Sequence[int],
    runs: Sequence[Run],
    tensors: dict[int, Tensor],
    carries: dict[int, tuple[str, Tensor]],
) -> _Lines:
    from .emit import Scope

    turns = [turn for run in runs for turn in run.turns]
    body = Scope(inner, turns, tensors, scope.named, base=tuple(scope.base[sample] for sample in index))
    emitter.items(body, [turn.items for turn in turns])
    result = _Lines()
    for place, (name, _) in carries.items():
        inner.line(f"next {name} = {inner.of(body.made[turns[0].made[place]])}")
    for place in _wanted(runs, emitter.readers[id(runs[0].turns[0].flat)], set(carries)):
        result.emitted[place] = inner.fresh("steps")
        inner.line(f"emit {result.emitted[place]} = {inner.of(body.made[turns[0].made[place]])}")
    result.texts = inner.lines
    return result


def _wanted(runs: Sequence[Run], readers: Readers, carried: set[int]) -> list[int]:
    """What has to be stacked: families, and last values that are read later and not carried."""
    return sorted(set(runs[0].families) | (_read_last(runs[0], readers) - carried))


def _read_last(run: Run, readers: Readers) -> set[int]:
    inside = {id(node) for node in walk(run.turns[-1])}
    return {
        place
        for place, value in enumerate(run.turns[-1].made)
        if any(id(reader) not in inside for reader in readers.get(value, ()))
    }


def _slots(runs: Sequence[Run]) -> list[Slot]:
    """Slots that hold in all samples: positions are together where they are in every one."""
    groups: dict[tuple[object, ...], list[int]] = {}
    fed: dict[int, int | None] = {}
    for position in range(len(runs[0].turns[0].uses)):
        groups.setdefault(tuple(tuple(t.uses[position] for t in run.turns) for run in runs), []).append(position)
    for slot in slots_of(runs[0].turns) or ():
        fed.update(dict.fromkeys(slot.positions, slot.fed_by))
    return [Slot(tuple(positions), fed[positions[0]]) for positions in groups.values()]


def _after(
    scope: Scope,
    runs: Sequence[Run],
    readers: Readers,
    carries: dict[int, tuple[str, Tensor]],
    emitted: dict[int, str],
    count: str,
) -> None:
    w = scope.writer
    read = _read_last(runs[0], readers)
    for place in runs[0].families:
        stacked = scope.make(tuple(run.families[place] for run in runs))
        w.name(stacked, emitted[place])
    for place in sorted(read):
        values = tuple(run.turns[-1].made[place] for run in runs)
        if place in carries:
            name, source = carries[place]
            w.name(scope.make(values), name, w.extents.get(source))
        else:
            _last(scope, values, emitted[place], count)


def _last(scope: Scope, values: tuple[int, ...], stacked: str, count: str) -> None:
    """The last turn's value, when only that is read: a part of the stacked one."""
    w = scope.writer
    tensor = scope.make(values, hint="last")
    op = Op("loop", {}, (tensor,), "")
    sizes = w.extents_of(op, tensor.dims)
    its = w.iterators(len(sizes), like=sizes)
    name = w.result(tensor)
    head = ", ".join(f"{iterator}<{size}" for iterator, size in zip(its, sizes, strict=True))
    w.line(f"view {name}[{head}] = {stacked}[{', '.join((f'{count} - 1', *its))}]")
    w.name(tensor, name, sizes)
