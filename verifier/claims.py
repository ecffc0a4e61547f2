"""What a text claims about itself: ranges of its integer inputs, and facts about captured tensors. None is a waiver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..ir.dtypes import kind
from ..ir.errors import IRError
from ..ir.execute import execute
from ..ir.program import Const, Declare, Fact, Nest, Output, Program, Range, Tensor
from . import feedback
from .certificate import Failure
from .types import Description, Trial

RESULT = "$holds"


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
        holds = _evaluate(fact, program, trial)
    except IRError as error:
        yield from feedback.of_errors(error, "fact", f"in the check of a fact, with {feedback.where(trial)}")
        return
    if not holds:
        reason = f"the fact about `{fact.tensor}` is false for the captured values"
        yield _failure("fact", f"{reason}\n    with {feedback.where(trial)}", fact)


def _evaluate(fact: Fact, program: Program, trial: Trial) -> bool:
    """A program of one nest: the claim, joined by `and` over all its points."""
    result = Tensor(RESULT, (), "bool")
    body = (
        Declare(RESULT, Const(True, "bool"), fact.source),
        Nest(fact.loops, None, RESULT, (), "and", fact.claim, fact.source),
    )
    outputs = (Output("result", "", RESULT, None, "bool", fact.source),)
    tensors = {name: tensor for name, tensor in program.tensors.items() if tensor.external}
    check = replace(program, tensors={**tensors, RESULT: result}, body=body, outputs=outputs, ranges=(), facts=())
    with np.errstate(all="ignore"):
        return bool(np.asarray(execute(check, trial.values(), precision=trial.precision).outputs[0]).item())


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
