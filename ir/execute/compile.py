"""Expressions and conditions of the program as array expressions over a box."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from ..dtypes import kind
from ..indices import condition_iterators, index_reads
from ..program import AllOf, AnyOf, Apply, Cast, Compare, Condition, Const, Expr, IndexValue, Read, Source
from .access import cached, index_node, read_node
from .affine import compares
from .context import Context
from .domain import Piece
from .memory import Memory, Slot
from .nodes import Node, Slices, joint_shape, joint_strides, leaf, materialised
from .rounding import cast
from .scalar import constant_power, finish, function_of, is_ufunc, operand_types
from .sway import swayed
from .values import NUMPY_TYPES, Array, as_kind, as_scalar

_HOIST_FACTOR = 4
_RELATIONS: dict[str, Callable[[Array, int], Array]] = {
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal,
}  # fmt: skip


def make_context(
    piece: Piece, memory: Memory, source: Source, *, native: bool, before: Mapping[str, Slot] | None = None
) -> Context:
    """The context of a piece with its conditions; those that read data are looked at where the others hold."""
    ctx = Context(piece, memory, source, native=native)
    ctx.before = before or {}
    ordered = sorted(piece.conditions, key=_reads_data)
    for condition in ordered:
        ctx.conditions += (condition_node(ctx, condition),)
        ctx.condition_names += (condition_iterators(condition),)
    return ctx


def _reads_data(condition: Condition) -> bool:
    return any(True for compare in compares(condition) for _ in index_reads(compare.index))


def condition_node(ctx: Context, condition: Condition) -> Node:
    match condition:
        case Compare(index, relation):
            node, function = index_node(ctx, index), _RELATIONS[relation]
            result = Node(node.shape, "bool", lambda slices: function(node.run(slices), 0), fresh=True)
        case AllOf(args):
            result = _joined(ctx, args, np.logical_and)
        case AnyOf(args):
            result = _joined(ctx, args, np.logical_or)
    return cached(result)


def _joined(ctx: Context, args: tuple[Condition, ...], function: Callable[[Array, Array], Array]) -> Node:
    nodes = [condition_node(ctx, arg) for arg in args]

    def run(slices: Slices) -> Array:
        total = nodes[0].run(slices)
        for node in nodes[1:]:
            total = function(total, node.run(slices))
        return total

    return Node(joint_shape([node.shape for node in nodes]), "bool", run, fresh=True)


def constant_node(ctx: Context, value: Array, dtype: str) -> Node:
    return leaf(np.asarray(value, NUMPY_TYPES[dtype]).reshape(ctx.ones), dtype)


def expr_node(ctx: Context, expr: Expr) -> Node:
    """The expression's value over the box, in its storage type."""
    match expr:
        case Const(value, dtype):
            return constant_node(ctx, as_scalar(value, dtype), dtype)
        case IndexValue(index):
            return index_node(ctx, index)
        case Read():
            return read_node(ctx, expr)
        case Cast(arg, dtype):
            return cast_node(ctx, expr_node(ctx, arg), dtype)
        case Apply(_, args, _):
            return apply_node(ctx, expr, [expr_node(ctx, arg) for arg in args])


def is_identity_cast(dtype_from: str, dtype_to: str, native: bool) -> bool:
    if kind(dtype_to) == "float":
        return kind(dtype_from) == "float" and (not native or dtype_to == "f64")
    return dtype_from == dtype_to


def cast_node(ctx: Context, node: Node, dtype: str) -> Node:
    if is_identity_cast(node.dtype, dtype, ctx.native):
        return Node(node.shape, dtype, node.run, node.fresh, node.strides, node.view, node.bare)
    native = ctx.native
    result = Node(node.shape, dtype, lambda cut: cast(node.run(cut), dtype, native), strides=node.strides)
    return leaf(result.whole(), dtype) if node.size == 1 else result


def converted(node: Node, dtype: str | None) -> Node:
    """The same numbers in the arithmetic of another storage type."""
    if dtype is None or NUMPY_TYPES[node.dtype] == NUMPY_TYPES[dtype]:
        return node
    if node.size == 1 and node.view is not None:
        return leaf(as_kind(node.view, dtype), dtype)
    run = node.run
    return Node(node.shape, dtype, lambda cut: as_kind(run(cut), dtype), fresh=True, strides=node.strides)


def apply_node(ctx: Context, expr: Apply, args: list[Node]) -> Node:
    types = operand_types(expr.op, [node.dtype for node in args], expr.dtype)
    shape = joint_shape([node.shape for node in args])
    size = math.prod(shape)
    nodes = [_hoisted(converted(node, dtype), size) for node, dtype in zip(args, types, strict=True)]
    short = constant_power(expr)
    function = function_of(expr.op) if short is None else short
    if ctx.memory.swayed:
        function = swayed(expr.op, function)
    if short is not None:
        nodes = nodes[:1]
    result = Node(shape, expr.dtype, _runner(function, nodes, expr.dtype, shape), True, joint_strides(nodes))
    return leaf(result.whole(), expr.dtype) if size == 1 and all(n.view is not None for n in nodes) else result


def _hoisted(node: Node, size: int) -> Node:
    """A computed value with far fewer elements than the one it goes into is worked out once."""
    if node.bare or node.size * _HOIST_FACTOR > size:
        return node
    return leaf(materialised(node), node.dtype)


def _runner(
    function: Callable[..., Array], nodes: list[Node], dtype: str, shape: tuple[int, ...]
) -> Callable[[Slices], Array]:
    target = NUMPY_TYPES[dtype]
    reuse = next(
        (i for i, n in enumerate(nodes) if n.fresh and n.shape == shape and NUMPY_TYPES[n.dtype] == target), None
    )
    runs = [node.run for node in nodes]
    if reuse is None or not is_ufunc(function):
        return lambda cut: finish(np.asarray(function(*[run(cut) for run in runs])), dtype)
    place = reuse

    def run_in_place(cut: Slices) -> Array:
        values = [run(cut) for run in runs]
        return finish(function(*values, out=values[place]), dtype)

    return run_in_place
