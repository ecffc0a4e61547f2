"""Index arithmetic of one run: affine forms over axes that count from 0, and the boxes of points they range over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..program import AllOf, AnyOf, Atom, Compare, Condition, Div, Fetch, Index, Iter, Mod, Read


@dataclass(frozen=True, slots=True)
class Lin:
    """`sum(terms[axis] * axis) + const`, coefficients nonzero. `terms` is never changed."""

    terms: Mapping[str, int]
    const: int = 0


def add(left: Lin, right: Lin, factor: int = 1) -> Lin:
    """left + factor*right"""
    terms = dict(left.terms)
    for axis, coefficient in right.terms.items():
        total = terms.get(axis, 0) + factor * coefficient
        if total:
            terms[axis] = total
        else:
            terms.pop(axis, None)
    return Lin(terms, left.const + factor * right.const)


def scaled(lin: Lin, factor: int) -> Lin:
    if not factor:
        return Lin({})
    return Lin({axis: coefficient * factor for axis, coefficient in lin.terms.items()}, lin.const * factor)


def replaced(lin: Lin, axis: str, by: Lin) -> Lin:
    coefficient = lin.terms.get(axis)
    if coefficient is None:
        return lin
    rest = Lin({name: c for name, c in lin.terms.items() if name != axis}, lin.const)
    return add(rest, by, coefficient)


@dataclass(frozen=True, slots=True)
class Scope:
    """A box: `counts[axis]` >= 2 points along each axis (in order), and every iterator as a form over the axes."""

    counts: Mapping[str, int]
    env: Mapping[str, Lin]

    def interval(self, lin: Lin) -> tuple[int, int]:
        """Smallest and largest value over the box (both taken)."""
        low = high = lin.const
        for axis, coefficient in lin.terms.items():
            reach = coefficient * (self.counts[axis] - 1)
            if reach < 0:
                low += reach
            else:
                high += reach
        return low, high

    def substitute(self, axis: str, by: Lin, counts: Mapping[str, int]) -> Scope:
        """The box with `axis` written over new axes that take its place in the order; those of one point vanish."""
        gone = {name for name, count in counts.items() if count == 1}
        kept = Lin({name: c for name, c in by.terms.items() if name not in gone}, by.const)
        new: dict[str, int] = {}
        for name, count in self.counts.items():
            if name != axis:
                new[name] = count
                continue
            new.update((inner, size) for inner, size in counts.items() if inner not in gone)
        return Scope(new, {name: replaced(lin, axis, kept) for name, lin in self.env.items()})

    def lin(self, index: Index) -> Lin | None:
        """The index as an affine form; None where //, % or data keep it from being one."""
        terms: dict[str, int] = {}
        const = index.const
        for atom, coefficient in index.terms:
            part = self.env[atom.name] if isinstance(atom, Iter) else self._atom(atom)
            if part is None:
                return None
            const += coefficient * part.const
            for axis, inner in part.terms.items():
                terms[axis] = terms.get(axis, 0) + coefficient * inner
        return Lin({axis: c for axis, c in terms.items() if c}, const)

    def _atom(self, atom: Atom) -> Lin | None:
        match atom:
            case Iter(name):
                return self.env[name]
            case Div(arg, by):
                inner = self.lin(arg)
                return None if inner is None else self._quotient(inner, by)
            case Mod(arg, by):
                inner = self.lin(arg)
                return None if inner is None else self._remainder(inner, by)
            case Fetch():
                return None

    def _quotient(self, lin: Lin, by: int) -> Lin | None:
        outer = {axis: c // by for axis, c in lin.terms.items() if c % by == 0}
        shift, left = divmod(lin.const, by)
        low, high = self.interval(Lin({axis: c for axis, c in lin.terms.items() if c % by}, left))
        if low // by != high // by:
            return None
        return Lin(outer, shift + low // by)

    def _remainder(self, lin: Lin, by: int) -> Lin | None:
        quotient = self._quotient(lin, by)
        if quotient is not None:
            return add(lin, quotient, -by)
        reduced = Lin({axis: c % by for axis, c in lin.terms.items() if c % by}, lin.const % by)
        quotient = self._quotient(reduced, by)
        return None if quotient is None else add(reduced, quotient, -by)

    def point(self, at: Mapping[str, int]) -> dict[str, int]:
        """Every iterator's value at one point of the axes (absent axes are 0)."""
        return {
            name: lin.const + sum(c * at.get(axis, 0) for axis, c in lin.terms.items())
            for name, lin in self.env.items()
        }


def divisions(index: Index) -> Iterator[Div | Mod]:
    """All // and % of an index, inner ones first."""
    for atom, _ in index.terms:
        match atom:
            case Div(arg, _) | Mod(arg, _):
                yield from divisions(arg)
                yield atom
            case Fetch(Read(_, parts, _)):
                for part in parts:
                    yield from divisions(part)
            case Iter():
                pass


def compares(condition: Condition) -> Iterator[Compare]:
    match condition:
        case Compare():
            yield condition
        case AllOf(args) | AnyOf(args):
            for arg in args:
                yield from compares(arg)
