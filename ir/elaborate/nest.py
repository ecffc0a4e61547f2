"""Iterators, indices, reads and conditions of a nest."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from .. import indices as ix
from .. import syntax as s
from ..dtypes import Typed, kind
from ..program import AllOf, AnyOf, Compare, Condition, Const, Expr, Fetch, Index, Loop, Read, Relation, Source
from .constants import choose, evaluate, is_known
from .scope import Builder, Frame, Known, Poison, PoisonedError, TensorRef
from .simplify import range_of, simplify


@dataclass(frozen=True, slots=True)
class Value:
    """An expression with its type during inference."""

    expr: Expr
    typed: Typed


_FLIPPED: dict[Relation, Relation] = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
_TRUE, _FALSE = Compare(ix.constant(0), "=="), Compare(ix.constant(0), "!=")
Box = dict[str, tuple[int, int]]


@dataclass(slots=True)
class Scope:
    """One nest: its loops (name in the text to loop), its `where`, and its inline reductions so far.

    `whole` holds the iterators of a whole-tensor statement and its shape: there a bare tensor name of that shape is
    read at them. `box` is the inclusive range of every iterator in sight. `spread` are the iterators of `...`."""

    builder: Builder
    frame: Frame
    source: Source
    base: str
    loops: dict[str, Loop] = field(default_factory=dict)
    where: Condition | None = None
    spread: tuple[str, ...] | None = None
    whole: tuple[tuple[Index, ...], tuple[int, ...]] | None = None
    hoisted: dict[tuple[object, ...], Value] = field(default_factory=dict)
    box: Box = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.box:
            self.box = {name: (0, max(trip - 1, 0)) for name, trip in self.frame.iterators.values()}

    def __contains__(self, name: object) -> bool:
        return name in self.loops or name in self.frame.iterators

    def known(self, expr: s.Expr) -> bool:
        return is_known(self.builder, self.frame, expr, self)

    def iterator(self, name: str) -> Index | None:
        if name in self.loops:
            return ix.iterator(self.loops[name].name)
        if name in self.frame.iterators:
            return ix.iterator(self.frame.iterators[name][0])
        return None

    def add(self, key: str, name: str, extent: Index) -> Loop:
        """Adds the iterator that the text calls `key`, under a name that no other iterator of the nest has."""
        while name in self.box:
            name += "_"
        loop = Loop(name, extent)
        self.loops[key] = loop
        self.box[name] = range_of(extent, self.box)
        return loop

    def inner(self, *, source: Source | None = None, base: str | None = None, keep: bool = False) -> Scope:
        """A scope inside this one; its iterators and conditions do not reach this one. `keep`: its reductions do."""
        return Scope(
            self.builder, self.frame, source or self.source, base or self.base, dict(self.loops), self.where,
            self.spread, None, self.hoisted if keep else {}, dict(self.box),
        )  # fmt: skip


def add_loops(scope: Scope, heads: tuple[s.LoopHead, ...]) -> tuple[Loop, ...]:
    """Elaborates iterators left to right and adds them to the scope."""
    added: list[Loop] = []
    for head in heads:
        if isinstance(head, s.Spread):
            added += _spread_loops(scope, head)
        else:
            added.append(_loop(scope, head))
    return tuple(added)


def _spread_loops(scope: Scope, head: s.Spread) -> list[Loop]:
    sizes = scope.frame.spread
    if sizes is None:
        scope.builder.fail("'...' has no sizes here: it stands for the '...' of a function's tensor shapes", head.pos)
    if scope.spread is not None:
        scope.builder.fail("'...' stands twice among the iterators", head.pos)
    loops = [scope.add(f"%{axis}", f"_{axis}", ix.constant(size)) for axis, size in enumerate(sizes)]
    scope.spread = tuple(loop.name for loop in loops)
    return loops


def _loop(scope: Scope, head: s.Head) -> Loop:
    builder, name = scope.builder, head.name
    if scope.iterator(name) is not None:
        builder.fail(f"{name} is already an iterator here", head.pos)
    if isinstance(scope.frame.names.get(name), Known):
        builder.fail(f"{name} is a size or compile-time value; an iterator needs another name", head.pos)
    extent = index(scope, head.extent)
    if any(True for _ in ix.index_reads(extent)):
        builder.fail(f"the extent of {name} depends on a tensor's values; it may use sizes and iterators", head.pos)
    if not extent.terms and extent.const < 0:
        builder.fail(f"the extent of {name} is {extent.const}; an extent cannot be negative", head.pos)
    return scope.add(name, name, extent)


# indices


def index(scope: Scope, expr: s.Expr) -> Index:
    """A quasi-affine index expression."""
    return simplify(_index(scope, expr), scope.box)


def _index(scope: Scope, expr: s.Expr) -> Index:  # noqa: C901 - one case a construct
    found = scope.iterator(expr.name) if isinstance(expr, s.Name) else None
    if found is not None:
        return found
    if scope.known(expr):
        return _known_index(scope, expr)
    match expr:
        case s.Name():
            return _fetch(scope, expr)
        case s.Unary("-", arg):
            return ix.scale(_index(scope, arg), -1)
        case s.Binary(op, left, right) if op in ("+", "-"):
            a, b = _index(scope, left), _index(scope, right)
            return ix.add(a, b) if op == "+" else ix.subtract(a, b)
        case s.Binary("*", left, right):
            a, b = _index(scope, left), _index(scope, right)
            if a.terms and b.terms:
                scope.builder.fail("an index may multiply an iterator only by a compile-time integer", expr.pos)
            return ix.scale(a, b.const) if not b.terms else ix.scale(b, a.const)
        case s.Binary(op, left, right) if op in ("//", "%"):
            by = _index(scope, right)
            if by.terms or by.const <= 0:
                scope.builder.fail(f"an index may use {op} only by a positive compile-time integer", expr.pos)
            return (ix.floor_div if op == "//" else ix.modulo)(_index(scope, left), by.const)
        case s.Subscript() | s.Guarded():
            return _fetch(scope, expr)
        case s.Call("int", (arg,), ()):
            return _index(scope, arg)
        case s.Conditional(then, condition, orelse) if scope.known(condition):
            return _index(scope, then if choose(scope.builder, scope.frame, condition) else orelse)
        case _:
            scope.builder.fail("an index is made of iterators, compile-time integers, + - * // % and reads of int "
                               "tensors", expr.pos)  # fmt: skip


def _known_index(scope: Scope, expr: s.Expr) -> Index:
    value = evaluate(scope.builder, scope.frame, expr)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int):
        scope.builder.fail(f"an index must be an integer, but this is {value!r}", expr.pos)
    return ix.constant(int(value))


def _fetch(scope: Scope, expr: s.Name | s.Subscript | s.Guarded) -> Index:
    """An integer read from a tensor."""
    match expr:
        case s.Name(name):
            read = Read(tensor_id(scope, name, expr.pos), ())
            shape = scope.builder.tensors[read.tensor].shape
            if shape:
                scope.builder.fail(f"{name} has shape {list(shape)}; as an index it needs one of its own", expr.pos)
        case s.Subscript():
            read = read_of(scope, expr)
        case s.Guarded():
            read = guarded(scope, expr)
    dtype = scope.builder.typed(read.tensor).name
    if kind(dtype) not in ("int", "bool"):
        scope.builder.fail(f"{_named(read.tensor)} is {dtype}; an index must be an integer", expr.pos)
    return Index(((Fetch(read), 1),))


def _named(id_: str) -> str:
    """What the text calls a tensor."""
    return id_.partition(".")[0]


# reads


def tensor_id(scope: Scope, name: str, pos: s.Pos) -> str:
    entry = scope.frame.lookup(name)
    match entry:
        case TensorRef(id_):
            return id_
        case Poison():
            raise PoisonedError
        case Known(known):
            scope.builder.fail(f"{name} is the compile-time value {known!r}, not a tensor", pos)
        case None:
            known = evaluate(scope.builder, scope.frame, s.Name(name, pos=pos))
            scope.builder.fail(f"{name} is the compile-time value {known!r}, not a tensor", pos)


def read_of(scope: Scope, expr: s.Subscript) -> Read:
    """`x[i, j]`."""
    if scope.iterator(expr.name) is not None:
        scope.builder.fail(f"{expr.name} is an iterator here, it cannot be indexed", expr.pos)
    id_ = tensor_id(scope, expr.name, expr.pos)
    shape = scope.builder.tensors[id_].shape
    parts = spread_index(scope, expr.index)
    if len(parts) != len(shape):
        given = f"{len(parts)} {'index is' if len(parts) == 1 else 'indices are'} given"
        scope.builder.fail(f"{expr.name} has {len(shape)} axes {list(shape)}, but {given}", expr.pos)
    return Read(id_, parts)


def spread_index(scope: Scope, exprs: tuple[s.Expr, ...]) -> tuple[Index, ...]:
    """Indices of a subscript, `...` replaced by the iterators that it stands for."""
    parts: list[Index] = []
    for expr in exprs:
        if not isinstance(expr, s.Spread):
            parts.append(index(scope, expr))
        elif scope.spread is None:
            scope.builder.fail("'...' needs '...' among the iterators", expr.pos)
        else:
            parts += [ix.iterator(name) for name in scope.spread]
    return tuple(parts)


def guarded(scope: Scope, expr: s.Guarded) -> Read:
    """`(x[i - 1] else 0)`."""
    if not isinstance(expr.read, s.Subscript):
        scope.builder.fail("(… else v) guards one read, as in (x[n, p - 1] else 0)", expr.pos)
    read = read_of(scope, expr.read)
    if not scope.known(expr.fill):
        scope.builder.fail("the value after else of a guarded read must be known at compile time", expr.fill.pos)
    fill = evaluate(scope.builder, scope.frame, expr.fill)
    if not isinstance(fill, int | float):
        scope.builder.fail(f"the value after else must be a number, but this is {fill!r}", expr.fill.pos)
    dtype = scope.builder.typed(read.tensor).name
    if kind(dtype) not in ("float", "complex") and not is_whole(fill):
        scope.builder.fail(f"{expr.read.name} is {dtype} and cannot hold {fill}", expr.fill.pos)
    return replace(read, fill=Const(fill, dtype))


def is_whole(number: bool | int | float) -> bool:
    return isinstance(number, int) or number.is_integer()


# conditions


def condition(scope: Scope, expr: s.Expr) -> Condition:
    """A `where` condition over quasi-affine indices."""
    if scope.known(expr):
        return _TRUE if evaluate(scope.builder, scope.frame, expr) else _FALSE
    match expr:
        case s.Comparison(first, rest):
            return _joined(AllOf, _links(scope, first, rest))
        case s.Logic("and", args):
            return _joined(AllOf, [condition(scope, arg) for arg in args])
        case s.Logic("or", args):
            return _joined(AnyOf, [condition(scope, arg) for arg in args])
        case s.Unary("not", arg):
            return negate(condition(scope, arg))
        case s.Conditional(then, test, orelse) if scope.known(test):
            return condition(scope, then if choose(scope.builder, scope.frame, test) else orelse)
        case _:
            scope.builder.fail("a 'where' is made of comparisons of index expressions, joined by and, or", expr.pos)


def _joined(of: type[AllOf] | type[AnyOf], parts: list[Condition]) -> Condition:
    """Drops the parts that are always true, and gives up where one is always false (or the reverse)."""
    neutral, decisive = (_TRUE, _FALSE) if of is AllOf else (_FALSE, _TRUE)
    if decisive in parts:
        return decisive
    kept = tuple(part for part in parts if part != neutral)
    return neutral if not kept else kept[0] if len(kept) == 1 else of(kept)


def both(left: Condition | None, right: Condition | None) -> Condition | None:
    """The conjunction of two conditions; None is always true."""
    parts = [part for part in (left, right) if part is not None]
    joined = _joined(AllOf, parts)
    return None if joined == _TRUE else joined


def _links(scope: Scope, first: s.Expr, rest: tuple[tuple[str, s.Expr], ...]) -> list[Condition]:
    links, left = list[Condition](), _side(scope, first)
    for op, right_expr in rest:
        right = _side(scope, right_expr)
        links.append(_link(simplify(ix.subtract(left, right), scope.box), op, scope.box))
        left = right
    return links


def _side(scope: Scope, expr: s.Expr) -> Index:
    if _reads_tensor(scope, expr):
        scope.builder.fail("a 'where' cannot depend on a tensor's values; use select in the expression", expr.pos)
    return index(scope, expr)


def _reads_tensor(scope: Scope, expr: s.Expr) -> bool:
    match expr:
        case s.Name(name) | s.Subscript(name):
            return scope.iterator(name) is None and isinstance(scope.frame.lookup(name), TensorRef)
        case s.Guarded():
            return True
        case s.Unary(_, arg):
            return _reads_tensor(scope, arg)
        case s.Binary(_, left, right):
            return _reads_tensor(scope, left) or _reads_tensor(scope, right)
        case _:
            return False


def _link(difference: Index, op: str, box: Box) -> Condition:
    """`difference op 0`, decided where it holds for all of the box or for nothing in it."""
    bounds = ix.interval(difference, box)
    assert bounds is not None
    low, high = bounds
    always = {"<": high < 0, "<=": high <= 0, ">": low > 0, ">=": low >= 0, "==": low == high == 0}
    never = {"<": low >= 0, "<=": low > 0, ">": high <= 0, ">=": high < 0, "==": low > 0 or high < 0}
    if always.get(op, never["=="]):
        return _TRUE
    if never.get(op, always["=="]):
        return _FALSE
    return Compare(difference, op)  # type: ignore[arg-type]


def negate(condition: Condition) -> Condition:
    match condition:
        case Compare(inner, relation):
            return Compare(inner, _FLIPPED[relation])
        case AllOf(args):
            return AnyOf(tuple(negate(arg) for arg in args))
        case AnyOf(args):
            return AllOf(tuple(negate(arg) for arg in args))
