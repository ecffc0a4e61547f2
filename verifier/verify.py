"""Verifies a text against the running original, and checks a stored certificate again."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..ir.bindings import Bindings
from ..ir.errors import IRError
from ..ir.parse import parse
from ..ir.program import Decision, Program
from . import claims, feedback, judge, own_types, plan
from .certificate import Certificate, Failure, LeafRecord, SizeRecord, TrialRecord
from .compare import LeafResult, pair, show_path, show_type
from .constant import followed
from .dataflow import unused_keys
from .run import Loader, Outcome, Step, attempt, run
from .types import Assignment, Description, Leaf, NotPromotable, Reference, ReferenceFailed

TOOL = "solar-agent"
MAX_FAILURES = 6


@dataclass(frozen=True, slots=True)
class Trials:
    """What has been run. `skipped`: where the original could not be run, and why; `spent`: the budget ended it."""

    outcomes: tuple[Outcome, ...] = ()
    skipped: tuple[str, ...] = ()
    spent: bool = False

    @property
    def failed(self) -> bool:
        return any(not outcome.passed for outcome in judge.judged(self.outcomes))


@dataclass(frozen=True, slots=True)
class Session:
    reference: Reference
    loader: Loader
    assignments: tuple[Assignment, ...]
    deadline_s: float | None

    def perform(self, steps: Iterable[Step], before: Trials) -> Trials:
        done = before
        for step in steps:
            if self.deadline_s is not None and time.monotonic() > self.deadline_s:
                return replace(done, spent=True)
            try:
                outcome = self._attempt(step, done)
            except ReferenceFailed as error:
                reason = f"{step.distribution} values at {self.assignments[step.size].label}: {error}"
                done = replace(done, skipped=(*done.skipped, reason))
            else:
                done = replace(done, outcomes=(*done.outcomes, outcome))
        return done

    def _attempt(self, step: Step, done: Trials) -> Outcome:
        """A program that cannot run in float64 is run in its own types."""
        assignment = self.assignments[step.size]
        own = replace(step, precision="native")
        if any(outcome.step.precision == "native" for outcome in done.outcomes):
            return attempt(self.reference, self.loader, assignment, own)
        try:
            return attempt(self.reference, self.loader, assignment, step)
        except NotPromotable:
            return attempt(self.reference, self.loader, assignment, own)


def verify(
    reference: Reference, text: str, *, trials: int | None = None, seed: int = 0, budget_s: float | None = None
) -> Certificate:
    """`trials`: how many in float64 (default two an assignment of sizes); one more runs in the program's own types.

    Raises BadInput and ReferenceFailed when the original itself cannot be used."""
    start_s = time.monotonic()
    description = reference.describe()
    try:
        tree = parse(text)
    except IRError as error:
        return _certificate(description, text, (), Trials(), feedback.of_errors(error, "parse", ""))
    loader = Loader(tree)
    full, failures = full_size(loader, description)
    if full is None:
        return _certificate(description, text, (), Trials(), failures)
    assignments = reference.assignments()
    session = Session(reference, loader, assignments, None if budget_s is None else start_s + budget_s)
    done = session.perform(plan.first_round(assignments, seed), Trials())
    if not done.outcomes and done.skipped:
        raise ReferenceFailed(done.skipped[0])
    if not done.failed and not failures:
        done = _more_trials(session, done, seed, trials)
    assumed = claims.assumed(full.facts)
    if full.facts and not done.failed and not failures:
        failures, assumed = claims.at_full_size(full, reference)
    certificate = replace(_certificate(description, text, assignments, done, failures, full), assumed_facts=assumed)
    return _with_constants(session, certificate, done)


def _with_constants(session: Session, certificate: Certificate, done: Trials) -> Certificate:
    """Constant results count when the text computes what they are computed from."""
    if certificate.verdict != "verified-in-part":
        return certificate
    leaves = tuple(
        replace(leaf, status="constant-followed")
        if leaf.status == "constant"
        and leaf.kind == "result"
        and followed(session.reference, session.assignments, done.outcomes, leaf.path)
        else leaf
        for leaf in certificate.leaves
    )
    complete = _complete(certificate.untested_decisions, done, certificate.flags)
    return replace(certificate, leaves=leaves, verdict=judge.verdict_of(leaves, False, complete, False))


def _complete(untested: Sequence[str], done: Trials, flags: Sequence[str]) -> bool:
    """Every decision of the full size was tried, the native check agreed, and no trial is missing."""
    return not untested and not done.skipped and not {"budget-spent", "native-differs", "native-only"} & set(flags)


def _more_trials(session: Session, done: Trials, seed: int, trials: int | None) -> Trials:
    done = session.perform(plan.later_rounds(session.assignments, seed, trials), done)
    for distribution in ("positive", "normal"):
        if not done.failed and trials is None and _undecided(done):
            done = session.perform(plan.extra(session.assignments, seed, distribution), done)
    return done if done.failed else _in_own_types(session, done, seed)


def _in_own_types(session: Session, done: Trials, seed: int) -> Trials:
    after = session.perform([plan.native(session.assignments, seed)], done)
    new = after.outcomes[len(done.outcomes) :]
    return replace(after, outcomes=(*done.outcomes, *(own_types.reviewed(outcome, done.outcomes) for outcome in new)))


def _undecided(done: Trials) -> bool:
    keys = judge.leaf_keys(done.outcomes)
    return any(judge.judge_leaf(done.outcomes, key, None).status == "not-compared" for key in keys)


def full_size(loader: Loader, description: Description) -> tuple[Program | None, tuple[Failure, ...]]:
    """The text at full size: it has to load, and its outputs to have the original's shapes and types."""
    try:
        program = loader.load(description.bindings)
    except IRError as error:
        return None, feedback.of_errors(error, "full-size", f"at full size: {_sizes(description.bindings)}")
    problems = list(claims.too_narrow(program, description))
    if description.leaves is None:
        return program, tuple(problems)
    pairing = pair(program.outputs, description.leaves, results_only=True)
    problems += [Failure("full-size", problem) for problem in pairing.problems]
    for position, leaf in pairing.pairs:
        if problem := _full_size_problem(program, position, leaf):
            problems.append(Failure("full-size", problem, program.outputs[position].source.line, leaf.path))
    return program, tuple(problems)


def _sizes(bindings: Bindings) -> str:
    return ", ".join(f"{name}{list(entry.shape)}" for name, entry in bindings.inputs.items())


def _full_size_problem(program: Program, position: int, leaf: Leaf) -> str:
    output = program.outputs[position]
    if leaf.shape is None:
        return ""
    found = f"the number {output.value}"
    if output.tensor is not None:
        shape = program.tensors[output.tensor].shape
        if shape == leaf.shape and output.dtype == leaf.dtype:
            return ""
        found = f"{output.dtype}{list(shape)}"
    line = feedback.show_source(output.source)
    return f"{show_path(leaf)} at full size: expected {show_type(leaf)}, got {found}\n    {line}"


def untested_decisions(full: Program | None, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """Compile-time outcomes at full size that no verified trial had."""
    seen: set[Decision] = set()
    for outcome in outcomes:
        if outcome.program is not None and outcome.passed:
            seen |= outcome.program.decisions
    missing = [] if full is None else [decision for decision in full.decisions if decision not in seen]
    missing.sort(key=lambda decision: (decision.line, decision.column, decision.text, str(decision.outcome)))
    return tuple(f"line {item.line}: `{item.text.strip()}` is {item.outcome} at full size" for item in missing)


def _failures(done: Trials) -> tuple[Failure, ...]:
    """Faults of loading and running, those of a statement from one trial only; then the leaves that differ, each in its
    first trial."""
    kept: list[Failure] = []
    for outcome in done.outcomes:
        known = {(failure.kind, failure.statement) for failure in kept}
        kept += [failure for failure in outcome.failures if (failure.kind, failure.statement) not in known]
    for key in judge.leaf_keys(done.outcomes):
        wrong = [found for found in judge.of_leaf(done.outcomes, key) if found[1].status == "different"]
        if wrong and len(kept) < MAX_FAILURES:
            kept.append(_mismatch(*wrong[0], done.outcomes))
    return tuple(kept[:MAX_FAILURES])


def _mismatch(outcome: Outcome, result: LeafResult, outcomes: Sequence[Outcome]) -> Failure:
    assert outcome.program is not None  # a comparison was made
    tensors = run(outcome.program, outcome.trial, keep=True).tensors
    context = feedback.Context(outcome.trial, outcome.program, tensors)
    return feedback.of_mismatch(result, context, feedback.agreement(result, outcomes))


def _certificate(
    description: Description,
    text: str,
    assignments: Sequence[Assignment],
    done: Trials,
    failures: tuple[Failure, ...],
    full: Program | None = None,
) -> Certificate:
    leaves = _leaf_records(description, done.outcomes)
    failures = (*failures, *_failures(done))
    untested = untested_decisions(full, done.outcomes)
    flags = judge.flags_of(done.outcomes, done.spent)
    complete = _complete(untested, done, flags)
    dead, unused = ((), ()) if full is None else unused_keys(full, description.bindings)
    return Certificate(
        verdict=judge.verdict_of(leaves, bool(failures), complete, description.leaves is None),
        flags=flags,
        entry=description.entry,
        mode=description.mode,
        source_sha256=description.source_sha256,
        ir_sha256=sha256(text),
        tool_version=_tool_version(),
        versions={description.framework: description.framework_version, "numpy": np.__version__},
        sizes=tuple(SizeRecord.of(assignment) for assignment in assignments),
        trials=tuple(_trial_record(outcome) for outcome in done.outcomes),
        leaves=leaves,
        failures=failures,
        untested_decisions=untested,
        assumed_ranges=() if full is None else tuple(feedback.show_source(claim.source) for claim in full.ranges),
        dead=dead,
        unused_state=unused,
        warnings=_warnings(description, done, unused),
    )


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _tool_version() -> str:
    from importlib.metadata import version

    return version(TOOL)


def _trial_record(outcome: Outcome) -> TrialRecord:
    step = outcome.step
    return TrialRecord(step.size, step.seed, step.distribution, step.precision, outcome.informative)


def _leaf_records(description: Description, outcomes: Sequence[Outcome]) -> tuple[LeafRecord, ...]:
    full = {(leaf.kind, leaf.path): leaf for leaf in description.leaves or ()}
    keys = judge.leaf_keys(judge.judged(outcomes))
    return tuple(judge.judge_leaf(outcomes, key, full.get(key)) for key in keys)


def _warnings(description: Description, done: Trials, unused: Sequence[str]) -> tuple[str, ...]:
    found = [*description.warnings, *(f"the original could not be run with {reason}" for reason in done.skipped)]
    for outcome in done.outcomes:
        found += outcome.trial.warnings
        if outcome.step.precision != judge.judged(done.outcomes)[0].step.precision:
            found += _native_warnings(outcome)
    fixed = dict.fromkeys(name for outcome in done.outcomes for name in outcome.trial.assignment.not_varied)
    if fixed:
        names = feedback.listing(list(fixed))
        found.append(f"the same in all trials, so numbers written into the text in their place go unnoticed: {names}")
    kept = {key for outcome in done.outcomes for key in outcome.trial.kept_state}
    if assumed := [key for key in unused if key in kept]:
        names = feedback.listing(assumed)
        found.append(f"not used by the text and never varied, so their influence is unknown: {names}")
    return tuple(dict.fromkeys(found))


def _native_warnings(outcome: Outcome) -> list[str]:
    cause = "a rounding that the original makes may be missing from the text, or the original itself loses precision"
    lines = [failure.message for failure in outcome.failures]
    lines += [
        f"{show_path(result.leaf)} differs ({result.reason}): {cause}"
        for result in outcome.results
        if result.status == "different"
    ]
    if outcome.program is not None:
        lines += [own_types.missing_rounding(outcome.program, result) for result in outcome.results if result.unrounded]
    return [f"check in the program's own types: {line}" for line in lines]


def recheck(reference: Reference, text: str, certificate: Certificate) -> Certificate:
    """One trial of the certificate again, at its smallest sizes. Gives the same certificate when the text, the original
    and the result are still the same; otherwise an `unverified` one that says what changed."""
    source_sha256 = reference.describe().source_sha256
    if sha256(text) != certificate.ir_sha256:
        return _revoked(certificate, "the certificate belongs to another text")
    if source_sha256 != certificate.source_sha256:
        return _revoked(certificate, "the certificate belongs to another version of the original program")
    step = _recheck_step(certificate)
    if step is None:
        return _revoked(certificate, "the certificate records no trial")
    outcome = attempt(reference, Loader(parse(text)), certificate.sizes[step.size].assignment(), step)
    if outcome.passed:
        return certificate
    return replace(certificate, verdict="unverified", failures=_failures(Trials((outcome,))))


def _recheck_step(certificate: Certificate) -> Step | None:
    """The informative trial at the smallest sizes."""
    assignments = [size.assignment() for size in certificate.sizes]
    runs = [trial for trial in certificate.trials if trial.precision == "promoted"] or list(certificate.trials)
    runs.sort(key=lambda trial: (not trial.informative, plan.elements(assignments[trial.size]), trial.seed))
    return Step(runs[0].size, runs[0].seed, runs[0].distribution, runs[0].precision) if runs else None


def _revoked(certificate: Certificate, reason: str) -> Certificate:
    return replace(certificate, verdict="unverified", failures=(Failure("compare", reason),))
