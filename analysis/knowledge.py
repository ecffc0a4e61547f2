"""Constant regions of tensors, found forwards: start values that nothing overwrites, masked and padded parts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..ir import indices
from ..ir.program import Const, Nest
from .cells import Cell, Knowledge, Known, Position, as_index, claims_of, split
from .flat import Choice, Flat, FlatNest, FlatOpaque, FlatStatement, Recur, Start
from .image import Image, Part, box_of, image
from .points import count
from .ranks import plain_iterator
from .region import complement
from .space import Constraint, space_of

KNOWN_LIMIT = 16


def learn(flat: Flat) -> Knowledge:
    knowledge = Knowledge({name: tensor.shape for name, tensor in flat.tensors.items()}, {}, claims_of(flat.program))
    _learn(flat.body, knowledge)
    return knowledge


def _learn(body: Sequence[FlatStatement], knowledge: Knowledge) -> None:
    for statement in body:
        match statement:
            case Start(tensor, init):
                knowledge.positions.pop(tensor, None)
                if isinstance(init, Const):
                    knowledge.known[tensor] = (Known((), init),)
            case FlatNest():
                _learn_nest(statement, knowledge)
            case FlatOpaque(opaque):
                for output in opaque.outputs:
                    knowledge.known.pop(output, None)
                    knowledge.positions.pop(output, None)
            case Recur(body=inner):
                _learn(inner, knowledge)
            case Choice():
                pass


def _learn_nest(flat: FlatNest, knowledge: Knowledge) -> None:
    nest = flat.nest
    cells = split(space_of(nest.loops, nest.where), nest.value, nest.combine, knowledge)
    _learn_position(nest, cells, knowledge)
    before = knowledge.known.get(nest.target, ())
    if not before and not any(isinstance(cell.expr, Const) for cell in cells):
        return
    shape = knowledge.shapes[nest.target]
    # a copy from a constant region keeps the region; everything else that is written is no longer known
    after: list[Known] = list(before)
    for cell in cells:
        written = image(cell.space, nest.at, shape)
        after = _overwrite(after, written, shape)
        if nest.combine == "=" and isinstance(cell.expr, Const) and written.exact and written.part is not None:
            after.append(Known(tuple(sorted(written.part, key=repr)), cell.expr))
    if after and len(after) <= KNOWN_LIMIT:
        knowledge.known[nest.target] = tuple(after)
    else:
        knowledge.known.pop(nest.target, None)


def _learn_position(nest: Nest, cells: Sequence[Cell], knowledge: Knowledge) -> None:
    """A tensor that one nest fills with an expression of its iterators."""
    knowledge.positions.pop(nest.target, None)
    names = tuple(plain_iterator(index) for index in nest.at)
    whole = {loop.name: loop.extent for loop in nest.loops}
    if nest.combine != "=" or nest.where is not None or len(cells) != 1 or set(names) != set(whole):
        return
    extents = [whole[name] for name in names if name is not None]
    full = [indices.constant(size) for size in knowledge.shapes[nest.target]]
    found = as_index(cells[0].expr, knowledge)
    if extents == full and found is not None and found.terms and indices.iterators(found) <= set(whole):
        knowledge.positions[nest.target] = Position(tuple(name for name in names if name is not None), found)


def _overwrite(known: Iterable[Known], written: Image, shape: tuple[int, ...]) -> list[Known]:
    """What stays known after the elements of an image were written."""
    if written.part is None:
        return list(known)
    kept: list[Known] = []
    for item in known:
        if not count(box_of(shape, frozenset(item.piece) | written.part)):
            kept.append(item)
        else:
            kept.extend(_outside(item, written.part, shape))
    return kept


def _outside(item: Known, part: Part, shape: tuple[int, ...]) -> list[Known]:
    found: list[Known] = []
    for piece in complement(part):
        joined: tuple[Constraint, ...] = (*item.piece, *(c for c in piece if c not in item.piece))
        if count(box_of(shape, frozenset(joined))):
            found.append(Known(joined, item.value))
    return found
