"""Recordings as trees of module calls, with repeated layers and time loops found and rolled up.

Two regions with one key have the same operators, wired alike, on state at the same places below their modules; numbers
are not in the key. What a region reads from outside is listed by position (`uses`), so that regions can be compared
whatever stands outside."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from ...verifier.traced import DType, Ref
from .ssa import Changed, Flat, Node

if TYPE_CHECKING:
    from .blocks import Block
    from .loops import Hint

FAN = "fan of "
_CONTAINERS = ("container.", "transformer.", "activation.MultiheadAttention")


@dataclass(eq=False, slots=True)
class Region:
    """One module call (or one turn of a loop). `path` of its module; `items` in order; `library`: a torch layer.

    `uses`: values from outside, by position in a walk; `made`: values made inside, in order (of a run only what its
    last turn made). `size`: operators in it. `shift`: of a group of numbered layers, the number of the first."""

    flat: Flat
    path: str
    cls: str
    items: list[Item] = field(default_factory=list)
    uses: list[int] = field(default_factory=list)
    made: list[int] = field(default_factory=list)
    key: object = None
    size: int = 0
    shift: int | None = None

    @property
    def library(self) -> bool:
        return self.cls.startswith("torch.nn.modules.") and not any(part in self.cls for part in _CONTAINERS)


@dataclass(eq=False, slots=True)
class Run:
    """Consecutive regions with one key. kind "layers": the paths count up (`form` with {i}, from `first`); "loop": the
    same state in every turn; "fan": layers side by side, numbered by `shift`. `step`: how far the numbers of groups of
    layers are apart. `families`: number in `made` -> value that stands for what all turns made, stacked."""

    kind: Literal["layers", "loop", "fan"]
    turns: list[Region]
    form: str
    first: int = 0
    families: dict[int, int] = field(default_factory=dict)
    step: int = 1

    @property
    def length(self) -> int:
        """Operators in all turns."""
        return sum(turn.size for turn in self.turns)


Item: TypeAlias = "Node | Region | Run"
Readers: TypeAlias = "dict[int, list[object]]"


def tree(flat: Flat) -> Region:
    """The outermost call, with inner calls inside it, nothing rolled up yet."""
    regions: dict[int, Region] = {}
    root = Region(flat, "", flat.calls[0].cls if flat.calls else "")
    regions[0] = root
    previous: tuple[int, ...] = (0,)
    for node in flat.nodes:
        chain = _chain(flat, node.call)
        common = 0
        while common < min(len(chain), len(previous)) and chain[common] == previous[common]:
            common += 1
        for depth in range(common, len(chain)):
            call = flat.calls[chain[depth]]
            region = Region(flat, call.path, call.cls)
            regions[chain[depth]] = region
            regions[chain[depth - 1]].items.append(region)
        regions[chain[-1]].items.append(node)
        previous = chain
    return root


def _chain(flat: Flat, call: int) -> tuple[int, ...]:
    found: list[int] = []
    current: int | None = call
    while current is not None:
        found.append(current)
        current = flat.calls[current].parent
    return tuple(reversed(found))


def relative(path: str, home: str) -> str | None:
    """`path` below `home`; None when it is elsewhere."""
    if not home:
        return path
    if path == home:
        return ""
    return path[len(home) + 1 :] if path.startswith(f"{home}.") else None


def own_state(flat: Flat, value: int, home: str) -> str | None:
    """Where the value stands below the module at `home`, if it is state there."""
    for path in flat.state.get(value, ()):
        inner = relative(path, home)
        if inner:
            return inner
    return None


@dataclass(frozen=True, slots=True)
class Look:
    """What is looked for: loops of at least `fewest` turns and those of `hints`; groups of layers unless None, those of
    `blocks` even if they stand there once. `whole`: last turns with what they make for a next one.
    `stateful`: layers that change state, too."""

    fewest: int
    hints: Sequence[Hint] = ()
    blocks: Sequence[Block] | None = None
    whole: bool = False
    stateful: bool = False


class Roller:
    """Computes keys from the inside out and rolls up what repeats."""

    def __init__(self, readers: Readers, look: Look) -> None:
        self.readers = readers
        self.look = look

    def finish(self, region: Region) -> None:
        from .blocks import grouped
        from .fans import fanned
        from .loops import rolled

        for item in region.items:
            if isinstance(item, Region):
                self.finish(item)
        region.items = _hoisted(region.items)
        if self.look.blocks is not None:
            region.items = grouped(region, self.readers, self.look.blocks, self.look.stateful)
        region.items = self._layers(region.items)
        if self.look.blocks is not None:
            region.items = fanned(region, self.readers)
        region.items = rolled(region, self.readers, self.look.hints, self.look.fewest)
        describe(region)

    # -- layers ---------------------------------------------------------------------------------------------------

    def _layers(self, items: list[Item]) -> list[Item]:
        found: list[Item] = []
        index = 0
        while index < len(items):
            item = items[index]
            if not isinstance(item, Region) or item.library or not _numbered(item.path):
                found.append(item)
                index += 1
                continue
            turns = self._turns(items, index)
            form, first = _form(turns[0].path)
            found.append(Run("layers", turns, form, first))
            index += len(turns)
        return found

    def _turns(self, items: Sequence[Item], index: int) -> list[Region]:
        start = items[index]
        assert isinstance(start, Region)
        form, first = _form(start.path)
        turns = [start]
        for item in items[index + 1 :]:
            wanted = form.replace("{i}", str(first + len(turns)))
            if not isinstance(item, Region) or item.key != start.key or item.path != wanted:
                break
            turns.append(item)
        while len(turns) > 1 and not chained(turns, self.readers, self.look.stateful):
            turns.pop()
        return turns


def chained(turns: Sequence[Region], readers: Readers, stateful: bool) -> bool:
    """Every use is the same value in all turns or what the turn before made at one place, and nothing else reads what
    the inner turns make. `stateful`: it may be what their state is changed to."""
    from .stated import alike

    if not slots_of(turns, numbered=True):
        return False
    kept = stateful and alike(turns)
    for turn, following in zip(turns, turns[1:], strict=False):
        inside = set(map(id, walk(turn))) | set(map(id, walk(following)))
        for value in turn.made:
            others = [reader for reader in readers.get(value, ()) if id(reader) not in inside]
            if not all(kept and isinstance(reader, Changed) for reader in others):
                return False
    return True


def _hoisted(items: Iterable[Item]) -> list[Item]:
    """Selections at the start of a library layer belong to whoever calls it."""
    found: list[Item] = []
    for item in items:
        if isinstance(item, Region) and item.library:
            while len(item.items) > 1 and isinstance(item.items[0], Node) and item.items[0].name == "aten.select.int":
                found.append(item.items.pop(0))
            describe(item)
        found.append(item)
    return found


def _numbered(path: str) -> bool:
    return path.rpartition(".")[2].isdigit()


def _form(path: str) -> tuple[str, int]:
    head, dot, last = path.rpartition(".")
    return f"{head}{dot}{{i}}", int(last)


def walk(region: Region) -> Iterator[Node]:
    for item in region.items:
        match item:
            case Node():
                yield item
            case Region():
                yield from walk(item)
            case Run(turns=turns):
                for turn in turns:
                    yield from walk(turn)


# -- keys -------------------------------------------------------------------------------------------------------------


def describe(region: Region) -> None:
    """Fill in key, uses, made and size from the items."""
    labels: dict[int, int] = {}
    region.uses, region.made, region.size = [], [], 0
    keys = [_item_key(item, region, labels) for item in region.items]
    region.key = (region.cls, tuple(keys))


def _item_key(item: Item, region: Region, labels: dict[int, int]) -> object:
    match item:
        case Node():
            key = (item.name, _path_key(region.flat.calls[item.call].path, region), *_node_key(item, region, labels))
            _made(region, labels, (v for v in item.results if v is not None))
            region.size += 1
            return key
        case Region():
            uses = tuple(_label(value, region, labels) for value in item.uses)
            _made(region, labels, item.made)
            region.size += item.size
            return ("call", item.key, _path_key(item.path, region), uses)
        case Run(kind=kind, turns=turns):
            last = turns[-1]
            uses = tuple(_label(value, region, labels) for value in turns[0].uses)
            _made(region, labels, [*last.made, *(item.families[n] for n in sorted(item.families))])
            region.size += sum(turn.size for turn in turns)
            return (kind, last.key, _path_key(item.form, region), uses, tuple(sorted(item.families)))
    raise AssertionError(item)


def _path_key(path: str, region: Region) -> object:
    if region.shift is not None and _numbered(path):
        return ("at", int(path.rpartition(".")[2]) - region.shift)
    inner = relative(path, region.path)
    if inner is None:
        return ("elsewhere", path)
    return re.sub(r"\d+", "#", inner) if region.flat.loose else inner


def _node_key(node: Node, region: Region, labels: dict[int, int]) -> tuple[object, ...]:
    kinds = region.flat.kinds
    results = tuple(None if v is None else (kinds[v].dtype, len(kinds[v].shape)) for v in node.results)
    steps = tuple((step.name, _form_of(tuple(step.arguments.items()))) for step in node.chain)
    return _skeleton(tuple(node.arguments.items()), region, labels), results, steps, len(node.draws)


def _form_of(value: object) -> object:
    """Of a view that is written through only what kind of view it is."""
    match value:
        case tuple():
            return tuple(_form_of(item) for item in value)
        case bool() | str() | None | DType():
            return value
        case _:
            return type(value).__name__


def _skeleton(value: object, region: Region, labels: dict[int, int]) -> object:
    match value:
        case Ref(value=number):
            return _label(number, region, labels)
        case bool() | str() | None:
            return (type(value).__name__, value)
        case int() | float():
            return "number"
        case DType(name=name):
            return ("dtype", name)
        case tuple():
            return tuple(_skeleton(item, region, labels) for item in value)
        case _:
            raise AssertionError(value)


def _label(value: int, region: Region, labels: dict[int, int]) -> object:
    if value in labels:
        return labels[value]
    state = own_state(region.flat, value, region.path)
    if state is not None:
        return state
    region.uses.append(value)
    return "outside"


def _made(region: Region, labels: dict[int, int], values: Iterable[int]) -> None:
    for value in values:
        labels[value] = len(labels)
        region.made.append(value)


# -- slots: the distinct things that regions of one key read from outside ----------------------------------------------


@dataclass(frozen=True, slots=True)
class Slot:
    """`positions` in `uses` that always hold the same value. `fed_by`: place in `made` of the turn before (carried), or
    None (the same value in every turn)."""

    positions: tuple[int, ...]
    fed_by: int | None


def columns(regions: Sequence[Region]) -> list[tuple[int, ...]]:
    """Positions of `uses` grouped by the values that they hold in the regions."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for position in range(len(regions[0].uses)):
        groups.setdefault(tuple(region.uses[position] for region in regions), []).append(position)
    return [tuple(positions) for positions in groups.values()]


def slots_of(turns: Sequence[Region], numbered: bool = False) -> list[Slot] | None:
    """None when some use is neither carried nor invariant (or, with `numbered`, an entry of a list of state). An empty
    list stands for regions that read nothing."""
    found: list[Slot] = []
    for positions in columns(turns):
        values = [turn.uses[positions[0]] for turn in turns]
        if len(set(values)) == 1:
            found.append(Slot(positions, None))
            continue
        places = {
            turn.made.index(value) if value in turn.made else None
            for turn, value in zip(turns, values[1:], strict=False)
        }
        if len(places) != 1 or None in places:
            if not numbered or state_numbers(turns[0].flat, values) is None:
                return None
            places = {None}
        found.append(Slot(positions, places.pop()))
    return found


def state_numbers(flat: Flat, values: Sequence[int]) -> tuple[str, tuple[int, ...]] | None:
    """Of state "scales.0", "scales.1", …: the list's path, and the numbers."""
    parts = [flat.state[value][0].rpartition(".") if value in flat.state else ("", "", "") for value in values]
    if len({head for head, _, _ in parts}) > 1 or not all(last.isdigit() for _, _, last in parts):
        return None
    return parts[0][0], tuple(int(last) for _, _, last in parts)


def without_unneeded(root: Region) -> None:
    """Drop operators outside of loops and modules that nothing needs."""
    wanted = {value for _, value, _ in root.flat.results} | {item.value for item in root.flat.changed}
    kept: list[Item] = []
    for item in reversed(root.items):
        if isinstance(item, Node):
            if not item.draws and wanted.isdisjoint(item.results):
                continue
            wanted.update(item.refs())
        elif isinstance(item, Region):
            wanted.update(item.uses)
        else:
            wanted.update(value for turn in item.turns for value in turn.uses)
        kept.append(item)
    root.items = kept[::-1]
    describe(root)


def readers_of(root: Region) -> Readers:
    """Who reads each value: nodes, the program for its results, and the state that it becomes."""
    found: Readers = {}
    for node in walk(root):
        for value in node.refs():
            found.setdefault(value, []).append(node)
    for _, result, _ in root.flat.results:
        if result is not None:
            found.setdefault(result, []).append(root)
    for changed in root.flat.changed:
        found.setdefault(changed.value, []).append(changed)
    return found


def where_of(item: Item) -> str:
    match item:
        case Node():
            return item.where
        case Region():
            return next((node.where for node in walk(item)), "")
        case Run(turns=turns):
            return where_of(turns[0])
    raise AssertionError(item)


def difference(left: Region, right: Region) -> str:
    """Where two regions that should be alike first differ."""
    keys = zip(left.key[1], right.key[1], strict=False)  # type: ignore[index]
    for mine, other, (my_key, other_key) in zip(left.items, right.items, keys, strict=False):
        if my_key == other_key:
            continue
        inner, outer = _inside(mine), _inside(other)
        if inner is not None and outer is not None and inner.key != outer.key:
            return difference(inner, outer)
        if _name(mine) != _name(other):
            return f"{where_of(mine)}: {_name(mine)} at one size, {_name(other)} at another"
        return f"{where_of(mine)}: {_name(mine)} is used in another way at other sizes"
    return f"{where_of(left.items[-1]) if left.items else ''}: there is more or less of it at other sizes"


def _inside(item: Item) -> Region | None:
    match item:
        case Node():
            return None
        case Region():
            return item
        case Run(turns=turns):
            return turns[-1]
    raise AssertionError(item)


def _name(item: Item) -> str:
    match item:
        case Node(name=name):
            return name
        case Region(cls=cls):
            return re.sub(r".*\.", "", cls)
        case Run(kind=kind, turns=turns):
            return f"{kind} of {_name(turns[0])}"
    raise AssertionError(item)
