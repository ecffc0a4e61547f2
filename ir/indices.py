"""Arithmetic on quasi-affine index expressions, in canonical form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .program import (
    AllOf,
    AnyOf,
    Apply,
    Atom,
    Cast,
    Compare,
    Condition,
    Const,
    Div,
    Expr,
    Fetch,
    Index,
    IndexValue,
    Iter,
    Mod,
    Read,
)


def constant(value: int) -> Index:
    return Index((), value)


def iterator(name: str) -> Index:
    return Index(((Iter(name), 1),))


def of_terms(terms: Mapping[Atom, int], const: int) -> Index:
    """Canonical index: zero coefficients dropped, atoms ordered by their printed form."""
    kept = [(atom, coefficient) for atom, coefficient in terms.items() if coefficient]
    kept.sort(key=lambda term: show_atom(term[0]))
    return Index(tuple(kept), const)


def add(left: Index, right: Index) -> Index:
    terms = dict(left.terms)
    for atom, coefficient in right.terms:
        terms[atom] = terms.get(atom, 0) + coefficient
    return of_terms(terms, left.const + right.const)


def scale(index: Index, factor: int) -> Index:
    return of_terms({atom: coefficient * factor for atom, coefficient in index.terms}, index.const * factor)


def subtract(left: Index, right: Index) -> Index:
    return add(left, scale(right, -1))


def floor_div(index: Index, by: int) -> Index:
    """`index // by` for by > 0, exact terms divided out: (4*i + j)//4 is i + j//4."""
    outer = {atom: c // by for atom, c in index.terms if c % by == 0}
    rest = {atom: c for atom, c in index.terms if c % by != 0}
    shift, left = divmod(index.const, by)
    if not rest:
        return of_terms(outer, shift)
    inner = Div(of_terms(rest, left), by)
    outer[inner] = outer.get(inner, 0) + 1
    return of_terms(outer, shift)


def modulo(index: Index, by: int) -> Index:
    """`index % by` for by > 0, coefficients reduced modulo `by`."""
    rest = {atom: c % by for atom, c in index.terms}
    reduced = of_terms(rest, index.const % by)
    if not reduced.terms:
        return reduced
    return Index(((Mod(reduced, by), 1),)) if by > 1 else constant(0)


def iterators(index: Index) -> frozenset[str]:
    """Names of all iterators that occur, also inside //, % and indirect reads."""
    return frozenset(name for atom, _ in index.terms for name in _atom_iterators(atom))


def _atom_iterators(atom: Atom) -> Iterator[str]:
    match atom:
        case Iter(name):
            yield name
        case Div(arg, _) | Mod(arg, _):
            yield from iterators(arg)
        case Fetch(read):
            for index in read.index:
                yield from iterators(index)


def is_affine(index: Index) -> bool:
    return all(isinstance(atom, Iter) for atom, _ in index.terms)


def substitute(index: Index, values: Mapping[str, Index]) -> Index:
    """Replaces iterators by indices; // and % are simplified again."""
    result = constant(index.const)
    for atom, coefficient in index.terms:
        result = add(result, scale(_substitute_atom(atom, values), coefficient))
    return result


def _substitute_atom(atom: Atom, values: Mapping[str, Index]) -> Index:
    match atom:
        case Iter(name):
            return values.get(name, iterator(name))
        case Div(arg, by):
            return floor_div(substitute(arg, values), by)
        case Mod(arg, by):
            return modulo(substitute(arg, values), by)
        case Fetch(read):
            inner = tuple(substitute(index, values) for index in read.index)
            return Index(((Fetch(Read(read.tensor, inner, read.fill)), 1),))


def interval(index: Index, ranges: Mapping[str, tuple[int, int]]) -> tuple[int, int] | None:
    """Smallest and largest value over a box of iterator ranges (inclusive); None when it depends on data.

    Exact for an affine index; with // and % an enclosure."""
    low = high = index.const
    for atom, coefficient in index.terms:
        found = _atom_interval(atom, ranges)
        if found is None:
            return None
        ends = (found[0] * coefficient, found[1] * coefficient)
        low, high = low + min(ends), high + max(ends)
    return low, high


def _atom_interval(atom: Atom, ranges: Mapping[str, tuple[int, int]]) -> tuple[int, int] | None:
    match atom:
        case Iter(name):
            return ranges[name]
        case Fetch():
            return None
        case Div(arg, by):
            inner = interval(arg, ranges)
            return None if inner is None else (inner[0] // by, inner[1] // by)
        case Mod(arg, by):
            inner = interval(arg, ranges)
            if inner is not None and inner[0] // by == inner[1] // by:
                return inner[0] % by, inner[1] % by
            return None if inner is None else (0, by - 1)


def show_atom(atom: Atom) -> str:
    match atom:
        case Iter(name):
            return name
        case Div(arg, by):
            return f"{_operand(arg)}//{by}"
        case Mod(arg, by):
            return f"{_operand(arg)}%{by}"
        case Fetch(read):
            return f"{read.tensor}[{', '.join(show(index) for index in read.index)}]"


def _operand(index: Index) -> str:
    match index:
        case Index(((Iter(name), 1),), 0):
            return name
        case _:
            return f"({show(index)})"


def show(index: Index) -> str:
    """Readable form, for messages and for canonical order: `2*p + r - 1`."""
    text = ""
    for atom, coefficient in index.terms:
        factor = "" if abs(coefficient) == 1 else f"{abs(coefficient)}*"
        sign = "-" if coefficient < 0 else "+"
        lead = f" {sign} " if text else "-" if coefficient < 0 else ""
        text += f"{lead}{factor}{show_atom(atom)}"
    if not text:
        return str(index.const)
    return text if not index.const else f"{text} {'-' if index.const < 0 else '+'} {abs(index.const)}"


def reads(expr: Expr) -> Iterator[Read]:
    """All reads of an expression, those inside indirect indices included."""
    match expr:
        case Read(_, index, _):
            yield expr
            for part in index:
                yield from index_reads(part)
        case Apply(_, args, _):
            for arg in args:
                yield from reads(arg)
        case Cast(arg, _):
            yield from reads(arg)
        case IndexValue(index_):
            yield from index_reads(index_)
        case Const():
            return


def substitute_in(expr: Expr, values: Mapping[str, Index]) -> Expr:
    """Replaces iterators by indices in every index of an expression."""
    match expr:
        case Read(tensor, index, fill):
            return Read(tensor, tuple(substitute(part, values) for part in index), fill)
        case Apply(op, args, dtype):
            return Apply(op, tuple(substitute_in(arg, values) for arg in args), dtype)
        case Cast(arg, dtype):
            return Cast(substitute_in(arg, values), dtype)
        case IndexValue(index_):
            return IndexValue(substitute(index_, values))
        case Const():
            return expr


def index_reads(index: Index) -> Iterator[Read]:
    for atom, _ in index.terms:
        match atom:
            case Fetch(read):
                yield from reads(read)
            case Div(arg, _) | Mod(arg, _):
                yield from index_reads(arg)
            case Iter():
                pass


def expr_iterators(expr: Expr) -> frozenset[str]:
    match expr:
        case Read(_, index, _):
            return frozenset(name for part in index for name in iterators(part))
        case Apply(_, args, _):
            return frozenset(name for arg in args for name in expr_iterators(arg))
        case Cast(arg, _):
            return expr_iterators(arg)
        case IndexValue(index_):
            return iterators(index_)
        case Const():
            return frozenset()


def conjuncts(condition: Condition | None) -> tuple[Condition, ...]:
    """The conditions that must all hold, nested conjunctions flattened."""
    match condition:
        case None:
            return ()
        case AllOf(args):
            return tuple(part for arg in args for part in conjuncts(arg))
        case _:
            return (condition,)


def condition_iterators(condition: Condition) -> frozenset[str]:
    match condition:
        case Compare(index, _):
            return iterators(index)
        case AllOf(args) | AnyOf(args):
            return frozenset(name for arg in args for name in condition_iterators(arg))
