"""What names mean while elaborating, and the program under construction."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NoReturn, TypeAlias

from .. import syntax as s
from ..bindings import Bindings, Constant
from ..dtypes import RANK0, STRONG, Typed
from ..errors import IRError, Problem
from ..program import Decision, Declare, External, Fact, Output, Range, Source, Statement, Tensor


@dataclass(frozen=True, slots=True)
class Known:
    """A compile-time value: a size, a `let`, an `attr`, an option, a repeat variable."""

    value: Constant


@dataclass(frozen=True, slots=True)
class TensorRef:
    """A tensor of the program, by its id."""

    id: str


@dataclass(frozen=True, slots=True)
class Poison:
    """A name whose definition failed; using it fails without a second message."""


Entry: TypeAlias = Known | TensorRef | Poison


class PoisonedError(Exception):
    """Raised by the use of a poisoned name."""


@dataclass(slots=True)
class Frame:
    """The names of one function call, or of the top level.

    `shared` holds the top level's `let` and `attr` names, visible in every function. `declared` are names made by
    `tensor` that nests write into. `iterators` maps iterators of enclosing scans to their program names; `frozen`
    are the names that a scan's body may not write into."""

    names: dict[str, Entry] = field(default_factory=dict)
    shared: dict[str, Entry] = field(default_factory=dict)
    declared: set[str] = field(default_factory=set)
    spread: tuple[int, ...] | None = None
    is_top: bool = False
    iterators: dict[str, tuple[str, int]] = field(default_factory=dict)
    frozen: frozenset[str] = frozenset()
    returned: tuple[Entry, ...] | None = None
    nexts: dict[str, str] | None = None
    emits: dict[str, str] | None = None

    def lookup(self, name: str) -> Entry | None:
        return self.names.get(name) or self.shared.get(name)

    def fork(self, *, frozen: bool = False) -> Frame:
        """A copy whose assignments do not reach this frame."""
        closed = self.frozen | frozenset(self.declared) if frozen else self.frozen
        return Frame(
            dict(self.names), self.shared, set() if frozen else set(self.declared), self.spread, False,
            dict(self.iterators), closed, None, self.nexts, self.emits,
        )  # fmt: skip


@dataclass(slots=True)
class Builder:
    """The program under construction and where elaboration stands."""

    bindings: Bindings
    lines: tuple[str, ...]
    defs: dict[str, s.Def]
    tensors: dict[str, Tensor] = field(default_factory=dict)
    body: list[Statement] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    ranges: list[Range] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    decisions: set[Decision] = field(default_factory=set)
    problems: dict[tuple[int, int, str], Problem] = field(default_factory=dict)
    trail: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    unit: str = ""
    call_site: s.Pos = s.Pos()
    draws: int = 0
    pending: dict[str, Typed | None] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def line_text(self, line: int) -> str:
        return self.lines[line - 1].strip() if 0 < line <= len(self.lines) else ""

    def place(self, pos: s.Pos) -> s.Pos:
        """The position in the user's text: inside a prelude function, that of its call."""
        return self.call_site if self.unit else pos

    def source(self, pos: s.Pos) -> Source:
        at = self.place(pos)
        return Source(at.line, at.column, self.line_text(at.line), tuple(self.trail), self.unit)

    def fail(self, message: str, pos: s.Pos) -> NoReturn:
        at = self.place(pos)
        raise IRError.at(message, at.line, at.column, self.line_text(at.line), tuple(self.trail))

    def decide(self, pos: s.Pos, text: str, outcome: Constant) -> None:
        unit = f"{self.unit}: " if self.unit else ""
        self.decisions.add(Decision(pos.line, pos.column, unit + text, outcome))

    def fresh(self, name: str) -> str:
        self.counts[name] += 1
        count = self.counts[name]
        return name if count == 1 else f"{name}.{count}"

    def external(self, name: str, shape: tuple[int, ...], dtype: str, external: External) -> TensorRef:
        id_ = self.fresh(name)
        self.tensors[id_] = Tensor(id_, shape, dtype, external)
        return TensorRef(id_)

    def local(self, name: str, shape: tuple[int, ...], dtype: str | None) -> str:
        """A new tensor of the program; without a dtype it takes that of what is first written into it."""
        id_ = self.fresh(name)
        self.tensors[id_] = Tensor(id_, shape, dtype or "f32")
        if dtype is None:
            self.pending[id_] = None
        return id_

    def declare(self, declare: Declare) -> None:
        self.body.append(declare)

    def settle(self, id_: str, typed: Typed) -> None:
        """Fixes the dtype of a tensor whose declaration left it open."""
        if id_ in self.pending:
            del self.pending[id_]
            tensor = self.tensors[id_]
            self.tensors[id_] = Tensor(id_, tensor.shape, typed.name, tensor.external)

    def typed(self, id_: str) -> Typed:
        """Dtype of a tensor that is read, with its priority in promotions."""
        if id_ in self.pending:
            self.settle(id_, self.pending[id_] or Typed("f32"))
        tensor = self.tensors[id_]
        return Typed(tensor.dtype, STRONG if tensor.shape else RANK0)
