"""The elaborated program: what a text means at one assignment of sizes.

A flat list of statements over concrete integer sizes. Functions are inlined, `repeat` is unrolled, compile-time
conditions are decided; a `scan` is kept as one node. Inline reductions are nests of their own. Every node is frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from .bindings import Constant, Scalar
from .ops import Combine


@dataclass(frozen=True, slots=True)
class Source:
    """Where a statement came from: 1-based line and column in the text, its first line, and the calls and repeats
    that led to it, outermost first (`bottleneck(name="layer1.0") at line 45`, `i = 3`). Prelude lines carry `unit`."""

    line: int
    column: int
    text: str
    trail: tuple[str, ...] = ()
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Iter:
    """An iterator of the enclosing nest, or of an enclosing scan."""

    name: str


@dataclass(frozen=True, slots=True)
class Div:
    """Floor division of an index by a positive integer."""

    arg: Index
    by: int


@dataclass(frozen=True, slots=True)
class Mod:
    """Remainder of floor division of an index by a positive integer: 0 <= value < by."""

    arg: Index
    by: int


@dataclass(frozen=True, slots=True)
class Fetch:
    """An integer read from a tensor and used as an index: indirect access, not affine."""

    read: Read


Atom: TypeAlias = Iter | Div | Mod | Fetch


@dataclass(frozen=True, slots=True)
class Index:
    """Quasi-affine index `sum(coefficient * atom) + const`; atoms distinct, coefficients nonzero, canonical order."""

    terms: tuple[tuple[Atom, int], ...]
    const: int = 0


Relation = Literal["<", "<=", ">", ">=", "==", "!="]


@dataclass(frozen=True, slots=True)
class Compare:
    """`index relation 0`."""

    index: Index
    relation: Relation


@dataclass(frozen=True, slots=True)
class AllOf:
    """The conjunction of conditions."""

    args: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """The disjunction of conditions."""

    args: tuple[Condition, ...]


Condition: TypeAlias = Compare | AllOf | AnyOf


@dataclass(frozen=True, slots=True)
class Const:
    """A number known when elaborating. `dtype` is its storage type where it stands (a weak literal: its kind's)."""

    value: bool | int | float
    dtype: str


@dataclass(frozen=True, slots=True)
class IndexValue:
    """An index expression used as a number (dtype i64)."""

    index: Index


@dataclass(frozen=True, slots=True)
class Read:
    """One element of a tensor. With `fill`, an index out of bounds on any axis gives `fill` instead of an error."""

    tensor: str
    index: tuple[Index, ...]
    fill: Const | None = None


@dataclass(frozen=True, slots=True)
class Apply:
    """`op` is a key of `ops.SCALAR_OPS`; `dtype` the result's storage type."""

    op: str
    args: tuple[Expr, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class Cast:
    """Conversion to a storage type: the value changes as torch's `.to` does (no float rounding in promoted runs)."""

    arg: Expr
    dtype: str


Expr: TypeAlias = Const | IndexValue | Read | Apply | Cast


@dataclass(frozen=True, slots=True)
class Loop:
    """Iterator `name` runs 0 .. extent-1; `extent` may use iterators of outer loops and of enclosing scans."""

    name: str
    extent: Index


@dataclass(frozen=True, slots=True)
class Declare:
    """Makes tensor `tensor`. `init`: None = unwritten, a constant, or the id of a tensor of the same shape (copied)."""

    tensor: str
    init: Const | str | None
    source: Source


@dataclass(frozen=True, slots=True)
class Nest:
    """`for loops where condition: target[at] combine= value`.

    The target has been declared before. With "=", every point writes; else loops absent from `at` are reduced.
    "argmax"/"argmin" write the first position along the one reduced loop."""

    loops: tuple[Loop, ...]
    where: Condition | None
    target: str
    at: tuple[Index, ...]
    combine: Combine
    value: Expr
    source: Source


@dataclass(frozen=True, slots=True)
class View:
    """Pure index map: `tensor[loops] = read`. No work and no traffic. The loops' extents are constant."""

    tensor: str
    loops: tuple[Loop, ...]
    read: Read
    source: Source


@dataclass(frozen=True, slots=True)
class Carry:
    """`inner` is the carried tensor inside the body; it starts as `init`, becomes `next` after each step, and is
    `final` after the scan."""

    inner: str
    init: str
    next: str
    final: str


@dataclass(frozen=True, slots=True)
class Emit:
    """Step t's tensor `inner` becomes `outer[t, ...]`."""

    inner: str
    outer: str


@dataclass(frozen=True, slots=True)
class Scan:
    """`trip` sequential steps of `body`; `iterator` is t = 0..trip-1, or trip-1..0 when `reverse`."""

    iterator: str
    trip: int
    reverse: bool
    carries: tuple[Carry, ...]
    emits: tuple[Emit, ...]
    body: tuple[Statement, ...]
    source: Source


@dataclass(frozen=True, slots=True)
class Branch:
    """A choice made by a rank-0 tensor at run time. `joins`: (tensor of the taken arm, of the other arm, result)."""

    condition: str
    then: tuple[Statement, ...]
    orelse: tuple[Statement, ...]
    joins: tuple[tuple[str, str, str], ...]
    source: Source


OpaqueKind = Literal["topk", "sort", "argsort", "fft", "ifft", "rfft"]


@dataclass(frozen=True, slots=True)
class Opaque:
    """A primitive that no loop nest says, along the last axis. `params` holds k, n, descending where they apply."""

    kind: OpaqueKind
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    params: tuple[tuple[str, int], ...]
    source: Source


Statement: TypeAlias = Declare | Nest | View | Scan | Branch | Opaque


@dataclass(frozen=True, slots=True)
class External:
    """A tensor that comes from outside. `key` is its key in Bindings.inputs or .state, or the draw's number.

    For a draw, `count` > 0 says that `count` draws from that number on are stacked on a leading axis."""

    kind: Literal["input", "state", "draw"]
    key: str
    strides: tuple[int, ...] | None = None
    storage: str | None = None
    offset: int = 0
    count: int = 0


@dataclass(frozen=True, slots=True)
class Tensor:
    """`name` is the id that statements use: the text's name, with `.2`, `.3` … after a rebinding."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    external: External | None = None


@dataclass(frozen=True, slots=True)
class Range:
    """`in lo..hi` and `unique` of an input declaration (hi excluded)."""

    tensor: str
    low: int | None
    high: int | None
    unique: bool
    source: Source


@dataclass(frozen=True, slots=True)
class Fact:
    """A claim about a captured tensor: for all points of `loops`, `claim` is true."""

    tensor: str
    loops: tuple[Loop, ...]
    claim: Expr
    source: Source


@dataclass(frozen=True, slots=True)
class Output:
    """One leaf of the results (`kind` "result", in order), a mutated state entry or a mutated argument (`name` says
    which). Exactly one of `tensor` and `value` is set. `unordered`: (axis, ids of tensors permuted alike).
    `indexes`: (tensor, axis, values) for an index result that is checked as tensor[index] == values."""

    kind: Literal["result", "state", "input"]
    name: str
    tensor: str | None
    value: Scalar
    dtype: str
    source: Source
    unordered: tuple[int, tuple[str, ...]] | None = None
    indexes: tuple[str, int, str] | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """A compile-time outcome taken while elaborating (`if`, conditional, `has`, min/max): where, what, result."""

    line: int
    column: int
    text: str
    outcome: Constant


@dataclass(frozen=True, slots=True)
class Program:
    """`sizes` holds the compile-time names of the top level. Tensors are keyed by their ids."""

    name: str
    tensors: Mapping[str, Tensor]
    body: tuple[Statement, ...]
    outputs: tuple[Output, ...]
    ranges: tuple[Range, ...] = ()
    facts: tuple[Fact, ...] = ()
    decisions: frozenset[Decision] = field(default_factory=frozenset)
    sizes: Mapping[str, Constant] = field(default_factory=dict)
