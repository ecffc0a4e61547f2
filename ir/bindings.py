"""What a text is bound to: the shapes, types and plain values captured from one run of the original program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Scalar: TypeAlias = bool | int | float | str | None
Constant: TypeAlias = Scalar | tuple["Constant", ...]


@dataclass(frozen=True, slots=True)
class TensorType:
    """Shape in elements, storage dtype (a key of `dtypes.DTYPES`), and how the elements lie in memory.

    `strides` count elements (None: contiguous); `storage` names the memory block and `offset` the first element in
    it, so that tied weights and overlapping views can be recognised (None: a block of its own)."""

    shape: tuple[int, ...]
    dtype: str
    strides: tuple[int, ...] | None = None
    storage: str | None = None
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Bindings:
    """The names a text may use, at one assignment of sizes.

    `inputs`: forward()'s tensor arguments, by name or path ("x", "argname/key").
    `state`: captured tensors by their path on the model ("conv1.weight"), module-level constants ("const.NAME") and
    tensor literals made in forward() ("made.0"); tied aliases are separate keys with the same `storage`.
    `draws`: random tensors that forward() draws, in order.
    `attrs`: plain values by path: "arg.NAME" (constructor or scalar forward() arguments), "const.NAME" (module-level
    constants), "self.PATH" (attributes of the model); a list or tuple is present whole, its items under ".0", ".1"."""

    inputs: Mapping[str, TensorType] = field(default_factory=dict)
    state: Mapping[str, TensorType] = field(default_factory=dict)
    draws: tuple[TensorType, ...] = ()
    attrs: Mapping[str, Constant] = field(default_factory=dict)
