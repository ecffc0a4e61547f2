"""Is an elaborated program well formed? Everything that can be told without running it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from . import indices as ix
from .elaborate.simplify import ranges_of
from .errors import IRError, Problem
from .program import Branch, Condition, Declare, Index, Loop, Nest, Opaque, Program, Read, Scan, Source, Statement, View

Ranges = dict[str, tuple[int, int]]
_MOST_PROBLEMS = 20
_SCAN_ITERATOR = re.compile(r"@(\w+)(\.\d+)?")


def check(program: Program) -> Program:
    """The program itself.

    Raises IRError for reads and writes that leave a tensor's bounds. Only indices over boxes are judged here, where
    their extremes are attained; those under a `where` or a triangle are judged exactly when the program runs."""
    problems: dict[tuple[int, int, str], Problem] = {}
    for problem in _statements(program, program.body, {}):
        problems.setdefault((problem.line, problem.column, problem.message), problem)
    if problems:
        raise IRError(tuple(problems.values())[:_MOST_PROBLEMS])
    return program


def _statements(program: Program, body: tuple[Statement, ...], outer: Ranges) -> Iterator[Problem]:
    for statement in body:
        match statement:
            case Nest():
                yield from _nest(program, statement, outer)
            case View(_, loops, read, source):
                if _is_box(loops, None):
                    yield from _reads(program, [read], ranges_of(loops, outer), source)
            case Scan(iterator, trip, _, _, _, inner, _):
                if trip:
                    yield from _statements(program, inner, {**outer, iterator: (0, trip - 1)})
            case Branch(_, then, orelse, _, _):
                yield from _statements(program, then, outer)
                yield from _statements(program, orelse, outer)
            case Declare() | Opaque():
                pass


def _nest(program: Program, nest: Nest, outer: Ranges) -> Iterator[Problem]:
    if not _is_box(nest.loops, nest.where):
        return
    ranges = ranges_of(nest.loops, outer)
    indirect = (read for part in nest.at for read in ix.index_reads(part))
    yield from _reads(program, [*ix.reads(nest.value), *indirect], ranges, nest.source)
    yield from _bounds(program, nest.target, nest.at, ranges, nest.source, "write")


def _is_box(loops: tuple[Loop, ...], where: Condition | None) -> bool:
    """Whether the domain is a box with at least one point."""
    return where is None and all(not loop.extent.terms and loop.extent.const > 0 for loop in loops)


def _reads(program: Program, reads: Iterable[Read], ranges: Ranges, source: Source) -> Iterator[Problem]:
    for read in reads:
        if read.fill is None:
            yield from _bounds(program, read.tensor, read.index, ranges, source, "read")


def _bounds(
    program: Program, tensor: str, index: tuple[Index, ...], ranges: Ranges, source: Source, what: str
) -> Iterator[Problem]:
    for axis, (part, size) in enumerate(zip(index, program.tensors[tensor].shape, strict=True)):
        bounds = ix.interval(part, ranges) if ix.is_affine(part) else None
        if bounds is None or (bounds[0] >= 0 and bounds[1] < size):
            continue
        low, high = bounds
        shown = _SCAN_ITERATOR.sub(r"\1", ix.show(part))
        reached = f"the index is {shown}" if low == high else f"{shown} runs from {low} to {high}"
        message = f"{what} out of bounds: axis {axis} of {tensor.partition('.')[0]} has size {size}, but {reached}"
        hint = "; guard the read, as in (x[…] else 0)" if what == "read" else ""
        yield Problem(message + hint, source.line, source.column, source.text, source.trail)
