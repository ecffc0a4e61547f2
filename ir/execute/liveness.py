"""Which tensors a statement touches, and when each is needed for the last time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..indices import reads
from ..program import Branch, Declare, Nest, Opaque, Program, Scan, Statement, View
from .nest import all_reads


def touched(statement: Statement) -> Iterator[str]:
    """Every tensor that the statement reads, writes or makes."""
    match statement:
        case Declare(tensor, init, _):
            yield tensor
            if isinstance(init, str):
                yield init
        case Nest():
            yield statement.target
            yield from (read.tensor for read in all_reads(statement))
        case View(tensor, _, read, _):
            yield tensor
            yield from (inner.tensor for inner in reads(read))
        case Opaque():
            yield from statement.inputs + statement.outputs
        case Scan():
            for carry in statement.carries:
                yield from (carry.inner, carry.init, carry.next, carry.final)
            for emit in statement.emits:
                yield from (emit.inner, emit.outer)
            yield from _inside(statement.body)
        case Branch():
            yield statement.condition
            for join in statement.joins:
                yield from join
            yield from _inside(statement.then)
            yield from _inside(statement.orelse)


def _inside(body: Sequence[Statement]) -> Iterator[str]:
    for statement in body:
        yield from touched(statement)


def last_uses(body: Sequence[Statement]) -> list[frozenset[str]]:
    """Per statement the tensors that no later one touches."""
    seen: set[str] = set()
    result = []
    for statement in reversed(body):
        now = set(touched(statement))
        result.append(frozenset(now - seen))
        seen |= now
    return result[::-1]


def needed_after(program: Program) -> frozenset[str]:
    return frozenset(output.tensor for output in program.outputs if output.tensor is not None)


def made_by(body: Sequence[Statement]) -> frozenset[str]:
    """Tensors that the statements make: declared, viewed, or results of scans, branches and primitives."""
    names: set[str] = set()
    for statement in body:
        match statement:
            case Declare(tensor, _, _) | View(tensor, _, _, _):
                names.add(tensor)
            case Opaque():
                names |= set(statement.outputs)
            case Scan():
                names |= {carry.final for carry in statement.carries} | {emit.outer for emit in statement.emits}
                names |= {carry.inner for carry in statement.carries} | made_by(statement.body)
            case Branch():
                names |= {result for _, _, result in statement.joins}
                names |= made_by(statement.then) | made_by(statement.orelse)
            case Nest():
                pass
    return frozenset(names)
