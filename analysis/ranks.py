"""Canonical names of dimensions: one rank for all dimensions that are the same along producers and consumers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_uppercase

from ..ir import indices
from ..ir.program import Fetch, Index, Iter, Nest, Read, Tensor
from .space import space_of

Node = tuple[str, str, int]


def label(number: int) -> str:
    """A, B, … Z, A0, B0, … Z0, A1, …"""
    row, column = divmod(number, len(ascii_uppercase))
    return ascii_uppercase[column] + (str(row - 1) if row else "")


@dataclass(slots=True)
class Ranks:
    """Union-find over tensor axes ("axis", tensor, k) and iterators ("loop", layer and iterator, 0).

    A dimension that an access only uses in part is a rank of its own, so that a rank has one size."""

    parent: dict[Node, Node] = field(default_factory=dict)
    sizes: dict[Node, int] = field(default_factory=dict)
    names: dict[Node, str] = field(default_factory=dict)

    def add(self, node: Node, size: int) -> Node:
        self.parent.setdefault(node, node)
        self.sizes.setdefault(node, size)
        return node

    def root(self, node: Node) -> Node:
        while self.parent[node] != node:
            self.parent[node] = self.parent[self.parent[node]]
            node = self.parent[node]
        return node

    def join(self, left: Node, right: Node) -> None:
        a, b = self.root(left), self.root(right)
        if a != b and self.sizes[a] == self.sizes[b]:
            self.parent[b] = a

    def name(self, node: Node) -> str:
        """Name of a rank, given in the order in which ranks are first asked for."""
        root = self.root(node)
        if root not in self.names:
            self.names[root] = label(len(self.names))
        return self.names[root]

    def size(self, node: Node) -> int:
        return self.sizes[self.root(node)]


def loop_node(layer: str, name: str) -> Node:
    return ("loop", f"{layer}\0{name}", 0)


def axis_node(tensor: str, position: int) -> Node:
    return ("axis", tensor, position)


def join_nest(ranks: Ranks, layer: str, nest: Nest, tensors: Mapping[str, Tensor]) -> None:
    """Ties a nest's iterators to the dimensions that they run over as they are."""
    for name, size in space_of(nest.loops, nest.where).sizes:
        ranks.add(loop_node(layer, name), size)
    for read in (Read(nest.target, nest.at), *indices.reads(nest.value)):
        for position, (index, size) in enumerate(zip(read.index, tensors[read.tensor].shape, strict=True)):
            node = ranks.add(axis_node(read.tensor, position), size)
            iterator = plain_iterator(index)
            if iterator is not None and loop_node(layer, iterator) in ranks.parent:
                ranks.join(node, loop_node(layer, iterator))


def plain_iterator(index: Index) -> str | None:
    match index:
        case Index(((Iter(name), 1),), 0):
            return name
        case _:
            return None


def projection(ranks: Ranks, layer: str, tensor: str, position: int, index: Index) -> str:
    """One dimension of an operand in an equation: a rank, or a window `(P+R)`."""
    terms = list(_signed(index, 1))
    known = [(sign, loop_node(layer, name)) for sign, name in terms if loop_node(layer, name) in ranks.parent]
    if not known or any(isinstance(atom, Fetch) for atom, _ in index.terms):
        return ranks.name(axis_node(tensor, position))
    if len(known) == 1 and known[0][0] > 0:
        return ranks.name(known[0][1])
    known.sort(key=lambda item: -item[0])
    text = "".join(("+" if sign > 0 else "-") + ranks.name(node) for sign, node in known)
    return f"({text.removeprefix('+')})"


def _signed(index: Index, sign: int) -> Iterable[tuple[int, str]]:
    """Iterators of an index with the sign that they enter with, each once."""
    seen: set[str] = set()
    for atom, factor in index.terms:
        here = sign if factor > 0 else -sign
        inner: Sequence[tuple[int, str]]
        match atom:
            case Iter(name):
                inner = [(here, name)]
            case Fetch():
                inner = []
            case _:
                inner = list(_signed(atom.arg, here))
        for item in inner:
            if item[1] not in seen:
                seen.add(item[1])
                yield item
