"""What the rest of the verifier sees of a reference program: its description, small sizes, and the results of runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from ..ir.bindings import Bindings, Constant, Scalar

if TYPE_CHECKING:
    from ..ir.execute import Values
    from .traced import Traced

Array: TypeAlias = npt.NDArray[np.generic]
Mode = Literal["eval", "train"]
Precision = Literal["promoted", "native"]
LeafKind = Literal["result", "state", "input"]
Distribution = Literal["normal", "uniform", "large", "tiny", "negative", "ties", "positive"]
DISTRIBUTIONS: tuple[Distribution, ...] = ("normal", "uniform", "large", "tiny", "negative", "ties", "positive")


class BadInput(Exception):
    """The user's file or options cannot be used; one clear line (exit code 2)."""


class ReferenceFailed(Exception):
    """The reference program crashed, hung, exited or ran out of a limit; one clear line."""


class NotPromotable(ReferenceFailed):
    """The program cannot run with every float as float64 (bit views, operators without such a kernel)."""


class Unrecordable(ReferenceFailed):
    """The program's operators cannot be noted without its data: "model.py:12: aten.item.default: why"."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the child process. `request_s` is wall time per request, `cpu_s` processor time over its life."""

    start_s: float = 90.0
    request_s: float = 120.0
    cpu_s: int = 900
    memory_bytes: int = 8 << 30
    file_bytes: int = 1 << 30
    open_files: int = 256
    output_bytes: int = 1 << 20
    search_s: float = 10.0
    trial_elements: int = 1 << 20


@dataclass(frozen=True, slots=True)
class Leaf:
    """One leaf of what a run gives back: of the results, a mutated state entry or a mutated argument.

    `path` is "" for a lone result, else pytree steps joined by "." ("heads.1.0"); for "state" and "input" the key in
    Bindings. A tensor has a `shape` (rank 0: `()`) and its storage type as `dtype`, which is the ORIGINAL one in
    promoted runs too; a plain number or string has shape None and dtype "bool", "i64", "f64" or "str".
    `value`: None in a description for tensors; an array of float64 / intN / bool; or the plain value.
    `change`: max|perturbed - value| / max|value| over elements finite in both, when inputs and float state are
    perturbed by 2**-52 relative (promoted runs; 0.0 for exact leaves, inf when the perturbed run fails); `flipped`
    counts elements whose discrete value, finiteness or sign of infinity changed under that perturbation."""

    kind: LeafKind
    path: str
    dtype: str
    shape: tuple[int, ...] | None
    value: Array | Scalar = None
    change: float = 0.0
    flipped: int = 0


@dataclass(frozen=True, slots=True)
class Domain:
    """What get_inputs says about one input: the factory that made it ("rand", "randn", "randint", "bool", "values",
    "zeros", ...) and the least and greatest value seen or promised (both included; None: unknown)."""

    factory: str
    low: float | int | None
    high: float | int | None


@dataclass(frozen=True, slots=True)
class Description:
    """The program at its full size. Nothing of full size has been allocated.

    `kind`: "module" or "function". `sources`: the local files of the program, name -> text, the entry file first;
    `source_sha256` hashes their syntax trees (comments and layout do not count). `leaves` is None when shapes depend on
    data (a warning says so)."""

    path: str
    entry: str
    kind: Literal["module", "function"]
    framework: str
    framework_version: str
    mode: Mode
    source: str
    sources: Mapping[str, str]
    source_sha256: str
    signature: str
    default_dtype: str
    bindings: Bindings
    domains: Mapping[str, Domain]
    leaves: tuple[Leaf, ...] | None
    warnings: tuple[str, ...] = ()

    def to_json(self) -> str:
        from .codec import description_to_json

        return description_to_json(self)

    @staticmethod
    def from_json(text: str) -> Description:
        """Raises ValueError when `text` is not a description."""
        from .codec import description_from_json

        return description_from_json(text)


@dataclass(frozen=True, slots=True)
class Assignment:
    """One set of small sizes. `changes`: literal of the source -> the number put there; `inputs`: resulting shapes.

    `not_varied`: literals that have one and the same value in all assignments."""

    label: str
    changes: Mapping[str, int]
    inputs: Mapping[str, tuple[int, ...]]
    batch_one: bool
    not_varied: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Trial:
    """One run of the reference. Arrays are keyed like `bindings`; floats are float64, ints and bools their own types.

    `kept_state`: float entries that were not randomised because they are structural or the reference refused;
    `attrs` of the bindings come from the live object of this size."""

    assignment: Assignment
    seed: int
    distribution: Distribution
    precision: Precision
    bindings: Bindings
    inputs: Mapping[str, Array]
    state: Mapping[str, Array]
    draws: tuple[Array, ...]
    leaves: tuple[Leaf, ...]
    kept_state: tuple[str, ...] = ()
    seconds: float = 0.0
    warnings: tuple[str, ...] = field(default=())

    def values(self) -> Values:
        """The arrays as `ir.execute` takes them."""
        from ..ir.execute import Values

        return Values(inputs=self.inputs, state=self.state, draws=self.draws)


@dataclass(frozen=True, slots=True)
class Feeding:
    """What the results of one trial were computed from: `values` as figures that no reordering of elements changes
    (count, least, greatest, sums of the first three powers), `feeds` the values that each was computed from, `leaves`
    result path -> value."""

    values: tuple[tuple[float, ...], ...]
    feeds: tuple[tuple[int, ...], ...]
    leaves: Mapping[str, int]


class Reference(Protocol):
    """The running original. Methods raise ReferenceFailed when the child process dies or breaks a limit."""

    @property
    def warnings(self) -> tuple[str, ...]: ...

    def describe(self) -> Description: ...

    def assignments(self) -> tuple[Assignment, ...]: ...

    def trial(self, assignment: Assignment, seed: int, distribution: Distribution, precision: Precision) -> Trial: ...

    def feeding(self, assignment: Assignment, seed: int, distribution: Distribution) -> Feeding: ...

    def known_state(self, names: Collection[str]) -> Mapping[str, Array]:
        """Values at full size, typed as in trials, of those state entries that the constructor makes from nothing but
        numbers. Entries whose value may depend on a draw, and what is too large, are missing."""
        ...

    def trace(self, changes: Mapping[str, int]) -> Traced:
        """The operators of one run at these literals of the source ({}: the full size), without memory."""
        ...


__all__ = [
    "DISTRIBUTIONS",
    "Array",
    "Assignment",
    "BadInput",
    "Constant",
    "Description",
    "Distribution",
    "Feeding",
    "Domain",
    "Leaf",
    "LeafKind",
    "Limits",
    "Mode",
    "NotPromotable",
    "Precision",
    "Reference",
    "ReferenceFailed",
    "Trial",
]
