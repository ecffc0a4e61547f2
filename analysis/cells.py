"""Case splitting: where in its domain a statement's value is which expression.

Guards, index comparisons, facts about captured buffers and constant regions of tensors are decided one comparison at a
time, and the expression is simplified under each outcome (finite operands assumed: 0*x is 0, exp(-inf) is 0)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from ..ir import indices
from ..ir.dtypes import kind
from ..ir.ops import IDENTITY, Combine
from ..ir.program import Apply, Cast, Compare, Const, Expr, Fact, Index, IndexValue, Iter, Program, Read
from .ranks import plain_iterator
from .region import restrict
from .space import Constraint, Space, at_least, canonical, decide, depends_on_data, has_fetch, implied, negate

CELLS_LIMIT = 48

_RELATIONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}


@dataclass(frozen=True, slots=True)
class Known:
    """Every element that meets `piece` (constraints on the axes) is `value`."""

    piece: tuple[Constraint, ...]
    value: Const


@dataclass(frozen=True, slots=True)
class Claim:
    """`tensor[pattern] == right` with lone iterators or constants in the pattern."""

    pattern: tuple[Index, ...]
    right: Expr


@dataclass(frozen=True, slots=True)
class Position:
    """Each element of a tensor is `index`, an expression of its place; `axes` are the iterators that stand for it."""

    axes: tuple[str, ...]
    index: Index


@dataclass(slots=True)
class Knowledge:
    """`positions` decide comparisons only (what an arange holds); elsewhere such tensors are read as they are."""

    shapes: Mapping[str, tuple[int, ...]]
    known: dict[str, tuple[Known, ...]] = field(default_factory=dict)
    claims: dict[str, Claim] = field(default_factory=dict)
    positions: dict[str, Position] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cell:
    """On the points of `space` the value is `expr`."""

    space: Space
    expr: Expr


def claims_of(program: Program) -> dict[str, Claim]:
    """Facts of the form `tensor[i, j] == expression of the indices`, by tensor."""
    found: dict[str, Claim] = {}
    for fact in program.facts:
        claim = _claim(fact)
        if claim is not None:
            found.setdefault(fact.tensor, claim)
    return found


def _claim(fact: Fact) -> Claim | None:
    match fact.claim:
        case Apply("eq", (Read(tensor, pattern, None), right), _) if tensor == fact.tensor:
            names = [plain_iterator(index) for index in pattern if index.terms]
            return Claim(pattern, right) if None not in names and len(set(names)) == len(names) else None
        case _:
            return None


def identity_of(combine: Combine, expr: Expr) -> bool:
    """Whether a term changes nothing in a reduction."""
    return combine in IDENTITY and isinstance(expr, Const) and expr.value == IDENTITY[combine]


def split(space: Space, expr: Expr, combine: Combine, knowledge: Knowledge) -> list[Cell]:
    """Disjoint cells that cover all points which do something; points that add a reduction's identity are left out."""
    if not needs_splitting(expr, knowledge):
        return [Cell(space, expr)]
    found: list[Cell] = []
    _split(space, expr, combine, knowledge, found)
    return found


def needs_splitting(expr: Expr, knowledge: Knowledge) -> bool:
    match expr:
        case Read(tensor, _, fill):
            return fill is not None or tensor in knowledge.known or tensor in knowledge.claims
        case Apply(op, args, _):
            return (
                op in _RELATIONS
                and _index_comparison(op, args, knowledge) is not None
                or any(needs_splitting(arg, knowledge) or isinstance(arg, Const) for arg in args)
            )
        case Cast(arg, _):
            return needs_splitting(arg, knowledge)
        case _:
            return False


def _split(space: Space, expr: Expr, combine: Combine, knowledge: Knowledge, found: list[Cell]) -> None:
    pending: list[Constraint] = []
    ranges = space.ranges

    def settle(constraint: Constraint) -> bool | None:
        answer = decide(constraint, ranges)
        if answer is None and constraint in space.constraints:
            return True
        if answer is None and negate(constraint) in space.constraints:
            return False
        if answer is None and isinstance(constraint, Compare):
            answer = implied(canonical(constraint), space.constraints)
        if answer is None:
            pending.append(constraint)
        return answer

    simple = simplify(expr, settle, knowledge)
    if combine != "=" and identity_of(combine, simple):
        return
    if not pending or len(found) >= CELLS_LIMIT:
        found.append(Cell(space, simple))
        return
    first = pending[0]
    for constraint in (first, negate(first)):
        _split(space.with_constraints((constraint,)), simple, combine, knowledge, found)


Settle = Callable[[Constraint], bool | None]


def simplify(expr: Expr, settle: Settle, knowledge: Knowledge) -> Expr:
    match expr:
        case Read():
            return _simplify_read(expr, settle, knowledge)
        case Apply(op, args, dtype):
            parts = tuple(simplify(arg, settle, knowledge) for arg in args)
            return _simplify_apply(Apply(op, parts, dtype), settle, knowledge)
        case Cast(arg, dtype):
            inner = simplify(arg, settle, knowledge)
            return Const(inner.value, dtype) if isinstance(inner, Const) else Cast(inner, dtype)
        case IndexValue(index):
            return expr if index.terms else Const(index.const, "i64")
        case Const():
            return expr


@lru_cache(maxsize=5_000)
def guards(read: Read, shape: tuple[int, ...]) -> tuple[Compare, ...]:
    """Comparisons that keep a guarded read in bounds; an axis with an indirect index has none."""
    found: list[Compare] = []
    if read.fill is not None:
        for index, size in zip(read.index, shape, strict=True):
            if not has_fetch(index):
                top = indices.add(indices.scale(index, -1), indices.constant(size - 1))
                found.extend((at_least(index), at_least(top)))
    return tuple(found)


def _simplify_read(read: Read, settle: Settle, knowledge: Knowledge) -> Expr:
    undecided = False
    for guard in guards(read, knowledge.shapes[read.tensor]):
        answer = settle(guard)
        if answer is False:
            assert read.fill is not None
            return read.fill
        undecided = undecided or answer is None
        if undecided:
            return read
    if read.fill is not None and not any(has_fetch(index) for index in read.index):
        read = Read(read.tensor, read.index)
    for known in knowledge.known.get(read.tensor, ()):
        answer = _inside(read, known, settle)
        if answer is None:
            return read
        if answer:
            return known.value
    claim = knowledge.claims.get(read.tensor)
    return read if claim is None else _apply_claim(read, claim, settle, knowledge)


def _inside(read: Read, known: Known, settle: Settle) -> bool | None:
    if any(has_fetch(index) for index in read.index) and known.piece:
        return False
    for constraint in restrict(read.index, known.piece):
        answer = settle(constraint)
        if not answer:
            return answer
    return True


def _apply_claim(read: Read, claim: Claim, settle: Settle, knowledge: Knowledge) -> Expr:
    values: dict[str, Index] = {}
    for pattern, index in zip(claim.pattern, read.index, strict=True):
        if not pattern.terms:
            if index != pattern:
                return read
        elif has_fetch(index):
            return read
        else:
            atom = pattern.terms[0][0]
            assert isinstance(atom, Iter)
            values[atom.name] = index
    return simplify(indices.substitute_in(claim.right, values), settle, knowledge)


def _index_comparison(op: str, args: Sequence[Expr], knowledge: Knowledge) -> Compare | None:
    """A comparison of index expressions only."""
    left, right = (as_index(arg, knowledge) for arg in args)
    if left is None or right is None:
        return None
    compare = canonical(Compare(indices.subtract(left, right), _RELATIONS[op]))  # type: ignore[arg-type]
    return None if depends_on_data(compare) else compare


def as_index(expr: Expr, knowledge: Knowledge) -> Index | None:
    """The expression as one of iterators, where it is that."""
    match expr:
        case IndexValue(index):
            return index
        case Const(int() as number, _):
            return indices.constant(int(number))
        case Cast(arg, _):
            return as_index(arg, knowledge)
        case Read(tensor, at, None) if tensor in knowledge.positions and not any(has_fetch(index) for index in at):
            known = knowledge.positions[tensor]
            return indices.substitute(known.index, dict(zip(known.axes, at, strict=True)))
        case Apply("add" | "sub", (left, right), _):
            return _combined(expr.op, as_index(left, knowledge), as_index(right, knowledge))
        case _:
            return None


def _combined(op: str, left: Index | None, right: Index | None) -> Index | None:
    if left is None or right is None:
        return None
    return indices.add(left, right) if op == "add" else indices.subtract(left, right)


def _simplify_apply(expr: Apply, settle: Settle, knowledge: Knowledge) -> Expr:
    op, args = expr.op, expr.args
    if op in _RELATIONS:
        compare = _index_comparison(op, args, knowledge)
        if compare is not None:
            answer = settle(compare)
            return expr if answer is None else Const(answer, "bool")
    if args and all(isinstance(arg, Const) for arg in args):
        return fold(expr)
    rule = _RULES.get(op)
    return expr if rule is None else rule(expr)


def _value(expr: Expr) -> float | None:
    return float(expr.value) if isinstance(expr, Const) else None


def _add(expr: Apply) -> Expr:
    for mine, other in ((0, 1), (1, 0)):
        value = _value(expr.args[mine])
        if value == 0:
            return expr.args[other]
        if value is not None and math.isinf(value):
            return expr.args[mine]
    return expr


def _sub(expr: Apply) -> Expr:
    left, right = (_value(arg) for arg in expr.args)
    if right == 0:
        return expr.args[0]
    if left is not None and math.isinf(left):
        return expr.args[0]
    if right is not None and math.isinf(right):
        return Const(-right, expr.dtype)
    return expr


def _mul(expr: Apply) -> Expr:
    for mine, other in ((0, 1), (1, 0)):
        value = _value(expr.args[mine])
        if value == 0:
            return Const(0, expr.dtype)
        if value == 1:
            return expr.args[other]
    return expr


def _div(expr: Apply) -> Expr:
    left, right = (_value(arg) for arg in expr.args)
    if left == 0 or (right is not None and math.isinf(right)):
        return Const(0, expr.dtype)
    return expr.args[0] if right == 1 else expr


def _extreme(expr: Apply) -> Expr:
    weakest = -math.inf if expr.op == "max" else math.inf
    for mine, other in ((0, 1), (1, 0)):
        value = _value(expr.args[mine])
        if value == weakest:
            return expr.args[other]
        if value == -weakest:
            return expr.args[mine]
    return expr


def _select(expr: Apply) -> Expr:
    condition, then, orelse = expr.args
    if isinstance(condition, Const):
        return then if condition.value else orelse
    if isinstance(then, Const) and isinstance(orelse, Const) and then.value == orelse.value:
        return Const(then.value, expr.dtype)
    return then if then == orelse else expr


def _logic(expr: Apply) -> Expr:
    absorbing = expr.op == "or"
    for mine, other in ((0, 1), (1, 0)):
        value = _value(expr.args[mine])
        if value is not None:
            return Const(absorbing, "bool") if bool(value) == absorbing else expr.args[other]
    return expr


_RULES: Mapping[str, Callable[[Apply], Expr]] = {
    "add": _add, "sub": _sub, "mul": _mul, "div": _div, "min": _extreme, "max": _extreme, "select": _select,
    "and": _logic, "or": _logic,
}  # fmt: skip

_FOLDS: Mapping[str, Callable[..., object]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.true_divide, "floordiv": np.floor_divide,
    "mod": np.mod, "pow": np.power, "neg": np.negative, "abs": np.abs, "sign": np.sign, "min": np.minimum,
    "max": np.maximum, "floor": np.floor, "ceil": np.ceil, "round": np.round, "lt": np.less, "le": np.less_equal,
    "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal, "and": np.logical_and,
    "or": np.logical_or, "not": np.logical_not, "select": np.where, "exp": np.exp, "expm1": np.expm1, "log": np.log,
    "log1p": np.log1p, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "erf": np.vectorize(math.erf), "sin": np.sin, "cos": np.cos,
    "atan2": np.arctan2, "bit_and": lambda a, b: int(a) & int(b), "bit_or": lambda a, b: int(a) | int(b),
    "bit_xor": lambda a, b: int(a) ^ int(b),
}  # fmt: skip


def fold(expr: Apply) -> Const:
    """The number that an operator gives on numbers."""
    numbers = [np.float64(arg.value) for arg in expr.args if isinstance(arg, Const)]
    with np.errstate(all="ignore"):
        result = float(np.asarray(_FOLDS[expr.op](*numbers)).item())
    if kind(expr.dtype) == "bool":
        return Const(bool(result), expr.dtype)
    return Const(int(result) if kind(expr.dtype) == "int" and math.isfinite(result) else result, expr.dtype)
