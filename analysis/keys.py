"""What an expression computes, free of the names of its iterators, so that equal ones are found.

`order` numbers iterators as they are met; `alias` maps a tensor to an earlier one of equal content."""

from __future__ import annotations

from collections.abc import Mapping

from ..ir import indices
from ..ir.program import Apply, Atom, Cast, Const, Expr, Fetch, Index, IndexValue, Iter, Read
from .space import Constraint, substitute


def index_key(index: Index, order: dict[str, int], alias: Mapping[str, str]) -> object:
    return tuple((_atom_key(atom, order, alias), factor) for atom, factor in index.terms), index.const


def _atom_key(atom: Atom, order: dict[str, int], alias: Mapping[str, str]) -> object:
    match atom:
        case Iter(name):
            return order.setdefault(name, len(order))
        case Fetch(read):
            return "fetch", expr_key(read, order, alias)
        case _:
            return type(atom).__name__, index_key(atom.arg, order, alias), atom.by


def expr_key(expr: Expr, order: dict[str, int], alias: Mapping[str, str]) -> object:
    match expr:
        case Read(tensor, index, fill):
            name = alias.get(tensor, tensor)
            return "read", name, tuple(index_key(part, order, alias) for part in index), fill
        case Apply(op, args, dtype):
            return op, tuple(expr_key(arg, order, alias) for arg in args), dtype
        case Cast(arg, dtype):
            return "cast", expr_key(arg, order, alias), dtype
        case IndexValue(index_):
            return "index", index_key(index_, order, alias)
        case Const(value, dtype):
            return "const", value, dtype


def constraint_key(constraint: Constraint, order: dict[str, int]) -> object:
    return substitute(constraint, {name: indices.iterator(f"#{place}") for name, place in order.items()})
