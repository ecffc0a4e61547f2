"""Recognises sums of products whose factors vary along different axes, and runs them as matrix products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..dtypes import DTYPES, integer_range, kind
from ..program import Apply, Cast, Const, Expr
from .compile import constant_node, converted, expr_node, is_identity_cast
from .context import Context
from .matmul import contract
from .nodes import ALL, CHUNK_ELEMENTS, Node, Slices, by_stride, chunks, joint_shape, joint_strides, materialised
from .store import Sink, adopt, begin, can_adopt, put
from .values import NUMPY_TYPES, Array

COPY_ELEMENTS = 1 << 22
_SMALL_REDUCTION = 64


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor of a product; `inverse`: it divides."""

    expr: Expr
    inverse: bool = False


@dataclass(slots=True)
class Group:
    """Factors that are multiplied point by point before anything is summed, and conditions where they count as 0."""

    nums: list[Node]
    dens: list[Node] = field(default_factory=list)
    masks: list[Node] = field(default_factory=list)

    @property
    def nodes(self) -> list[Node]:
        return self.nums + self.dens + self.masks

    @property
    def axes(self) -> frozenset[int]:
        return frozenset().union(*(node.axes for node in self.nodes))

    @property
    def bare(self) -> bool:
        return len(self.nodes) == 1 and bool(self.nums) and self.nums[0].bare


def factors_of(expr: Expr, dtype: str, native: bool, *, through: bool = False) -> list[Factor]:
    """The factors of a product worked out in `dtype` (or in floats, all of which are alike).

    `through`: also those of products in other integer types, which is only right where these do not wrap."""
    match expr:
        case Apply("mul" | "neg", args, found) if _alike(found, dtype) or (through and kind(found) == "int"):
            inner = [factor for arg in args for factor in factors_of(arg, dtype, native, through=through)]
            return inner if len(args) == 2 else [Factor(Const(-1, found)), *inner]
        case Apply("div", (left, right), found) if kind(found) == kind(dtype) == "float":
            return [*factors_of(left, dtype, native, through=through), Factor(right, inverse=True)]
        case Cast(arg, found) if kind(dtype) == kind(found) == "float" and _is_free(arg, found, native):
            return factors_of(arg, dtype, native, through=through)
        case _:
            return [Factor(expr)]


def _alike(found: str, dtype: str) -> bool:
    return found == dtype or kind(found) == kind(dtype) == "float"


def _is_free(arg: Expr, dtype: str, native: bool) -> bool:
    return isinstance(arg, Apply | Cast) and is_identity_cast(arg.dtype, dtype, native)


def product_nodes(ctx: Context, expr: Expr, dtype: str) -> list[tuple[Node, bool]] | None:
    """Factors (and whether they divide) in the arithmetic of `dtype`; None when it is no such product."""
    if kind(dtype) == "bool" or (kind(dtype) == "int" and DTYPES[dtype].bits < 8):
        return None
    found = factors_of(expr, dtype, ctx.native)
    wider = factors_of(expr, dtype, ctx.native, through=True)
    nodes = [(expr_node(ctx, factor.expr), factor.inverse) for factor in wider]
    if len(wider) > len(found) and not _fits(nodes, expr):
        nodes = [(expr_node(ctx, factor.expr), factor.inverse) for factor in found]
    if len(nodes) < 2:
        return None
    return [(converted(node, dtype), inverse) for node, inverse in nodes]


def _fits(nodes: Sequence[tuple[Node, bool]], expr: Expr) -> bool:
    """Whether the integer products in the expression stay in their types' range on these numbers."""
    bound = 1.0
    for node, _ in nodes:
        if kind(node.dtype) == "int":
            if not node.bare:
                return False
            values = node.whole()
            bound *= max(abs(float(values.max())), abs(float(values.min())), 1.0)
    return all(bound <= integer_range(name)[1] for name in _integer_types(expr))


def _integer_types(expr: Expr) -> list[str]:
    match expr:
        case Apply("mul" | "neg" | "div", args, dtype):
            mine = [dtype] if kind(dtype) == "int" else []
            return mine + [name for arg in args for name in _integer_types(arg)]
        case Cast(arg, dtype) if kind(dtype) == "float":
            return _integer_types(arg)
        case _:
            return []


def grouped(factors: Sequence[tuple[Node, bool]], masks: Sequence[Node], reduced: frozenset[int]) -> list[Group]:
    groups = [Group([node]) for node, inverse in factors if not inverse]
    for node in [node for node, inverse in factors if inverse]:
        _host(groups, node.axes).dens.append(node)
    for node in masks:
        _host(groups, node.axes).masks.append(node)
    groups.sort(key=lambda group: (len(group.axes), math.prod(joint_shape([n.shape for n in group.nodes]))))
    result: list[Group] = []
    for place, group in enumerate(groups):
        hosts = [other for other in groups[place + 1 :] if group.axes <= other.axes]
        host = next((h for h in hosts if not (group.axes & reduced and group.bare and h.bare)), None)
        if host is None:
            result.append(group)
        else:
            host.nums = host.nums + group.nums
            host.dens += group.dens
            host.masks += group.masks
    return result


def _host(groups: list[Group], axes: frozenset[int]) -> Group:
    """The smallest group that varies along all of `axes`, a new one where there is none."""
    hosts = [group for group in groups if axes <= group.axes]
    if not hosts:
        hosts = [Group([])]
        groups += hosts
    return min(hosts, key=lambda group: math.prod(joint_shape([node.shape for node in group.nodes])))


def group_node(ctx: Context, group: Group, dtype: str) -> Node:
    if group.bare:
        return group.nums[0]
    nums = group.nums or [constant_node(ctx, np.ones((), NUMPY_TYPES[dtype]), dtype)]
    nodes = [*nums, *group.dens, *group.masks]

    def run(cut: Slices) -> Array:
        total = nums[0].run(cut)
        for node in nums[1:]:
            total = total * node.run(cut)
        for node in group.dens:
            total = total / node.run(cut)
        for node in group.masks:
            total = np.where(node.run(cut), total, np.zeros((), total.dtype))
        return total

    return Node(joint_shape([node.shape for node in nodes]), dtype, run, True, joint_strides(nodes))


def _overlaps(node: Node) -> bool:
    if not node.bare or node.strides is None:
        return True
    item = NUMPY_TYPES[node.dtype].itemsize
    reach = sum((n - 1) * abs(stride) for n, stride in zip(node.shape, node.strides, strict=True)) // item + 1
    return node.size > reach


def _worth_it(nodes: Sequence[Node], reduced: frozenset[int]) -> bool:
    """Matrix products pay unless one factor covers all axes and the sums are short (pooling, depthwise windows)."""
    if len(nodes) < 2:
        return False
    big = max(nodes, key=lambda node: node.size)
    if any(not node.axes <= big.axes for node in nodes):
        return True
    return math.prod(big.shape[axis] for axis in reduced) > _SMALL_REDUCTION and not _overlaps(big)


def run_product(sink: Sink, expr: Expr) -> bool:
    """Runs a `+=` nest as a contraction; False (and nothing done) where that does not apply."""
    ctx, dtype = sink.ctx, sink.dtype
    reduced = frozenset(sink.reduced)
    if not reduced:
        return False
    masks = [node for node in ctx.conditions if node.axes & reduced]
    factors = product_nodes(ctx, expr, dtype)
    if factors is None:
        factors = [(converted(expr_node(ctx, expr), dtype), False)] if masks and kind(dtype) == "float" else None
    if factors is None:
        return False
    nodes = [group_node(ctx, group, dtype) for group in grouped(factors, masks, reduced)]
    if not _worth_it(nodes, reduced):
        return False
    missing = math.prod(ctx.sizes[axis] for axis in reduced if not any(axis in node.axes for node in nodes))
    return _run_parts(sink, nodes, missing, check_finite=bool(masks) or _reorders(nodes, reduced))


def _reorders(nodes: Sequence[Node], reduced: frozenset[int]) -> bool:
    """Whether sums are taken before all factors are multiplied: with infinities that gives something else."""
    return len(nodes) > 2 or any(sum(axis in node.axes for node in nodes) == 1 for axis in reduced)


def _run_parts(sink: Sink, nodes: list[Node], missing: int, *, check_finite: bool) -> bool:
    parts = list(_parts(sink, nodes))
    sink.ctx.demand(_demanded(sink, nodes, len(parts)))
    fixed = _fixed(nodes, parts)
    started = False
    for cut in parts:
        arrays = [fixed[place] if place in fixed else _part(node, cut) for place, node in enumerate(nodes)]
        if check_finite and not started and not _finite(nodes):
            return False
        values = contract(arrays, sink.kept)
        if missing != 1:
            values = values * values.dtype.type(missing)
        if not started and len(parts) == 1 and can_adopt(sink) and values.shape == result_shape(sink):
            adopt(sink, values)
            return True
        if not started:
            begin(sink, once=True)
            started = True
        put(sink, cut, values, out_mask(sink, cut))
    return True


def _demanded(sink: Sink, nodes: Sequence[Node], parts: int) -> int:
    """Elements of the result, and of operands that are worked out, at a time."""
    result = math.prod(result_shape(sink)) // parts
    return result + sum(node.size if parts == 1 else min(node.size, COPY_ELEMENTS) for node in nodes if not node.bare)


def _finite(nodes: Sequence[Node]) -> bool:
    """Whether no infinity or NaN could get where it does not belong, by masks or by the order of sums."""
    return all(
        bool(np.isfinite(node.run(cut)).all())
        for node in nodes if kind(node.dtype) == "float"
        for cut in chunks(node.shape, by_stride(node.shape, node.strides), COPY_ELEMENTS)
    )  # fmt: skip


def result_shape(sink: Sink) -> tuple[int, ...]:
    return tuple(n if axis in sink.kept else 1 for axis, n in enumerate(sink.ctx.sizes))


def _parts(sink: Sink, nodes: Sequence[Node]) -> list[Slices]:
    """Cuts along kept axes so that no operand that has to be copied gets too large."""
    copied = [node for node in nodes if _overlaps(node)]
    big = max(copied, key=lambda node: node.size, default=None)
    rank = len(sink.ctx.sizes)
    if big is None or big.size <= COPY_ELEMENTS:
        return [(ALL,) * rank]
    order = [axis for axis in by_stride(big.shape, big.strides) if axis in sink.kept]
    return list(chunks(big.shape, order, COPY_ELEMENTS))


def _fixed(nodes: Sequence[Node], parts: list[Slices]) -> dict[int, Array]:
    """Operands that are the same for every part."""
    cut_axes = {axis for cut in parts for axis, piece in enumerate(cut) if piece != ALL}
    return {place: materialised(node) if node.view is None else node.view
            for place, node in enumerate(nodes) if not node.axes & cut_axes and not node.bare}  # fmt: skip


def _part(node: Node, cut: Slices) -> Array:
    if node.bare or all(piece == ALL for piece in cut):
        return node.run(cut) if node.bare else materialised(node)
    size = [len(range(*piece.indices(n))) if n > 1 else 1 for piece, n in zip(cut, node.shape, strict=True)]
    result = np.empty(size, NUMPY_TYPES[node.dtype])
    for inner in chunks(size, by_stride(size, node.strides), CHUNK_ELEMENTS):
        moved = tuple(_moved(outer, piece, n) for outer, piece, n in zip(cut, inner, node.shape, strict=True))
        result[inner] = node.run(moved)
    return result


def _moved(outer: slice, inner: slice, count: int) -> slice:
    """`inner`, counted from the start of `outer`, as a slice of the whole axis."""
    if count == 1:
        return outer
    start, stop, _ = outer.indices(count)
    if inner == ALL:
        return slice(start, stop)
    return slice(start + inner.start, min(start + inner.stop, stop))


def out_mask(sink: Sink, cut: Slices) -> Array | None:
    """Which elements a part hits at all; None when all, or when nobody asks."""
    if not sink.ctx.conditions or (sink.plain and sink.written is None and sink.combine != "="):
        needed = [node for node in sink.ctx.conditions if not node.axes & frozenset(sink.reduced)]
        return all_of(needed, cut)
    mask = sink.ctx.mask(cut)
    if mask is None:
        return None
    lone = tuple(axis for axis in sink.reduced if mask.shape[axis] > 1)
    return np.asarray(mask.any(axis=lone, keepdims=True)) if lone else mask


def all_of(nodes: Sequence[Node], cut: Slices) -> Array | None:
    result: Array | None = None
    for node in nodes:
        found = node.run(cut)
        result = found if result is None else result & found
    return result
