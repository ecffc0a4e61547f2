"""State that repeated layers change: an output of its own in every turn of the `repeat`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .model import Untranslatable
from .ssa import Changed
from .structure import Region, Run, relative, where_of


def alike(turns: Sequence[Region]) -> bool:
    """Do all turns change the same entries of their own state, by what they make at the same places?"""
    found = [tuple(_places(turn)) for turn in turns]
    return all(entries == found[0] for entries in found) and all(inner for _, inner in found[0])


def _places(turn: Region) -> Iterator[tuple[int, str]]:
    """Place in `made`, and the entry below the turn's module; of a group of layers with the number from its first."""
    places = {value: place for place, value in enumerate(turn.made)}
    for item in turn.flat.changed:
        if item.value in places:
            yield places[item.value], _below(turn, item)


def _below(turn: Region, item: Changed) -> str:
    inner = relative(item.name, turn.path) if item.kind == "state" else None
    if inner is None or turn.shift is None:
        return inner or ""
    number, _, rest = inner.partition(".")
    return f"{int(number) - turn.shift}.{rest}" if number.isdigit() else ""


def places_of(runs: Sequence[Run]) -> list[tuple[int, str]]:
    """What every turn leaves behind. Raises Untranslatable where that differs."""
    found = [list(_places(turn)) for run in runs for turn in run.turns]
    if any(entries != found[0] for entries in found) or not all(inner for _, inner in found[0]):
        raise Untranslatable(f"{where_of(runs[0])}: repeated layers change state in different ways")
    return found[0]


def entry(path: str, inner: str, at: str | None) -> str:
    """The path of an entry as text; `path`: of the turn's module, `at`: the number of a group's first layer."""
    home = f"{path}." if path else ""
    if at is None:
        return home + inner
    offset, _, rest = inner.partition(".")
    number = f"{{{at}}}" if offset == "0" else f"{{{at} + {offset}}}"
    return f"{home}{number}.{rest}"
