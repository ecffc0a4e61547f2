"""From a nest's loops and condition to boxes: bounds are tightened, decided conditions dropped, // and % split away."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..errors import IRError
from ..indices import conjuncts, interval, subtract
from ..indices import iterator as iterator_index
from ..program import AllOf, AnyOf, Compare, Condition, Div, Index, Loop, Mod, Relation
from .affine import Lin, Scope, compares, divisions

_MOST_PIECES = 4096


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of a domain: the points of `scope` where all `conditions` hold (none of them decided by the box alone)."""

    scope: Scope
    conditions: tuple[Condition, ...]


def bounding_piece(
    loops: Sequence[Loop], where: Condition | None, outer: Mapping[str, int], *, cut: bool = True
) -> Piece | None:
    """The smallest box found around the domain, with what the box does not say as conditions; None when empty.

    Without `cut` the box is only bounded by the loops' largest extents."""
    scope = Scope({}, {name: Lin({}, value) for name, value in outer.items()})
    conditions = list(conjuncts(where))
    for loop in loops:
        low, high = _extent_ends(scope, loop)
        if high <= 0:
            return None
        if low != high:
            conditions.append(Compare(subtract(iterator_index(loop.name), loop.extent), "<"))
        scope = extended(scope, loop.name, high)
    piece = Piece(scope, tuple(conditions))
    return tightened(piece) if cut else piece


def _extent_ends(scope: Scope, loop: Loop) -> tuple[int, int]:
    """Smallest and largest extent over the box; an enclosure where // or % keep it from being affine."""
    extent = scope.lin(loop.extent)
    if extent is not None:
        return scope.interval(extent)
    ranges = {name: scope.interval(lin) for name, lin in scope.env.items()}
    ends = interval(loop.extent, ranges)
    if ends is None:
        raise IRError.at(f"the extent of {loop.name} depends on data")
    return ends


def extended(scope: Scope, name: str, count: int) -> Scope:
    form = Lin({name: 1}) if count > 1 else Lin({})
    counts = {**scope.counts, name: count} if count > 1 else scope.counts
    return Scope(counts, {**scope.env, name: form})


def decided(condition: Condition, scope: Scope) -> bool | None:
    """True or False where the box alone decides the condition."""
    match condition:
        case Compare(index, relation):
            lin = scope.lin(index)
            return None if lin is None else _decided_compare(scope.interval(lin), lin, relation)
        case AllOf(args):
            found = [decided(arg, scope) for arg in args]
            return False if False in found else (None if None in found else True)
        case AnyOf(args):
            found = [decided(arg, scope) for arg in args]
            return True if True in found else (None if None in found else False)


def _decided_compare(interval: tuple[int, int], lin: Lin, relation: Relation) -> bool | None:
    low, high = interval
    match relation:
        case "<":
            return True if high < 0 else (False if low >= 0 else None)
        case "<=":
            return True if high <= 0 else (False if low > 0 else None)
        case ">":
            return True if low > 0 else (False if high <= 0 else None)
        case ">=":
            return True if low >= 0 else (False if high < 0 else None)
        case "==" | "!=":
            if low == high == 0:
                return relation == "=="
            gcd = math.gcd(*lin.terms.values()) if lin.terms else 0
            if low > 0 or high < 0 or (gcd and lin.const % gcd):
                return relation == "!="
    return None


def positive_forms(lin: Lin, relation: str) -> list[Lin]:
    """Forms that must be >= 0 for `lin relation 0`; none for "!="."""
    negated = Lin({axis: -c for axis, c in lin.terms.items()}, -lin.const)
    match relation:
        case ">=":
            return [lin]
        case ">":
            return [Lin(lin.terms, lin.const - 1)]
        case "<=":
            return [negated]
        case "<":
            return [Lin(negated.terms, negated.const - 1)]
        case "==":
            return [lin, negated]
        case _:
            return []


def _bounds(scope: Scope, form: Lin) -> Iterator[tuple[str, int, int]]:
    """(axis, first, last) that `form >= 0` leaves of each axis at most, where that is less than the axis."""
    _, high = scope.interval(form)
    for axis, c in form.terms.items():
        last = scope.counts[axis] - 1
        rest = high - max(c * last, 0)
        if c > 0:
            first = -(rest // c)
            if first > 0:
                yield axis, first, last
        elif rest // -c < last:
            yield axis, 0, rest // -c


def tightened(piece: Piece) -> Piece | None:
    """Drops decided conditions and cuts the box until nothing changes; None when the domain is empty."""
    scope, conditions = piece.scope, list(piece.conditions)
    if not conditions:
        return piece
    while True:
        kept = []
        for condition in conditions:
            known = decided(condition, scope)
            if known is False:
                return None
            if known is None:
                kept.append(condition)
        conditions = kept
        cut = _first_cut(scope, conditions)
        if cut is None:
            return Piece(scope, tuple(conditions))
        axis, first, last = cut
        if first > last:
            return None
        count = last - first + 1
        scope = scope.substitute(axis, Lin({axis: 1}, first), {axis: count})


def _first_cut(scope: Scope, conditions: Iterable[Condition]) -> tuple[str, int, int] | None:
    for condition in conditions:
        if not isinstance(condition, Compare):
            continue
        lin = scope.lin(condition.index)
        if lin is None:
            continue
        for form in positive_forms(lin, condition.relation):
            for cut in _bounds(scope, form):
                return cut
        end = _excluded_end(scope, lin, condition.relation)
        if end is not None:
            return end
    return None


def _excluded_end(scope: Scope, lin: Lin, relation: str) -> tuple[str, int, int] | None:
    """`axis != first` or `axis != last` of the box cuts it."""
    if relation != "!=" or len(lin.terms) != 1:
        return None
    ((axis, c),) = lin.terms.items()
    at, rest = divmod(-lin.const, c)
    last = scope.counts[axis] - 1
    if rest or at not in (0, last):
        return None
    return (axis, 1, last) if at == 0 else (axis, 0, last - 1)


def without_equalities(piece: Piece) -> Piece | None:
    """Axes that an equality fixes by the others (`k == i`) are replaced by them: diagonals instead of masks."""
    for condition in piece.conditions:
        if not isinstance(condition, Compare) or condition.relation != "==":
            continue
        lin = piece.scope.lin(condition.index)
        axis = None if lin is None else next((a for a in reversed(list(lin.terms)) if lin.terms[a] in (1, -1)), None)
        if lin is None or axis is None:
            continue
        sign = lin.terms[axis]
        form = Lin({a: -c * sign for a, c in lin.terms.items() if a != axis}, -lin.const * sign)
        low, high = piece.scope.interval(form)
        if low < 0 or high >= piece.scope.counts[axis]:
            continue
        scope = piece.scope.substitute(axis, form, {})
        rest = tuple(other for other in piece.conditions if other is not condition)
        smaller = tightened(Piece(scope, rest))
        return None if smaller is None else without_equalities(smaller)
    return piece


def with_digits(piece: Piece, indices: Sequence[Index]) -> Piece | None:
    """Splits an axis i into (i // by, i % by) where that makes // and % of the indices affine."""
    pending = [division for index in indices for division in divisions(index)]
    for condition in piece.conditions:
        pending.extend(d for compare in compares(condition) for d in divisions(compare.index))
    scope = piece.scope
    for division in pending:
        found = _digit_split(scope, division)
        if found is not None:
            scope = found
    return piece if scope is piece.scope else tightened(Piece(scope, piece.conditions))


def _digit_split(scope: Scope, division: Div | Mod) -> Scope | None:
    lin = scope.lin(division.arg)
    if lin is None or scope.lin(Index(((division, 1),))) is not None:
        return None
    by = division.by
    candidates = [(axis, by // c) for axis, c in lin.terms.items() if c > 0 and c % by and by % c == 0]
    for axis, period in candidates:
        count = scope.counts[axis]
        if count % period or count == period:
            continue
        high, low = f"{axis}/", f"{axis}%"
        while high in scope.counts or low in scope.counts:
            high, low = f"{high}/", f"{low}%"
        split = scope.substitute(axis, Lin({high: period, low: 1}), {high: count // period, low: period})
        if split.lin(Index(((division, 1),))) is not None:
            return split
    return None


def residue_pieces(piece: Piece) -> list[Piece]:
    """Splits axes by their residues so that conditions on `% by` are decided: the pieces' domains are disjoint."""
    result = [piece]
    for condition in piece.conditions:
        for compare in compares(condition):
            for division in divisions(compare.index):
                result = [part for whole in result for part in _by_residue(whole, division)]
                if len(result) > _MOST_PIECES:
                    return [piece]
    return result


def _by_residue(piece: Piece, division: Div | Mod) -> Iterator[Piece]:
    scope = piece.scope
    lin = scope.lin(division.arg)
    if lin is None or scope.lin(Index(((division, 1),))) is not None:
        yield piece
        return
    periods = {axis: division.by // math.gcd(c, division.by) for axis, c in lin.terms.items() if c % division.by}
    if math.prod(periods.values()) > _MOST_PIECES:
        yield piece
        return
    ranges = [range(min(period, scope.counts[axis])) for axis, period in periods.items()]
    for residues in itertools.product(*ranges):
        inner = scope
        for (axis, period), residue in zip(periods.items(), residues, strict=True):
            count = -(-(scope.counts[axis] - residue) // period)
            inner = inner.substitute(axis, Lin({axis: period}, residue), {axis: count})
        part = tightened(Piece(inner, piece.conditions))
        if part is not None:
            yield part


def fixed_pieces(piece: Piece, axes: Sequence[str]) -> Iterator[Piece]:
    """One piece for every point of `axes`."""
    ranges = [range(piece.scope.counts[axis]) for axis in axes]
    for point in itertools.product(*ranges):
        scope = piece.scope
        for axis, value in zip(axes, point, strict=True):
            scope = scope.substitute(axis, Lin({}, value), {})
        part = tightened(Piece(scope, piece.conditions))
        if part is not None:
            yield part
