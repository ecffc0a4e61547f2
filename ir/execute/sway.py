"""Discrete decisions taken the other way where they are too close to call.

Rounding differs between two right programs, so a comparison, a rounding to an integer or a choice of the largest may
fall either way when its margin is down in the last bits. A swayed run takes all such decisions the other way: elements
that change are those that hang on them. Exact ties stay decided, except those of topk, which PyTorch leaves open."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .values import Array

RELATIVE = 1e-9
OF_LARGEST = 1e-13

Function = Callable[..., Array]


def _margin(left: Array, right: Array) -> Array:
    """The difference below which two values are too close to call."""
    each = np.maximum(np.abs(left), np.abs(right))
    finite = each[np.isfinite(each)]
    return np.asarray(RELATIVE * each + OF_LARGEST * (finite.max() if finite.size else 0.0))


def _open(left: Array, right: Array) -> Array:
    """Where two floats differ, but by less than the margin."""
    if left.dtype.kind != "f" and right.dtype.kind != "f":
        return np.zeros(np.broadcast_shapes(left.shape, right.shape), bool)
    close = np.abs(np.subtract(left, right)) <= _margin(left, right)
    return np.asarray(close & (left != right))


def _comparison(function: Function) -> Function:
    return lambda left, right: function(left, right) ^ _open(np.asarray(left), np.asarray(right))


def _rounding(function: Function, shift: float) -> Function:
    """Steps of `function` lie at integers plus `shift`."""

    def apply(x: Array) -> Array:
        if x.dtype.kind != "f":
            return x
        step = np.rint(x - shift) + shift
        other = function(2 * step - x)
        return np.where(_open(x, step), other, function(x))

    return apply


_SWAYED: dict[str, Function] = {
    "lt": _comparison(np.less), "le": _comparison(np.less_equal), "gt": _comparison(np.greater),
    "ge": _comparison(np.greater_equal), "eq": _comparison(np.equal), "ne": _comparison(np.not_equal),
    "floor": _rounding(np.floor, 0.0), "ceil": _rounding(np.ceil, 0.0), "round": _rounding(np.rint, 0.5),
}  # fmt: skip


def swayed(op: str, function: Function) -> Function:
    """`function`, or its swayed form where the operator takes decisions."""
    return _SWAYED.get(op, function)


def order(values: Array, ordered: Array, *, ties: bool) -> Array:
    """An order along the last axis with runs of values too close to call reversed; equal ones too with `ties`."""
    if values.dtype.kind != "f" and not ties:
        return ordered
    lined = np.take_along_axis(values, ordered, axis=-1).astype(np.float64)
    left, right = lined[..., :-1], lined[..., 1:]
    joined = _open(left, right)
    if ties:
        joined = joined | (left == right)
    size = lined.shape[-1]
    run = np.concatenate([np.zeros((*lined.shape[:-1], 1), np.int64), np.cumsum(~joined, axis=-1)], axis=-1)
    key = run * size + (size - 1 - np.arange(size))
    return np.asarray(np.take_along_axis(ordered, np.argsort(key, axis=-1, kind="stable"), axis=-1))


def position(values: Array, found: Array, axis: int) -> Array:
    """The first other position whose value is too close to the chosen one to call, else the chosen one."""
    if values.dtype.kind != "f":
        return found
    close = _open(values, np.take_along_axis(values, found, axis))
    other = np.argmax(close, axis=axis, keepdims=True)
    return np.where(close.any(axis=axis, keepdims=True), other, found)
