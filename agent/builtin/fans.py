"""Layers that stand side by side, `[layer(x[:, k]) for k, layer in enumerate(layers)]`, joined afterwards: as one run.

Only looked for where recordings differ in how many there are; otherwise every layer is written out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ...verifier.traced import Argument, Ref
from .model import Num, Op, Symbol, Untranslatable
from .ssa import Kind, Node
from .structure import FAN, Item, Readers, Region, Run, describe, slots_of

if TYPE_CHECKING:
    from .emit import Emitter, Scope

_LONGEST = 12
_JOINS = ("aten.stack.default", "aten.cat.default", "aten.concat.default")


def fanned(region: Region, readers: Readers) -> list[Item]:
    """The region's items with layers side by side as runs, whose results are stacked before they are joined."""
    items = list(region.items)
    index = 0
    while index < len(items):
        for period in range(1, min(_LONGEST, (len(items) - index) // 2) + 1):
            turns = _turns(items, index, period, region)
            join = _join(turns, readers) if len(turns) > 1 else None
            if join is not None and join in items:
                rest = items[index + period * len(turns) :]
                items = [*items[:index], *_rolled(turns, join, rest, region, readers)]
                break
        index += 1
    return items


def _layer(item: Item) -> Region | None:
    """A module with a number, perhaps as a run of its own."""
    if isinstance(item, Run) and item.kind == "layers" and len(item.turns) == 1 and item.turns[0].shift is None:
        item = item.turns[0]
    return item if isinstance(item, Region) and item.path.rpartition(".")[2].isdigit() else None


def _turns(items: Sequence[Item], index: int, period: int, region: Region) -> list[Region]:
    found: list[Region] = []
    for start in range(index, len(items) - period + 1, period):
        part = [_layer(item) or item for item in items[start : start + period]]
        layers = [layer for layer in map(_layer, part) if layer is not None]
        if len(layers) != 1 or sum(isinstance(item, Node) for item in part) < period - 1:
            break
        head, _, number = layers[0].path.rpartition(".")
        if found and (head != found[0].path or int(number) != (found[-1].shift or 0) + 1):
            break
        turn = Region(region.flat, head, f"{FAN}{layers[0].cls}", part, shift=int(number))
        describe(turn)
        if found and turn.key != found[0].key:
            break
        found.append(turn)
    return found


def _join(turns: Sequence[Region], readers: Readers) -> Node | None:
    """The operator that joins what the turns make, which nothing else reads."""
    slots = slots_of(turns)
    if not slots or any(slot.fed_by is not None for slot in slots):
        return None
    values = [_given(turn, readers) for turn in turns]
    joins = {id(join): join for _, join in values if join is not None}
    if len(joins) != 1 or None in (join for _, join in values):
        return None
    join = next(iter(joins.values()))
    return join if _place(join, [value for value, _ in values]) is not None else None


def _given(turn: Region, readers: Readers) -> tuple[int, Node | None]:
    """The one value that is read outside, by one operator that joins."""
    inside = set(map(id, _nodes(turn)))
    outer = [(value, reader) for value in turn.made for reader in readers.get(value, ()) if id(reader) not in inside]
    if len(outer) != 1:
        return 0, None
    value, reader = outer[0]
    return value, reader if isinstance(reader, Node) and reader.name in _JOINS else None


def _nodes(region: Region) -> Iterator[Node]:
    from .structure import walk

    return walk(region)


def _place(join: Node, values: Sequence[int]) -> int | None:
    """Where the values stand in the list, one after the other."""
    given = join.arguments["tensors"]
    refs = [item.value for item in given if isinstance(item, Ref)] if isinstance(given, tuple) else []
    start = refs.index(values[0]) if values[0] in refs else 0
    return start if refs[start : start + len(values)] == list(values) else None


def _rolled(turns: list[Region], join: Node, rest: Sequence[Item], region: Region, readers: Readers) -> Iterator[Item]:
    kinds = region.flat.kinds
    values = [_given(turn, readers)[0] for turn in turns]
    family = len(kinds)
    kinds[family] = Kind((len(turns), *kinds[values[0]].shape), kinds[values[0]].dtype)
    place = turns[-1].made.index(values[-1])
    for value in join.refs():
        readers[value] = [reader for reader in readers[value] if reader is not join]
    yield Run("fan", turns, turns[0].path, turns[0].shift or 0, {place: family})
    for item in rest:
        if item is not join:
            yield item
            continue
        for node in _joined(join, values, family, region):
            for value in node.refs():
                readers.setdefault(value, []).append(node)
            yield node


def _joined(join: Node, values: Sequence[int], family: int, region: Region) -> Iterator[Node]:
    """The join with one operand for all turns."""
    kinds = region.flat.kinds
    given, axis, final = join.arguments["tensors"], join.arguments["dim"], join.results[0]
    assert isinstance(given, tuple) and isinstance(axis, int) and final is not None
    axis += len(kinds[final].shape) if axis < 0 else 0
    stacks = join.name == "aten.stack.default"

    def step(name: str, of: int, shape: Sequence[int], **arguments: Argument) -> Node:
        number = len(kinds)
        kinds[number] = Kind(tuple(shape), kinds[of].dtype)
        return replace(join, name=name, arguments={"self": Ref(of), **arguments}, results=(number,))

    shape = kinds[family].shape
    moved = step(
        "aten.movedim.int", family, (*shape[1 : axis + 1], shape[0], *shape[axis + 1 :]), source=0, destination=axis
    )
    yield moved
    operand = moved.results[0] or 0
    if not stacks:
        wide = kinds[operand].shape
        flat = (*wide[:axis], wide[axis] * wide[axis + 1], *wide[axis + 2 :])
        joined = step("aten.flatten.using_ints", operand, flat, start_dim=axis, end_dim=axis + 1)
        yield joined
        operand = joined.results[0] or 0
    start = _place(join, values) or 0
    operands: list[Argument] = []
    for index, item in enumerate(given):
        assert isinstance(item, Ref)
        if start < index < start + len(values):
            continue
        if index == start:
            operands.append(Ref(operand))
        elif stacks:
            size = kinds[item.value].shape
            wider = step("aten.unsqueeze.default", item.value, (*size[:axis], 1, *size[axis:]), dim=axis)
            yield wider
            operands.append(Ref(wider.results[0] or 0))
        else:
            operands.append(item)
    yield replace(join, name="aten.cat.default", arguments={"tensors": tuple(operands), "dim": axis})


def fan(emitter: Emitter, scope: Scope, runs: Sequence[Run]) -> None:
    """A `repeat` that writes what each layer makes into its part of one tensor."""
    w = scope.writer
    first = runs[0].first
    function = emitter.functions.of(runs[0].turns[0])
    assert function is not None
    if any(run.first != first for run in runs):
        raise Untranslatable(f"{function.where}: layers start at different places")
    emitter.define(function)
    used = [scope.resolve(values) for values in zip(*(run.turns[0].uses for run in runs), strict=True)]
    (place,) = runs[0].families
    stacked = scope.make(tuple(run.families[place] for run in runs), hint=function.name)
    op = Op("layers side by side", {}, (stacked,), function.where, scope.path([run.form for run in runs]))
    sizes = w.extents_of(op, stacked.dims, used)
    name = w.tensor(op, sizes)
    (index,) = w.iterators(1)
    counts = tuple(len(run.turns) for run in runs)
    turn = Symbol(index, tuple(first + k for count in counts for k in range(count)))
    options = [f'name="{scope.path([run.form for run in runs])}"', f"at={index}"]
    options += emitter.numbers(scope, function, [run.turns for run in runs], w, [turn])
    arguments = ", ".join(w.of(used[positions[0]]) for positions in function.slots)
    end = w.number(Num(tuple(count + first for count in counts)), op)
    its = w.iterators(stacked.rank - 1, avoid=(index,), like=sizes[1:])
    part = w.fresh("part")
    heads = ", ".join(f"{it}<{size}" for it, size in zip(its, sizes[1:], strict=True))
    at = f"{index} - {first}" if first else index
    with w.block(f"repeat {index} in {first}..{end}:"):
        w.line(f"{part} = {function.name}({arguments}; {', '.join(options)})")
        w.line(f"{f'for {heads}: ' if heads else ''}{name}[{', '.join((at, *its))}] = {part}[{', '.join(its)}]")
