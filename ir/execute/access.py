"""Reads of tensors over a box: strided views where the index is affine, padded copies for guards, else gathers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..indices import iterators
from ..program import Atom, Div, Fetch, Index, Iter, Mod, Read
from .affine import Lin
from .context import Context
from .nodes import ALL, Node, Slices, joint_shape, leaf, part
from .values import BOOL, Array, as_scalar

_PAD_FACTOR = 4
_FIXED_ELEMENTS = 1 << 20


@dataclass(frozen=True, slots=True)
class Dim:
    """One axis of an accessed tensor. `lin` None: the index has to be worked out as numbers. `low`, `high`: ends of
    its values over the box."""

    place: int
    index: Index
    size: int
    lin: Lin | None
    low: int = 0
    high: int = 0

    @property
    def loose(self) -> bool:
        return self.lin is not None and (self.low < 0 or self.high >= self.size)


@dataclass(frozen=True, slots=True)
class Target:
    """What is accessed, for the messages: the verb, the tensor's id and its index."""

    verb: str
    tensor: str
    index: tuple[Index, ...]


def dims_of(ctx: Context, shape: Sequence[int], index: Sequence[Index]) -> list[Dim]:
    result = []
    for place, (size, expr) in enumerate(zip(shape, index, strict=True)):
        lin = ctx.scope.lin(expr)
        low, high = (0, 0) if lin is None else ctx.scope.interval(lin)
        result.append(Dim(place, expr, size, lin, low, high))
    return result


def strided(array: Array, lins: Sequence[Lin], ctx: Context) -> Array:
    """`array[lins]` as a view with the box's axes; an axis that does not occur has one element."""
    terms: dict[str, int] = {}
    for lin, stride in zip(lins, array.strides, strict=True):
        for axis, coefficient in lin.terms.items():
            terms[axis] = terms.get(axis, 0) + coefficient * stride
    counts = [size if axis in terms else 1 for axis, size in zip(ctx.axes, ctx.sizes, strict=True)]
    strides = [terms.get(axis, 0) for axis in ctx.axes]
    if array.flags.c_contiguous:
        offset = sum([lin.const * stride for lin, stride in zip(lins, array.strides, strict=True)])
        return np.ndarray(counts, array.dtype, array, offset, strides)
    corner = array[tuple([slice(lin.const, None) for lin in lins])] if lins else array
    view: Array = as_strided(corner, counts, strides)
    return view


def check_dim(ctx: Context, dim: Dim, target: Target) -> None:
    """Raises when an affine index leaves the tensor at a point of the domain."""
    if not dim.loose:
        return
    values = index_node(ctx, dim.index).whole()
    bad_point(ctx, dim, values, ctx.whole(), target)


def bad_point(ctx: Context, dim: Dim, values: Array, slices: Slices, target: Target) -> None:
    bad = (values < 0) | (values >= dim.size)
    point = ctx.violation(bad, slices)
    if point is None:
        return
    value = _value_at(ctx, dim, point, values, bad)
    raise ctx.out_of_bounds(target.verb, target.tensor, dim.place, dim.index, value, point)


def _value_at(ctx: Context, dim: Dim, point: dict[str, int], values: Array, bad: Array) -> int:
    if all(name in point for name in iterators(dim.index)):
        found = evaluate_index(ctx, dim.index, point)
        if found is not None:
            return found
    return int(values[bad][0])


def evaluate_index(ctx: Context, index: Index, point: dict[str, int]) -> int | None:
    """An index at one point; None when a read in it fails."""
    total = index.const
    for atom, coefficient in index.terms:
        value: int | None
        match atom:
            case Iter(name):
                value = point[name]
            case Div(arg, by):
                inner = evaluate_index(ctx, arg, point)
                value = None if inner is None else inner // by
            case Mod(arg, by):
                inner = evaluate_index(ctx, arg, point)
                value = None if inner is None else inner % by
            case Fetch(read):
                parts = [evaluate_index(ctx, expr, point) for expr in read.index]
                data = ctx.slot(read.tensor).data()
                inside = all(p is not None and 0 <= p < n for p, n in zip(parts, data.shape, strict=True))
                value = int(data[tuple(parts)]) if inside else None
        if value is None:
            return None
        total += coefficient * value
    return total


def access_node(ctx: Context, array: Array, dtype: str, target: Target, fill: Array | None) -> Node:
    """The elements `array[index]` over the box; `fill` where guarded and out of bounds, else that is an error.

    Points outside of the domain never raise; what they give is not defined."""
    dims = dims_of(ctx, array.shape, target.index)
    if fill is None:
        for dim in dims:
            check_dim(ctx, dim, target)
    if all(dim.lin is not None and not dim.loose for dim in dims):
        return leaf(strided(array, [dim.lin for dim in dims if dim.lin is not None], ctx), dtype)
    default = np.zeros((), array.dtype) if fill is None else fill
    numeric = _numeric_dims(ctx, dims)
    affine = [dim for dim in dims if dim.place not in numeric]
    if any(dim.loose for dim in affine):
        array, dims = _padded(ctx, array, dims, numeric, default)
        affine = [dim for dim in dims if dim.place not in numeric]
    if not numeric:
        return leaf(strided(array, [dim.lin for dim in dims if dim.lin is not None], ctx), dtype)
    picked = [dim for dim in dims if dim.place in numeric]
    return _Gather(ctx, array, dtype, picked, affine, target, fill).node()


def _numeric_dims(ctx: Context, dims: list[Dim]) -> frozenset[int]:
    """Places of the dims whose index is worked out as numbers: not affine, too wide to pad, or sharing an axis with
    such a dim."""
    numeric = {dim.place for dim in dims if dim.lin is None}
    used = {axis for dim in dims if dim.lin is not None for axis in dim.lin.terms}
    padded = math.prod(dim.size if dim.place in numeric else dim.high - dim.low + 1 for dim in dims)
    result = math.prod(ctx.scope.counts[axis] for axis in used)
    if padded > _PAD_FACTOR * max(result, math.prod(dim.size for dim in dims), 1024):
        numeric |= {dim.place for dim in dims if dim.loose}
    taken: set[str] = set()
    while True:
        taken |= {axis for dim in dims if dim.place in numeric for axis in _axes(ctx, dim.index)}
        more = {d.place for d in dims if d.place not in numeric and d.lin is not None and taken & set(d.lin.terms)}
        if not more:
            return frozenset(numeric)
        numeric |= more


def _axes(ctx: Context, index: Index) -> set[str]:
    lin = ctx.scope.lin(index)
    if lin is not None:
        return set(lin.terms)
    return {axis for name in iterators(index) for axis in ctx.scope.env[name].terms}


def _padded(
    ctx: Context, array: Array, dims: list[Dim], numeric: frozenset[int], fill: Array
) -> tuple[Array, list[Dim]]:
    """The part of `array` that the affine dims reach, with `fill` around it, and the dims moved accordingly."""
    shape, inner, source, moved = [], [], [], []
    for dim in dims:
        if dim.place in numeric or dim.lin is None:
            shape.append(dim.size)
            inner.append(ALL)
            source.append(ALL)
            moved.append(dim)
            continue
        start, stop = max(dim.low, 0), min(dim.high + 1, dim.size)
        stop = max(start, stop)
        shape.append(dim.high - dim.low + 1)
        inner.append(slice(start - dim.low, stop - dim.low))
        source.append(slice(start, stop))
        lin = Lin(dim.lin.terms, dim.lin.const - dim.low)
        moved.append(Dim(dim.place, dim.index, shape[-1], lin, 0, dim.high - dim.low))
    ctx.demand(math.prod(shape))
    result = np.full(shape, fill, array.dtype)
    if all(cut.start is None or cut.stop > cut.start for cut in inner):
        result[tuple(inner)] = array[tuple(source)]
    return result, moved


class _Gather:
    """A read with some dims picked by index arrays and the others as a strided view."""

    def __init__(
        self, ctx: Context, array: Array, dtype: str, picked: list[Dim], affine: list[Dim], target: Target,
        fill: Array | None,
    ) -> None:  # fmt: skip
        self.ctx, self.dtype, self.target, self.fill, self.picked = ctx, dtype, target, fill, picked
        self.indices = [index_node(ctx, dim.index) for dim in picked]
        self.near = sorted(frozenset().union(*(node.axes for node in self.indices)))
        far = {ctx.position[a] for dim in affine if dim.lin is not None for a in dim.lin.terms}
        self.far = sorted(far)
        self.base = self._view(array, affine)
        self.flat = array.reshape(-1) if not affine and array.flags.c_contiguous and array.size else None
        self.weights = [math.prod(array.shape[dim.place + 1 :]) for dim in picked]
        order = self.near + self.far
        self.turn = tuple(int(i) for i in np.argsort(order))
        present = set(order)
        self.expand = tuple(ALL if axis in present else None for axis in range(len(ctx.axes)))
        self.squeeze = tuple(ALL if axis in self.near else 0 for axis in range(len(ctx.axes)))

    def _view(self, array: Array, affine: list[Dim]) -> Array:
        """Picked dims first, then the axes of the affine ones."""
        lins = {dim.place: dim.lin for dim in affine if dim.lin is not None}
        corner = array[tuple([slice(lins[p].const, None) if p in lins else ALL for p in range(array.ndim)])]
        counts = [dim.size for dim in self.picked]
        strides = [array.strides[dim.place] for dim in self.picked]
        for axis in self.far:
            name = self.ctx.axes[axis]
            counts.append(self.ctx.sizes[axis])
            strides.append(sum(lin.terms.get(name, 0) * array.strides[place] for place, lin in lins.items()))
        view: Array = as_strided(corner, counts, strides)
        return view

    def node(self) -> Node:
        used = set(self.near) | set(self.far)
        shape = tuple(size if axis in used else 1 for axis, size in enumerate(self.ctx.sizes))
        return Node(shape, self.dtype, self._run, fresh=bool(self.near))

    def _run(self, slices: Slices) -> Array:
        ctx = self.ctx
        numbers: list[Array] = []
        inside: Array | None = None
        for dim, node in zip(self.picked, self.indices, strict=True):
            values = node.run(slices)
            low, high = int(values.min()), int(values.max())
            if low < 0 or high >= dim.size:
                if self.fill is None:
                    bad_point(ctx, dim, values, slices, self.target)
                else:
                    fits = ((values >= 0) & (values < dim.size))[self.squeeze]
                    inside = fits if inside is None else inside & fits
                if dim.size == 0:
                    return np.full(ctx.ones, 0 if self.fill is None else self.fill, self.base.dtype)
                values = values.clip(0, dim.size - 1)
            numbers.append(values[self.squeeze])
        result = self._pick(numbers, slices)
        if inside is not None:
            mask = inside[(...,) + (None,) * len(self.far)]
            result = np.where(mask, result, 0 if self.fill is None else self.fill)
        turned: Array = result.transpose(self.turn)[self.expand]
        return turned

    def _pick(self, numbers: list[Array], slices: Slices) -> Array:
        if self.flat is not None:
            total: Array | int = 0
            for values, weight in zip(numbers, self.weights, strict=True):
                total = total + values * weight
            return np.asarray(self.flat.take(total))
        cut = (ALL,) * len(self.picked) + tuple(slices[axis] for axis in self.far)
        found: Array = np.asarray(self.base[cut][tuple(numbers)])
        return found


def read_node(ctx: Context, read: Read) -> Node:
    """The values that a read takes over the box, checked for being in bounds and written."""
    known = ctx.read_cache.get(read)
    if known is not None:
        return known
    slot = ctx.slot(read.tensor)
    array = slot.data()
    fill = None if read.fill is None else as_scalar(read.fill.value, slot.tensor.dtype)
    target = Target("read of", read.tensor, read.index)
    node = access_node(ctx, array, slot.tensor.dtype, target, fill)
    presence = slot.presence()
    if presence is not None:
        node = _checked(ctx, node, presence, read)
    ctx.read_cache[read] = node
    return node


def _checked(ctx: Context, node: Node, presence: Array, read: Read) -> Node:
    """The same values; raises where one of them, at a point of the domain, has not been written."""
    target = Target("read of", read.tensor, read.index)
    always = np.ones((), BOOL)
    seen = access_node(ctx, presence, "bool", target, None if read.fill is None else always)
    inner = node.run

    def run(slices: Slices) -> Array:
        there = seen.run(slices)
        if not there.all():
            point = ctx.violation(~there, slices)
            if point is not None:
                raise ctx.unwritten(read, point)
        return inner(slices)

    return Node(node.shape, node.dtype, run, node.fresh, node.strides, None, node.bare)


def index_node(ctx: Context, index: Index) -> Node:
    """The index's values (i64) over the axes that it varies along."""
    lin = ctx.scope.lin(index)
    if lin is not None:
        return _lin_node(ctx, lin)
    terms = [(_atom_node(ctx, atom), coefficient) for atom, coefficient in index.terms]
    shape = joint_shape([node.shape for node, _ in terms])

    def run(slices: Slices) -> Array:
        total: Array | int = index.const
        for node, coefficient in terms:
            total = total + coefficient * node.run(slices)
        return np.asarray(total)

    return cached(Node(shape, "i64", run))


def _lin_node(ctx: Context, lin: Lin) -> Node:
    parts = [lin_values(ctx, Lin({axis: c}, 0)) for axis, c in lin.terms.items()]
    if not parts:
        return leaf(lin_values(ctx, lin), "i64")
    parts[0] = parts[0] + lin.const
    if len(parts) == 1:
        return leaf(parts[0], "i64")

    def run(slices: Slices) -> Array:
        total = part(parts[0], slices)
        for more in parts[1:]:
            total = total + part(more, slices)
        return total

    return cached(Node(joint_shape([array.shape for array in parts]), "i64", run))


def cached(node: Node) -> Node:
    """The same values, kept from the first use on unless they are many."""
    if node.size > _FIXED_ELEMENTS:
        return node
    found: list[Array] = []

    def run(slices: Slices) -> Array:
        if not found:
            found.append(node.whole())
        return part(found[0], slices)

    return Node(node.shape, node.dtype, run)


def lin_values(ctx: Context, lin: Lin) -> Array:
    total = np.full(ctx.ones, lin.const, np.int64)
    for axis, coefficient in lin.terms.items():
        total = total + (np.arange(ctx.scope.counts[axis]) * coefficient).reshape(ctx.shape_of({axis}))
    return total


def _atom_node(ctx: Context, atom: Atom) -> Node:
    match atom:
        case Iter():
            return index_node(ctx, Index(((atom, 1),)))
        case Fetch(read):
            inner = read_node(ctx, read)
            return Node(inner.shape, "i64", lambda slices: inner.run(slices).astype(np.int64, copy=False))
        case Div(arg, by):
            node = index_node(ctx, arg)
            return Node(node.shape, "i64", lambda slices: node.run(slices) // by, fresh=True)
        case Mod(arg, by):
            node = index_node(ctx, arg)
            return Node(node.shape, "i64", lambda slices: node.run(slices) % by, fresh=True)
