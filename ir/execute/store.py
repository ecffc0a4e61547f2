"""Writes of a nest's results: through strided views where points and elements correspond, else element by element."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..dtypes import DTYPES
from ..indices import show
from ..ops import Combine
from ..program import Index, Nest
from .access import Dim, Target, bad_point, check_dim, dims_of, index_node, strided
from .affine import Lin, Scope
from .context import Context
from .memory import Slot
from .nodes import ALL, Node, Slices, part
from .values import BOOL, NUMPY_TYPES, Array, identity, problem_at, wrap

UFUNCS: dict[str, np.ufunc] = {
    "+": np.add, "*": np.multiply, "max": np.maximum, "min": np.minimum, "and": np.logical_and, "or": np.logical_or,
}  # fmt: skip


def element_strides(shape: Sequence[int], lins: Sequence[Lin]) -> dict[str, int]:
    """By how many elements (row-major) each axis moves the target."""
    result: dict[str, int] = {}
    weight = 1
    for size, lin in zip(reversed(shape), reversed(lins), strict=True):
        for axis, coefficient in lin.terms.items():
            result[axis] = result.get(axis, 0) + coefficient * weight
        weight *= size
    return result


def is_injective(scope: Scope, strides: dict[str, int]) -> bool:
    """True when surely no two points hit one element: each stride is longer than all shorter ones reach together."""
    reach = 0
    for axis in sorted(strides, key=lambda name: abs(strides[name])):
        step = abs(strides[axis])
        if step <= reach:
            return False
        reach += step * (scope.counts[axis] - 1)
    return True


@dataclass(slots=True)
class Sink:
    """Where one piece of a nest puts its results. `kept`: the axes that occur in the target's index."""

    ctx: Context
    nest: Nest
    dims: list[Dim]
    kept: frozenset[int]
    plain: bool
    covering: bool
    array: Array | None = None
    view: Array | None = None
    written: Array | None = None
    seen: Array | None = None
    assign: bool = False
    numbers: list[Node] = field(default_factory=list)

    @property
    def combine(self) -> Combine:
        return self.nest.combine

    @property
    def reduced(self) -> tuple[int, ...]:
        return tuple(axis for axis, n in enumerate(self.ctx.sizes) if n > 1 and axis not in self.kept)

    @property
    def dtype(self) -> str:
        return self.ctx.memory.tensors[self.nest.target].dtype


def make_sink(ctx: Context, nest: Nest) -> Sink:
    shape = ctx.memory.tensors[nest.target].shape
    dims = dims_of(ctx, shape, nest.at)
    target = Target("write to", nest.target, nest.at)
    for dim in dims:
        check_dim(ctx, dim, target)
    nodes = [index_node(ctx, dim.index) for dim in dims if dim.lin is None]
    names = {axis for dim in dims if dim.lin is not None for axis in dim.lin.terms}
    kept = frozenset({ctx.position[name] for name in names}.union(*(node.axes for node in nodes)))
    lins = [dim.lin for dim in dims if dim.lin is not None]
    exact = len(lins) == len(dims) and not any(dim.loose for dim in dims)
    strides = element_strides(shape, lins) if exact else {}
    injective = exact and len(strides) == len(names) and is_injective(ctx.scope, strides)
    lone = any(n > 1 and axis not in kept for axis, n in enumerate(ctx.sizes))
    plain = injective and not (nest.combine == "=" and lone)
    points = math.prod(ctx.sizes[axis] for axis in kept)
    covering = plain and not ctx.conditions and points == math.prod(shape)
    return Sink(ctx, nest, dims, kept, plain, covering)


def begin(sink: Sink, *, once: bool) -> None:
    """Gets the target ready. `once`: every element is put at most once."""
    ctx, name = sink.ctx, sink.nest.target
    slot = ctx.memory[name]
    sets = sink.combine in ("=", "argmax", "argmin")
    base = None if sets else identity(sink.combine, sink.dtype)
    untouched = slot.array is None and (sets or slot.fill is None or bool(slot.fill == base))
    sink.assign = sink.covering and once and (untouched or sets)
    sink.array = ctx.memory.writable(name, sink.nest.source, clear=not sink.assign)
    sink.written = None if sink.assign else slot.written
    if sink.assign:
        slot.written = None
    if base is not None and sink.written is not None and base.any():
        sink.array[~sink.written] = base
    if sink.plain:
        lins = [dim.lin for dim in sink.dims if dim.lin is not None]
        sink.view = strided(sink.array, lins, ctx)
        sink.written = None if sink.written is None else strided(sink.written, lins, ctx)
        return
    sink.numbers = [index_node(ctx, dim.index) for dim in sink.dims]
    if sets:
        sink.seen = np.zeros(sink.array.shape, BOOL)


def can_adopt(sink: Sink) -> bool:
    """Whether a whole result may become the target: it covers it, in some order of axes, and nothing is there."""
    slot = sink.ctx.memory[sink.nest.target]
    if not sink.covering or (sink.combine != "=" and not _is_blank(sink, slot)):
        return False
    return all(
        dim.lin is not None and dim.lin.const == 0 and len(dim.lin.terms) <= 1 and set(dim.lin.terms.values()) <= {1}
        for dim in sink.dims
    )


def _is_blank(sink: Sink, slot: Slot) -> bool:
    """Whether combining with what is there gives the result itself."""
    if slot.array is not None or DTYPES[sink.dtype].bits < 8:
        return False
    return slot.fill is None or bool(slot.fill == identity(sink.combine, sink.dtype))


def arranged(sink: Sink, values: Array) -> Array:
    """A result over the box (one element along reduced axes) with the target's shape; see `can_adopt`."""
    order = [sink.ctx.position[axis] for dim in sink.dims if dim.lin is not None for axis in dim.lin.terms]
    rest = [axis for axis in range(values.ndim) if axis not in order]
    return values.transpose(order + rest).reshape(sink.ctx.memory.tensors[sink.nest.target].shape)


def adopt(sink: Sink, values: Array) -> None:
    """Makes `values` the target."""
    sink.ctx.memory.adopt(sink.nest.target, arranged(sink, values))


def put(sink: Sink, slices: Slices, values: Array, mask: Array | None) -> None:
    """Stores a part's results, or combines them with what is there; `mask` (None: all) says which points count.

    `values` are in the target's type, with one element along the reduced axes."""
    if not sink.plain:
        _scatter(sink, slices, values, mask)
        return
    assert sink.view is not None
    cut = part(sink.view, slices)
    if sink.assign or sink.combine in ("=", "argmax", "argmin"):
        np.copyto(cut, values, where=True if mask is None else mask, casting="unsafe")
    else:
        ufunc = UFUNCS[sink.combine]
        ufunc(cut, values, out=cut, where=True if mask is None else mask, casting="unsafe")
        _rewrap(sink, cut)
    if sink.written is not None:
        np.copyto(part(sink.written, slices), True, where=True if mask is None else mask)


def _rewrap(sink: Sink, cut: Array) -> None:
    if DTYPES[sink.dtype].bits < 8:
        cut[...] = wrap(cut, sink.dtype)


def _scatter(sink: Sink, slices: Slices, values: Array, mask: Array | None) -> None:
    """Element by element, through flat positions in the target."""
    assert sink.array is not None
    target = Target("write to", sink.nest.target, sink.nest.at)
    numbers = [node.run(slices) for node in sink.numbers]
    for dim, found in zip(sink.dims, numbers, strict=True):
        bad_point(sink.ctx, dim, found, slices, target)
    shapes = [values.shape, *(found.shape for found in numbers)] + ([] if mask is None else [mask.shape])
    shape = np.broadcast_shapes(*shapes)
    flat: Array = np.zeros(shape, np.int64)
    for found, size in zip(numbers, sink.array.shape, strict=True):
        flat = flat * size + found
    taken = ALL if mask is None else np.broadcast_to(mask, shape).ravel()
    places = flat.ravel()[taken]
    spread = np.broadcast_to(values, shape).ravel()[taken]
    if places.size == 0:
        return
    if sink.combine in ("=", "argmax", "argmin"):
        _set_elements(sink, places, spread)
    else:
        _combine_elements(sink, places, spread)
    slot = sink.ctx.memory[sink.nest.target]
    if slot.written is not None:
        slot.written.reshape(-1)[places] = True


def _combine_elements(sink: Sink, places: Array, values: Array) -> None:
    assert sink.array is not None
    flat = sink.array.reshape(-1)
    if sink.combine == "+" and flat.dtype == np.float64 and places.size * 4 >= flat.size:
        flat += np.bincount(places, values, flat.size)
    else:
        UFUNCS[sink.combine].at(flat, places, values)
        _rewrap(sink, flat)


def _same(left: Array, right: Array) -> Array:
    equal = left == right
    if left.dtype.kind == "f":
        equal = equal | ((left != left) & (right != right))
    return np.asarray(equal)


def _set_elements(sink: Sink, places: Array, values: Array) -> None:
    """`=`: an element hit again within this nest must get the same value."""
    assert sink.array is not None and sink.seen is not None
    flat, seen = sink.array.reshape(-1), sink.seen.reshape(-1)
    wrong = seen[places] & ~_same(flat[places], values)
    if not wrong.any():
        flat[places] = values
        seen[places] = True
        wrong = ~_same(flat[places], values)
    if wrong.any():
        _conflict(sink, int(places[wrong][0]), flat[places[wrong]][0], values[wrong][0])


def _conflict(sink: Sink, place: int, one: object, other: object) -> None:
    assert sink.array is not None
    where = ", ".join(str(int(i)) for i in np.unravel_index(place, sink.array.shape))
    index = ", ".join(show(i) for i in sink.nest.at)
    raise problem_at(
        sink.nest.source,
        f"{sink.nest.target}[{index}] writes element [{where}] more than once with different values, {one} and {other}",
    )


def peel_axes(scope: Scope, shape: Sequence[int], at: Sequence[Index], limit: int) -> list[str] | None:
    """Axes to take one point at a time so that the rest hit each element once; empty when they do already, None when
    that needs more than `limit` rounds or the index is not affine."""
    lins = [scope.lin(index) for index in at]
    known = [lin for lin in lins if lin is not None]
    if len(known) != len(lins):
        return None
    strides = element_strides(shape, known)
    peeled: list[str] = []
    rounds = 1
    while not is_injective(scope, strides):
        axis = min(strides, key=lambda name: _peel_rank(scope, strides, name))
        rounds *= scope.counts[axis]
        if rounds > limit:
            return None
        peeled.append(axis)
        del strides[axis]
    return peeled


def _peel_rank(scope: Scope, strides: dict[str, int], axis: str) -> tuple[bool, int]:
    rest = {name: stride for name, stride in strides.items() if name != axis}
    return not is_injective(scope, rest), scope.counts[axis]


def numpy_type(sink: Sink) -> np.dtype[np.generic]:
    return NUMPY_TYPES[sink.dtype]
