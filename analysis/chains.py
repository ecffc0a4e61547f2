"""What each tensor is computed from, and how many steps of scans depend on one another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..ir import indices
from ..ir.program import Branch, Declare, Nest, Opaque, Read, Scan, Statement, View


def dependencies(body: Sequence[Statement]) -> Iterator[tuple[str, set[str]]]:
    """(tensor, tensors it is computed from), once for each way, in both arms of run-time choices."""
    for statement in body:
        match statement:
            case Declare(tensor, init):
                yield tensor, {init} if isinstance(init, str) else set()
            case Nest():
                yield statement.target, {read.tensor for read in nest_reads(statement)}
            case View(tensor, _, read):
                yield tensor, {item.tensor for item in indices.reads(read)}
            case Opaque(outputs=outputs, inputs=inputs):
                for output in outputs:
                    yield output, set(inputs)
            case Branch(condition, then, orelse, joins):
                yield from dependencies((*then, *orelse))
                for left, right, result in joins:
                    yield result, {left, right, condition}
            case Scan():
                yield from _scan_dependencies(statement)


def _scan_dependencies(scan: Scan) -> Iterator[tuple[str, set[str]]]:
    yield from dependencies(scan.body)
    for carry in scan.carries:
        yield carry.inner, {carry.init, carry.next}
        yield carry.final, {carry.init, carry.next}
    for emit in scan.emits:
        yield emit.outer, {emit.inner}


def nest_reads(nest: Nest) -> list[Read]:
    """Reads of a statement, those that choose where it writes included."""
    return list(dict.fromkeys((*indices.reads(nest.value),
                               *(read for index in nest.at for read in indices.index_reads(index)))))


def longest_chain(body: Sequence[Statement]) -> int:
    """Most steps of scans that have to follow one another; scans that do not need each other's results run at once."""
    depth: dict[str, int] = {}
    _walk(body, depth)
    return max(depth.values(), default=0)


def _walk(body: Sequence[Statement], depth: dict[str, int]) -> None:
    """Steps below each tensor that the statements make."""
    for statement in body:
        match statement:
            case Scan():
                _walk_scan(statement, depth)
            case Branch(condition, then, orelse, joins):
                _walk(then, depth)
                _walk(orelse, depth)
                for left, right, result in joins:
                    depth[result] = _deepest({left, right, condition}, depth)
            case _:
                for target, origins in dependencies((statement,)):
                    depth[target] = max(depth.get(target, 0), _deepest(origins, depth))


def _deepest(tensors: set[str], depth: Mapping[str, int]) -> int:
    return max((depth.get(tensor, 0) for tensor in tensors), default=0)


def _walk_scan(scan: Scan, depth: dict[str, int]) -> None:
    origins = {carry.init for carry in scan.carries}
    origins |= {tensor for _, sources in dependencies(scan.body) for tensor in sources}
    each = max(longest_chain(scan.body), 1) if scan.carries else longest_chain(scan.body)
    total = _deepest(origins, depth) + (each * scan.trip if scan.carries else each)
    for tensor in (*(carry.final for carry in scan.carries), *(emit.outer for emit in scan.emits)):
        depth[tensor] = total


def loops(body: Sequence[Statement]) -> Iterator[int]:
    """Steps of each scan whose steps depend on one another, those inside scans included."""
    for statement in body:
        match statement:
            case Scan():
                if statement.carries:
                    yield statement.trip
                yield from loops(statement.body)
            case Branch(then=then, orelse=orelse):
                yield from loops((*then, *orelse))
            case _:
                pass
