"""What a text claims about itself: ranges of its integer inputs, and facts about captured tensors. None is a waiver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from ..ir.dtypes import kind
from ..ir.errors import IRError
from ..ir.execute import Values, execute
from ..ir.indices import reads
from ..ir.program import Const, Declare, Fact, Nest, Output, Program, Range, Tensor
from . import feedback
from .certificate import Certificate, Failure
from .types import Description, Precision, Reference, ReferenceFailed, Trial

RESULT = "$holds"
_NEVER = ""  # no key of state
UNKNOWN = "checked at the sizes of the trials only, since its values at full size are not known"


def broken(program: Program, trial: Trial) -> tuple[Failure, ...]:
    """Claims that the values of a trial contradict."""
    found = [failure for claim in program.ranges for failure in _range_broken(claim, program, trial)]
    found += [failure for fact in program.facts for failure in _fact_broken(fact, program, trial)]
    return tuple(found)


def _range_broken(claim: Range, program: Program, trial: Trial) -> Iterator[Failure]:
    """The values that the original is run with have to lie in the range."""
    external = program.tensors[claim.tensor].external
    array = None if external is None else trial.inputs.get(external.key)
    if array is None or not array.size:
        return
    low, high = array.min(), array.max()
    if (claim.low is not None and low < claim.low) or (claim.high is not None and high >= claim.high):
        reason = f"the range of `{claim.tensor}` leaves out values that the original takes: {low} to {high} were drawn"
        yield _failure("range", reason, claim)
    if claim.unique and np.unique(array).size != array.size:
        yield _failure("range", f"`{claim.tensor}` is said to be unique, but the original takes repeated values", claim)


def _fact_broken(fact: Fact, program: Program, trial: Trial) -> Iterator[Failure]:
    try:
        holds = _evaluate(fact, program, trial.values(), trial.precision)
    except IRError as error:
        yield from feedback.of_errors(error, "fact", f"in the check of a fact, with {feedback.where(trial)}")
        return
    if not holds:
        reason = f"the fact about `{fact.tensor}` is false for the captured values"
        yield _failure("fact", f"{reason}\n    with {feedback.where(trial)}", fact)


def at_full_size(program: Program, reference: Reference) -> tuple[tuple[Failure, ...], tuple[str, ...]]:
    """Facts of the program at full size that are false there, and those that could not be checked, with a reason."""
    keys = {fact: _state_keys(fact, program) for fact in program.facts}
    wanted = frozenset(key for found in keys.values() for key in found)
    try:
        values = Values(state=reference.known_state(wanted) if wanted else {})
    except ReferenceFailed:
        values = Values()
    known = [fact for fact, needed in keys.items() if needed <= set(values.state)]
    failures = {failure.statement: failure for fact in known for failure in _false_at_full_size(fact, program, values)}
    return tuple(failures.values()), assumed(fact for fact in program.facts if fact not in known)


def assumed(facts: Iterable[Fact]) -> tuple[str, ...]:
    return tuple(f"{feedback.show_source(fact.source)}: {UNKNOWN}" for fact in facts)


def without_assumed(program: Program, certificate: Certificate) -> Program:
    """With those facts only that the certificate says to hold at full size."""
    lines = certificate.assumed_facts
    kept = [f for f in program.facts if not any(line.startswith(feedback.show_source(f.source)) for line in lines)]
    return replace(program, facts=tuple(kept))


def _state_keys(fact: Fact, program: Program) -> frozenset[str]:
    externals = [program.tensors[name].external for name in {fact.tensor, *(read.tensor for read in reads(fact.claim))}]
    return frozenset(external.key if external.kind == "state" else _NEVER for external in externals if external)


def _false_at_full_size(fact: Fact, program: Program, values: Values) -> Iterator[Failure]:
    try:
        holds = _evaluate(fact, program, values, "promoted")
    except IRError as error:
        yield from feedback.of_errors(error, "fact", "in the check of a fact at full size")
        return
    if not holds:
        shape = list(program.tensors[fact.tensor].shape)
        reason = f"the fact about `{fact.tensor}` is false for the values captured at full size {shape}"
        yield _failure("fact", reason, fact)


def _evaluate(fact: Fact, program: Program, values: Values, precision: Precision) -> bool:
    """A program of one nest: the claim, joined by `and` over all its points."""
    result = Tensor(RESULT, (), "bool")
    body = (
        Declare(RESULT, Const(True, "bool"), fact.source),
        Nest(fact.loops, None, RESULT, (), "and", fact.claim, fact.source),
    )
    outputs = (Output("result", "", RESULT, None, "bool", fact.source),)
    used = {fact.tensor, *(read.tensor for read in reads(fact.claim))}
    tensors = {name: tensor for name, tensor in program.tensors.items() if name in used}
    check = replace(program, tensors={**tensors, RESULT: result}, body=body, outputs=outputs, ranges=(), facts=())
    with np.errstate(all="ignore"):
        return bool(np.asarray(execute(check, values, precision=precision).outputs[0]).item())


def too_narrow(program: Program, description: Description) -> Iterator[Failure]:
    """`in lo..hi` may narrow integers only, and has to admit what get_inputs gives."""
    for claim in program.ranges:
        tensor = program.tensors[claim.tensor]
        if kind(tensor.dtype) != "int":
            yield _failure("range", "`in` and `unique` are for integer inputs", claim)
        domain = description.domains.get(tensor.external.key) if tensor.external else None
        if domain is None:
            continue
        below = claim.low is not None and domain.low is not None and domain.low < claim.low
        above = claim.high is not None and domain.high is not None and domain.high >= claim.high
        if below or above:
            reason = f"the range of `{claim.tensor}` leaves out values of get_inputs: {domain.low} to {domain.high}"
            yield _failure("range", reason, claim)


def _failure(what: str, reason: str, claim: Range | Fact) -> Failure:
    line = feedback.show_source(claim.source)
    return Failure("fact" if what == "fact" else "range", f"{reason}\n    {line}", claim.source.line, claim.tensor)
