"""What names mean while elaborating, and the program under construction."""

from __future__ import annotations

from collections import Counter
from copy import copy
from dataclasses import dataclass, field
from typing import Literal, NoReturn, TypeAlias

from .. import syntax as s
from ..bindings import Bindings, Constant
from ..dtypes import RANK0, STRONG, Typed
from ..errors import IRError, Problem
from ..program import Decision, Declare, External, Fact, Output, Range, Source, Statement, Tensor


@dataclass(frozen=True, slots=True)
class Known:
    """A compile-time value: a `let`, an `attr`, an option; `fixed` for a size and a repeat variable, which nothing
    else may be called."""

    value: Constant
    fixed: bool = False


@dataclass(frozen=True, slots=True)
class TensorRef:
    """A tensor of the program, by its id."""

    id: str


@dataclass(frozen=True, slots=True)
class Poison:
    """A name whose definition failed; using it fails without a second message."""


Place = Literal["top", "function", "scan", "branch"]
Entry: TypeAlias = Known | TensorRef | Poison


class TooMuchError(Exception):
    """Raised when a text asks for more work than elaborating may cost."""


_MOST_WORK = 1_000_000
_REWOUND = (
    "tensors", "outputs", "ranges", "facts", "decisions", "draws", "pending", "counts", "externals", "shared",
    "partial", "ranged",
)  # fmt: skip


class PoisonedError(Exception):
    """Raised by the use of a poisoned name."""


@dataclass(slots=True)
class Frame:
    """The names of one function call, of the top level, or of the body of a scan or of an arm of `if?` in them.

    `shared` holds the top level's `let` and `attr` names, visible in every function. `declared` are names made by
    `tensor` that nests write into. `iterators` maps iterators of enclosing scans to their program names and trip
    counts; `frozen` are tensors outside of a scan, which its body may not assign; `carried` a scan's carries with
    their shapes."""

    place: Place
    names: dict[str, Entry] = field(default_factory=dict)
    shared: dict[str, Entry] = field(default_factory=dict)
    declared: set[str] = field(default_factory=set)
    spread: tuple[int, ...] | None = None
    iterators: dict[str, tuple[str, int]] = field(default_factory=dict)
    frozen: frozenset[str] = frozenset()
    returned: tuple[Entry, ...] | None = None
    carried: dict[str, tuple[int, ...]] = field(default_factory=dict)
    nexts: dict[str, str] | None = None
    emits: dict[str, str] | None = None

    def lookup(self, name: str) -> Entry | None:
        return self.names.get(name) or self.shared.get(name)

    def fork(self, place: Place) -> Frame:
        """The frame of a body whose assignments do not reach this one."""
        outer = {name for name, entry in self.names.items() if place == "scan" and isinstance(entry, TensorRef)}
        declared = set(self.declared) if place == "branch" else set[str]()
        return Frame(
            place, dict(self.names), self.shared, declared, self.spread, dict(self.iterators), self.frozen | outer
        )

    def scratch(self) -> Frame:
        """A copy that holds the temporaries of one statement; writes to declared tensors are this frame's."""
        return Frame(
            self.place, dict(self.names), self.shared, self.declared, self.spread, self.iterators, self.frozen
        )


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
    externals: dict[tuple[str, str], str] = field(default_factory=dict)
    shared: set[str] = field(default_factory=set)
    partial: set[str] = field(default_factory=set)
    ranged: list[tuple[Frame, s.Input, str, Source]] = field(default_factory=list)
    once: bool = True
    work: int = 0

    def spend(self, work: int) -> None:
        """Counts work done (a microsecond or a few each), so that a text cannot keep its reader busy for ever."""
        self.work += work
        if self.work > _MOST_WORK:
            raise TooMuchError

    def own(self, name: str) -> s.Def | None:
        """The text's own function of that name; the prelude's functions do not see it."""
        return None if self.unit else self.defs.get(name)

    def mark(self) -> tuple[object, ...]:
        """The state to come back to with `rewind`."""
        return tuple(copy(getattr(self, name)) for name in _REWOUND)

    def rewind(self, mark: tuple[object, ...]) -> None:
        for name, value in zip(_REWOUND, mark, strict=True):
            setattr(self, name, value)

    def below(self, path: str) -> list[str]:
        """Paths of captured values and tensors that lie below a path, `self.` left out where tensors leave it out."""
        start = path.removeprefix("self.") + "."
        return [key for key in self.bindings.state if key.startswith(start)] + [
            key for key in self.bindings.attrs if key.startswith((path + ".", f"self.{start}"))
        ]

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

    def note(self, error: IRError) -> None:
        """Keeps the problems of a statement, each place and message once."""
        for problem in error.problems:
            self.problems.setdefault((problem.line, problem.column, problem.message), problem)

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

    def expected(self, id_: str) -> str:
        """Dtype of a tensor; where it is still open, that of one that is read before it is written: bool or f32."""
        if id_ not in self.pending:
            return self.tensors[id_].dtype
        start = self.pending[id_]
        return "bool" if start is not None and start.name == "bool" else "f32"

    def typed(self, id_: str) -> Typed:
        """Dtype of a tensor that is read, with its priority in promotions."""
        if id_ in self.pending:
            self.settle(id_, Typed(self.expected(id_)))
        tensor = self.tensors[id_]
        return Typed(tensor.dtype, STRONG if tensor.shape else RANK0)
