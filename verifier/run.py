"""One trial: the original is run, the text is loaded for the same sizes and executed on the same values, compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..ir.dtypes import DTYPES
from ..ir.errors import IRError
from ..ir.execute import Execution, execute
from ..ir.load import load
from ..ir.program import Output, Program, Range
from . import feedback
from .certificate import Failure
from .compare import LeafResult, Rules, compare, compare_indexes, pair, scale_of
from .dataflow import float_types
from .types import Array, Assignment, Distribution, Precision, Reference, Trial


@dataclass(frozen=True, slots=True)
class Step:
    """A planned trial; `size` is a position in the list of assignments."""

    size: int
    seed: int
    distribution: Distribution
    precision: Precision = "promoted"


@dataclass(frozen=True, slots=True)
class Outcome:
    """`failures`: what kept the text from being loaded, executed or matched leaf to leaf. Values that differ are in
    `results` only; they are put into words when all outcomes are known."""

    step: Step
    trial: Trial
    program: Program | None = None
    results: tuple[LeafResult, ...] = ()
    failures: tuple[Failure, ...] = ()

    @property
    def passed(self) -> bool:
        return not self.failures and all(result.status != "different" for result in self.results)

    @property
    def informative(self) -> bool:
        return any(result.informative and result.status == "equal" for result in self.results)


def attempt(reference: Reference, text: str, assignment: Assignment, step: Step) -> Outcome:
    """Raises ReferenceFailed when the original cannot be run."""
    trial = reference.trial(assignment, step.seed, step.distribution, step.precision)
    place = f"with {feedback.where(trial)}"
    try:
        program = load(text, trial.bindings)
    except IRError as error:
        return Outcome(step, trial, failures=feedback.of_errors(error, "elaborate", place))
    failures = tuple(failure for claim in program.ranges for failure in _range_problem(claim, program, trial))
    if failures:
        return Outcome(step, trial, program, failures=failures)
    try:
        execution = run(program, trial, keep=any(output.indexes for output in program.outputs))
    except IRError as error:
        return Outcome(step, trial, program, failures=feedback.of_errors(error, "execute", place))
    results, problems = compare_all(program, execution, trial)
    return Outcome(step, trial, program, results, tuple(Failure("compare", problem) for problem in problems))


def run(program: Program, trial: Trial, *, keep: bool) -> Execution:
    """Each side works on copies of its own, so that a text cannot spoil the arrays it is compared with."""
    with np.errstate(all="ignore"):
        return execute(program, trial.values(), precision=trial.precision, keep=keep)


def compare_all(program: Program, execution: Execution, trial: Trial) -> tuple[tuple[LeafResult, ...], tuple[str, ...]]:
    rules = rules_of(program, trial)
    pairing = pair(program.outputs, trial.leaves)
    results = []
    with np.errstate(all="ignore"):
        for position, leaf in pairing.pairs:
            output = program.outputs[position]
            result = compare(output, execution.outputs[position], leaf, rules)
            results.append(_honour_indexes(result, output, execution.tensors))
    return tuple(results), pairing.problems


def _honour_indexes(result: LeafResult, output: Output, tensors: Mapping[str, Array]) -> LeafResult:
    if output.indexes is None:
        return result
    source, axis, values = output.indexes
    return compare_indexes(result, tensors[source], axis, tensors[values])


def rules_of(program: Program, trial: Trial) -> Rules:
    types = [name for name in float_types(program) if name in DTYPES and DTYPES[name].kind == "float"]
    coarsest = min(types, key=lambda name: DTYPES[name].bits, default="f32")
    return Rules(trial.precision, scale_of({**trial.inputs, **trial.state}), coarsest)


def _range_problem(claim: Range, program: Program, trial: Trial) -> Sequence[Failure]:
    """A text may claim a range for an input; the values that the original is run with have to lie in it."""
    external = program.tensors[claim.tensor].external
    array = None if external is None else trial.inputs.get(external.key)
    if array is None or not array.size:
        return ()
    line = feedback.show_source(claim.source)
    low, high = array.min(), array.max()
    if claim.low is not None and low < claim.low or claim.high is not None and high >= claim.high:
        reason = f"the range of `{claim.tensor}` leaves out values that the original takes: {low} to {high} were drawn"
        return (Failure("range", f"{reason}\n    {line}", claim.source.line, claim.tensor),)
    if claim.unique and np.unique(array).size != array.size:
        reason = f"`{claim.tensor}` is said to be unique, but the original takes repeated values"
        return (Failure("range", f"{reason}\n    {line}", claim.source.line, claim.tensor),)
    return ()
