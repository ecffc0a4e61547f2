"""Descriptions and their parts as plain JSON values, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ..ir.bindings import Bindings, Constant, Scalar, TensorType
from ..ir.dtypes import DTYPES
from .types import Array, Description, Domain, Leaf

_VERSION = 1
_LARGEST = 1 << 62


def type_to_plain(item: TensorType) -> list[Any]:
    plain: list[Any] = [item.dtype, item.shape]
    if item.strides is not None or item.storage is not None:
        plain += [item.strides, item.storage, item.offset]
    return plain


def type_from_plain(plain: Sequence[Any]) -> TensorType:
    dtype, shape, *rest = plain
    strides, storage, offset = rest or (None, None, 0)
    if dtype not in DTYPES or not all(type(size) is int and 0 <= size < _LARGEST for size in shape):
        raise ValueError(f"not the type of a tensor: {plain!r:.80}")
    return TensorType(tuple(shape), dtype, None if strides is None else tuple(strides), storage, offset)


def bindings_to_plain(bindings: Bindings) -> dict[str, Any]:
    return {
        "inputs": {name: type_to_plain(item) for name, item in bindings.inputs.items()},
        "state": {name: type_to_plain(item) for name, item in bindings.state.items()},
        "draws": [type_to_plain(item) for item in bindings.draws],
        "attrs": dict(bindings.attrs),
    }


def bindings_from_plain(plain: Mapping[str, Any]) -> Bindings:
    return Bindings(
        {name: type_from_plain(item) for name, item in plain["inputs"].items()},
        {name: type_from_plain(item) for name, item in plain["state"].items()},
        tuple(type_from_plain(item) for item in plain["draws"]),
        {name: constant_from_plain(value) for name, value in plain["attrs"].items()},
    )


def constant_from_plain(value: Any) -> Constant:  # noqa: ANN401
    """JSON has no tuples: lists come back as such."""
    if isinstance(value, list | tuple):
        return tuple(constant_from_plain(item) for item in value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ValueError(f"not a plain constant: {value!r}")


def leaf_to_plain(leaf: Leaf, value: Any) -> list[Any]:  # noqa: ANN401
    """`value` stands for the leaf's own, which may be an array."""
    return [leaf.kind, leaf.path, leaf.dtype, leaf.shape, value, leaf.change, leaf.flipped]


def leaf_from_plain(plain: Sequence[Any], arrays: Sequence[Array] = ()) -> Leaf:
    kind, path, dtype, shape, value, change, flipped = plain
    found: Array | Scalar = arrays[value["array"]] if isinstance(value, dict) else value
    return Leaf(kind, path, dtype, None if shape is None else tuple(shape), found, change, flipped)


def domains_to_plain(domains: Mapping[str, Domain]) -> dict[str, list[Any]]:
    return {name: [domain.factory, domain.low, domain.high] for name, domain in domains.items()}


def description_from_plain(plain: Mapping[str, Any]) -> Description:
    leaves = plain["leaves"]
    return Description(
        path=plain["path"],
        entry=plain["entry"],
        kind=plain["kind"],
        framework=plain["framework"],
        framework_version=plain["framework_version"],
        mode=plain["mode"],
        source=plain["source"],
        sources=dict(plain["sources"]),
        source_sha256=plain["source_sha256"],
        signature=plain["signature"],
        default_dtype=plain["default_dtype"],
        bindings=bindings_from_plain(plain["bindings"]),
        domains={name: Domain(*item) for name, item in plain["domains"].items()},
        leaves=None if leaves is None else tuple(leaf_from_plain(item) for item in leaves),
        warnings=tuple(plain["warnings"]),
    )


def description_to_json(description: Description) -> str:
    leaves = description.leaves
    plain = {
        "version": _VERSION,
        **{
            name: getattr(description, name)
            for name in (
                "path",
                "entry",
                "kind",
                "framework",
                "framework_version",
                "mode",
                "source",
                "source_sha256",
                "signature",
                "default_dtype",
                "warnings",
            )
        },  # fmt: skip
        "sources": dict(description.sources),
        "bindings": bindings_to_plain(description.bindings),
        "domains": domains_to_plain(description.domains),
        "leaves": None if leaves is None else [leaf_to_plain(leaf, leaf.value) for leaf in leaves],
    }
    return json.dumps(plain)


def description_from_json(text: str) -> Description:
    """Raises ValueError when `text` is not a description of this version."""
    plain = json.loads(text)
    if not isinstance(plain, dict) or plain.get("version") != _VERSION:
        raise ValueError("not a description of this version")
    try:
        return description_from_plain(plain)
    except (KeyError, TypeError, IndexError) as error:
        raise ValueError(f"not a description: {error}") from None
