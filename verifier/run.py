"""One trial: the original is run, the text is loaded for the same sizes and executed on the same values, compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..ir.bindings import Bindings
from ..ir.check import check
from ..ir.dtypes import DTYPES
from ..ir.elaborate import elaborate
from ..ir.errors import IRError
from ..ir.execute import Execution, execute
from ..ir.program import Output, Program
from ..ir.syntax import Program as Tree
from . import claims, feedback
from .certificate import Failure
from .compare import LeafResult, Rules, compare, compare_indexes, leave_out, pair
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


class Loader:
    """Loads one text at several assignments of sizes; what was loaded for the same bindings is used again."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._loaded: list[tuple[Bindings, Program]] = []

    def load(self, bindings: Bindings) -> Program:
        """As ir.load does. Raises IRError."""
        for known, program in self._loaded:
            if known == bindings:
                return program
        program = check(elaborate(self._tree, bindings))
        self._loaded.append((bindings, program))
        return program


def attempt(reference: Reference, loader: Loader, assignment: Assignment, step: Step) -> Outcome:
    """Raises ReferenceFailed when the original cannot be run."""
    trial = reference.trial(assignment, step.seed, step.distribution, step.precision)
    place = f"with {feedback.where(trial)}"
    try:
        program = loader.load(trial.bindings)
    except IRError as error:
        return Outcome(step, trial, failures=feedback.of_errors(error, "elaborate", place))
    if failures := claims.broken(program, trial):
        return Outcome(step, trial, program, failures=failures)
    try:
        execution = run(program, trial, keep=any(output.indexes for output in program.outputs))
    except IRError as error:
        return Outcome(step, trial, program, failures=feedback.of_errors(error, "execute", place))
    results, problems = compare_all(program, execution, trial)
    if step.precision == "promoted" and any(result.status == "different" for result in results):
        results = without_close_calls(program, trial, results)
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
            results.append(_honour_indexes(result, output, program, execution.tensors))
    return tuple(results), pairing.problems


def without_close_calls(program: Program, trial: Trial, results: tuple[LeafResult, ...]) -> tuple[LeafResult, ...]:
    """Leaves out the elements that change when decisions too close to call are taken the other way. Indices into a
    captured tensor have been checked against it, whatever their order."""
    with np.errstate(all="ignore"):
        other = execute(program, trial.values(), precision=trial.precision, keep=False, swayed=True)
    rules = rules_of(program, trial)
    pairs = pair(program.outputs, trial.leaves).pairs
    with np.errstate(all="ignore"):
        return tuple(
            result
            if result.status != "different" or _is_captured_index(program, program.outputs[position])
            else leave_out(result, other.outputs[position], rules)
            for (position, _), result in zip(pairs, results, strict=True)
        )


def _honour_indexes(result: LeafResult, output: Output, program: Program, tensors: Mapping[str, Array]) -> LeafResult:
    if output.indexes is None:
        return result
    source, axis, values = output.indexes
    captured = _is_captured_index(program, output)
    return compare_indexes(result, tensors[source], axis, tensors[values], captured=captured)


def _is_captured_index(program: Program, output: Output) -> bool:
    return output.indexes is not None and program.tensors[output.indexes[0]].external is not None


def rules_of(program: Program, trial: Trial) -> Rules:
    types = [name for name in float_types(program) if name in DTYPES and DTYPES[name].kind == "float"]
    coarsest = min(types, key=lambda name: DTYPES[name].bits, default="f32")
    return Rules(trial.precision, (*trial.inputs.values(), *trial.state.values()), coarsest)
