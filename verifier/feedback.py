"""The words of a failed check. This text is the repair prompt: it names the statement or the tensor, gives numbers with
three significant digits, and says which guesses fit them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..ir.errors import IRError
from ..ir.program import Program, Source
from . import dataflow, hints
from .certificate import Certificate, Failure, FailureKind
from .compare import Floats, LeafResult, show_path, show_type
from .types import Array, Trial

if TYPE_CHECKING:
    from .run import Outcome

Bools = npt.NDArray[np.bool_]
MAX_LISTED = 8
SAMPLES = 3


def number(value: object) -> str:
    """Three significant digits for floats, everything else whole."""
    if isinstance(value, np.generic):
        value = value.item()
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def listing(names: Sequence[str]) -> str:
    more = f", and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return ", ".join(names[:MAX_LISTED]) + more


def shapes(trial: Trial) -> str:
    return ", ".join(f"{name}{list(array.shape)}" for name, array in trial.inputs.items()) or "no tensor arguments"


def where(trial: Trial) -> str:
    kind = "floats in float64 on both sides" if trial.precision == "promoted" else "in the program's own types"
    return f"arguments {shapes(trial)}, {trial.distribution} values, seed {trial.seed}, {kind}"


def of_errors(error: IRError, kind: FailureKind, place: str) -> tuple[Failure, ...]:
    """One failure for each problem of the text. `place` says at which sizes it arose (empty: at any)."""
    suffix = f"\n    {place}" if place else ""
    return tuple(Failure(kind, f"{problem}{suffix}", problem.line or None) for problem in error.problems)


@dataclass(frozen=True, slots=True)
class Context:
    """What a mismatch can be explained with: the trial, the elaborated text, and its own intermediate tensors."""

    trial: Trial
    program: Program
    tensors: Mapping[str, Array]


def of_mismatch(result: LeafResult, context: Context, agreement: str) -> Failure:
    """A leaf that differs. `agreement` says at which other sizes it agrees or differs."""
    lines = [f"{show_path(result.leaf)} ({show_type(result.leaf)}) differs from the original: {result.reason}"]
    lines.append(f"trial: {where(context.trial)}")
    lines += _values(result)
    statement = None
    if result.output is not None:
        source, more = _origin(result, context)
        statement = source.line or None
        lines += more
    lines += [f"hint: {hint}" for hint in _hints(result, context)]
    if agreement:
        lines.append(agreement)
    return Failure("compare", "\n    ".join(lines), statement, result.leaf.path)


def _values(result: LeafResult) -> list[str]:
    expected, ours = result.leaf.value, result.ours
    if not isinstance(expected, np.ndarray) or not isinstance(ours, np.ndarray | np.generic):
        return []
    got = np.asarray(ours)
    if expected.shape != got.shape or not expected.size:
        return []
    wrong = np.flatnonzero(_wrong(expected, got, result.tolerance))
    if not wrong.size:
        return []
    picked = sorted({0, wrong.size // 2, wrong.size - 1})[:SAMPLES]
    lines = [f"{wrong.size} of {expected.size} elements are wrong; the first and two more:"]
    for position in wrong[picked]:
        index = [int(part) for part in np.unravel_index(int(position), expected.shape)]
        lines.append(f"  at {index}: {_pair(expected.flat[position], got.flat[position])}")
    return lines


def _wrong(expected: Array, got: Array, tolerance: float) -> Bools:
    if expected.dtype.kind != "f":
        return np.asarray(expected != got, dtype=np.bool_).ravel()
    a, b = expected.astype(np.float64).ravel(), got.astype(np.float64).ravel()
    finite = np.isfinite(a) & np.isfinite(b)
    top = float(np.abs(a[finite]).max()) if finite.any() else 0.0
    same = np.zeros(a.shape, dtype=np.bool_)
    same[finite] = np.abs(a[finite] - b[finite]) <= tolerance * top
    same[~finite] = _same_class(a[~finite], b[~finite])
    wrong = ~same
    if not wrong.any():  # only the norm is off: show the greatest differences
        wrong[finite] = np.abs(a[finite] - b[finite]) > 0
    return wrong


def _same_class(a: Floats, b: Floats) -> Bools:
    same: Bools = (np.isnan(a) & np.isnan(b)) | (a == b)
    return same


def _pair(expected: object, got: object) -> str:
    a, b = number(expected), number(got)
    if a == b and isinstance(expected, float | np.floating) and isinstance(got, float | np.floating):
        return f"expected {a}, got {b} (difference {number(float(got) - float(expected))})"
    return f"expected {a}, got {b}"


def _origin(result: LeafResult, context: Context) -> tuple[Source, list[str]]:
    """The statement that wrote the leaf, those that feed it, and the first of them that looks broken by itself."""
    output = result.output
    if output is None or output.tensor is None:
        source = Source(0, 0, "") if output is None else output.source
        return source, [f"from line {source.line}: {source.text.strip()}"]
    flow = dataflow.flow_of(context.program)
    writers = [source for name, source in flow.writers if name == output.tensor]
    last = writers[-1] if writers else output.source
    lines = [f"line {output.source.line}: {output.source.text.strip()}"]
    if writers:
        lines.append(f"written by {show_source(last)}")
    feeding = [source for source in flow.sources(flow.behind([output.tensor])) if source != last]
    if feeding:
        numbers = sorted({source.line for source in feeding if not source.unit})
        lines.append(f"fed by the statements of lines {listing([str(line) for line in reversed(numbers)])}")
    lines += _suspects(flow, flow.behind([output.tensor]), result, context)
    return last, lines


def show_source(source: Source) -> str:
    unit = f" of {source.unit}" if source.unit else ""
    trail = f" (in {'; '.join(source.trail)})" if source.trail else ""
    return f"line {source.line}{unit}: {source.text.strip()}{trail}"


def _suspects(flow: dataflow.Flow, tensors: frozenset[str], result: LeafResult, context: Context) -> list[str]:
    """The first tensor of the text that turns non-finite although the original's result is finite."""
    expected = result.leaf.value
    if not isinstance(expected, np.ndarray) or expected.dtype.kind != "f" or not np.isfinite(expected).all():
        return []
    for name, source in flow.writers:
        array = context.tensors.get(name)
        if name in tensors and array is not None and array.dtype.kind == "f" and np.isnan(array).any():
            return [f"`{name}` is the first tensor with NaN in it: {show_source(source)}"]
    return []


def _hints(result: LeafResult, context: Context) -> list[str]:
    found: list[str] = []
    expected, ours = result.leaf.value, result.ours
    if isinstance(expected, np.ndarray) and isinstance(ours, np.ndarray | np.generic):
        sizes = {name: float(size) for name, size in context.program.sizes.items() if isinstance(size, int | float)}
        clues = hints.Clues({**context.trial.state, **context.trial.inputs}, sizes)
        if expected.dtype.kind in "fiu" and np.asarray(ours).dtype.kind in "fiu":
            found += hints.find(expected, np.asarray(ours), clues)
    return found + unused_hint(context.program, context.trial)


def unused_hint(program: Program, trial: Trial) -> list[str]:
    """Captured entries that the text never uses: often what is missing."""
    dead, unused = dataflow.unused_keys(program, trial.bindings)
    counters = {key for key, entry in trial.bindings.state.items() if entry.shape == () and entry.dtype[0] in "iu"}
    missing = [f'param "{key}"' for key in unused if key not in counters]
    listed = [f'input "{key}"' for key in dead] + missing
    return [f"never used by the text: {listing(listed)}"] if listed else []


def agreement(result: LeafResult, outcomes: Sequence[Outcome]) -> str:
    """At which sizes a leaf agrees and at which it differs, when both happen."""
    good: list[Outcome] = []
    bad: list[Outcome] = []
    for outcome in outcomes:
        for other in outcome.results:
            same = (other.leaf.kind, other.leaf.path) == (result.leaf.kind, result.leaf.path)
            if same and other.status != "undecided":
                (bad if other.status == "different" else good).append(outcome)
    if not good or not bad:
        return ""
    text = f"it agrees in the trial with arguments {shapes(good[0].trial)} ({good[0].trial.distribution} values)"
    if all(outcome.trial.assignment.batch_one for outcome in good):
        return f"{text}: only at batch 1, so look for a batch axis that is mixed up or left out"
    if all(outcome.trial.assignment.batch_one for outcome in bad):
        return f"{text}; it differs only at batch 1"
    if {outcome.step.size for outcome in good} & {outcome.step.size for outcome in bad}:
        return f"{text}: the same sizes with other values, so look at edge cases of the values"
    return f"{text}: look for numbers written into the text that depend on the sizes"


def of_certificate(certificate: Certificate) -> str:
    """Failures first; without any, what keeps the verdict from being `verified`."""
    if certificate.verdict == "verified":
        return ""
    if certificate.failures:
        count = len(certificate.failures)
        lines = [f"The text was not accepted: {count} problem{'s' if count > 1 else ''}."]
        lines += [f"{place}. {failure.message}" for place, failure in enumerate(certificate.failures, 1)]
        return "\n".join(lines) + "\n"
    lines = [f"Verdict: {certificate.verdict}."]
    for leaf in certificate.leaves:
        name = f'"{leaf.path}"' if leaf.path else "the result"
        if leaf.status == "constant":
            lines.append(f"- {name} has one and the same value whatever the inputs: how it is computed was not checked")
        elif leaf.status == "not-compared":
            lines.append(f"- {name} was not compared well enough ({leaf.compared:.0%} of its elements, "
                         f"{leaf.informative_trials} informative trials)")  # fmt: skip
    lines += [f"- never taken in a verified trial: {decision}" for decision in certificate.untested_decisions]
    lines += [f"- {warning}" for warning in certificate.warnings]
    return "\n".join(lines) + "\n"
