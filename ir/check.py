"""Is an elaborated program well formed? Everything that can be told without running it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from . import indices as ix
from .elaborate.simplify import ranges_of
from .errors import IRError, Problem
from .program import Branch, Condition, Declare, Expr, Index, Loop, Nest, Opaque, Program, Scan, Source, Statement, View

Ranges = dict[str, tuple[int, int]]
_MOST_PROBLEMS = 20


def check(program: Program) -> Program:
    """The program itself.

    Raises IRError for reads and writes that leave a tensor's bounds. Only indices over boxes are judged here, where
    their extremes are attained; those under a `where` or a triangle are judged exactly when the program runs."""
    problems = tuple(dict.fromkeys(_statements(program, program.body, {})))
    if problems:
        raise IRError(problems[:_MOST_PROBLEMS])
    return program


def _statements(program: Program, body: tuple[Statement, ...], outer: Ranges) -> Iterator[Problem]:
    for statement in body:
        match statement:
            case Nest():
                yield from _nest(program, statement, outer)
            case View(_, loops, read, source):
                yield from _reads(program, read, loops, None, outer, source)
            case Scan(iterator, trip, _, _, _, inner, _):
                if trip:
                    yield from _statements(program, inner, {**outer, iterator: (0, trip - 1)})
            case Branch(_, then, orelse, _, _):
                yield from _statements(program, then, outer)
                yield from _statements(program, orelse, outer)
            case Declare() | Opaque():
                pass


def _nest(program: Program, nest: Nest, outer: Ranges) -> Iterator[Problem]:
    yield from _reads(program, nest.value, nest.loops, nest.where, outer, nest.source)
    if _is_box(nest.loops, nest.where, outer):
        ranges = ranges_of(nest.loops, outer)
        yield from _bounds(program, nest.target, nest.at, ranges, nest.source, "write")


def _is_box(loops: tuple[Loop, ...], where: Condition | None, outer: Mapping[str, tuple[int, int]]) -> bool:
    return where is None and all(not loop.extent.terms and loop.extent.const > 0 for loop in loops)


def _reads(
    program: Program, expr: Expr, loops: tuple[Loop, ...], where: Condition | None, outer: Ranges, source: Source
) -> Iterator[Problem]:
    if not _is_box(loops, where, outer):
        return
    ranges = ranges_of(loops, outer)
    for read in ix.reads(expr):
        if read.fill is None:
            yield from _bounds(program, read.tensor, read.index, ranges, source, "read")


def _bounds(
    program: Program, tensor: str, index: tuple[Index, ...], ranges: Ranges, source: Source, what: str
) -> Iterator[Problem]:
    shape = program.tensors[tensor].shape
    for axis, (part, size) in enumerate(zip(index, shape, strict=True)):
        if not ix.is_affine(part):
            continue
        bounds = ix.interval(part, ranges)
        if bounds is None or (bounds[0] >= 0 and bounds[1] < size):
            continue
        reached = bounds[1] if bounds[1] >= size else bounds[0]
        hint = "; guard the read, as in (x[…] else 0)" if what == "read" else ""
        message = f"{what} out of bounds: axis {axis} of {tensor} has size {size}, but {ix.show(part)} is {reached}"
        yield Problem(message + hint, source.line, source.column, source.text, source.trail)


