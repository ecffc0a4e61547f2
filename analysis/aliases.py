"""Tensors that are views of others, and the buffer that a chain of views lies in."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.program import Const, Nest, Output, Read
from .flat import Flat, FlatNest, FlatStatement, Recur, Start
from .image import image
from .region import Region, add_part, elements, restrict, whole_region
from .space import has_fetch, space_of

Copies = dict[str, FlatNest]


def copies(flat: Flat) -> Copies:
    """Tensors that are one plain copy of (part of) another."""
    writers: dict[str, list[FlatNest]] = {}
    filled: set[str] = set()
    _collect(flat.body, writers, filled)
    found: Copies = {}
    for name, nests in writers.items():
        nest = nests[0].nest
        if len(nests) == 1 and name not in filled and nest.combine == "=" and _is_plain(nest, flat):
            found[name] = nests[0]
    return found


def _collect(body: Sequence[FlatStatement], writers: dict[str, list[FlatNest]], filled: set[str]) -> None:
    for statement in body:
        match statement:
            case FlatNest(nest):
                writers.setdefault(nest.target, []).append(statement)
            case Start(tensor, Const()):
                filled.add(tensor)
            case Recur(body=inner):
                _collect(inner, writers, filled)
            case _:
                pass


def _is_plain(nest: Nest, flat: Flat) -> bool:
    value = nest.value
    if not isinstance(value, Read) or value.fill is not None:
        return False
    if any(has_fetch(index) for index in (*value.index, *nest.at)):
        return False
    return flat.tensors[value.tensor].dtype == flat.tensors[nest.target].dtype


def resolve(tensor: str, region: Region, known: Copies, flat: Flat) -> tuple[str, Region]:
    """The buffer that a chain of views lies in, and the elements of it that are meant."""
    while tensor in known:
        nest, free = known[tensor].nest, known[tensor].free
        value = nest.value
        assert isinstance(value, Read)
        space = space_of(nest.loops, nest.where)
        moved = Region(flat.tensors[value.tensor].shape)
        for part in region.parts:
            moved = add_part(moved, image(space.with_constraints(restrict(nest.at, part)), value.index, moved.shape))
        if not moved.exact or (elements(moved) != elements(region) and not free):
            break
        tensor, region = value.tensor, moved
    return tensor, region


def written_in_place(flat: Flat, tensor: str, key: str) -> Region | None:
    """For a mutated input or state entry that starts as a copy of itself: the elements that nests write."""
    starts = [item for item in flat.body if isinstance(item, Start) and item.tensor == tensor]
    if len(starts) != 1 or not isinstance(starts[0].init, str):
        return None
    origin = flat.tensors[starts[0].init].external
    if origin is None or origin.key != key:
        return None
    region = Region(flat.tensors[tensor].shape)
    for item in flat.body:
        if isinstance(item, FlatNest) and item.nest.target == tensor and item.nest.source is not starts[0].source:
            region = add_part(region, image(space_of(item.nest.loops, item.nest.where), item.nest.at, region.shape))
        elif isinstance(item, Recur):
            return None
    return region


def output_region(output: Output, flat: Flat) -> Region:
    """Elements of an output's tensor that have to be written."""
    assert output.tensor is not None
    written = None if output.kind == "result" else written_in_place(flat, output.tensor, output.name)
    return whole_region(flat.tensors[output.tensor].shape) if written is None else written


def is_unchanged_input(output: Output, known: Copies, flat: Flat) -> bool:
    """Whether an output is nothing but a view of something that came from outside."""
    assert output.tensor is not None
    base, _ = resolve(output.tensor, output_region(output, flat), known, flat)
    return flat.tensors[base].external is not None and flat.tensors[base].dtype == output.dtype
