"""Syntax tree and bindings to elaborated program."""

from __future__ import annotations

from .. import syntax as s
from ..bindings import Bindings
from ..errors import IRError
from ..program import Program
from .declarations import run_ranges
from .scope import Builder, Frame, Known, TooMuchError
from .statements import run

_MOST_PROBLEMS = 20


def elaborate(tree: s.Program, bindings: Bindings) -> Program:
    """Binds names to the captured program, inlines functions, unrolls `repeat`, decides compile-time conditions.

    Raises IRError with every problem found (at most 20)."""
    builder = Builder(bindings, tree.lines, {d.name: d for d in reversed(tree.body) if isinstance(d, s.Def)})
    frame = Frame("top")
    try:
        run(builder, frame, tree.body)
        run_ranges(builder)
    except TooMuchError:
        raise IRError.at("the text unrolls to more statements than can be analysed") from None
    except RecursionError:
        raise IRError.at("calls and expressions are nested too deeply") from None
    problems = sorted(builder.problems.values(), key=lambda problem: (problem.line, problem.column))
    if problems:
        raise IRError(tuple(problems[:_MOST_PROBLEMS]))
    if not builder.outputs:
        raise IRError.at("the text declares no output", max(len(tree.lines), 1))
    for id_ in list(builder.pending):
        builder.typed(id_)
    sizes = {name: entry.value for name, entry in frame.names.items() if isinstance(entry, Known)}
    return Program(
        tree.name, builder.tensors, tuple(builder.body), tuple(builder.outputs), tuple(builder.ranges),
        tuple(builder.facts), frozenset(builder.decisions), sizes,
    )  # fmt: skip


__all__ = ["elaborate"]
