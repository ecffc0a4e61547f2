"""A program as one list of nests: scans become a leading time iterator of everything inside them.

A tensor that is local to a scan gets a leading time axis; its reads and writes get the time iterator as first index.
What a step hands to the next one is a copy from the neighbouring time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from ..ir import indices
from ..ir.program import (
    AllOf,
    AnyOf,
    Apply,
    Branch,
    Cast,
    Compare,
    Condition,
    Const,
    Declare,
    Div,
    Expr,
    Fetch,
    Index,
    IndexValue,
    Iter,
    Loop,
    Mod,
    Nest,
    Opaque,
    Program,
    Read,
    Scan,
    Source,
    Statement,
    Tensor,
    View,
)
from .prefix import as_running


@dataclass(frozen=True, slots=True)
class FlatNest:
    """A nest with the iterators of its enclosing scans first; `steps` are their names. `free`: a view by definition."""

    nest: Nest
    steps: tuple[str, ...] = ()
    free: bool = False


@dataclass(frozen=True, slots=True)
class FlatOpaque:
    opaque: Opaque
    times: int = 1


@dataclass(frozen=True, slots=True)
class Start:
    """Initial content of a tensor: nothing, a constant, or a copy of another tensor."""

    tensor: str
    init: Const | str | None
    source: Source


@dataclass(frozen=True, slots=True)
class Recur:
    """A scan: its body, and what is carried as (value at a step, value handed on, start, value after the last step)."""

    iterator: str
    trip: int
    reverse: bool
    carries: tuple[tuple[str, str, str, str], ...]
    body: tuple[FlatStatement, ...]
    source: Source


@dataclass(frozen=True, slots=True)
class Choice:
    """A run-time choice that the values of `results` depend on."""

    condition: str
    results: tuple[str, ...]


FlatStatement: TypeAlias = FlatNest | FlatOpaque | Start | Recur | Choice


@dataclass(frozen=True, slots=True)
class Flat:
    """`local` maps a tensor inside scans to the number of leading time axes."""

    program: Program
    tensors: Mapping[str, Tensor]
    body: tuple[FlatStatement, ...]
    local: Mapping[str, int]


@dataclass(slots=True)
class _Context:
    tensors: dict[str, Tensor]
    local: dict[str, int]
    arms: Mapping[int, bool]
    loops: tuple[Loop, ...] = ()
    times: dict[str, tuple[Loop, ...]] = field(default_factory=dict)


def branches(body: Sequence[Statement]) -> Iterator[Branch]:
    """All choices made at run time, outer ones first."""
    for statement in body:
        match statement:
            case Branch(_, then, orelse):
                yield statement
                yield from branches(then)
                yield from branches(orelse)
            case Scan(body=inner):
                yield from branches(inner)
            case _:
                pass


def flatten(program: Program, arms: Mapping[int, bool] | None = None) -> Flat:
    """`arms` says for the k-th run-time choice (in the order of `branches`) whether its first arm is taken."""
    chosen = {id(branch): (arms or {}).get(k, True) for k, branch in enumerate(branches(program.body))}
    context = _Context(dict(program.tensors), {}, chosen)
    body = tuple(_statements(program.body, context))
    return Flat(program, context.tensors, body, context.local)


def _statements(body: Sequence[Statement], context: _Context) -> Iterator[FlatStatement]:
    for statement in body:
        match statement:
            case Declare(tensor, init, source):
                _localise(tensor, context)
                yield Start(tensor, init, source)
                if isinstance(init, str):
                    yield _whole_copy(tensor, init, source, context)
            case Nest():
                yield _nest(statement, context)
            case View(tensor, loops, read, source):
                _localise(tensor, context)
                at = tuple(indices.iterator(loop.name) for loop in loops)
                yield replace(_nest(Nest(loops, None, tensor, at, "=", read, source), context), free=True)
            case Opaque(outputs=outputs):
                for output in outputs:
                    _localise(output, context)
                times = 1
                for loop in context.loops:
                    times *= loop.extent.const
                yield FlatOpaque(statement, times)
            case Branch():
                yield from _branch(statement, context)
            case Scan():
                yield from _scan(statement, context)


def _branch(branch: Branch, context: _Context) -> Iterator[FlatStatement]:
    taken = context.arms[id(branch)]
    yield Choice(branch.condition, tuple(result for _, _, result in branch.joins))
    yield from _statements(branch.then if taken else branch.orelse, context)
    for then, orelse, result in branch.joins:
        _localise(result, context)
        yield _whole_copy(result, then if taken else orelse, branch.source, context)


def _localise(tensor: str, context: _Context) -> None:
    if context.loops and tensor not in context.local:
        context.local[tensor] = len(context.loops)
        context.times[tensor] = context.loops
        old = context.tensors[tensor]
        extents = tuple(loop.extent.const for loop in context.loops)
        context.tensors[tensor] = replace(old, shape=extents + old.shape)


def _whole_copy(target: str, origin: str, source: Source, context: _Context) -> FlatNest:
    """Axis by axis copy of one tensor to another, below the time axes of both."""
    shape = context.tensors[target].shape[context.local.get(target, 0):]
    loops = tuple(Loop(f"%copy{k}", indices.constant(size)) for k, size in enumerate(shape))
    at = tuple(indices.iterator(loop.name) for loop in loops)
    return replace(_nest(Nest(loops, None, target, at, "=", Read(origin, at), source), context), free=True)


def _nest(nest: Nest, context: _Context) -> FlatNest:
    if not context.loops:
        return FlatNest(as_running(nest))
    prefix = _prefix(nest.target, context)
    moved = Nest(
        context.loops + nest.loops,
        None if nest.where is None else rewrite_condition(nest.where, context),
        nest.target,
        prefix + tuple(rewrite_index(index, context) for index in nest.at),
        nest.combine,
        rewrite(nest.value, context),
        nest.source,
    )
    return FlatNest(as_running(moved), tuple(loop.name for loop in context.loops))


def _prefix(tensor: str, context: _Context) -> tuple[Index, ...]:
    return tuple(indices.iterator(loop.name) for loop in context.times.get(tensor, ()))


def rewrite(expr: Expr, context: _Context) -> Expr:
    """The same expression with the time iterators put in front of reads of scan-local tensors."""
    match expr:
        case Read():
            return _rewrite_read(expr, context)
        case Apply(op, args, dtype):
            return Apply(op, tuple(rewrite(arg, context) for arg in args), dtype)
        case Cast(arg, dtype):
            return Cast(rewrite(arg, context), dtype)
        case IndexValue(index):
            return IndexValue(rewrite_index(index, context))
        case Const():
            return expr


def _rewrite_read(read: Read, context: _Context) -> Read:
    inner = tuple(rewrite_index(index, context) for index in read.index)
    return Read(read.tensor, _prefix(read.tensor, context) + inner, read.fill)


def rewrite_index(index: Index, context: _Context) -> Index:
    terms: dict[Iter | Div | Mod | Fetch, int] = {}
    for atom, factor in index.terms:
        match atom:
            case Fetch(read):
                terms[Fetch(_rewrite_read(read, context))] = factor
            case Div(arg, by):
                terms[Div(rewrite_index(arg, context), by)] = factor
            case Mod(arg, by):
                terms[Mod(rewrite_index(arg, context), by)] = factor
            case Iter():
                terms[atom] = factor
    return indices.of_terms(terms, index.const)


def rewrite_condition(condition: Condition, context: _Context) -> Condition:
    match condition:
        case Compare(index, relation):
            return Compare(rewrite_index(index, context), relation)
        case AllOf(args):
            return AllOf(tuple(rewrite_condition(arg, context) for arg in args))
        case AnyOf(args):
            return AnyOf(tuple(rewrite_condition(arg, context) for arg in args))


def _scan(scan: Scan, context: _Context) -> Iterator[FlatStatement]:
    outer = context.loops
    for carry in scan.carries:
        _localise(carry.final, context)
    for emit in scan.emits:
        _localise(emit.outer, context)
    context.loops = (*outer, Loop(scan.iterator, indices.constant(scan.trip)))
    for carry in scan.carries:
        _localise(carry.inner, context)
    body = tuple(_statements(scan.body, context))
    carries = tuple((carry.inner, carry.next, carry.init, carry.final) for carry in scan.carries)
    emits = [_emit(emit.inner, emit.outer, scan, context) for emit in scan.emits]
    context.loops = outer
    if scan.trip:
        yield Recur(scan.iterator, scan.trip, scan.reverse, carries, body, scan.source)
        yield from emits
    for carry in scan.carries:
        yield _final(carry.init if not scan.trip else carry.next, carry.final, scan, context)


def _emit(inner: str, outer: str, scan: Scan, context: _Context) -> FlatNest:
    """`outer[t, …] = inner` as a copy over all steps."""
    depth = context.local.get(inner, 0)
    shape = context.tensors[inner].shape[depth:]
    loops = tuple(Loop(f"%emit{k}", indices.constant(size)) for k, size in enumerate(shape))
    at = tuple(indices.iterator(loop.name) for loop in loops)
    target = _prefix(outer, context) + (indices.iterator(scan.iterator), *at)
    nest = Nest(context.loops + loops, None, outer, target, "=", Read(inner, _prefix(inner, context) + at), scan.source)
    return FlatNest(nest, tuple(loop.name for loop in context.loops), free=True)


def _final(last: str, final: str, scan: Scan, context: _Context) -> FlatNest:
    """The carry after the scan, as a copy of the last step's value."""
    shape = context.tensors[final].shape[context.local.get(final, 0):]
    loops = tuple(Loop(f"%final{k}", indices.constant(size)) for k, size in enumerate(shape))
    at = tuple(indices.iterator(loop.name) for loop in loops)
    outer = tuple(indices.iterator(loop.name) for loop in context.loops)
    inside = len(context.times.get(last, ())) > len(context.loops)
    step = (indices.constant(0 if scan.reverse else scan.trip - 1),) if inside else ()
    reach = outer[: context.local.get(last, 0)]
    nest = Nest(context.loops + loops, None, final, _prefix(final, context) + at, "=", Read(last, reach + step + at),
                scan.source)
    return FlatNest(nest, tuple(loop.name for loop in context.loops), free=True)
