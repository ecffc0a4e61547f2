"""Running over a tensor with some of its axes reduced: iterators, extents, and the texts of reductions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..model import Num, Op, Tensor
from ..numbers import atom
from ..writer import Writer

ONE = Num((1,))
Loops = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Walk:
    """`outer`: iterators of the result with their extents (1 for reduced axes that are kept), `reduced`: the others;
    `at`: the source's index at them, `sizes`: the source's extents."""

    outer: Loops
    reduced: Loops
    at: tuple[str, ...]
    sizes: tuple[str, ...]

    @property
    def inside(self) -> str:
        """The index of the result, "[n, c]" ("" for rank 0)."""
        return bracket([iterator for iterator, _ in self.outer])

    def read(self, name: str) -> str:
        return name + bracket(self.at)

    def fold(self, function: str, text: str) -> str:
        """`sum(c<C: text)`; over nothing it is `text`."""
        return f"{function}({loops(self.reduced)}: {text})" if self.reduced else text

    @property
    def count(self) -> str:
        """How many elements are reduced into one."""
        return "*".join(atom(size) for _, size in self.reduced) or "1"


def bracket(indices: Sequence[str]) -> str:
    return f"[{', '.join(indices)}]" if indices else ""


def loops(pairs: Loops) -> str:
    return ", ".join(f"{iterator}<{extent}" for iterator, extent in pairs)


def walk(w: Writer, tensor: Tensor, axes: Sequence[int], keepdim: bool = False) -> Walk:
    """Over all elements of `tensor`, `axes` reduced. Keeping them gives the result axes of extent 1."""
    sizes = w.sizes(tensor)
    its = w.iterators(tensor.rank, like=sizes)
    ones = w.iterators(len(axes), avoid=its) if keepdim else ()
    kept = {axis: one for axis, one in zip(sorted(axes), ones, strict=False)}
    outer = tuple(
        (kept[axis], "1") if axis in axes else (its[axis], sizes[axis])
        for axis in range(tensor.rank)
        if axis not in axes or axis in kept
    )
    return Walk(outer, tuple((its[axis], sizes[axis]) for axis in sorted(axes)), its, sizes)


def reduced_dims(tensor: Tensor, axes: Sequence[int], keepdim: bool = False) -> tuple[Num, ...]:
    one = Num((1,) * len(tensor.dims[0].values)) if tensor.rank else ONE
    return tuple(one if axis in axes else dim for axis, dim in enumerate(tensor.dims) if axis not in axes or keepdim)


def temporary(tensor_dims: Sequence[Num], dtype: str, hint: str) -> Tensor:
    """A value that only the text has."""
    return Tensor(tuple(tensor_dims), dtype, hint=hint)


def cast(text: str, have: str, want: str) -> str:
    """`text` of storage type `have` as `want`."""
    if have == want:
        return text
    return f"{text} != 0" if want == "bool" else f"{want}({text})"


def read_as(w: Writer, tensor: Tensor, at: Sequence[str], want: str) -> str:
    """`x[i, j]`, cast where the storage type is another."""
    return cast(w.of(tensor) + bracket(at), tensor.dtype, want)


def to_last(w: Writer, op: Op, tensor: Tensor, axis: int) -> Tensor:
    """`tensor` with `axis` moved to the end."""
    if axis == tensor.rank - 1 or tensor.rank == 0:
        return tensor
    order = (*(a for a in range(tensor.rank) if a != axis), axis)
    moved = temporary([tensor.dims[a] for a in order], tensor.dtype, f"{w.of(tensor)}_last")
    sizes = w.sizes(tensor)
    w.view(op, tensor, lambda its: [its[order.index(a)] for a in range(len(order))], [sizes[a] for a in order], moved)
    return moved


def from_last(w: Writer, op: Op, moved: Tensor, axis: int, tensor: Tensor | None = None) -> None:
    """The result (first one unless given) is `moved` with its last axis moved to `axis`."""
    target = tensor or op.out
    if axis == moved.rank - 1 or moved.rank == 0:
        w.alias(op, moved, target)
        return
    order = (*(a for a in range(moved.rank) if a != axis), axis)
    sizes = w.sizes(moved)
    w.view(op, moved, lambda its: [its[a] for a in order], [sizes[order.index(a)] for a in range(len(order))], target)


def moved_like(w: Writer, tensor: Tensor, axis: int, dtype: str, hint: str) -> Tensor:
    """A value with the dims of `tensor` once `axis` is last."""
    dims = (*(dim for a, dim in enumerate(tensor.dims) if a != axis), tensor.dims[axis])
    return temporary(dims, dtype, hint)
