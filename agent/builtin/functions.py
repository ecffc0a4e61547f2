"""Which regions become functions of the text: those that stand in it more than once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ...ir import library
from ...ir.ops import SCALAR_OPS
from .model import Num
from .names import RESERVED
from .structure import FAN, Readers, Region, Run, columns, walk, where_of

_SMALLEST = 3


@dataclass(eq=False, slots=True)
class Function:
    """`regions`: every call of it in every recording. `slots`: positions of `uses`, one group for each tensor argument;
    `results`: places in `made` that are read outside; `hoisted`: numbers that callers have to give; `repeated`: it is
    called in a `repeat`, so that it has to be a function."""

    name: str
    regions: list[Region]
    slots: list[tuple[int, ...]]
    results: list[int]
    where: str
    hoisted: list[tuple[str, Num]] = field(default_factory=list)
    written: bool = False
    writing: bool = False
    repeated: bool = False
    places: dict[int, int] = field(default_factory=dict)

    def index_of(self, region: Region) -> int:
        """Which sample of the function this call is."""
        if not self.places:
            self.places = {id(item): index for index, item in enumerate(self.regions)}
        return self.places[id(region)]


class Functions:
    def __init__(self, roots: Sequence[Region], readers: Sequence[Readers], without: set[object]) -> None:
        found: dict[object, list[tuple[int, Region]]] = {}
        repeated: set[object] = set()
        for number, root in enumerate(roots):
            for region, in_run in _regions(root):
                found.setdefault(region.key, []).append((number, region))
                if in_run:
                    repeated.add(region.key)
        self._functions: dict[object, Function] = {}
        taken: Counter[str] = Counter()
        for key, calls in found.items():
            if not self._worth(key, calls, repeated, without):
                continue
            regions = [region for _, region in calls]
            results = _results(calls, readers)
            if not results:
                continue
            name = function_name(regions[0].cls)
            taken[name] += 1
            name = name if taken[name] == 1 else f"{name}_{taken[name]}"
            self._functions[key] = Function(name, regions, columns(regions), results, where_of(regions[0]))
            self._functions[key].repeated = key in repeated

    @staticmethod
    def _worth(key: object, calls: Sequence[tuple[int, Region]], repeated: set[object], without: set[object]) -> bool:
        region = calls[0][1]
        if key in repeated:
            return True
        many = max(Counter(number for number, _ in calls).values()) > 1
        return many and not region.library and region.size >= _SMALLEST and key not in without

    def of(self, region: Region) -> Function | None:
        return self._functions.get(region.key)

    def all(self) -> list[Function]:
        return list(self._functions.values())


def _regions(region: Region) -> Iterator[tuple[Region, bool]]:
    """All regions inside, each with whether it is a turn of a run of several."""
    for item in region.items:
        match item:
            case Region():
                yield item, False
                yield from _regions(item)
            case Run(kind=kind, turns=turns):
                for turn in turns:
                    if kind != "loop":
                        yield turn, len(turns) > 1 or kind == "fan"
                    yield from _regions(turn)
            case _:
                pass


def _results(calls: Sequence[tuple[int, Region]], readers: Sequence[Readers]) -> list[int]:
    needed = set()
    for number, region in calls:
        inside = {id(node) for node in walk(region)}
        for place, value in enumerate(region.made):
            if region.cls.startswith(FAN) and not readers[number].get(value):
                needed.add(place)
            if any(id(reader) not in inside for reader in readers[number].get(value, ())):
                needed.add(place)
    return sorted(needed)


def function_name(cls: str) -> str:
    """GPT2Block -> gpt2_block; Relu -> relu_part, since a def hides the prelude function of its name."""
    last = re.sub(r"\W", "", cls.rpartition(".")[2]) or "part"
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", last).lower()
    words = words if words[0].isalpha() else f"part_{words}"
    return f"{words}_part" if words in RESERVED or words in SCALAR_OPS or words in library.names() else words
