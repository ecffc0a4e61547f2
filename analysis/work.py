"""All that the bounds need to know of a program: its operations and its compulsory traffic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..ir.program import Program, Source
from . import charges
from .chains import longest_chain, loops
from .charges import Charge
from .demand import Demand, demand
from .flat import branches, flatten
from .knowledge import learn
from .normalise import Normaliser, normalise
from .operations import Operation, Traffic
from .points import approximations


@dataclass(frozen=True, slots=True)
class Work:
    """`loops`: steps of each scan; `sequential_steps`: the longest chain of them. `other_arms`: for programs with
    run-time choices, (least, most) multiply-adds over the arms."""

    operations: tuple[Operation, ...]
    charges: tuple[Charge, ...]
    dead: tuple[Source, ...]
    unused: tuple[str, ...]
    inexact_lines: tuple[int, ...]
    approximations: tuple[str, ...]
    loops: tuple[int, ...]
    sequential_steps: int
    other_arms: tuple[int, int] | None = None


_LAST: list[tuple[Program, Work]] = []


def analyse(program: Program) -> Work:
    """Work of a program; the last result is kept, since several devices ask for the same one."""
    for known, work in _LAST:
        if known is program:
            return work
    work = _cheapest_arms(program)
    _LAST[:] = [(program, work)]
    return work


def _cheapest_arms(program: Program) -> Work:
    number = sum(1 for _ in branches(program.body))
    arms = dict.fromkeys(range(number), True)
    best = _analyse(program, arms)
    if not number:
        return best
    seen = [_macs(best)]
    for k in range(number):
        other = _analyse(program, {**arms, k: False})
        seen.append(_macs(other))
        if _cost(other) < _cost(best):
            best, arms = other, {**arms, k: False}
    return replace(best, other_arms=(min(seen), max(seen)))


def _macs(work: Work) -> int:
    return sum(operation.macs for operation in work.operations)


def _cost(work: Work) -> tuple[int, int]:
    return _macs(work), sum(operation.vector + operation.special for operation in work.operations)


def _analyse(program: Program, arms: Mapping[int, bool]) -> Work:
    approximations.clear()
    flat = flatten(program, arms)
    wanted = demand(flat, learn(flat))
    normal: Normaliser = normalise(flat, wanted, charges.output_buffers(wanted))
    found = (*charges.reads(wanted), *charges.writes(wanted))
    return Work(
        (*normal.operations, *_covered(program, found)), found, tuple(wanted.dead), _unused(program, wanted),
        tuple(sorted(set(normal.inexact))), tuple(dict.fromkeys(approximations)),
        tuple(loops(program.body)), longest_chain(program.body),
    )  # fmt: skip


def _covered(program: Program, found: tuple[Charge, ...]) -> list[Operation]:
    """Buffers whose values a fact tells are still read."""
    sources = {fact.tensor: fact.source for fact in program.facts}
    keys = {program.tensors[name].external.key: source  # type: ignore[union-attr]
            for name, source in sources.items()}
    return [Operation(kind="copy", label="covered", source=keys[charge.name], dtype=charge.dtype,
                      reads=(Traffic(charge.dtype, charge.elements),))
            for charge in found if charge.covered]


def _unused(program: Program, wanted: Demand) -> tuple[str, ...]:
    used = {program.tensors[name].external.key  # type: ignore[union-attr]
            for name in (*wanted.regions, *wanted.indirect, *wanted.claimed)
            if name in program.tensors and program.tensors[name].external is not None}
    externals = (tensor.external for tensor in program.tensors.values() if tensor.external is not None)
    return tuple(dict.fromkeys(e.key for e in externals if e.kind != "draw" and e.key not in used))
