"""A recording as pure values: in-place operators become functional ones, views of changed memory are read again, and
what nothing needs is dropped.

A tensor object is a root (it has memory of its own) or a view (an operator gave it a part of another's memory). The
contents of a root are a value that changes with every write; a view's value is computed from its root's contents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from ...ir.bindings import Scalar
from ...verifier.traced import Argument, Call, DType, Operator, Ref, Traced
from .model import Untranslatable

_SAME = frozenset({"aten.detach.default", "aten.alias.default", "aten.lift_fresh.default", "aten.detach_.default"})
_COPIES = frozenset(
    {"aten.contiguous", "aten.clone", "aten.to", "aten._to_copy", "aten.type_as", "aten.lift_fresh_copy"}
)
_JOINS = frozenset({"aten.cat.default", "aten.concat.default", "aten.concatenate.default"})
_CHANGES_TYPE = frozenset({"aten.copy", "aten.fill", "aten.zero", "aten.index_put", "aten.masked_fill"})


@dataclass(frozen=True, slots=True)
class Kind:
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class Node:
    """One functional operator; `chain` (of "solar.write" only) are the views from the root to what is written."""

    name: str
    arguments: Mapping[str, Argument]
    results: tuple[int | None, ...]
    call: int
    where: str
    chain: tuple[Node, ...] = ()
    draws: tuple[int, ...] = ()

    def refs(self) -> Iterator[int]:
        for value in self.arguments.values():
            yield from refs_in(value)


@dataclass(frozen=True, slots=True)
class Changed:
    """State, or an argument, that holds another value after the run."""

    kind: Literal["state", "input"]
    name: str
    value: int


@dataclass(slots=True)
class Flat:
    """`state`: paths of each captured value, best name first. `loose`: numbers in the paths of modules depend on the
    sizes, too."""

    nodes: list[Node]
    kinds: dict[int, Kind]
    calls: tuple[Call, ...]
    inputs: dict[str, int]
    state: dict[int, list[str]]
    results: list[tuple[str, int | None, Scalar]]
    changed: list[Changed]
    traced: Traced
    loose: bool = False


def refs_in(value: Argument) -> Iterator[int]:
    match value:
        case Ref():
            yield value.value
        case tuple():
            for item in value:
                yield from refs_in(item)
        case _:
            pass


def mapped(value: Argument, function: Mapping[int, int]) -> Argument:
    match value:
        case Ref():
            return Ref(function[value.value])
        case tuple():
            return tuple(mapped(item, function) for item in value)
        case _:
            return value


def flattened(traced: Traced, numbers: frozenset[Scalar] = frozenset(), whole: bool = False) -> Flat:
    """`numbers`: tensor literals of these are made where they are read. `whole`: what nothing needs is kept where the
    same is needed elsewhere: the last turn of a loop often makes something for a next one.

    Raises Untranslatable for writes that no functional form stands for."""
    literals = {traced.state[path]: number for path, number in traced.literals.items() if number in numbers}
    return _Flattener(traced, literals, whole).run()


@dataclass(slots=True)
class _View:
    parent: int
    operator: Operator
    index: int


@dataclass(slots=True)
class _Flattener:
    traced: Traced
    literals: Mapping[int, Scalar]
    whole: bool = False
    nodes: list[Node] = field(default_factory=list)
    kinds: dict[int, Kind] = field(default_factory=dict)
    views: dict[int, _View] = field(default_factory=dict)
    contents: dict[int, int] = field(default_factory=dict)
    versions: dict[int, int] = field(default_factory=dict)
    seen: dict[int, tuple[int, int]] = field(default_factory=dict)
    named: set[int] = field(default_factory=set)
    numbers: dict[tuple[int, int], int] = field(default_factory=dict)
    owners: dict[int, int] = field(default_factory=dict)
    where: str = ""
    call: int = 0

    def run(self) -> Flat:
        traced = self.traced
        if traced.loose_draws:
            raise Untranslatable("forward() draws random numbers in Python, which no operator shows")
        self.kinds = {i: Kind(v.shape, v.dtype) for i, v in enumerate(traced.values)}
        self.named = {*traced.inputs.values(), *traced.state.values()} - set(self.literals)
        for value in self.named:
            self._root(value)
        for index, operator in enumerate(traced.operators):
            self.where, self.call = operator.where, operator.call
            self._operator(operator, traced.drawn.get(index, ()))
        results = [(r.path, None if r.value is None else self.read(r.value), r.plain) for r in traced.results]
        changed = list(self._changed())
        needed = [value for _, value, _ in results if value is not None] + [item.value for item in changed]
        nodes = list(live(self.nodes, needed))
        if self.whole:
            signs = {self._sign(node) for node in nodes}
            needed += [v for node in self.nodes if self._sign(node) in signs for v in node.results if v is not None]
            nodes = list(live(self.nodes, needed))
        return Flat(nodes, self.kinds, traced.calls, dict(traced.inputs), self._state(), results, changed, traced)

    def _sign(self, node: Node) -> tuple[str, str, str]:
        return node.name, node.where, self.traced.calls[node.call].path

    def _state(self) -> dict[int, list[str]]:
        names: dict[int, list[str]] = {}
        for path, value in self.traced.state.items():
            if value not in self.literals:
                names.setdefault(value, []).append(path)
        return names

    def _changed(self) -> Iterator[Changed]:
        for name, value in self.traced.inputs.items():
            if self.read(value) != value:
                yield Changed("input", name, self.read(value))
        for path, value in self.traced.state.items():
            if value in self.literals:
                continue
            last = self.traced.final_state.get(path, value)
            if self.read(last) != value:
                yield Changed("state", path, self.read(last))

    # -- memory ---------------------------------------------------------------------------------------------------

    def _root(self, value: int) -> None:
        self.contents[value] = value
        self.versions[value] = 0
        storage = self.traced.values[value].storage
        self.owners.setdefault(storage, value)

    def _fresh(self, kind: Kind) -> int:
        number = len(self.kinds)
        self.kinds[number] = kind
        return number

    def root_of(self, value: int) -> int:
        while value in self.views:
            value = self.views[value].parent
        return value

    def read(self, value: int) -> int:
        """The value that the tensor object holds now."""
        root = self.root_of(value)
        if root not in self.contents:
            if value == root and value in self.literals:
                return self._literal(value)
            self._adopt(root)
        if value == root:
            return self.contents[root]
        version = self.versions[root]
        if self.seen.get(value, (-1, 0))[0] != version:
            self.seen[value] = (version, self._view_again(value))
        return self.seen[value][1]

    def _literal(self, value: int) -> int:
        """A number that is never written, made anew in every call that reads it."""
        if (value, self.call) not in self.numbers:
            kind = self.kinds[value]
            self.numbers[value, self.call] = self._fresh(kind)
            arguments: dict[str, Argument] = {"s": self.literals[value], "dtype": DType(kind.dtype)}
            result = (self.numbers[value, self.call],)
            self.nodes.append(Node("aten.scalar_tensor.default", arguments, result, self.call, self.where))
        return self.numbers[value, self.call]

    def _adopt(self, value: int) -> None:
        """A tensor that no recorded operator made: another object for memory that is known, or nobody's."""
        if value in self.literals:
            self.contents[value], self.versions[value] = self._literal(value), 0
            return
        item = self.traced.values[value]
        owner = self.owners.get(item.storage)
        if owner is None or self.kinds[owner] != self.kinds[value]:
            raise Untranslatable(
                f"{self.where}: a tensor of shape {list(item.shape)} comes from outside of forward() and is no state"
            )
        self.views[value] = _View(owner, _identity(owner, value, self.call, self.where), 0)
        self.read(value)

    def _view_again(self, value: int) -> int:
        view = self.views[value]
        if view.operator.name in _SAME:
            return self.read(view.parent)
        source = self.read(view.parent)
        kind = self.kinds[value]
        result = value if source == view.parent and self.versions[self.root_of(value)] == 0 else self._fresh(kind)
        step = self._step(view, source, result)
        self.nodes.append(step)
        return result

    def _step(self, view: _View, source: int, result: int) -> Node:
        """The view operator that leads from `source` to one tensor. Parts of a split are slices of their own."""
        operator = view.operator
        name, arguments = _single(operator, view.index, self.kinds)
        arguments = {key: Ref(source) if value == Ref(view.parent) else value for key, value in arguments.items()}
        others = {ref: self.read(ref) for v in arguments.values() for ref in refs_in(v) if ref != source}
        arguments = {key: mapped(value, {source: source, **others}) for key, value in arguments.items()}
        return Node(name, arguments, (result,), self.call, self.where)

    def write(self, value: int, new: int) -> None:
        """The tensor object is overwritten by the value `new`, which has its shape."""
        root = self.root_of(value)
        if root not in self.contents:
            self._adopt(root)
            root = self.root_of(value)
        self._alone(root)
        if value == root:
            self.contents[root] = new
            self.versions[root] += 1
            return
        chain = self._chain(value)
        whole = self._fresh(self.kinds[root]) if chain else new
        if chain:
            arguments: dict[str, Argument] = {"self": Ref(self.contents[root]), "value": Ref(new)}
            self.nodes.append(Node("solar.write", arguments, (whole,), self.call, self.where, chain))
        self.contents[root] = whole
        self.versions[root] += 1
        self.seen[value] = (self.versions[root], new)

    def _alone(self, root: int) -> None:
        storage = self.traced.values[root].storage
        for other in self.contents:
            if other != root and other < len(self.traced.values) and self.traced.values[other].storage == storage:
                raise Untranslatable(f"{self.where}: a write to memory that another tensor shares")

    def _chain(self, value: int) -> tuple[Node, ...]:
        steps: list[Node] = []
        while value in self.views:
            view = self.views[value]
            if view.operator.name not in _SAME:
                steps.append(self._step(view, view.parent, value))
            value = view.parent
        return tuple(reversed(steps))

    # -- operators ------------------------------------------------------------------------------------------------

    def _operator(self, operator: Operator, draws: tuple[int, ...]) -> None:
        packet = operator.name.split(".")[1]
        if not operator.mutates and packet.endswith("_") and not packet.endswith("__"):
            operator = replace(operator, name=_functional(operator)[0])  # unsqueeze_: another view of the same memory
        written = operator
        if operator.name in _JOINS:
            operator = self._without_empties(operator)
        results = [value for value in operator.results if value is not None]
        given = {ref for value in operator.arguments.values() for ref in refs_in(value)}
        if operator.mutates:
            self._in_place(operator, draws)
        elif results and all(value in given for value in results):
            return  # it gave back what it was given
        elif results and self._is_view(operator):
            self._note_views(operator)
        elif self._is_copy(operator):
            self._copy(operator, operator.arguments["self"])
        elif operator is not written and (lone := self._joins_one(operator)) is not None:
            self._copy(operator, lone)
        else:
            self._pure(operator, operator.name, operator.results, draws)
            for value in results:
                self._root(value)

    def _is_view(self, operator: Operator) -> bool:
        source = operator.arguments.get("self", operator.arguments.get("input"))
        if not isinstance(source, Ref) or any(v in self.contents for v in operator.results if v is not None):
            return False
        storage = self.traced.values[source.value].storage
        return all(self.traced.values[v].storage == storage for v in operator.results if v is not None)

    def _is_copy(self, operator: Operator) -> bool:
        """Other memory, the same values: whether torch copies at all depends on sizes."""
        source = operator.arguments.get("self")
        if operator.name.rpartition(".")[0] not in _COPIES or not isinstance(source, Ref):
            return False
        return all(value is not None and self.kinds[value] == self.kinds[source.value] for value in operator.results)

    def _without_empties(self, operator: Operator) -> Operator:
        """A list starts as torch.tensor([]) in many caches: torch joins such operands to anything."""
        given = operator.arguments["tensors"]
        if not isinstance(given, tuple):
            return operator
        kept = tuple(item for item in given if isinstance(item, Ref) and self.kinds[item.value].shape != (0,))
        fewer = 0 < len(kept) < len(given)
        return replace(operator, arguments={**operator.arguments, "tensors": kept}) if fewer else operator

    def _joins_one(self, operator: Operator) -> Argument:
        """The only tensor that is joined, where the result has its type."""
        given, value = operator.arguments.get("tensors"), operator.results[0] if operator.results else None
        if not isinstance(given, tuple) or len(given) != 1 or value is None:
            return None
        lone = given[0]
        return lone if isinstance(lone, Ref) and self.kinds[lone.value] == self.kinds[value] else None

    def _copy(self, operator: Operator, source: Argument) -> None:
        value = operator.results[0]
        assert isinstance(source, Ref) and value is not None
        self._root(value)
        self.contents[value] = self.read(source.value)

    def _note_views(self, operator: Operator) -> None:
        source = operator.arguments.get("self", operator.arguments.get("input"))
        assert isinstance(source, Ref)
        self.read(source.value)
        for index, value in enumerate(operator.results):
            if value is not None:
                self.views[value] = _View(source.value, operator, index)
        if operator.name.startswith("aten.unbind"):
            return  # each is selected where it is used: a loop over them becomes a loop in the text
        if len(operator.results) == 1:
            self.read(operator.results[0] or 0)
            return
        root = self.root_of(source.value)
        self._pure(operator, operator.name, operator.results, ())
        for value in operator.results:
            if value is not None:
                self.seen[value] = (self.versions[root], value)

    def _pure(self, operator: Operator, name: str, results: tuple[int | None, ...], draws: tuple[int, ...]) -> None:
        current = {ref: self.read(ref) for value in operator.arguments.values() for ref in refs_in(value)}
        arguments = {key: mapped(value, current) for key, value in operator.arguments.items()}
        self.nodes.append(Node(name, arguments, results, operator.call, operator.where, (), draws))

    def _in_place(self, operator: Operator, draws: tuple[int, ...]) -> None:
        targets = []
        for name in operator.mutates:
            value = operator.arguments[name]
            if not isinstance(value, Ref):
                raise Untranslatable(f"{operator.where}: {operator.name}: several tensors are written at once")
            targets.append(value.value)
        written = [self._fresh(self.kinds[target]) for target in targets]
        own = tuple(value for value in operator.results if value is not None and value not in targets)
        name, arguments = _functional(operator)
        plain = replace(operator, arguments=arguments)
        self._pure(plain, name, (*own, *written), draws)
        for value in own:
            self._root(value)
        if len(targets) == 1 and not own:
            written = [self._typed(plain, name, written[0], self.kinds[targets[0]])]
        for target, new in zip(targets, written, strict=True):
            self.write(target, new)

    def _typed(self, operator: Operator, name: str, value: int, kind: Kind) -> int:
        """An in-place operator keeps its tensor's type; the functional one might promote it."""
        others = {self.kinds[ref].dtype for v in operator.arguments.values() for ref in refs_in(v)}
        if name.rpartition(".")[0] in _CHANGES_TYPE or others <= {kind.dtype}:
            return value
        cast = self._fresh(kind)
        arguments: dict[str, Argument] = {"self": Ref(value), "dtype": DType(kind.dtype), "non_blocking": False}
        self.nodes.append(Node("aten.to.dtype", {**arguments, "copy": False}, (cast,), self.call, self.where))
        return cast


def _identity(source: int, value: int, call: int, where: str) -> Operator:
    return Operator("aten.alias.default", {"self": Ref(source)}, (value,), (), call, where)


def _functional(operator: Operator) -> tuple[str, Mapping[str, Argument]]:
    """aten.add_.Tensor -> aten.add.Tensor; out= forms lose their out."""
    space, packet, overload = operator.name.split(".")
    arguments = operator.arguments
    if "out" in operator.mutates:
        arguments = {key: value for key, value in arguments.items() if key != "out"}
        binary = isinstance(arguments.get("other"), Ref)
        overload = overload.removesuffix("_out") if overload != "out" else ("Tensor" if binary else "default")
        return f"{space}.{packet}.{overload}", arguments
    if packet == "transpose_":
        return "aten.transpose.int", arguments
    if packet.startswith("__i"):
        return f"{space}.__{packet[3:]}.{overload}", arguments
    return f"{space}.{packet.removesuffix('_')}.{overload}", arguments


def _single(operator: Operator, index: int, kinds: Mapping[int, Kind]) -> tuple[str, dict[str, Argument]]:
    """A view operator with several results, as the one that makes the result at `index`."""
    arguments = dict(operator.arguments)
    source, axis = arguments.get("self"), arguments.get("dim", 0)
    if not operator.name.startswith("aten.unbind") and len(operator.results) == 1:
        return operator.name, arguments
    if operator.name.startswith("aten.unbind"):
        return "aten.select.int", {"self": source, "dim": axis, "index": index}
    assert isinstance(source, Ref) and isinstance(axis, int)
    extents = [kinds[value].shape[axis] for value in operator.results if value is not None]
    start = sum(extents[:index])
    return "aten.slice.Tensor", {"self": source, "dim": axis, "start": start, "end": start + extents[index], "step": 1}


def live(nodes: list[Node], needed: Iterable[int]) -> Iterator[Node]:
    """The nodes that results depend on, in order, with the draws that come before one of these."""
    wanted = set(needed)
    kept: list[Node] = []
    drawing = False
    for node in reversed(nodes):
        if (node.draws and drawing) or any(value in wanted for value in node.results):
            drawing = drawing or bool(node.draws)
            wanted.update(node.refs())
            kept.append(node)
    return reversed(kept)
