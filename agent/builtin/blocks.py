"""Layers that repeat in a sequence (Linear, ReLU, Linear, ReLU, …): groups of them as turns of one run.

Only looked for where recordings differ in how many there are; otherwise every layer is written out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .structure import Item, Readers, Region, Run, chained, describe

_LONGEST = 12


@dataclass(frozen=True, slots=True)
class Block:
    """A group that repeats: keys of its layers and their numbers, from the first one's."""

    layers: tuple[tuple[object, int], ...]
    step: int


def grouped(region: Region, readers: Readers, blocks: Sequence[Block], stateful: bool) -> list[Item]:
    """The region's items with repeating groups as runs; a group of `blocks` may stand there once."""
    items = region.items
    found: list[Item] = []
    index = 0
    while index < len(items):
        runs = [_longest(items, index, region, readers, stateful), _single(items, index, region, blocks)]
        run = max((run for run in runs if run is not None), key=lambda run: run.length, default=None)
        length = sum(len(turn.items) for turn in run.turns) if run else 1
        found.extend(items[index : index + length] if run is None or _plain(run) else [run])
        index += length
    return found


def _plain(run: Run) -> bool:
    """One module of the user's after the other, all alike: no group."""
    items = run.turns[0].items
    return len(items) == 1 and isinstance(items[0], Region) and not items[0].library


def blocks_of(region: Region) -> Iterator[Block]:
    """The groups that were found in a region and inside it."""
    for item in region.items:
        match item:
            case Run(kind="layers", turns=turns) if turns[0].shift is not None:
                yield Block(_look(turns[0].items), item.step)
            case Run(turns=turns):
                yield from blocks_of(turns[-1])
            case Region():
                yield from blocks_of(item)
            case _:
                pass


def _place(item: Item) -> tuple[str, int] | None:
    """Path of the sequence that a module stands in, and its number there."""
    if not isinstance(item, Region):
        return None
    head, _, last = item.path.rpartition(".")
    return (head, int(last)) if last.isdigit() else None


def _look(items: Sequence[Item]) -> tuple[tuple[object, int], ...]:
    first = _place(items[0])
    assert first is not None
    return tuple((item.key, (_place(item) or first)[1] - first[1]) for item in items if isinstance(item, Region))


def _longest(items: Sequence[Item], index: int, region: Region, readers: Readers, stateful: bool) -> Run | None:
    best: Run | None = None
    for period in range(1, min(_LONGEST, (len(items) - index) // 2) + 1):
        run = _run(items, index, period, region, readers, stateful)
        if run is not None and (best is None or run.length > best.length):
            best = run
    return best


def _run(
    items: Sequence[Item], index: int, period: int, region: Region, readers: Readers, stateful: bool
) -> Run | None:
    group = items[index : index + period]
    places = [_place(item) for item in group]
    following = _place(items[index + period])
    if None in places or following is None or any(place[0] != following[0] for place in places if place):
        return None
    first = places[0] or following
    step = following[1] - first[1]
    turns: list[Region] = []
    while step > 0:
        start = index + len(turns) * period
        part = items[start : start + period]
        if len(part) < period or any(_place(item) is None for item in part) or _look(part) != _look(group):
            break
        if _place(part[0]) != (first[0], first[1] + step * len(turns)):
            break
        turns.append(_turn(part, region))
    while len(turns) > 1 and not chained(turns, readers, stateful):
        turns.pop()
    return Run("layers", turns, first[0], first[1], step=step) if len(turns) > 1 else None


def _single(items: Sequence[Item], index: int, region: Region, blocks: Sequence[Block]) -> Run | None:
    for block in blocks:
        part = items[index : index + len(block.layers)]
        places = [_place(item) for item in part]
        if len(part) == len(block.layers) and None not in places and _look(part) == block.layers:
            first = places[0] or ("", 0)
            return Run("layers", [_turn(part, region)], first[0], first[1], step=block.step)
    return None


def _turn(part: Sequence[Item], region: Region) -> Region:
    head, number = _place(part[0]) or ("", 0)
    turn = Region(region.flat, head, "layers", list(part), shift=number)
    describe(turn)
    return turn
