"""From recordings, as rolled-up trees, to one text: regions of all samples are walked side by side.

A scope is the program, a function, or the body of a loop. Its samples are one region each: of every recording, of every
call of the function, of every turn of the loop."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ...verifier.traced import Argument, DType, Ref
from .fans import fan
from .functions import Function, Functions
from .model import Arg, Attributes, Module, Num, Op, Symbol, Tensor, Untranslatable
from .names import Names
from .rules import apply
from .ssa import Flat, Node
from .stated import entry, places_of
from .structure import Item, Readers, Region, Run, own_state, relative, state_numbers
from .writer import Writer

Values = tuple[int, ...]


@dataclass(slots=True)
class Scope:
    """`regions`: one for each sample. `slots`: position in `uses` -> the tensor read there; `made`: value of the first
    sample -> the tensor made for it; `base`: module paths (per sample) that paths in the text are relative to;
    `homes`: paths of the modules around, outermost first; `top`: outputs may stand here."""

    writer: Writer
    regions: Sequence[Region]
    slots: Mapping[int, Tensor]
    named: bool
    made: dict[int, Tensor] = field(default_factory=dict)
    state: dict[str, Tensor] = field(default_factory=dict)
    top: bool = False
    base: tuple[str, ...] = ()
    homes: list[tuple[str, ...]] = field(default_factory=list)
    cursor: int = 0

    def __post_init__(self) -> None:
        self.homes.append(tuple(region.path for region in self.regions))
        self.base = self.base or self.homes[0]

    @property
    def flats(self) -> list[Flat]:
        return [region.flat for region in self.regions]

    def path(self, paths: Sequence[str]) -> str:
        """A module's or state's path as text: below the scope's own module, or the same in all samples."""
        if self.regions[0].shift is not None and any(path != paths[0] for path in paths):
            return self._numbered(paths)
        inner = [relative(path, home) for path, home in zip(paths, self.base, strict=True)]
        if all(item is not None and item == inner[0] for item in inner):
            text = inner[0] or ""
            return ("{name}." + text if text else "{name}") if self.named else text
        if all(path == paths[0] for path in paths):
            return paths[0]
        if self.regions[0].flat.loose and None not in inner:
            text = self._counted([item or "" for item in inner])
            return f"{{name}}.{text}" if self.named else text
        raise Untranslatable(f"modules at different places are used alike: {', '.join(sorted(set(paths))[:3])}")

    def _counted(self, paths: Sequence[str]) -> str:
        """Paths that differ in numbers, which are expressions in the sizes."""
        parts = [re.split(r"(\d+)", path) for path in paths]
        if any(len(part) != len(parts[0]) for part in parts):
            raise Untranslatable(f"modules at different places are used alike: {', '.join(sorted(set(paths))[:3])}")
        texts = []
        for column in zip(*parts, strict=True):
            if all(item == column[0] for item in column):
                texts.append(column[0])
            else:
                number = Num(tuple(int(item) for item in column))
                texts.append(f"{{{self.writer.number(number, Op('layer', {}, (), paths[0]))}}}")
        return "".join(texts)

    def _numbered(self, paths: Sequence[str]) -> str:
        """A layer of a group: its number is given to the function as `at`."""
        parts = [relative(path, home) for path, home in zip(paths, self.base, strict=True)]
        heads = [(part or "").partition(".") for part in parts]
        offsets = {
            int(head) - (region.shift or 0) if head.isdigit() else None
            for (head, _, _), region in zip(heads, self.regions, strict=True)
        }
        rests = {rest for _, _, rest in heads}
        offset = offsets.pop()
        if offsets or offset is None or len(rests) > 1:
            raise Untranslatable(f"modules at different places are used alike: {', '.join(sorted(set(paths))[:3])}")
        number = "{at}" if not offset else f"{{at + {offset}}}"
        rest = rests.pop()
        return ("{name}." if self.base[0] else "") + number + (f".{rest}" if rest else "")

    def resolve(self, values: Values) -> Tensor:
        """The tensor that stands for these values (one for each sample)."""
        if values[0] in self.made:
            return self.made[values[0]]
        for homes in reversed(self.homes):
            inner = own_state(self.regions[0].flat, values[0], homes[0])
            if inner is not None:
                return self._state(values, homes, inner)
        tensor = self.slots[self.cursor]
        self.cursor += 1
        return tensor

    def _state(self, values: Values, homes: Sequence[str], inner: str) -> Tensor:
        path = self.path([f"{home}.{inner}" if home else inner for home in homes])
        if path not in self.state:
            self.state[path] = self.tensor(values, state=path)
        return self.state[path]

    def tensor(self, values: Values, state: str | None = None, hint: str = "") -> Tensor:
        """A new tensor for these values, with their sizes."""
        kinds = [flat.kinds[value] for flat, value in zip(self.flats, values, strict=True)]
        dims = tuple(Num(sizes) for sizes in zip(*(kind.shape for kind in kinds), strict=True))
        return Tensor(dims, kinds[0].dtype, state=state, hint=hint)

    def make(self, values: Values, hint: str = "") -> Tensor:
        tensor = self.tensor(values, hint=hint)
        self.made[values[0]] = tensor
        return tensor


@dataclass(slots=True)
class Emitter:
    functions: Functions
    attributes: Mapping[int, Mapping[str, int | float]]
    readers: Mapping[int, Readers]
    texts: list[str] = field(default_factory=list)
    stated: set[int] = field(default_factory=set)

    def items(self, scope: Scope, columns: Sequence[Sequence[Item]]) -> None:
        for column in zip(*columns, strict=True):
            match column[0]:
                case Node():
                    self.node(scope, column)
                case Region():
                    self.region(scope, column)
                case Run(kind="layers"):
                    self.layers(scope, column)
                case Run(kind="fan"):
                    fan(self, scope, column)
                case _:
                    self.loop(scope, column)

    # -- operators ------------------------------------------------------------------------------------------------

    def node(self, scope: Scope, nodes: Sequence[Node], module: Module | None = None) -> None:
        first = nodes[0]
        args = {key: _zipped([node.arguments[key] for node in nodes], scope.resolve) for key in first.arguments}
        if first.chain:
            chain = [self._step(scope, steps) for steps in zip(*(n.chain for n in nodes), strict=True)]
            args["chain"] = tuple(chain)  # type: ignore[arg-type]
        results = []
        for values in zip(*(node.results for node in nodes), strict=True):
            results.append(None if None in values else scope.make(values))
        path = scope.path([flat.calls[node.call].path for flat, node in zip(scope.flats, nodes, strict=True)])
        op = Op(first.name, args, tuple(results), first.where, path, module, first.draws)
        try:
            apply(scope.writer, op)
        except Untranslatable as error:
            raise _placed(error, op) from None

    def _step(self, scope: Scope, steps: Sequence[Node]) -> Op:
        """A view that is written through: its tensors have sizes but no names."""

        def unnamed(values: Values) -> Tensor:
            return scope.made.get(values[0]) or scope.tensor(values)

        args = {key: _zipped([step.arguments[key] for step in steps], unnamed) for key in steps[0].arguments}
        results = tuple(scope.tensor(v) for v in zip(*(step.results for step in steps), strict=True))
        return Op(steps[0].name, args, results, steps[0].where)

    # -- regions --------------------------------------------------------------------------------------------------

    def region(self, scope: Scope, regions: Sequence[Region]) -> None:
        function = self.functions.of(regions[0])
        if function is not None:
            self.call(scope, function, regions)
            return
        paths = tuple(region.path for region in regions)
        scope.homes.append(paths)
        lone = regions[0].items[0] if len(regions[0].items) == 1 else None
        if regions[0].library and isinstance(lone, Node):
            training = regions[0].flat.traced.bindings.attrs.get("self.training") is True
            module = Module(scope.path(paths), regions[0].cls, training)
            self.node(scope, [region.items[0] for region in regions], module)  # type: ignore[misc]
        else:
            self.items(scope, [region.items for region in regions])
        scope.homes.pop()

    def call(self, scope: Scope, function: Function, regions: Sequence[Region]) -> None:
        """`(a, b) = block(x, y; name="layers.0")`"""
        self.define(function)
        used = [scope.resolve(values) for values in zip(*(region.uses for region in regions), strict=True)]
        w = scope.writer
        arguments = [w.of(used[positions[0]]) for positions in function.slots]
        options = [f'name="{scope.path([region.path for region in regions])}"']
        options += self.numbers(scope, function, [[region] for region in regions], w, ())
        results = [scope.make(tuple(region.made[place] for region in regions)) for place in function.results]
        names = [w.fresh(_hint(function, regions[0])) for _ in results]
        w.line(f"{_group(names)} = {function.name}({', '.join(arguments)}; {', '.join(options)})")
        for tensor, name in zip(results, names, strict=True):
            w.name(tensor, name)

    def numbers(
        self,
        scope: Scope,
        function: Function,
        turns: Sequence[Sequence[Region]],
        writer: Writer,
        extra: Sequence[Symbol],
        listed: dict[str, list[str]] | None = None,
    ) -> Iterator[str]:
        """Numbers that the function cannot see for itself, as its caller knows them. `listed` takes up, turn by turn,
        those that no expression gives for all turns: these are called by a name of their own."""
        op = Op(f"call of {function.name}", {}, (), function.where, scope.path([t[0].path for t in turns]))
        for name, number in function.hoisted:
            values = tuple(number.values[function.index_of(region)] for column in turns for region in column)
            child = writer if not extra else writer.over([k for k, c in enumerate(turns) for _ in c], extra)
            try:
                text = child.number(Num(values), op)
            except Untranslatable:
                if listed is None or len({len(column) for column in turns}) > 1:
                    raise
                text = writer.fresh(name)
                each = zip(*([number.values[function.index_of(r)] for r in column] for column in turns), strict=True)
                listed[text] = [writer.number(Num(v), op) for v in each]
            yield f"{name}={text}"

    def define(self, function: Function) -> None:
        """Write the function's `def`, once, with every call of it as a sample."""
        if function.written:
            return
        function.written = function.writing = True
        regions = function.regions
        writer = Writer(Names({"name", "at"}), self._attributes(regions), hoisted=function.hoisted)
        slots: dict[int, Tensor] = {}
        if regions[0].shift is not None:
            writer.symbols.append(Symbol("at", tuple(region.shift or 0 for region in regions)))
        scope = Scope(writer, regions, slots, named=True)
        heads = []
        for positions in function.slots:
            tensor = scope.tensor(tuple(region.uses[positions[0]] for region in regions))
            name = writer.names.fresh("x")
            sizes = writer.bound(tensor)
            writer.name(tensor, name, sizes)
            heads.append(f"{name}[{', '.join(sizes)}]")
            slots.update(dict.fromkeys(positions, tensor))
        self.items(scope, [region.items for region in regions])
        results = [writer.of(scope.made[regions[0].made[place]]) for place in function.results]
        options = ", at" if regions[0].shift is not None else ""
        options += "".join(f", {name}" for name, _ in function.hoisted)
        body = [*writer.header, *writer.lines, f"return {', '.join(results)}"]
        lines = [f"def {function.name}({', '.join(heads)}; name{options}):", *(f"    {line}" for line in body)]
        self.texts.append("\n".join(lines))
        function.writing = False

    def _attributes(self, regions: Sequence[Region]) -> Attributes:
        """What the samples' programs have, under paths of their own module and under paths that are the same in all."""
        found = []
        for region in regions:
            numbers = self.attributes[id(region.flat)]
            home = f"self.{region.path}." if region.path else "self."
            inner = {f"self.{{name}}.{p[len(home) :]}": v for p, v in numbers.items() if p.startswith(home)}
            found.append({**{p: v for p, v in numbers.items() if not p.startswith(home)}, **inner})
        shared = [path for path in found[0] if all(path in other for other in found)]
        return Attributes.made({path: tuple(numbers[path] for numbers in found) for path in shared})

    # -- repeated layers ------------------------------------------------------------------------------------------

    def layers(self, scope: Scope, runs: Sequence[Run]) -> None:
        counts = Num(tuple(len(run.turns) for run in runs))
        function = self.functions.of(runs[0].turns[0])
        if function is None or counts.constant == 1:
            assert counts.constant == 1
            self.region(scope, [run.turns[0] for run in runs])
            return
        self.define(function)
        w = scope.writer
        used = [scope.resolve(values) for values in zip(*(run.turns[0].uses for run in runs), strict=True)]
        fed = _fed_by(function, runs)
        carried: dict[int, str] = {}
        arguments = []
        entries: dict[str, tuple[int, ...]] = {}
        for positions, place in zip(function.slots, fed, strict=True):
            if place is None and _differs(runs, positions[0]):
                arguments.append(w.fresh("entry"))
                entries[arguments[-1]] = positions
                continue
            source = w.of(used[positions[0]])
            if place is not None:
                carried[place] = w.fresh(function.name)
                w.line(f"{carried[place]} = {source}")
            arguments.append(source if place is None else carried[place])
        names = {place: carried.get(place) or w.fresh(function.name) for place in function.results}
        self._repeat(scope, function, runs, counts, arguments, names, entries)
        for place, name in names.items():
            w.name(scope.make(tuple(run.turns[-1].made[place] for run in runs)), name)

    def _repeat(
        self,
        scope: Scope,
        function: Function,
        runs: Sequence[Run],
        counts: Num,
        arguments: Sequence[str],
        names: Mapping[int, str],
        entries: Mapping[str, tuple[int, ...]],
    ) -> None:
        """`entries`: arguments that are another entry of a list of state in every turn: positions in `uses`."""
        w = scope.writer
        first = runs[0].first
        if any(run.first != first for run in runs):
            raise Untranslatable(f"{function.where}: repeated layers start at different places")
        (index,) = w.iterators(1)
        where = Op("repeated layers", {}, (), function.where, scope.path([run.form for run in runs]).rpartition(".")[0])
        count = w.number(counts, where)
        if runs[0].step != 1:
            first = 0
        end = count if not first else (str(first + int(count)) if count.isdigit() else f"{count} + {first}")
        turn = Symbol(index, tuple(first + k for run in runs for k in range(len(run.turns))))
        path = scope.path([run.form for run in runs]).replace("{i}", f"{{{index}}}")
        options = [f'name="{path}"']
        if runs[0].turns[0].shift is not None:
            options.append(f"at={_at(runs[0], index)}")
        listed: dict[str, list[str]] = {}
        options += [*self.numbers(scope, function, [run.turns for run in runs], w, [turn], listed)]
        span = f"{first}..{end}"
        if listed:
            rounds = zip(range(first, first + len(runs[0].turns)), *listed.values(), strict=True)
            span = f"[{', '.join(_group([str(number), *values]) for number, *values in rounds)}]"
        with w.block(f"repeat {_group([index, *listed])} in {span}:"):
            for name, positions in entries.items():
                w.line(_entry(scope, runs, name, positions[0], turn, where))
            w.line(f"{_group([*names.values()])} = {function.name}({', '.join(arguments)}; {', '.join(options)})")
            for place, inner in self._state_of(scope, function, runs):
                at = None if runs[0].turns[0].shift is None else _at(runs[0], index)
                w.line(f'output state "{entry(path, inner, at)}" = {names[place]}')

    def _state_of(self, scope: Scope, function: Function, runs: Sequence[Run]) -> list[tuple[int, str]]:
        """Places of what becomes of the layers' state, with its paths below the layer. It is put out turn by turn."""
        found = places_of(runs)
        if found and not scope.top:
            raise Untranslatable(f"{function.where}: repeated layers inside of others change state")
        for run in runs:
            values = {turn.made[place] for turn in run.turns for place, _ in found}
            self.stated.update(id(item) for item in run.turns[0].flat.changed if item.value in values)
        return found

    # -- loops ----------------------------------------------------------------------------------------------------

    def loop(self, scope: Scope, runs: Sequence[Run]) -> None:
        from .scans import scan

        scan(self, scope, runs)


def _at(run: Run, index: str) -> str:
    """Number of the first layer of a turn."""
    if run.step == 1:
        return index
    return f"{run.first} + {run.step}*{index}" if run.first else f"{run.step}*{index}"


def _differs(runs: Sequence[Run], position: int) -> bool:
    return any(turn.uses[position] != run.turns[0].uses[position] for run in runs for turn in run.turns)


def _entry(scope: Scope, runs: Sequence[Run], name: str, position: int, turn: Symbol, op: Op) -> str:
    """`param entry = "scales.{i}"[N]`"""
    found = []
    for run in runs:
        values = [turn.uses[position] for turn in run.turns]
        flat = run.turns[0].flat
        numbers = state_numbers(flat, values)
        if numbers is None or any(flat.kinds[value] != flat.kinds[values[0]] for value in values):
            raise op.fail("layers read state that is no list of equal tensors")
        found.append(numbers)
    if any(head != found[0][0] for head, _ in found):
        raise op.fail("layers read state from other lists at other sizes")
    tensor = scope.tensor(tuple(run.turns[0].uses[position] for run in runs))
    w = scope.writer
    child = w.over([sample for sample, (_, numbers) in enumerate(found) for _ in numbers], [turn])
    number = child.number(Num(tuple(number for _, numbers in found for number in numbers)), op)
    return f'param {name} = "{found[0][0]}.{{{number}}}"[{", ".join(w.bound(tensor))}]'


def _fed_by(function: Function, runs: Sequence[Run]) -> list[int | None]:
    """For each argument of the function, the place in `made` of the turn before that feeds it."""
    found: list[int | None] = []
    for positions in function.slots:
        places: set[int | None] = set()
        for run in runs:
            for turn, following in zip(run.turns, run.turns[1:], strict=False):
                value = following.uses[positions[0]]
                places.add(turn.made.index(value) if value in turn.made else None)
        if len(places) > 1:
            raise Untranslatable(f"{function.where}: repeated layers are wired differently at different sizes")
        found.append(places.pop() if places else None)
    return found


def _zipped(values: Sequence[Argument], resolve: Callable[[Values], Tensor]) -> Arg:
    first = values[0]
    match first:
        case Ref():
            return resolve(tuple(value.value for value in values))  # type: ignore[union-attr]
        case bool() | str() | None | DType():
            return first
        case int() | float():
            return Num(tuple(values))  # type: ignore[arg-type]
        case tuple():
            return tuple(_zipped(items, resolve) for items in zip(*values, strict=True))
    raise AssertionError(first)


def _placed(error: Untranslatable, op: Op) -> Untranslatable:
    """Every refusal says where and which operator."""
    text = str(error)
    return error if text.startswith(op.where) else Untranslatable(f"{op.where}: {op.name}: {text}")


def _group(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"({', '.join(names)})"


def _hint(function: Function, region: Region) -> str:
    parts = [part for part in region.path.split(".") if part]
    return "_".join(parts[-2:]) if parts else function.name
