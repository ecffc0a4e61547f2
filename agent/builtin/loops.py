"""Loops of the source that were recorded turn by turn: found by their repeating operators and rolled up again.

A loop is rolled when every turn stands on the same lines with the same state, reads from outside only what no turn
changes or what the turn before made, and what its turns make is read only afterwards, at the end or all together."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...verifier.traced import Argument, Ref
from .ssa import Kind, Node
from .structure import Item, Readers, Region, Run, describe, own_state, slots_of, walk

FEWEST, MANY = 2, 8
_FARTHEST = 600
_FEW = 2
_PATIENCE = 100_000  # items of repetitions that turned out to be no loops
_TRIES = 6
_COLLECTORS = {"aten.stack.default": "tensors", "aten.cat.default": "tensors", "aten.concat.default": "tensors"}


@dataclass(frozen=True, slots=True)
class Hint:
    """The body of a loop that another recording has: there may be a single turn of it here. `body`: what its items look
    like at any size; `families`: places in `made` that are collected."""

    body: tuple[object, ...]
    families: tuple[int, ...]


def rolled(region: Region, readers: Readers, hints: Sequence[Hint], fewest: int) -> list[Item]:
    """The region's items with loops of at least `fewest` turns rolled up, and those of `hints` whatever their turns."""
    items = list(region.items)
    numbers: dict[object, int] = {}
    keys = [numbers.setdefault(_look(item, region), len(numbers)) for item in items]
    index, patience = 0, _PATIENCE
    while index < len(items):
        found = _longest(keys, index) if patience > 0 or hints else None
        hinted = found is not None and _hinted(items[index : index + found[0]], region, hints)
        if found and found[1] < fewest and not hinted:
            found = None
        apart = hinted or fewest < MANY
        run = _run(items, index, *found, region, readers, apart) if found and (patience > 0 or hinted) else None
        patience -= found[0] * found[1] if found and run is None else 0
        if run is None:
            found, run = _single(items, index, region, readers, hints)
        if run is None:
            index += 1
            continue
        period, count = found or (0, 0)
        rest = items[index + period * count :]
        items = [*items[:index], run, *_collected(run, rest, region, readers)]
        keys = [numbers.setdefault(_look(item, region), len(numbers)) for item in items]
        index += 1
    return items


def _hinted(part: Sequence[Item], region: Region, hints: Sequence[Hint]) -> bool:
    body = tuple(_form(item, region) for item in part)
    return any(hint.body == body for hint in hints)


def varying(roots: Sequence[Region]) -> list[Hint]:
    """The loops that have more turns in some recordings than in others, or are not seen though the module is there."""
    counts: dict[tuple[Hint, str], list[set[int]]] = {}
    for number, root in enumerate(roots):
        for hint, path, count in counted_loops(root):
            counts.setdefault((hint, path), [set() for _ in roots])[number].add(count)
    modules = [{call.path for call in root.flat.calls} for root in roots]
    found = []
    for (hint, path), seen in counts.items():
        here = [item for item, paths in zip(seen, modules, strict=True) if path in paths]
        if any(item != here[0] for item in here):
            found.append(hint)
    return found


def counted_loops(region: Region) -> Iterator[tuple[Hint, str, int]]:
    """Hints with the paths of their modules and the numbers of turns."""
    for item in region.items:
        match item:
            case Run(kind="loop", turns=turns):
                body = tuple(_form(inner, turns[0]) for inner in turns[0].items)
                yield Hint(body, tuple(sorted(item.families))), item.form, len(turns)
            case Run(turns=turns):
                for turn in turns:
                    yield from counted_loops(turn)
            case Region():
                yield from counted_loops(item)
            case Node():
                pass


def _single(
    items: Sequence[Item], index: int, region: Region, readers: Readers, hints: Sequence[Hint]
) -> tuple[tuple[int, int], Run | None]:
    for hint in hints:
        period = len(hint.body)
        if tuple(_form(item, region) for item in items[index : index + period]) == hint.body:
            run = _run(items, index, period, 1, region, readers, True, hint)
            if run is not None:
                return (period, 1), run
    return (0, 0), None


def _form(item: Item, region: Region) -> object:
    """What an item looks like at any size."""
    if isinstance(item, Node):
        state = tuple(own_state(region.flat, value, "") for value in item.refs())
        return (item.name, item.where, region.flat.calls[item.call].path, state)
    return _look(item, region)


def _look(item: Item, region: Region) -> object:
    """What an item looks like, whatever is wired to it."""
    match item:
        case Node():
            state = tuple(own_state(region.flat, value, "") for value in item.refs())
            kinds = tuple(None if v is None else region.flat.kinds[v] for v in item.results)
            return (item.name, item.where, region.flat.calls[item.call].path, state, kinds, len(item.arguments))
        case Region():
            return (item.key, item.path)
        case Run():
            return (item.kind, item.form, item.first, len(item.turns), item.turns[-1].key)
    raise AssertionError(item)


def _longest(keys: Sequence[object], start: int) -> tuple[int, int] | None:
    """Period and count of the repetition that starts here and covers most."""
    best: tuple[int, int] | None = None
    for period in _distances(keys, start):
        count = 1
        while keys[start + count * period : start + (count + 1) * period] == keys[start : start + period]:
            count += 1
        if count >= FEWEST and (best is None or count * period > best[0] * best[1]):
            best = (period, count)
    return best


def _distances(keys: Sequence[object], start: int) -> Iterator[int]:
    tries = 0
    for position in range(start + 1, min(start + _FARTHEST, len(keys))):
        if keys[position] == keys[start]:
            yield position - start
            tries += 1
            if tries == _TRIES:
                return


def _run(
    items: Sequence[Item],
    start: int,
    period: int,
    count: int,
    region: Region,
    readers: Readers,
    apart: bool,
    hint: Hint | None = None,
) -> Run | None:
    """`apart`: also if no turn reads what another made."""
    if count > _FEW and not _promising(items[start : start + _FEW * period], period, region, apart or hint is not None):
        return None
    turns = []
    for turn in range(count):
        part = items[start + turn * period : start + (turn + 1) * period]
        body = Region(region.flat, region.path, "loop", list(part))
        describe(body)
        turns.append(body)
    if any(turn.key != turns[0].key or any(node.draws for node in walk(turn)) for turn in turns):
        return None
    slots = slots_of(turns)
    if slots is None:
        return None
    rest = items[start + period * count :]
    families = _families(turns, rest, readers)
    if families is None or (hint is not None and tuple(families) != hint.families):
        return None
    if hint is None and not any(slot.fed_by is not None for slot in slots) and not (apart and families):
        return None
    numbers = {}
    for place in families:
        kind = region.flat.kinds[turns[0].made[place]]
        numbers[place] = len(region.flat.kinds)
        region.flat.kinds[numbers[place]] = Kind((count, *kind.shape), kind.dtype)
    return Run("loop", turns, region.path, 0, numbers)


def _promising(items: Sequence[Item], period: int, region: Region, apart: bool) -> bool:
    """Could these first turns be those of a loop? Looking at all turns takes long."""
    turns = []
    for start in range(0, len(items), period):
        turns.append(Region(region.flat, region.path, "loop", list(items[start : start + period])))
        describe(turns[-1])
    if any(turn.key != turns[0].key for turn in turns):
        return False
    slots = slots_of(turns)
    return slots is not None and (apart or any(slot.fed_by is not None for slot in slots))


def _families(turns: Sequence[Region], rest: Sequence[Item], readers: Readers) -> list[int] | None:
    """Places in `made` whose values are read after the loop as one list; None when some are read in another way."""
    nodes = [{id(node) for node in walk(turn)} for turn in turns]
    collectors = {id(item): item for item in rest if isinstance(item, Node) and item.name in _COLLECTORS}
    found = []
    for place in range(len(turns[0].made)):
        values = [turn.made[place] for turn in turns]
        holders = {key for key in _readers_in(values, readers, collectors) if _holds(collectors[key], values)}
        collected = False
        for index, value in enumerate(values):
            inside = nodes[index] | (nodes[index + 1] if index + 1 < len(turns) else set())
            for reader in readers.get(value, ()):
                if id(reader) in inside:
                    continue
                if id(reader) in holders:
                    collected = True
                elif index < len(turns) - 1:
                    return None
        if collected:
            found.append(place)
    return found


def _readers_in(values: Sequence[int], readers: Readers, nodes: Mapping[int, Node]) -> set[int]:
    return {id(reader) for value in values for reader in readers.get(value, ())} & set(nodes)


@dataclass(frozen=True, slots=True)
class _Held:
    """Which turns' values a collector's list holds: all from `start` on in steps, forwards or backwards."""

    start: int
    step: int
    backwards: bool


def _holds(node: Node, values: Sequence[int]) -> _Held | None:
    """None when the list is not of these values, or leaves out some at the end."""
    given = node.arguments[_COLLECTORS[node.name]]
    listed = given if isinstance(given, tuple) else ()
    refs = [item.value for item in listed if isinstance(item, Ref)]
    if not refs or len(refs) < len(listed) or not set(refs) <= set(values):
        return None
    numbers = {value: index for index, value in enumerate(values)}
    places = [numbers[ref] for ref in refs]
    backwards = len(places) > 1 and places[0] > places[-1]
    places = places[::-1] if backwards else places
    step = places[1] - places[0] if len(places) > 1 else max(len(values) - places[0], 1)
    fits = step > 0 and places == list(range(places[0], len(values), step))
    return _Held(places[0], step, backwards) if fits and (len(places) > 1 or len(values) == 1) else None


def _collected(run: Run, rest: Sequence[Item], region: Region, readers: Readers) -> list[Item]:
    """What follows, with the lists of all turns' values replaced by the stacked value."""
    found: list[Item] = []
    for item in rest:
        made = _rearranged(run, item, region) if isinstance(item, Node) and item.name in _COLLECTORS else None
        if made is not None and isinstance(item, Node):
            for value in item.refs():
                readers[value] = [reader for reader in readers[value] if reader is not item]
        for node in made or ():
            for value in node.refs():
                readers.setdefault(value, []).append(node)
        found.extend(made or [item])
    return found


def _rearranged(run: Run, node: Node, region: Region) -> list[Node] | None:
    for place, family in run.families.items():
        values = [turn.made[place] for turn in run.turns]
        held = _holds(node, values)
        if held is not None:
            return list(_steps(node, family, held, region))
    return None


def _steps(node: Node, family: int, held: _Held, region: Region) -> Iterator[Node]:
    kinds = region.flat.kinds
    source, kind = family, kinds[family]

    def step(name: str, shape: tuple[int, ...], result: int | None, **arguments: Argument) -> Node:
        nonlocal source
        number = len(kinds) if result is None else result
        kinds[number] = Kind(shape, kind.dtype)
        made = replace(node, name=name, arguments={"self": Ref(source), **arguments}, results=(number,))
        source = number
        return made

    axis = node.arguments["dim"]
    final = node.results[0]
    assert isinstance(axis, int) and final is not None
    rank = len(kind.shape) - (0 if node.name == "aten.stack.default" else 1)
    axis = axis + rank if axis < 0 else axis
    count = len(range(held.start, kind.shape[0], held.step))
    if (held.start, held.step) != (0, 1):
        part: dict[str, Argument] = {"dim": 0, "start": held.start, "end": sys.maxsize, "step": held.step}
        yield step("aten.slice.Tensor", (count, *kind.shape[1:]), None, **part)
    if held.backwards:
        yield step("aten.flip.default", (count, *kind.shape[1:]), None, dims=(0,))
    moved = [*kind.shape[1 : axis + 1], count, *kind.shape[axis + 1 :]]
    stacked = node.name == "aten.stack.default"
    yield step("aten.movedim.int", tuple(moved), final if stacked else None, source=0, destination=axis)
    if not stacked:
        shape = kinds[final].shape
        yield step("aten.flatten.using_ints", shape, final, start_dim=axis, end_dim=axis + 1)
