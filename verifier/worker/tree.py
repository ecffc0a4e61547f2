"""Nested values: forward()'s arguments and results, taken apart by path and put together again."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ...ir.bindings import Scalar
from ..types import Leaf, LeafKind
from .faults import Refused
from .tensors import dtype_name, values


def flatten(value: Any, path: str = "") -> Iterator[tuple[str, torch.Tensor | Scalar]]:  # noqa: ANN401
    """Leaves with their paths; None and empty containers vanish."""
    match value:
        case None:
            return
        case torch.Tensor() | bool() | int() | float() | str():
            yield path, value
        case np.ndarray():
            yield path, torch.from_numpy(value)
        case np.generic():
            yield path, value.item()
        case torch.dtype() | torch.device():
            yield path, str(value)
        case dict():
            for key, item in value.items():
                yield from flatten(item, _join(path, str(key)))
        case list() | tuple():
            for index, item in enumerate(value):
                yield from flatten(item, _join(path, str(index)))
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            for entry in dataclasses.fields(value):
                yield from flatten(getattr(value, entry.name), _join(path, entry.name))
        case _:
            raise Refused(f"the program returns a {type(value).__name__}, which is not understood")


def _join(path: str, step: str) -> str:
    return f"{path}.{step}" if path else step


def leaves_of(value: Any, kind: LeafKind = "result", with_values: bool = True) -> list[Leaf]:  # noqa: ANN401
    """Leaves of a result in the types it has; a complex tensor becomes `path.re` and `path.im`."""
    leaves: list[Leaf] = []
    for path, item in flatten(value):
        if isinstance(item, torch.Tensor):
            leaves += _tensor_leaves(path, item, kind, with_values)
        else:
            name = {bool: "bool", int: "i64", float: "f64"}.get(type(item), "str")
            leaves.append(Leaf(kind, path, name, None, item))
    return leaves


def _tensor_leaves(path: str, tensor: torch.Tensor, kind: LeafKind, with_values: bool) -> Iterator[Leaf]:
    if tensor.layout != torch.strided:
        raise Refused(f"the program returns a {tensor.layout} tensor, which is not understood")
    if not tensor.dtype.is_complex:
        yield Leaf(kind, path, dtype_name(tensor.dtype), tuple(tensor.shape), values(tensor) if with_values else None)
        return
    part = "f32" if tensor.dtype == torch.complex64 else "f64"
    for name, half in (("re", tensor.real), ("im", tensor.imag)):
        yield Leaf(kind, _join(path, name), part, tuple(tensor.shape), values(half) if with_values else None)


@dataclass(frozen=True, slots=True)
class Arguments:
    """forward()'s arguments: `args` and `kwargs` as get_inputs gave them, tensors by path, other values by name."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    tensors: Mapping[str, torch.Tensor]
    others: Mapping[str, object]


def name_arguments(made: Any, signature: inspect.Signature) -> Arguments:  # noqa: ANN401
    """Names for what get_inputs returned: a list or tuple is positional, a dict by keyword, anything else alone."""
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}
    match made:
        case dict():
            kwargs = dict(made)
        case list() | tuple():
            args = tuple(made)
        case _:
            args = (made,)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        message = f"the inputs (get_inputs or --inputs) do not fit the signature {signature}: {error}"
        raise Refused(message, "bad_input") from None
    bound.apply_defaults()
    tensors: dict[str, torch.Tensor] = {}
    others: dict[str, object] = {}
    for name, value in bound.arguments.items():
        found = list(_tensors_in(value, name))
        tensors.update(found)
        if not found:
            others[name] = value
    return Arguments(args, kwargs, tensors, others)


def _tensors_in(value: Any, path: str) -> Iterator[tuple[str, torch.Tensor]]:  # noqa: ANN401
    match value:
        case torch.Tensor():
            yield path, value
        case list() | tuple():
            for index, item in enumerate(value):
                yield from _tensors_in(item, f"{path}/{index}")
        case dict():
            for key, item in value.items():
                yield from _tensors_in(item, f"{path}/{key}")
        case _:
            return


def replace_tensors(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:  # noqa: ANN401
    """The same nesting with every tensor changed."""
    match value:
        case torch.Tensor():
            return change(value)
        case dict():
            return {key: replace_tensors(item, change) for key, item in value.items()}
        case tuple() if hasattr(value, "_fields"):
            return type(value)(*(replace_tensors(item, change) for item in value))
        case list() | tuple():
            return type(value)(replace_tensors(item, change) for item in value)
        case _:
            return value
