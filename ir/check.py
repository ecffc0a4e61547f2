"""Is an elaborated program well formed? Everything that can be told without running it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator

from . import indices as ix
from .elaborate.simplify import ranges_of
from .errors import IRError, Problem
from .program import Branch, Condition, Declare, Index, Loop, Nest, Opaque, Program, Read, Scan, Source, Statement, View

Ranges = dict[str, tuple[int, int]]
_MOST_PROBLEMS = 20
_MOST_AXES = 48
_LARGEST = 1 << 60
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
                vast = list(_vast(program, statement, outer))
                yield from vast or _nest(program, statement, outer)
            case View(_, loops, read, source):
                if vast := list(_vast(program, statement, outer)):
                    yield from vast
                elif _is_box(loops, None):
                    yield from _reads(program, [read], ranges_of(loops, outer), source)
            case Scan(iterator, trip, _, _, _, inner, _):
                if trip:
                    yield from _statements(program, inner, {**outer, iterator: (0, trip - 1)})
            case Branch(_, then, orelse, _, _):
                yield from _statements(program, then, outer)
                yield from _statements(program, orelse, outer)
            case Declare(tensor, _, source):
                yield from _vast_shape(program, tensor, source)
            case Opaque(outputs=outputs, source=source):
                for tensor in outputs:
                    yield from _vast_shape(program, tensor, source)


def _vast(program: Program, statement: Nest | View, outer: Ranges) -> Iterator[Problem]:
    """More axes, points or elements than anything can count: array libraries stop at 64 axes and 64-bit integers."""
    source = statement.source
    yield from _vast_shape(program, statement.target if isinstance(statement, Nest) else statement.tensor, source)
    if len(statement.loops) > _MOST_AXES:
        yield _problem(f"{len(statement.loops)} iterators; a statement has at most {_MOST_AXES}", source)
    ranges = ranges_of(statement.loops, outer)
    if math.prod(ranges[loop.name][1] + 1 for loop in statement.loops) > _LARGEST:
        yield _problem("the iterators' extents are too large", source)
    reads = ix.reads(statement.value) if isinstance(statement, Nest) else [statement.read]
    written = statement.at if isinstance(statement, Nest) else ()
    for part in (*written, *(part for read in reads for part in read.index)):
        reached = ix.interval(part, ranges) or (0, 0)
        if max(abs(bound) for bound in reached) > _LARGEST:
            yield _problem(f"the index {_shown(part)} is too large", source)


def _vast_shape(program: Program, tensor: str, source: Source) -> Iterator[Problem]:
    shape = program.tensors[tensor].shape
    if len(shape) > _MOST_AXES or math.prod(shape) > _LARGEST:
        name = tensor.partition(".")[0]
        what = f"{len(shape)} axes; at most {_MOST_AXES}" if len(shape) > _MOST_AXES else "too many elements"
        yield _problem(f"{name} has {what}", source)


def _shown(part: Index) -> str:
    return _SCAN_ITERATOR.sub(r"\1", ix.show(part))


def _problem(message: str, source: Source) -> Problem:
    return Problem(message, source.line, source.column, source.text, source.trail)


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
        shown = _shown(part)
        reached = f"the index is {shown}" if low == high else f"{shown} runs from {low} to {high}"
        message = f"{what} out of bounds: axis {axis} of {tensor.partition('.')[0]} has size {size}, but {reached}"
        hint = "; guard the read, as in (x[…] else 0)" if what == "read" else ""
        yield Problem(message + hint, source.line, source.column, source.text, source.trail)
