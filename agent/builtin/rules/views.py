"""Operators that arrange a tensor's elements anew: how to read the result's element from the source.

A view operator is registered by a function that gives its View. The rule for it writes a `view` line; a write through
a chain of views composes their indices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..model import Op, Tensor
from ..writer import Writer
from .registry import RULES

Index = Callable[[tuple[str, ...]], Sequence[str]]


@dataclass(frozen=True, slots=True)
class View:
    """The result's `sizes`, and `index`: iterators of the result -> indices of the source.

    `repeats`: elements of the source may stand at several places of the result; it cannot be written through."""

    sizes: tuple[str, ...]
    index: Index
    repeats: bool = False


Viewer = Callable[[Writer, Op], View]
VIEWS: dict[str, Viewer] = {}


def source_of(op: Op) -> Tensor:
    """The tensor that a view operator reads."""
    return op.tensor("A" if "A" in op.args else "self")


def view(*names: str) -> Callable[[Viewer], Viewer]:
    """Register how the results of these operators are read; the forms that copy (`…_copy`) come along."""

    def registered(viewer: Viewer) -> Viewer:
        def written(w: Writer, op: Op) -> None:
            show(w, op, source_of(op), viewer(w, op))

        for name in names:
            packet, dot, overload = _parts(name)
            for full in (name, f"{packet}_copy{dot}{overload}"):
                assert full not in VIEWS, full
                VIEWS[full] = viewer
                RULES.setdefault(full, written)
        return viewer

    return registered


def _parts(name: str) -> tuple[str, str, str]:
    """aten.slice.Tensor -> ("aten.slice", ".", "Tensor"), aten.t -> ("aten.t", "", "")."""
    space, packet, *rest = name.split(".")
    return f"{space}.{packet}", "." if rest else "", ".".join(rest)


def view_of(w: Writer, op: Op) -> View:
    """How the result of any view operator is read."""
    found = VIEWS.get(op.name) or VIEWS.get(op.name.rpartition(".")[0])
    if found is None:
        raise op.fail("a write through this operator's result is not translated")
    return found(w, op)


def show(w: Writer, op: Op, source: Tensor, found: View, tensor: Tensor | None = None) -> None:
    """Write the view down; one that changes nothing is another name."""
    target = tensor or op.out
    if is_same(w, source, found, target):
        w.alias(op, source, target)
        return
    w.view(op, source, found.index, found.sizes, target)


def is_same(w: Writer, source: Tensor, found: View, target: Tensor) -> bool:
    if [dim.values for dim in source.dims] != [dim.values for dim in target.dims]:
        return False
    iterators = w.iterators(target.rank, like=found.sizes)
    return all(
        part == iterator or dim.is_one
        for part, iterator, dim in zip(found.index(iterators), iterators, target.dims, strict=True)
    )


def same(iterators: tuple[str, ...]) -> Sequence[str]:
    return iterators


def unchanged(w: Writer, op: Op) -> View:
    return View(w.sizes(source_of(op)), same)


VIEWS.update(dict.fromkeys(("aten.alias", "aten.detach", "aten.contiguous", "aten.lift_fresh"), unchanged))
