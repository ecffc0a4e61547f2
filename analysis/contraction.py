"""Shapes of sums: order of pairwise products, prefix sums, transposed convolutions, work of one operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

from ..ir import indices
from ..ir.ops import SCALAR_OPS
from ..ir.program import Apply, Compare, Const, Expr, Fetch, Index, Iter, Nest, Tensor
from .operations import Traffic
from .scope import Scope, occurring, reads_tensor
from .space import constraint_iterators

_POWERS = {2: 1, 3: 2, 4: 2}
ORDER_LIMIT = 6


@dataclass(frozen=True, slots=True)
class Operand:
    """A value on the points of some iterators; `stored`: what has to be read to have it (a number: nothing)."""

    names: frozenset[str]
    stored: tuple[Traffic, ...]
    reads: bool
    dtype: str


Pair: TypeAlias = tuple[Operand, Operand, tuple[Operand, ...]]


def pairwise(
    scope: Scope, operands: Sequence[Operand], reduced: frozenset[str]
) -> list[Pair]:
    """Cheapest sequence of pairs (left, right, what remains beside their product), by points computed."""


    def solve(parts: tuple[Operand, ...]) -> tuple[int, list[Pair]]:
        if len(parts) == 1:
            return 0, []
        found: tuple[int, list[Pair]] | None = None
        pairs = list(combinations(range(len(parts)), 2))
        for a, b in pairs if len(parts) <= ORDER_LIMIT else pairs[:1]:
            rest = tuple(part for k, part in enumerate(parts) if k not in (a, b))
            joined = _join(scope, parts[a], parts[b], rest, reduced)
            cost, steps = solve((joined, *rest))
            cost += scope.points(parts[a].names | parts[b].names)
            if found is None or cost < found[0]:
                found = cost, [(parts[a], parts[b], rest), *steps]
        assert found is not None
        return found

    return solve(tuple(operands))[1]


def _join(scope: Scope, left: Operand, right: Operand, rest: tuple[Operand, ...], reduced: frozenset[str]) -> Operand:
    names = left.names | right.names
    others = frozenset(name for part in rest for name in part.names)
    kept = names - (reduced - others)
    stored = (Traffic(left.dtype, scope.points(kept)),)
    return Operand(kept, stored, left.reads or right.reads, left.dtype)


def chain(expr: Expr) -> list[Expr]:
    """Factors of a product, flattened."""
    if isinstance(expr, Apply) and expr.op == "mul":
        return [factor for arg in expr.args for factor in chain(arg)]
    return [expr]


def work_of(expr: Apply) -> tuple[int, int]:
    """Vector and special operations of one application."""
    match expr:
        case Apply("pow", (_, Const(value))) if value in _POWERS:
            return _POWERS[int(value)], 0
        case Apply("div", (_, divisor)) if not occurring(divisor) and not reads_tensor(divisor):
            return 1, 0
        case _:
            work = SCALAR_OPS[expr.op].work
            return (0, 1) if work == "special" else (0, 0) if work == "free" else (1, 0)


def transposed(nest: Nest, tensors: Mapping[str, Tensor], fixed: frozenset[str]) -> dict[str, int]:
    """Output iterators whose nominal range is the input's: those that a tap iterator is subtracted from."""
    found: dict[str, int] = {}
    for read in indices.reads(nest.value):
        if read.fill is None:
            continue
        for index, size in zip(read.index, tensors[read.tensor].shape, strict=True):
            signs = _signs(index, 1)
            outputs = [name for name, sign in signs.items() if name in fixed and sign > 0]
            taps = [name for name, sign in signs.items() if name not in fixed and sign < 0]
            if len(outputs) == 1 and taps:
                found[outputs[0]] = size
    return found


def _signs(index: Index, sign: int) -> dict[str, int]:
    found: dict[str, int] = {}
    for atom, factor in index.terms:
        here = sign if factor > 0 else -sign
        if isinstance(atom, Iter):
            found[atom.name] = here
        elif not isinstance(atom, Fetch):
            found |= _signs(atom.arg, here)
    return found


def is_prefix(scope: Scope, names: frozenset[str], fixed: frozenset[str]) -> bool:
    """Whether terms without an output iterator are summed up to (or from) a bound that moves with it."""
    links = [c for c in scope.constraints if constraint_iterators(c) - names]
    links = [c for c in links if constraint_iterators(c) & (names - fixed)]
    if len(links) != 1 or not isinstance(links[0], Compare) or links[0].relation != ">=":
        return False
    moving = constraint_iterators(links[0]) - names
    terms = dict(links[0].index.terms)
    return len(moving) == 1 and moving <= fixed and len(constraint_iterators(links[0])) == 2 and all(
        isinstance(atom, Iter) and abs(factor) == 1 for atom, factor in terms.items()
    )


def range_moves(scope: Scope, names: frozenset[str], reduced: frozenset[str]) -> bool:
    """Whether the range of a sum moves with an iterator that its term does not use: the term is computed once."""
    links = [constraint_iterators(c) for c in scope.constraints]
    return any(link & names & reduced and link - names - reduced for link in links)

# sums
