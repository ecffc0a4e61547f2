"""Reductions that are no matrix products: over windows tap by tap, over whole axes, running ones, arg max and min."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dtypes import kind
from ..indices import iterators
from ..program import Compare, Expr
from . import sway
from .access import lin_values
from .affine import Lin
from .compile import converted, expr_node
from .context import Context
from .domain import positive_forms
from .nodes import ALL, CHUNK_ELEMENTS, Node, Slices, by_stride, chunks, materialised
from .products import all_of, factors_of, out_mask, result_shape
from .store import UFUNCS, Sink, begin, put
from .values import NUMPY_TYPES, Array, identity, problem_at

_MOST_TAPS = 64
_FEW_TAPS = 8
_NEAR_BYTES = 64


def reduce_node(sink: Sink, expr: Expr) -> Node:
    """The value in the target's type, the reduction's identity outside of the domain."""
    node = converted(expr_node(sink.ctx, expr), "bool" if sink.combine in ("and", "or") else sink.dtype)
    return node if not sink.ctx.conditions else _masked(sink, node)


def _masked(sink: Sink, node: Node) -> Node:
    ctx = sink.ctx
    base = identity(sink.combine, node.dtype)
    shape = tuple(max(counts) for counts in zip(node.shape, *(c.shape for c in ctx.conditions), strict=True))

    def run(cut: Slices) -> Array:
        mask = ctx.mask(cut)
        values = node.run(cut)
        return values if mask is None else np.where(mask, values, base)

    return Node(shape, node.dtype, run, True, node.strides)


def run_reduction(sink: Sink, expr: Expr) -> None:
    """Any reduction, in parts that fit the processor's cache."""
    node = reduce_node(sink, expr)
    reduced = sink.reduced
    if not reduced:
        begin(sink, once=True)
        for cut in chunks(sink.ctx.sizes, by_stride(sink.ctx.sizes, node.strides), CHUNK_ELEMENTS):
            put(sink, cut, node.run(cut), out_mask(sink, cut))
    elif _by_taps(sink, node):
        _run_taps(sink, node)
    else:
        _run_blocks(sink, node)


def _by_taps(sink: Sink, node: Node) -> bool:
    """Whether to loop over the reduced points: few of them, and long runs along the other axes."""
    sizes = sink.ctx.sizes
    taps = math.prod(sizes[axis] for axis in sink.reduced)
    if taps > _MOST_TAPS or math.prod(sizes[axis] for axis in sink.kept) < 16 * taps:
        return False
    if taps <= _FEW_TAPS or node.strides is None:
        return True
    return any(0 < abs(node.strides[axis]) <= _NEAR_BYTES and sizes[axis] >= _FEW_TAPS for axis in sink.kept)


def _kept_order(sink: Sink, node: Node) -> list[int]:
    return [axis for axis in by_stride(sink.ctx.sizes, node.strides) if axis in sink.kept]


def _run_taps(sink: Sink, node: Node) -> None:
    sizes, ufunc = sink.ctx.sizes, UFUNCS[sink.combine]
    taps = list(itertools.product(*(range(sizes[axis]) for axis in sink.reduced)))
    begin(sink, once=True)
    for cut in chunks(result_shape(sink), _kept_order(sink, node), CHUNK_ELEMENTS):
        total: Array | None = None
        for tap in taps:
            part = list(cut)
            for axis, value in zip(sink.reduced, tap, strict=True):
                part[axis] = slice(value, value + 1)
            values = node.run(tuple(part))
            if total is None:
                total = np.array(values, order="K")
            elif total.shape == values.shape:
                ufunc(total, values, out=total)
            else:
                total = ufunc(total, values)
        if total is not None:
            put(sink, cut, total, out_mask(sink, cut))


def _run_blocks(sink: Sink, node: Node) -> None:
    sizes = sink.ctx.sizes
    order = by_stride(sizes, node.strides)
    limit = CHUNK_ELEMENTS * 4
    parts = list(chunks(sizes, order, limit))
    whole = all(piece == ALL for cut in parts for axis, piece in enumerate(cut) if axis in sink.reduced)
    begin(sink, once=whole)
    for cut in parts:
        put(sink, cut, _block(sink, node.run(cut), cut), out_mask(sink, cut))


def _block(sink: Sink, values: Array, cut: Slices) -> Array:
    ufunc = UFUNCS[sink.combine]
    sizes = [len(range(*piece.indices(n))) for piece, n in zip(cut, sink.ctx.sizes, strict=True)]
    full = [sizes[axis] if axis in sink.reduced else n for axis, n in enumerate(values.shape)]
    return reduced_by(ufunc, np.broadcast_to(values, full), sink.reduced)


def reduced_by(ufunc: np.ufunc, values: Array, axes: Sequence[int]) -> Array:
    if ufunc in (np.add, np.multiply):
        return np.asarray(ufunc.reduce(values, axis=tuple(axes), keepdims=True, dtype=values.dtype))
    return np.asarray(ufunc.reduce(values, axis=tuple(axes), keepdims=True))


def run_position(sink: Sink, expr: Expr) -> None:
    """argmax= and argmin=: the first position along the one reduced iterator; NaN counts as the largest (smallest)."""
    ctx = sink.ctx
    name = reduced_iterator(sink)
    choice = [node for node, names in zip(ctx.conditions, ctx.condition_names, strict=True) if name in names]
    kept = [node for node, names in zip(ctx.conditions, ctx.condition_names, strict=True) if name not in names]
    node = expr_node(ctx, expr)
    begin(sink, once=True)
    terms = math.prod(ctx.sizes[axis] for axis in sink.reduced)
    for cut in chunks(result_shape(sink), _kept_order(sink, node), max(CHUNK_ELEMENTS * 4 // terms, 1)):
        hit = all_of(kept, cut)
        positions = _positions(sink, node.run(cut), all_of(choice, cut), hit)
        put(sink, cut, _iterator_values(sink, name, positions), hit)


def _swayed_finder(sink: Sink) -> Callable[..., Array]:
    plain = np.argmax if sink.combine == "argmax" else np.argmin

    def find(values: Array, *, axis: int, keepdims: bool) -> Array:
        return sway.position(values, plain(values, axis=axis, keepdims=keepdims), axis)

    return find


def reduced_iterator(sink: Sink) -> str:
    targets = {name for index in sink.nest.at for name in iterators(index)}
    return next(loop.name for loop in sink.nest.loops if loop.name not in targets)


def _positions(sink: Sink, values: Array, mask: Array | None, hit: Array | None) -> Array:
    """Where along the reduced axis the best value lies, of those that `mask` lets through."""
    ctx = sink.ctx
    axis = sink.reduced[0] if sink.reduced else 0
    find = _swayed_finder(sink) if ctx.memory.swayed else np.argmax if sink.combine == "argmax" else np.argmin
    if sink.reduced:
        full = [ctx.sizes[axis] if place == axis else n for place, n in enumerate(values.shape)]
        values = np.broadcast_to(values, full)
    if mask is None:
        return np.asarray(find(values, axis=axis, keepdims=True)) if sink.reduced else np.zeros(ctx.ones, np.int64)
    if not sink.reduced:
        _require_points(sink, mask, hit)
        return np.zeros(ctx.ones, np.int64)
    worst = _worst(values.dtype, largest=sink.combine == "argmin")
    found = find(np.where(mask, values, worst), axis=axis, keepdims=True)
    mask = np.broadcast_to(mask, np.broadcast_shapes(mask.shape, values.shape))
    allowed = np.take_along_axis(mask, found, axis)
    if allowed.all():
        return np.asarray(found)
    _require_points(sink, np.asarray(mask.any(axis=axis, keepdims=True)), hit)
    return np.asarray(np.where(allowed, found, np.argmax(mask, axis=axis, keepdims=True)))


def _worst(dtype: np.dtype[Any], *, largest: bool) -> float | int | bool:
    if dtype.kind == "f":
        return np.inf if largest else -np.inf
    if dtype.kind == "b":
        return largest
    info = np.iinfo(dtype)
    return int(info.max if largest else info.min)


def _require_points(sink: Sink, some: Array, hit: Array | None) -> None:
    if (~some if hit is None else ~some & hit).any():
        raise problem_at(sink.nest.source, f"{sink.combine}= over nothing: a result has no point to choose from")


def _iterator_values(sink: Sink, name: str, positions: Array) -> Array:
    """Positions along the reduced axis as values of the reduced iterator, in the target's type."""
    lin = sink.ctx.scope.env[name]
    step = next(iter(lin.terms.values()), 0)
    return (positions * step + lin.const).astype(NUMPY_TYPES[sink.dtype])


@dataclass(frozen=True, slots=True)
class _Running:
    """A reduced axis whose points end (`uppers`) or start (`lowers`) where other axes say: forms that are >= 0."""

    axis: str
    uppers: tuple[Lin, ...]
    lowers: tuple[Lin, ...]

    @property
    def others(self) -> set[str]:
        return {name for lin in self.uppers + self.lowers for name in lin.terms if name != self.axis}


def running_axes(sink: Sink) -> list[_Running] | None:
    """The reduced axes that conditions bound, when every condition on them is such a bound."""
    ctx = sink.ctx
    reduced = {ctx.axes[axis] for axis in sink.reduced}
    bounds: dict[str, list[Lin]] = {}
    for condition in ctx.piece.conditions:
        lin = ctx.scope.lin(condition.index) if isinstance(condition, Compare) else None
        if lin is None or not isinstance(condition, Compare):
            return None
        mine = [name for name in lin.terms if name in reduced]
        if not mine:
            continue
        forms = positive_forms(lin, condition.relation)
        if len(mine) > 1 or len(forms) != 1:
            return None
        bounds.setdefault(mine[0], []).extend(forms)
    result = []
    for axis, forms in bounds.items():
        uppers = tuple(form for form in forms if form.terms[axis] < 0)
        lowers = tuple(form for form in forms if form.terms[axis] > 0)
        if uppers and lowers:
            return None
        result.append(_Running(axis, uppers, lowers))
    return result or None


def run_running(sink: Sink, expr: Expr) -> bool:
    """Prefix and suffix reductions in linear work; False (and nothing done) where that does not apply."""
    ctx = sink.ctx
    running = running_axes(sink) if ctx.conditions and sink.combine not in ("argmax", "argmin") else None
    if running is None:
        return False
    dtype = "bool" if sink.combine in ("and", "or") else sink.dtype
    inner, outer = _pulled_out(sink, expr, running, dtype)
    axes = {ctx.axes[axis] for axis in inner.axes}
    reduced = {ctx.axes[axis] for axis in sink.reduced}
    bounding = [name for run in running for name in run.others]
    if reduced - axes or len(set(bounding)) < len(bounding) or set(bounding) & (axes | reduced):
        return False
    if any(not bool(np.isfinite(node.whole()).all()) for node in outer):
        return False
    ctx.demand(inner.size * 3)
    values = materialised(inner)
    simple = [ctx.position[name] for name in reduced if all(name != run.axis for run in running)]
    ufunc = UFUNCS[sink.combine]
    if simple:
        values = reduced_by(ufunc, values, simple)
    base = identity(sink.combine, dtype)
    for run in running:
        values = _accumulated(ctx, ufunc, values, run, base)
    begin(sink, once=True)
    for cut in chunks(result_shape(sink), by_stride(values.shape, values.strides), CHUNK_ELEMENTS * 4):
        put(sink, cut, _times(outer, values, cut), out_mask(sink, cut))
    return True


def _times(outer: Sequence[Node], values: Array, cut: Slices) -> Array:
    total: Array = values[tuple([piece if n > 1 else ALL for piece, n in zip(cut, values.shape, strict=True)])]
    for node in outer:
        total = total * node.run(cut)
    return total


def _pulled_out(sink: Sink, expr: Expr, running: Sequence[_Running], dtype: str) -> tuple[Node, list[Node]]:
    """The value, and factors of a sum that do not vary along reduced axes."""
    ctx = sink.ctx
    whole = converted(expr_node(ctx, expr), dtype)
    factors = factors_of(expr, dtype, ctx.native)
    if sink.combine != "+" or kind(dtype) != "float" or len(factors) < 2:
        return whole, []
    nodes = [(converted(expr_node(ctx, factor.expr), dtype), factor.inverse) for factor in factors]
    if any(inverse for _, inverse in nodes):
        return whole, []
    moving = [node for node, _ in nodes if node.axes & set(sink.reduced)]
    fixed = [node for node, _ in nodes if not node.axes & set(sink.reduced)]
    if not moving or not fixed:
        return whole, []
    shape = tuple(max(counts) for counts in zip(*(node.shape for node in moving), strict=True))

    def run(cut: Slices) -> Array:
        total = moving[0].run(cut)
        for node in moving[1:]:
            total = total * node.run(cut)
        return total

    return Node(shape, dtype, run, len(moving) > 1, moving[0].strides), fixed


def _accumulated(ctx: Context, ufunc: np.ufunc, values: Array, run: _Running, base: Array) -> Array:
    axis = ctx.position[run.axis]
    count = values.shape[axis]
    if run.lowers:
        values = np.flip(values, axis)
    sums = np.empty([n + (place == axis) for place, n in enumerate(values.shape)], values.dtype)
    cut = [ALL] * sums.ndim
    cut[axis] = slice(0, 1)
    sums[tuple(cut)] = base
    cut[axis] = slice(1, None)
    ufunc.accumulate(values, axis=axis, dtype=values.dtype, out=sums[tuple(cut)])
    terms = _term_counts(ctx, run, count)
    return _taken(sums, terms, axis)


def _term_counts(ctx: Context, run: _Running, count: int) -> Array:
    """How many points, from the running end, each result takes."""
    result = np.full(ctx.ones, count, np.int64)
    for form in run.uppers + run.lowers:
        step = form.terms[run.axis]
        rest = lin_values(ctx, Lin({name: c for name, c in form.terms.items() if name != run.axis}, form.const))
        if step < 0:
            result = np.minimum(result, rest // -step + 1)
        else:
            result = np.minimum(result, count + rest // step)
    return result.clip(0, count)


def _picked(sums: Array, terms: Array, axis: int) -> Array:
    """`sums` at positions `terms` along `axis`, without a copy where these are evenly spaced."""
    step = int(terms[1] - terms[0])
    if step > 0 and (np.diff(terms) == step).all():
        cut = [ALL] * sums.ndim
        cut[axis] = slice(int(terms[0]), int(terms[-1]) + 1, step)
        return sums[tuple(cut)]
    return np.take(sums, terms, axis=axis)


def _taken(sums: Array, terms: Array, axis: int) -> Array:
    """`sums` at position `terms` along `axis`; the axes of `terms` take its place."""
    spread = [place for place, n in enumerate(terms.shape) if n > 1]
    if len(spread) == 1:
        return np.swapaxes(_picked(sums, terms.ravel(), axis), axis, spread[0])
    taken = np.moveaxis(sums, axis, -1)[..., terms.ravel()]
    sizes = [terms.shape[place] for place in spread]
    rest = [place for place in range(sums.ndim) if place != axis]
    keep = [place for place in rest if place not in spread]
    base = taken.reshape([sums.shape[place] for place in rest if place not in spread] + sizes)
    order = keep + spread + [place for place in range(sums.ndim) if place not in keep and place not in spread]
    base = base.reshape([*base.shape, *([1] * (sums.ndim - len(keep) - len(spread)))])
    return np.asarray(base.transpose(np.argsort(order)))
