"""Primitives along the last axis that no loop nest says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..program import Opaque
from . import sway
from .values import Array, problem_at


def order_of(values: Array, *, descending: bool) -> Array:
    """Stable order along the last axis; equal elements keep theirs either way, NaN counts as the largest."""
    if not descending:
        return np.argsort(values, axis=-1, kind="stable")
    last = values.shape[-1] - 1
    backwards = np.argsort(values[..., ::-1], axis=-1, kind="stable")
    return np.asarray(last - backwards[..., ::-1])


def run_opaque(node: Opaque, inputs: Sequence[Array], *, swayed: bool = False) -> tuple[Array, ...]:
    """The outputs of an opaque primitive, in float64, or in int64 for positions."""
    params = dict(node.params)
    match node.kind:
        case "topk":
            chosen = _ordered(inputs[0], descending=True, swayed=swayed, ties=True)
            return _chosen(inputs[0], chosen[..., : _count(node, params, inputs[0])])
        case "sort" | "argsort":
            found = _ordered(inputs[0], descending=bool(params.get("descending", 0)), swayed=swayed, ties=False)
            return _chosen(inputs[0], found) if node.kind == "sort" else (found,)
        case "fft" | "ifft":
            signal = inputs[0] + 1j * inputs[1] if len(inputs) > 1 else inputs[0].astype(np.complex128)
            transform = np.fft.fft if node.kind == "fft" else np.fft.ifft
            return _pair(transform(signal, n=params.get("n"), axis=-1))
        case "rfft":
            return _pair(np.fft.rfft(inputs[0], n=params.get("n"), axis=-1))


def _ordered(values: Array, *, descending: bool, swayed: bool, ties: bool) -> Array:
    found = order_of(values, descending=descending)
    return sway.order(values, found, ties=ties) if swayed else found


def _count(node: Opaque, params: Mapping[str, int], values: Array) -> int:
    k, size = params["k"], values.shape[-1]
    if not 0 <= k <= size:
        raise problem_at(node.source, f"topk of {k} out of {size} elements")
    return k


def _chosen(values: Array, order: Array) -> tuple[Array, Array]:
    return np.take_along_axis(values, order, axis=-1), order


def _pair(spectrum: Array) -> tuple[Array, Array]:
    return np.ascontiguousarray(spectrum.real), np.ascontiguousarray(spectrum.imag)
