"""The syntax tree of a text. Positions are kept but do not count in comparisons."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class Pos:
    """1-based line and column."""

    line: int = 0
    column: int = 0


def _pos() -> Pos:
    return field(default=Pos(), compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Number:
    """`3`, `0.5`."""

    value: int | float
    pos: Pos = _pos()


@dataclass(frozen=True, slots=True)
class String:
    """`"blocks.{i}.weight"`, without its quotes."""

    value: str
    pos: Pos = _pos()


@dataclass(frozen=True, slots=True)
class Name:
    """A name that stands alone."""

    name: str
    pos: Pos = _pos()


@dataclass(frozen=True, slots=True)
class Spread:
    """`...` in a shape, an index or a loop list."""

    pos: Pos = _pos()


@dataclass(frozen=True, slots=True)
class TupleOf:
    """`(a, b)` or `[a, b]`."""

    items: tuple[Expr, ...]
    pos: Pos = _pos()


@dataclass(frozen=True, slots=True)
class Subscript:
    """`name[index, ...]`."""

    name: str
    index: tuple[Expr, ...]
    pos: Pos = _pos()


@dataclass(frozen=True, slots=True)
class Guarded:
    """`(read else fill)`."""

    read: Expr
    fill: Expr
    pos: Pos = _pos()


@dataclass(frozen=True, slots=True)
class Unary:
    """`-a`, `not a`."""

    op: Literal["-", "not"]
    arg: Expr
    pos: Pos = _pos()


@dataclass(frozen=True, slots=True)
class Binary:
    """`a + b` and its kin."""

    op: Literal["+", "-", "*", "/", "//", "%", "**"]
    left: Expr
    right: Expr
    pos: Pos = _pos()


@dataclass(frozen=True, slots=True)
class Comparison:
    """`first op expr op expr …`, a chain meaning the conjunction of its links."""

    first: Expr
    rest: tuple[tuple[str, Expr], ...]
    pos: Pos = _pos()


@dataclass(frozen=True, slots=True)
class Logic:
    """`a and b and c`, `a or b`."""

    op: Literal["and", "or"]
    args: tuple[Expr, ...]
    pos: Pos = _pos()


@dataclass(frozen=True, slots=True)
class Conditional:
    """`then if condition else orelse`, decided when elaborating."""

    then: Expr
    condition: Expr
    orelse: Expr
    pos: Pos = _pos()


@dataclass(frozen=True, slots=True)
class Option:
    """`name=value` after the ';' of a call."""

    name: str
    value: Expr
    pos: Pos = _pos()


@dataclass(frozen=True, slots=True)
class Call:
    """`f(x, y; k=1)`."""

    name: str
    args: tuple[Expr, ...]
    options: tuple[Option, ...] = ()
    pos: Pos = _pos()


@dataclass(frozen=True, slots=True)
class Head:
    """One iterator: `name < extent`."""

    name: str
    extent: Expr
    pos: Pos = _pos()


LoopHead: TypeAlias = Head | Spread


@dataclass(frozen=True, slots=True)
class Reduction:
    """`sum(heads where condition: body)`, also max, min, prod, any, all."""

    name: str
    heads: tuple[LoopHead, ...]
    where: Expr | None
    body: Expr
    pos: Pos = _pos()


Expr: TypeAlias = (
    Number | String | Name | Spread | TupleOf | Subscript | Guarded | Unary | Binary | Comparison | Logic
    | Conditional | Call | Reduction
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Input:
    """`input name = "key"[shape] : dtype in low..high unique`."""

    name: str
    key: str | None
    shape: tuple[Expr, ...]
    dtype: str | None = None
    low: Expr | None = None
    high: Expr | None = None
    unique: bool = False
    pos: Pos = _pos()


@dataclass(frozen=True, slots=True)
class Param:
    """`param name = "key"[shape] : dtype`."""

    name: str
    key: str
    shape: tuple[Expr, ...]
    dtype: str | None = None
    pos: Pos = _pos()


@dataclass(frozen=True, slots=True)
class Attr:
    """`attr name = "key" or default`."""

    name: str
    key: str
    default: Expr | None = None
    pos: Pos = _pos()


@dataclass(frozen=True, slots=True)
class Draw:
    """`draw name[shape]`, or `draw name = first..last [shape]` for several draws stacked on a leading axis."""

    name: str
    shape: tuple[Expr, ...]
    first: Expr | None = None
    last: Expr | None = None
    dtype: str | None = None
    pos: Pos = _pos()


@dataclass(frozen=True, slots=True)
class Let:
    """`let name = value`."""

    name: str
    value: Expr
    pos: Pos = _pos()


@dataclass(frozen=True, slots=True)
class TensorDecl:
    """`tensor name[shape] : dtype = init`."""

    name: str
    shape: tuple[Expr, ...]
    dtype: str | None = None
    init: Expr | None = None
    pos: Pos = _pos()


@dataclass(frozen=True, slots=True)
class ShapeDecl:
    """`shape name[shape]`."""

    name: str
    shape: tuple[Expr, ...]
    pos: Pos = _pos()


@dataclass(frozen=True, slots=True)
class ViewDecl:
    """`view name[heads] = read`."""

    name: str
    heads: tuple[LoopHead, ...]
    read: Expr
    pos: Pos = _pos()


@dataclass(frozen=True, slots=True)
class Require:
    """`require condition`."""

    condition: Expr
    pos: Pos = _pos()


@dataclass(frozen=True, slots=True)
class FactDecl:
    """`fact claim`."""

    claim: Expr
    pos: Pos = _pos()


@dataclass(frozen=True, slots=True)
class OutputDecl:
    """`output value`; `slot` is "state" or "input" with `key` for mutations; the rest as in the text."""

    value: Expr
    slot: Literal["result", "state", "input"] = "result"
    key: str | None = None
    dtype: str | None = None
    unordered: Expr | None = None
    companions: tuple[str, ...] = ()
    indexes: tuple[str, Expr, str] | None = None
    pos: Pos = _pos()


@dataclass(frozen=True, slots=True)
class Assign:
    """`target op value`; op is "=", "+", "*", "max", "min", "and", "or", "argmax" or "argmin"."""

    target: Subscript | Name
    op: str
    value: Expr
    pos: Pos = _pos()


@dataclass(frozen=True, slots=True)
class Unpack:
    """`(a, b) = call`."""

    names: tuple[str, ...]
    value: Expr
    pos: Pos = _pos()


@dataclass(frozen=True, slots=True)
class For:
    """`for heads where condition: body`."""

    heads: tuple[LoopHead, ...]
    where: Expr | None
    body: tuple[Stmt, ...]
    pos: Pos = _pos()


@dataclass(frozen=True, slots=True)
class Repeat:
    """`repeat names in low..high:` or `repeat names in items:` (then `high` is None)."""

    names: tuple[str, ...]
    low: Expr
    high: Expr | None
    body: tuple[Stmt, ...]
    pos: Pos = _pos()


@dataclass(frozen=True, slots=True)
class If:
    """`runtime` marks `if?`, which has one arm and may have an else."""

    arms: tuple[tuple[Expr, tuple[Stmt, ...]], ...]
    orelse: tuple[Stmt, ...]
    runtime: bool = False
    pos: Pos = _pos()


@dataclass(frozen=True, slots=True)
class ScanStmt:
    """`scan reverse iterator<extent carry name = start, …: body`."""

    iterator: str
    extent: Expr
    reverse: bool
    carries: tuple[tuple[str, Expr], ...]
    body: tuple[Stmt, ...]
    pos: Pos = _pos()


@dataclass(frozen=True, slots=True)
class Next:
    """`next name = value`."""

    name: str
    value: Expr
    pos: Pos = _pos()


@dataclass(frozen=True, slots=True)
class EmitStmt:
    """`emit name = value`."""

    name: str
    value: Expr
    pos: Pos = _pos()


@dataclass(frozen=True, slots=True)
class Parameter:
    """A tensor argument of a def; without brackets (None) it takes any shape."""

    name: str
    shape: tuple[Expr, ...] | None
    pos: Pos = _pos()


@dataclass(frozen=True, slots=True)
class OptionDecl:
    """A compile-time argument of a def."""

    name: str
    default: Expr | None = None
    pos: Pos = _pos()


@dataclass(frozen=True, slots=True)
class Def:
    """`def name(parameters; options): body`."""

    name: str
    parameters: tuple[Parameter, ...]
    options: tuple[OptionDecl, ...]
    body: tuple[Stmt, ...]
    pos: Pos = _pos()


@dataclass(frozen=True, slots=True)
class Return:
    """`return a, b`."""

    values: tuple[Expr, ...]
    pos: Pos = _pos()


Stmt: TypeAlias = (
    Input | Param | Attr | Draw | Let | TensorDecl | ShapeDecl | ViewDecl | Require | FactDecl | OutputDecl | Assign
    | Unpack | For | Repeat | If | ScanStmt | Next | EmitStmt | Def | Return
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Program:
    """A whole text. `lines` are its source lines, for messages; they do not count in comparisons."""

    name: str
    body: tuple[Stmt, ...]
    lines: tuple[str, ...] = field(default=(), compare=False, repr=False)
