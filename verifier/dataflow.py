"""Which tensors and statements of an elaborated program feed its outputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ..ir.bindings import Bindings
from ..ir.indices import index_reads, reads
from ..ir.program import (
    AllOf,
    AnyOf,
    Apply,
    Branch,
    Cast,
    Compare,
    Condition,
    Declare,
    Expr,
    Index,
    Nest,
    Opaque,
    Program,
    Scan,
    Source,
    Statement,
    View,
)


@dataclass(frozen=True, slots=True)
class Flow:
    """`feeds`: tensor id -> ids it is computed from. `writers`: (tensor id, place in the text), in program order."""

    feeds: Mapping[str, frozenset[str]]
    writers: tuple[tuple[str, Source], ...]

    def behind(self, tensors: Iterable[str]) -> frozenset[str]:
        """The given tensors and all that they are computed from."""
        seen: set[str] = set()
        todo = list(tensors)
        while todo:
            name = todo.pop()
            if name not in seen:
                seen.add(name)
                todo += self.feeds.get(name, ())
        return frozenset(seen)

    def sources(self, tensors: frozenset[str]) -> tuple[Source, ...]:
        """The statements that write one of the tensors, in program order, each place once."""
        return tuple(dict.fromkeys(source for name, source in self.writers if name in tensors))


def flow_of(program: Program) -> Flow:
    feeds: dict[str, set[str]] = {}
    writers: list[tuple[str, Source]] = []
    for target, origins, source in _edges(program.body):
        feeds.setdefault(target, set()).update(origins)
        if source is not None:
            writers.append((target, source))
    return Flow({name: frozenset(origins) for name, origins in feeds.items()}, tuple(writers))


def output_tensors(program: Program) -> frozenset[str]:
    return frozenset(output.tensor for output in program.outputs if output.tensor is not None)


def used(program: Program) -> frozenset[str]:
    """All tensors that some output is computed from."""
    return flow_of(program).behind(output_tensors(program))


def unused_keys(program: Program, bindings: Bindings) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Keys of the arguments and of the state entries that no output is computed from. An entry whose storage is read
    under another name counts as used."""
    live = used(program)
    externals = [tensor.external for name, tensor in program.tensors.items() if name in live and tensor.external]
    inputs = {external.key for external in externals if external.kind == "input"}
    state = {external.key for external in externals if external.kind == "state"}
    storages = {bindings.state[key].storage for key in state if key in bindings.state} - {None}
    dead = tuple(key for key in bindings.inputs if key not in inputs)
    return dead, tuple(
        key for key, entry in bindings.state.items() if key not in state and entry.storage not in storages
    )


Edge = tuple[str, frozenset[str], Source | None]


def _edges(body: Iterable[Statement]) -> Iterator[Edge]:
    """(tensor, tensors it depends on, statement) for each way in which a value gets somewhere."""
    for statement in body:
        match statement:
            case Declare(tensor, init, _):
                yield tensor, frozenset([init] if isinstance(init, str) else []), None
            case Nest():
                yield statement.target, frozenset(nest_reads(statement)), statement.source
            case View(tensor, _, read, source):
                yield tensor, frozenset(part.tensor for part in reads(read)), source
            case Opaque(_, inputs, outputs, _, source):
                yield from ((output, frozenset(inputs), source) for output in outputs)
            case Scan():
                yield from _scan_edges(statement)
            case Branch():
                yield from _branch_edges(statement)


def _scan_edges(scan: Scan) -> Iterator[Edge]:
    for carry in scan.carries:
        yield carry.inner, frozenset([carry.init, carry.next]), None
        yield carry.final, frozenset([carry.init, carry.next]), None
    yield from _edges(scan.body)
    for emit in scan.emits:
        yield emit.outer, frozenset([emit.inner]), None


def _branch_edges(branch: Branch) -> Iterator[Edge]:
    yield from _edges(branch.then)
    yield from _edges(branch.orelse)
    for taken, other, result in branch.joins:
        yield result, frozenset([taken, other, branch.condition]), None


def nest_reads(nest: Nest) -> Iterator[str]:
    """Ids of the tensors that a nest reads, those inside indices and conditions included."""
    indices = [*nest.at, *(loop.extent for loop in nest.loops), *condition_indices(nest.where)]
    for index in indices:
        yield from (read.tensor for read in index_reads(index))
    yield from (read.tensor for read in reads(nest.value))


def condition_indices(condition: Condition | None) -> Iterator[Index]:
    match condition:
        case Compare(index, _):
            yield index
        case AllOf(args) | AnyOf(args):
            for arg in args:
                yield from condition_indices(arg)
        case None:
            return


def float_types(program: Program) -> frozenset[str]:
    """Storage types that occur: of the tensors, and of roundings inside expressions."""
    found = {tensor.dtype for tensor in program.tensors.values()}
    for statement in _all(program.body):
        if isinstance(statement, Nest):
            found.update(_cast_types(statement.value))
    return frozenset(found)


def _all(body: Iterable[Statement]) -> Iterator[Statement]:
    for statement in body:
        yield statement
        match statement:
            case Scan():
                yield from _all(statement.body)
            case Branch():
                yield from _all(statement.then)
                yield from _all(statement.orelse)
            case _:
                pass


def _cast_types(expr: Expr) -> Iterator[str]:
    match expr:
        case Cast(arg, dtype):
            yield dtype
            yield from _cast_types(arg)
        case Apply(_, args, _):
            for arg in args:
                yield from _cast_types(arg)
        case _:
            return
