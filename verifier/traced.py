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
    """One tensor object, or several of which torch makes one from the other without an operator (`x.data`). `shape` in
    elements, `dtype` as in texts; values with one `storage` share memory."""

    shape: tuple[int, ...]
    dtype: str
    storage: int
    contiguous: bool = True


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a module's forward. `path` as in state names ("layers.0.attn"; "" is the model itself; a module that
    the model does not hold has the path of its caller), `cls` the full name of its class, `parent` the number of the
    call that it was made from (None: the outermost). A function has one call, its `cls` the function's name."""

    path: str
    cls: str
    parent: int | None


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator call. `name` in full ("aten.add.Tensor"); `arguments` by the names of its schema, defaults filled
    in, without device, layout, memory_format, generator and pin_memory.

    `results`: numbers of values, lists flattened; None for a result that is no tensor. An operator that hands its
    argument back (in place, or dropout that does nothing) has the argument's number here. One that changes the shape of
    its argument's object (t_, unsqueeze_) gives a new value and is not in `mutates`.
    `mutates`: arguments written in place. `call`: number of the module call that it was made in. `where`: "file.py:12",
    the user's line (or that of the library's model)."""

    name: str
    arguments: Mapping[str, Argument]
    results: tuple[int | None, ...]
    mutates: tuple[str, ...]
    call: int
    where: str


@dataclass(frozen=True, slots=True)
class Result:
    """One leaf of what forward() returned: a value's number, or a plain value. A complex tensor is one leaf here."""

    path: str
    value: int | None
    plain: Scalar = None


@dataclass(frozen=True, slots=True)
class Traced:
    """`inputs`, `state`: Bindings' names -> number of the value at the start; aliases of one tensor share a number, and
    a value that is in neither and comes from no operator is a tensor without a name.

    `drawn`: number of an operator -> draws (indices of `bindings.draws`) made inside it, in order, also when its result
    is not the draw itself (dropout). `draws`: value -> draw, where the result of an operator of one draw is that draw.
    `loose_draws`: draws that no operator made (random, numpy.random): what they gave stands in arguments as a number.
    `literals`: of tensor literals of one number ("made.k"), that number.
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
    drawn: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    loose_draws: tuple[int, ...] = ()
    literals: Mapping[str, Scalar] = field(default_factory=dict)
