"""One run of the original as a list of operators: what was called on which tensors, with which numbers, from where.

Plain data: recorded by the worker, read by whoever writes a text by rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from ..ir.bindings import Bindings, Scalar


@dataclass(frozen=True, slots=True)
class Ref:
    """A tensor argument: the number of its value."""

    value: int


@dataclass(frozen=True, slots=True)
class DType:
    """A storage type as an argument, by its name in a text ("f32", "i64", "bool")."""

    name: str


Argument: TypeAlias = "Scalar | Ref | DType | tuple[Argument, ...]"


@dataclass(frozen=True, slots=True)
class Value:
    """One tensor object. `shape` in elements, `dtype` as in texts; values with one `storage` share memory."""

    shape: tuple[int, ...]
    dtype: str
    storage: int
    contiguous: bool = True


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a module's forward. `path` as in state names ("layers.0.attn"; "" is the model itself), `cls` the
    full name of its class, `parent` the number of the call that it was made from (None: the outermost)."""

    path: str
    cls: str
    parent: int | None


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator call. `name` in full ("aten.add.Tensor"); `arguments` by the names of its schema, defaults filled in.

    `results`: numbers of values; None for a result that is no tensor. `mutates`: arguments written in place.
    `call`: number of the module call that it was made in. `where`: "file.py:12", the user's line (or the library's)."""

    name: str
    arguments: Mapping[str, Argument]
    results: tuple[int | None, ...]
    mutates: tuple[str, ...]
    call: int
    where: str


@dataclass(frozen=True, slots=True)
class Result:
    """One leaf of what forward() returned: a value's number, or a plain value."""

    path: str
    value: int | None
    plain: Scalar = None


@dataclass(frozen=True, slots=True)
class Traced:
    """`inputs`, `state`: Bindings' names -> number of the value at the start; aliases of one tensor share a number.

    `final_state`: entries that name another tensor object at the end (`self.h = new`), path -> value."""

    values: tuple[Value, ...]
    calls: tuple[Call, ...]
    operators: tuple[Operator, ...]
    inputs: Mapping[str, int]
    state: Mapping[str, int]
    results: tuple[Result, ...]
    bindings: Bindings
    draws: Mapping[int, int] = field(default_factory=dict)
    final_state: Mapping[str, int] = field(default_factory=dict)
