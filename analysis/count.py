"""Exact work and traffic of a program: multiply-adds, other operations, compulsory and unfused bytes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..ir.dtypes import bytes_of
from ..ir.program import Program
from .charges import Charge
from .operations import Operation, moved
from .work import Work, analyse


@dataclass(frozen=True, slots=True)
class StatementCounts:
    """Work of all instances of one line of the text (calls, repeats); `bytes` is its unfused traffic."""

    line: int
    unit: str
    text: str
    trail: tuple[str, ...]
    instances: int
    macs: int
    macs_nominal: int
    vector_ops: int
    special_ops: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Counts:
    """`macs`: multiply-adds of contractions at points that do work and that an output needs; `macs_nominal`: output
    positions times taps, padding included. `flops` = 2*macs + vector_ops + special_ops. Bytes at storage types."""

    macs: int
    macs_nominal: int
    flops: int
    vector_ops: int
    special_ops: int
    unfused_bytes: int
    fused_bytes: int
    input_bytes: int
    weight_bytes: int
    output_bytes: int
    per_statement: tuple[StatementCounts, ...] = ()
    notes: tuple[str, ...] = ()


def count(program: Program) -> Counts:
    work = analyse(program)
    operations = work.operations
    macs = sum(operation.macs for operation in operations)
    vector = sum(operation.vector for operation in operations)
    special = sum(operation.special for operation in operations)
    by_kind = {kind: charged_bytes(c for c in work.charges if c.kind == kind) for kind in ("input", "weight", "output")}
    return Counts(
        macs=macs,
        macs_nominal=sum(operation.macs_nominal for operation in operations),
        flops=2 * macs + vector + special,
        vector_ops=vector,
        special_ops=special,
        unfused_bytes=moved_bytes(operations),
        fused_bytes=sum(by_kind.values()),
        input_bytes=by_kind["input"],
        weight_bytes=by_kind["weight"],
        output_bytes=by_kind["output"],
        per_statement=per_statement(operations),
        notes=notes(work),
    )


def charged_bytes(charges: Iterable[Charge]) -> int:
    return sum(bytes_of(charge.dtype, charge.elements) for charge in charges)


def moved_bytes(operations: Iterable[Operation]) -> int:
    return sum(bytes_of(item.dtype, item.elements) for item in moved(operations))


def per_statement(operations: Iterable[Operation]) -> tuple[StatementCounts, ...]:
    """Rows in the order of the text, one a line."""
    grouped: dict[tuple[str, int, str], list[Operation]] = {}
    for operation in operations:
        source = operation.source
        grouped.setdefault((source.unit, source.line, source.text), []).append(operation)
    return tuple(_row(members) for members in grouped.values())


def _row(members: list[Operation]) -> StatementCounts:
    source = members[0].source
    return StatementCounts(
        line=source.line,
        unit=source.unit,
        text=source.text,
        trail=source.trail,
        instances=len({operation.source.trail for operation in members}),
        macs=sum(operation.macs for operation in members),
        macs_nominal=sum(operation.macs_nominal for operation in members),
        vector_ops=sum(operation.vector for operation in members),
        special_ops=sum(operation.special for operation in members),
        bytes=moved_bytes(members),
    )


def _sequence(work: Work) -> str:
    if len(work.loops) == 1:
        return f"sequential: {work.sequential_steps} dependent steps"
    steps = sorted(set(work.loops))
    each = f"{steps[0]}" if len(steps) == 1 else f"{steps[0]} to {steps[-1]}"
    chain = f"{work.sequential_steps} in the longest chain"
    return f"sequential: {len(work.loops)} loops of {each} dependent steps, {chain}"


def notes(work: Work) -> tuple[str, ...]:
    """What the figures leave out or assume."""
    found: list[str] = []
    if work.unused:
        found.append(f"unused: {', '.join(work.unused)}")
    if work.dead:
        lines = sorted({source.line for source in work.dead})
        found.append(f"not needed by any output, not counted: lines {', '.join(map(str, lines))}")
    for charge in work.charges:
        if charge.indirect:
            found.append(f"{charge.name}: rows are chosen by data; at most {charge.elements} elements, charged "
                         "as if no index repeated; a kernel reads fewer when indices repeat")
        if charge.covered:
            size = bytes_of(charge.dtype, charge.elements)
            found.append(f"{charge.name}: its values are known from a fact; {size} bytes less if it is not read")
    if work.loops:
        found.append(_sequence(work))
    if work.other_arms is not None:
        low, high = work.other_arms
        found.append(f"a choice is made at run time: {low} to {high} multiply-adds; the cheaper arm is counted")
    for line in work.inexact_lines:
        found.append(f"line {line}: too large to count exactly, an upper estimate is used")
    found += [f"too large to count exactly, the whole box is counted: {what}" for what in work.approximations]
    return tuple(found)
