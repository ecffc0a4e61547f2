"""Claims about captured masks: which entries are triangles, and the `fact` lines that say so.

A recording has no values. Claimed is what the captured tensor holds at full size, where that can be known, and in runs
of the original at small sizes; the verifier checks it again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ...verifier.traced import Argument, Ref, Traced
from ...verifier.types import Array, Reference, ReferenceFailed
from .names import ITERATORS
from .numbers import literal

_ASSIGNMENTS = 2
_SMALLEST = 3
_VIEWS = frozenset(
    ("alias", "detach", "slice", "select", "view", "reshape", "expand", "expand_as", "unsqueeze", "squeeze", "permute")
    + ("transpose", "to", "_to_copy", "type_as", "contiguous", "clone", "bool", "float", "half", "int", "long")
)
_MASKING = frozenset(
    ("eq", "ne", "lt", "le", "gt", "ge", "logical_not", "bitwise_not", "logical_and", "bitwise_and", "masked_fill")
    + ("masked_fill_", "where", "add", "add_", "sub", "mul", "rsub", "scaled_dot_product_attention")
)
_PARAM = re.compile(r'^(?P<indent> *)param (?P<name>\w+)(?: = "(?P<path>[^"]+)")?\[(?P<sizes>[^\]]*)\]$')


@dataclass(frozen=True, slots=True)
class Triangle:
    """On the last two axes, [i, j]: `inside` where j `relation` i, else `outside`; the same for all others."""

    relation: str
    inside: bool | int | float
    outside: bool | int | float

    def text(self, i: str, j: str) -> str:
        """The value of the element [..., i, j]."""
        where = f"{j} {self.relation} {i}"
        if self.inside == 1 and self.outside == 0:
            return f"({where})"
        return f"select({where}, {literal(self.inside)}, {literal(self.outside)})"


def with_facts(text: str, reference: Reference, recording: Traced) -> str:
    """`text` with a fact behind the declaration of each captured mask. `recording`: any one of the program."""
    triangles = _triangles(reference, masks(recording))
    if not triangles:
        return text
    free = [name for name in ITERATORS if not re.search(rf"\b{name}\b", text)]
    return "\n".join(line for given in text.split("\n") for line in _with_fact(given, triangles, free))


def _with_fact(line: str, triangles: Mapping[str, Triangle | None], free: list[str]) -> Iterator[str]:
    yield line
    match = _PARAM.match(line)
    if match is None:
        return
    path = match["path"] or match["name"]
    pattern = re.compile(re.sub(r"\\\{\w+\\\}", ".+", re.escape(path)))
    found = {triangle for name, triangle in triangles.items() if pattern.fullmatch(name)}
    rank = match["sizes"].count(",") + 1
    claim = found.pop() if len(found) == 1 else None
    if claim is None or len(free) < rank:
        return
    i, j, *lead = free[:rank]
    index = ", ".join((*lead, i, j))
    yield f"{match['indent']}fact {match['name']}[{index}] == {claim.text(i, j)}"


def masks(recording: Traced) -> frozenset[str]:
    """State entries of two axes or more that are compared, added or filled with, perhaps after views and casts."""
    entries = {number: path for path, number in recording.state.items() if len(recording.values[number].shape) > 1}
    found = set()
    for operator in recording.operators:
        used = {ref.value for ref in _refs(operator.arguments.values())} & set(entries)
        kind = operator.name.split(".")[1]
        if kind in _VIEWS:
            first = next(_refs(operator.arguments.values()), None)
            if first is not None and first.value in entries:
                entries |= {result: entries[first.value] for result in operator.results if result is not None}
        elif kind in _MASKING:
            found |= {entries[value] for value in used}
    return frozenset(found)


def _refs(arguments: Iterable[Argument]) -> Iterator[Ref]:
    for argument in arguments:
        if isinstance(argument, Ref):
            yield argument
        elif isinstance(argument, tuple):
            yield from _refs(argument)


def _triangles(reference: Reference, paths: frozenset[str]) -> Mapping[str, Triangle | None]:
    """What the values at full size and some runs of the original that hold the entry agree on. None where they do not,
    and where those at full size are not known: a band may look like a triangle at small sizes. Nothing where the
    original does not run."""
    if not paths:
        return {}
    try:
        trials = [reference.trial(a, 0, "normal", "promoted") for a in reference.assignments()[:_ASSIGNMENTS]]
        full = reference.known_state(paths)
    except ReferenceFailed:
        return {}
    runs = [{path: triangle(t.state[path]) for path in paths if path in t.state} for t in trials]
    claims = {path: triangle(full[path]) if path in full else None for path in paths}
    return {
        path: claim if all(run.get(path, claim) == claim for run in runs) else None for path, claim in claims.items()
    }


def triangle(values: Array) -> Triangle | None:
    """What an array of two axes or more holds, if that is one number in a triangle and another outside."""
    if values.ndim < 2 or min(values.shape[-2:]) < _SMALLEST:
        return None
    matrices = values.reshape(-1, *values.shape[-2:])
    matrix = matrices[0]
    if not all(np.array_equal(matrix, other) for other in matrices[1:]):
        return None
    inside, outside = matrix[1, 0], matrix[0, -1]
    for relation, first in (("<=", 1), ("<", 0)):
        if all(
            (row[: i + first] == inside).all() and (row[i + first :] == outside).all() for i, row in enumerate(matrix)
        ):
            return _named(relation, inside.item(), outside.item())
    return None


def _named(relation: str, inside: bool | int | float, outside: bool | int | float) -> Triangle | None:
    """As a plain comparison where the numbers are 0 and 1. None when nothing tells the triangles apart."""
    if inside == outside:
        return None
    if (inside, outside) == (0, 1):
        return Triangle({"<=": ">", "<": ">="}[relation], outside, inside)
    return Triangle(relation, inside, outside)
