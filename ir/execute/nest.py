"""One nest: its domain cut into pieces, and for each piece the fastest way that applies."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from ..indices import condition_iterators, conjuncts, index_reads, iterators, reads
from ..program import AllOf, Apply, Cast, Condition, Expr, Index, IndexValue, Nest, Read
from .affine import compares, divisions
from .compile import converted, expr_node, make_context
from .domain import (
    Piece,
    bounding_piece,
    decided,
    fixed_pieces,
    residue_pieces,
    tightened,
    with_digits,
    without_equalities,
)  # fmt: skip
from .memory import Memory, Slot
from .nodes import CHUNK_ELEMENTS, Node, by_stride, chunks
from .products import run_product
from .reduce import run_position, run_reduction, run_running
from .store import Sink, adopt, arranged, begin, can_adopt, make_sink, peel_axes, put
from .values import problem_at

_MOST_ROUNDS = 1024
_LARGE_POINTS = 1 << 20
_SAVING = 4


@dataclass(frozen=True, slots=True)
class NestFacts:
    """What a nest's text says whatever the numbers: whether it reads its target, and its indices with // or %."""

    reads_target: bool
    divided: tuple[Index, ...]


def facts_of(nest: Nest, memory: Memory) -> NestFacts:
    found = memory.facts.get(id(nest))
    if isinstance(found, NestFacts):
        return found
    everything = list(all_reads(nest))
    indices = [*nest.at, *(index for read in everything for index in read.index), *_plain_indices(nest.value)]
    divided = tuple(index for index in indices if any(True for _ in divisions(index)))
    facts = NestFacts(any(read.tensor == nest.target for read in everything), divided)
    memory.facts[id(nest)] = facts
    return facts


def _plain_indices(expr: Expr) -> Iterator[Index]:
    match expr:
        case IndexValue(index):
            yield index
        case Apply(_, args, _):
            for arg in args:
                yield from _plain_indices(arg)
        case Cast(arg, _):
            yield from _plain_indices(arg)
        case _:
            return


def run_nest(nest: Nest, memory: Memory, outer: Mapping[str, int], *, native: bool) -> None:
    before = _snapshot(nest, memory)
    for piece in _pieces(nest, memory, outer):
        ctx = make_context(piece, memory, nest.source, native=native, before=before)
        _run_piece(nest, make_sink(ctx, nest))
        ctx.close()
    memory.settle(nest.target)


def _snapshot(nest: Nest, memory: Memory) -> dict[str, Slot]:
    """The target as it is now, where the nest reads it: all reads see the values from before the nest."""
    if not facts_of(nest, memory).reads_target:
        return {}
    slot = memory[nest.target]
    slot.owned = False
    return {nest.target: replace(slot)}


def all_reads(nest: Nest) -> Iterator[Read]:
    yield from reads(nest.value)
    for index in nest.at:
        yield from index_reads(index)
    if nest.where is not None:
        for compare in compares(nest.where):
            yield from index_reads(compare.index)


def _pieces(nest: Nest, memory: Memory, outer: Mapping[str, int]) -> Iterator[Piece]:
    if nest.combine in ("argmax", "argmin"):
        yield from _position_pieces(nest, outer)
        return
    piece = bounding_piece(nest.loops, nest.where, outer)
    piece = None if piece is None else without_equalities(piece)
    if piece is None:
        return
    shape = memory.tensors[nest.target].shape
    divided = facts_of(nest, memory).divided
    if nest.combine == "=":
        split = with_digits(piece, divided)
        if split is not None:
            yield split
        return
    for part in residue_pieces(piece):
        split = with_digits(part, divided)
        if split is not None:
            yield from _peeled(nest, split, shape)


def _peeled(nest: Nest, piece: Piece, shape: tuple[int, ...]) -> Iterator[Piece]:
    """Pieces in which every point of the kept axes hits its own element, and conditions cut no more than they must."""
    axes = peel_axes(piece.scope, shape, nest.at, _MOST_ROUNDS)
    if axes:
        yield from fixed_pieces(piece, axes)
    elif axes is None or not piece.conditions:
        yield piece
    else:
        yield from _narrowed(nest, piece)


def _narrowed(nest: Nest, piece: Piece) -> Iterator[Piece]:
    """A few outer axes point by point where that makes the boxes of a large masked reduction far smaller."""
    counts = piece.scope.counts
    volume = math.prod(counts.values())
    if volume < _LARGE_POINTS or nest.combine == "+":
        yield piece
        return
    env = piece.scope.env
    kept = {axis for index in nest.at for name in iterators(index) for axis in env[name].terms}
    bounding = {axis for c in piece.conditions for name in condition_iterators(c) for axis in env[name].terms}
    axes = sorted(kept & bounding, key=lambda axis: counts[axis])
    if not axes or math.prod(counts[axis] for axis in axes) > _MOST_ROUNDS:
        yield piece
        return
    parts = list(fixed_pieces(piece, axes))
    if sum(math.prod(part.scope.counts.values()) for part in parts) * _SAVING > volume:
        yield piece
    else:
        yield from parts


def _position_pieces(nest: Nest, outer: Mapping[str, int]) -> Iterator[Piece]:
    """For argmax= and argmin=: conditions on the reduced iterator stay masks, so that results over nothing show."""
    named = {name for index in nest.at for name in iterators(index)}
    reduced = {loop.name for loop in nest.loops if loop.name not in named}
    kept_loops = tuple(loop for loop in nest.loops if loop.name in named)
    parts = conjuncts(nest.where)
    kept = tuple(c for c in parts if not condition_iterators(c) & reduced)
    if bounding_piece(kept_loops, _all_of(kept), outer) is None:
        return
    piece = bounding_piece(nest.loops, None, outer, cut=False)
    inner = None if piece is None else tightened(Piece(piece.scope, kept + _free(piece, reduced)))
    if piece is None or inner is None:
        raise problem_at(nest.source, f"{nest.combine}= over nothing: a result has no point to choose from")
    masks = tuple(c for c in parts if c not in kept) + tuple(c for c in piece.conditions if c not in inner.conditions)
    masks = tuple(c for c in masks if condition_iterators(c) & reduced and decided(c, inner.scope) is not True)
    yield Piece(inner.scope, inner.conditions + masks)


def _free(piece: Piece, reduced: set[str]) -> tuple[Condition, ...]:
    return tuple(c for c in piece.conditions if not condition_iterators(c) & reduced)


def _all_of(conditions: tuple[Condition, ...]) -> Condition | None:
    return AllOf(conditions) if conditions else None


def _run_piece(nest: Nest, sink: Sink) -> None:
    if nest.combine == "=":
        _assign(sink, nest.value)
    elif nest.combine in ("argmax", "argmin"):
        run_position(sink, nest.value)
    elif not run_running(sink, nest.value) and not (nest.combine == "+" and run_product(sink, nest.value)):
        run_reduction(sink, nest.value)


def _share(sink: Sink, read: Read, node: Node) -> bool:
    """A copy of a whole tensor as it lies in memory takes no work: both share it until one of them is written."""
    source, target = sink.ctx.slot(read.tensor), sink.ctx.memory[sink.nest.target]
    if source is target or source.array is None or node.view is None or source.presence() is not None:
        return False
    if source.tensor.dtype != sink.dtype or node.shape != sink.ctx.sizes or not can_adopt(sink):
        return False
    if not np.may_share_memory(node.view, source.array) or not arranged(sink, node.view).flags.c_contiguous:
        return False
    adopt(sink, node.view)
    source.owned = target.owned = False
    return True


def _assign(sink: Sink, value: Expr) -> None:
    ctx = sink.ctx
    node = converted(expr_node(ctx, value), sink.dtype)
    if isinstance(value, Read) and _share(sink, value, node):
        return
    begin(sink, once=True)
    strides = sink.view.strides if sink.view is not None else node.strides
    for cut in chunks(ctx.sizes, by_stride(ctx.sizes, strides), CHUNK_ELEMENTS):
        put(sink, cut, node.run(cut), ctx.mask(cut))
