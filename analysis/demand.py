"""What some output needs, found backwards: the demanded region of every tensor and the live cells of every nest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..ir import indices
from ..ir.program import Compare, Const, Nest, Read, Source
from .aliases import copies, is_unchanged_input, output_region
from .cells import Cell, Knowledge, split
from .flat import Choice, Flat, FlatNest, FlatOpaque, FlatStatement, Recur, Start
from .image import Image, Part, axis, box_of, image
from .points import count
from .region import Region, add_part, complement, disjoint, elements, restrict, whole_region
from .space import Constraint, Space, between, constraint_iterators, depends_on_data, has_fetch, space_of

PASSES_LIMIT = 12


@dataclass(slots=True)
class Demand:
    """`cells` is keyed by `id()` of the flat nest; a nest without an entry does nothing that is needed.

    `regions` holds all that is demanded of a tensor, `pending` what earlier statements still have to deliver."""

    flat: Flat
    knowledge: Knowledge
    regions: dict[str, Region] = field(default_factory=dict)
    pending: dict[str, Region] = field(default_factory=dict)
    cells: dict[int, tuple[Cell, ...]] = field(default_factory=dict)
    starts: dict[str, Const | str | None] = field(default_factory=dict)
    live: set[int] = field(default_factory=set)
    dead: list[Source] = field(default_factory=list)
    claimed: dict[str, Region] = field(default_factory=dict)
    shadow: dict[str, Region] = field(default_factory=dict)
    indirect: dict[str, list[int]] = field(default_factory=dict)

    def region(self, tensor: str) -> Region:
        found = self.regions.get(tensor)
        return Region(self.flat.tensors[tensor].shape) if found is None else found

    def wanted(self, tensor: str) -> Region:
        found = self.pending.get(tensor)
        return Region(self.flat.tensors[tensor].shape) if found is None else found

    def add(self, tensor: str, piece: Image) -> None:
        self.regions[tensor] = add_part(self.region(tensor), piece)
        self.pending[tensor] = add_part(self.wanted(tensor), piece)

    def add_whole(self, tensor: str) -> None:
        self.regions[tensor] = self.pending[tensor] = whole_region(self.flat.tensors[tensor].shape)


def demand(flat: Flat, knowledge: Knowledge) -> Demand:
    state = Demand(flat, knowledge)
    _seed(state)
    _backward(flat.body, state)
    state.dead = _dead(flat.body, state)
    return state


def _seed(state: Demand) -> None:
    known = copies(state.flat)
    for output in state.flat.program.outputs:
        if output.tensor is not None and not is_unchanged_input(output, known, state.flat):
            region = output_region(output, state.flat)
            for part in region.parts:
                state.add(output.tensor, Image(part, region.exact))


def _backward(body: Sequence[FlatStatement], state: Demand) -> None:
    for statement in reversed(body):
        match statement:
            case FlatNest():
                _backward_nest(statement, state)
            case FlatOpaque(opaque):
                if any(state.region(output).parts for output in opaque.outputs):
                    state.live.add(id(statement))
                    for tensor in opaque.inputs:
                        state.add_whole(tensor)
            case Recur():
                _backward_scan(statement, state)
            case Choice(condition, results):
                if any(state.region(result).parts for result in results):
                    state.add_whole(condition)
            case Start(tensor, init):
                state.starts[tensor] = init


def demanded_spaces(nest: Nest, region: Region) -> list[Space]:
    """The parts of a nest's domain whose target element is demanded, without overlap."""
    space = space_of(nest.loops, nest.where)
    return [space.with_constraints(restrict(nest.at, piece)) for piece in disjoint(region)]


def _backward_nest(flat: FlatNest, state: Demand) -> None:
    nest = flat.nest
    region = state.wanted(nest.target)
    if not region.parts:
        if nest.target in state.shadow:
            _claimed_reads(nest, demanded_spaces(nest, state.shadow[nest.target]), state)
        return
    state.live.add(id(flat))
    spaces = demanded_spaces(nest, region)
    if nest.combine == "=":
        state.pending[nest.target] = overwritten(nest, region)
    cells = [cell for space in spaces for cell in split(space, nest.value, nest.combine, state.knowledge)]
    state.cells[id(flat)] = tuple(cells)
    for cell in cells:
        for read in (*indices.reads(cell.expr), *(r for index in nest.at for r in indices.index_reads(index))):
            _add_read(cell.space, read, state)
    if state.knowledge.claims:
        _claimed_reads(nest, [space_of(nest.loops, nest.where)], state)


def _add_read(space: Space, read: Read, state: Demand) -> None:
    tensor = state.flat.tensors[read.tensor]
    if tensor.external is not None and any(has_fetch(index) for index in read.index):
        state.indirect.setdefault(read.tensor, []).append(_indirect(space, read, tensor.shape))
    else:
        state.add(read.tensor, image(space, read.index, tensor.shape))


def _indirect(space: Space, read: Read, shape: tuple[int, ...]) -> int:
    """At most this many elements: one for each value of the iterators, never more than the table has."""
    names = tuple(sorted({name for index in read.index for name in indices.iterators(index)}))
    sizes = dict(space.sizes)
    index, extents = tuple(indices.iterator(name) for name in names), tuple(sizes[name] for name in names)
    accesses = elements(add_part(Region(extents), image(space, index, extents)))
    return min(accesses, elements(add_part(Region(shape), image(space, read.index, shape))))


def overwritten(nest: Nest, region: Region) -> Region:
    """What is still wanted from earlier statements after a nest that writes its elements anew."""
    space = space_of(nest.loops, nest.where)
    written = image(space, nest.at, region.shape)
    if not written.exact or written.part is None or any(depends_on_data(c) for c in space.constraints):
        return region
    kept = Region(region.shape, (), region.exact)
    for part in region.parts:
        for rest in _minus(part, written.part, region.shape):
            kept = add_part(kept, Image(rest))
    return kept


def _minus(part: Part, written: Part, shape: tuple[int, ...]) -> list[Part]:
    if part >= written:
        return []
    if not count(box_of(shape, part | written)):
        return [part]
    pieces = (part | frozenset(piece) for piece in complement(written))
    return [piece for piece in pieces if count(box_of(shape, piece))]


def _claimed_reads(nest: Nest, spaces: Iterable[Space], state: Demand) -> None:
    """A buffer that a fact speaks of is charged as the text reads it, whatever the fact makes superfluous: also through
    tensors, such as its comparison with 0, whose values are known (their reads are the `shadow`)."""
    for space in spaces:
        for read in indices.reads(nest.value):
            if read.tensor in state.knowledge.claims:
                found = state.claimed
            elif read.tensor in state.knowledge.known:
                found = state.shadow
            else:
                continue
            region = found.get(read.tensor, Region(state.flat.tensors[read.tensor].shape))
            found[read.tensor] = add_part(region, image(space, read.index, region.shape))


def _backward_scan(scan: Recur, state: Demand) -> None:
    """Repeats the body until what the carries demand no longer grows; a carry is demanded whole at a step."""
    for _ in range(PASSES_LIMIT):
        before = dict(state.regions)
        state.pending.update(before)
        _backward(scan.body, state)
        for inner, following, init, _ in scan.carries:
            _backward_carry(scan, inner, following, init, state)
        if state.regions == before:
            return


def _backward_carry(scan: Recur, inner: str, following: str, init: str, state: Demand) -> None:
    region = state.region(inner)
    if not region.parts:
        return
    position = state.flat.local[inner] - 1
    low, high = hull(region, position)
    state.add_whole(init)
    if state.flat.local.get(following, 0) <= position:
        state.add_whole(following)
        return
    first, last = (0, high - 1) if not scan.reverse else (low + 1, scan.trip - 1)
    if first > last:
        return
    shape = state.flat.tensors[following].shape
    steps = box_of(shape).with_constraints(between(indices.iterator(axis(position)), first, last))
    state.add(following, image(steps, tuple(indices.iterator(axis(k)) for k in range(len(shape))), shape))


def hull(region: Region, position: int) -> tuple[int, int]:
    """Smallest and largest demanded position along one axis (an enclosure)."""
    found = [_part_hull(part, position, region.shape[position]) for part in region.parts]
    return min(low for low, _ in found), max(high for _, high in found)


def _part_hull(part: Iterable[Constraint], position: int, size: int) -> tuple[int, int]:
    name = axis(position)
    low, high = 0, size - 1
    for constraint in part:
        if not isinstance(constraint, Compare) or constraint_iterators(constraint) != {name}:
            continue
        factor, const = constraint.index.terms[0][1], constraint.index.const
        if constraint.relation not in (">=", "=="):
            continue
        if factor > 0 or constraint.relation == "==":
            low = max(low, -(const // abs(factor)) if factor > 0 else -(-const // abs(factor)))
        if factor < 0 or constraint.relation == "==":
            high = min(high, const // abs(factor) if factor < 0 else -const // factor)
    return low, high


def _dead(body: Sequence[FlatStatement], state: Demand) -> list[Source]:
    found: list[Source] = []
    for statement in body:
        match statement:
            case FlatNest(nest=nest, free=False) if id(statement) not in state.live:
                found.append(nest.source)
            case FlatOpaque(opaque) if id(statement) not in state.live:
                found.append(opaque.source)
            case Recur(body=inner):
                found.extend(_dead(inner, state))
            case _:
                pass
    return found
