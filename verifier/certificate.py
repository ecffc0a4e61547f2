"""The certificate: what was checked, how hard, and with what result. It lies as JSON beside the text."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal

from .decode import DecodeError, decode
from .types import Assignment, Distribution, LeafKind, Mode, Precision

FORMAT = 1

Verdict = Literal["verified", "verified-in-part", "specialised", "unverified", "refused"]
Flag = Literal[
    "stochastic", "input-independent", "native-only", "native-differs", "rounding-unverified", "budget-spent"
]
FailureKind = Literal["parse", "elaborate", "execute", "compare", "full-size", "range", "fact"]
LeafStatus = Literal["verified", "constant", "constant-followed", "not-compared", "different"]

EXIT_CODES: Mapping[Verdict, int] = {
    "verified": 0,
    "verified-in-part": 10,
    "specialised": 11,
    "unverified": 20,
    "refused": 21,
}


class DamagedCertificate(ValueError):
    """The text is not a certificate of this format; one clear line."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One fault. `message` is what a model is shown for repair; `statement` is a line of the text, `tensor` a leaf path
    or the name of a tensor."""

    kind: FailureKind
    message: str
    statement: int | None = None
    tensor: str | None = None


@dataclass(frozen=True, slots=True)
class SizeRecord:
    """One assignment of sizes, whole, so that a recheck needs no search."""

    label: str
    changes: Mapping[str, int]
    inputs: Mapping[str, tuple[int, ...]]
    batch_one: bool
    not_varied: tuple[str, ...]

    @staticmethod
    def of(assignment: Assignment) -> SizeRecord:
        inputs = {name: tuple(shape) for name, shape in assignment.inputs.items()}
        return SizeRecord(
            assignment.label, dict(assignment.changes), inputs, assignment.batch_one, tuple(assignment.not_varied)
        )

    def assignment(self) -> Assignment:
        return Assignment(self.label, self.changes, self.inputs, self.batch_one, self.not_varied)


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """`size` is a position in Certificate.sizes; `informative`: some leaf of this trial could tell right from wrong."""

    size: int
    seed: int
    distribution: Distribution
    precision: Precision
    informative: bool


@dataclass(frozen=True, slots=True)
class LeafRecord:
    """One leaf of the results at full size. `error` is the greatest scaled error of the counted promoted trials,
    rounded up to one digit; `tolerance` what was allowed there; `compared` the share of elements that were finite on
    both sides and compared; `informative_trials` how many trials could have failed."""

    kind: LeafKind
    path: str
    dtype: str
    shape: tuple[int, ...] | None
    status: LeafStatus
    error: float
    tolerance: float
    compared: float
    informative_trials: int


@dataclass(frozen=True, slots=True)
class Certificate:
    """`assumed_facts` hold at every verified size and could not be checked at full size; no bound uses them.
    `coverage`, `mutation_score` and `work_check` are None until something measured them."""

    verdict: Verdict
    flags: tuple[Flag, ...]
    entry: str
    mode: Mode
    source_sha256: str
    ir_sha256: str
    tool_version: str
    versions: Mapping[str, str]
    sizes: tuple[SizeRecord, ...]
    trials: tuple[TrialRecord, ...]
    leaves: tuple[LeafRecord, ...]
    failures: tuple[Failure, ...] = ()
    untested_decisions: tuple[str, ...] = ()
    assumed_ranges: tuple[str, ...] = ()
    assumed_facts: tuple[str, ...] = ()
    dead: tuple[str, ...] = ()
    unused_state: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    coverage: float | None = None
    mutation_score: float | None = None
    work_check: str | None = None
    format: int = field(default=FORMAT)

    @property
    def seeds(self) -> tuple[int, ...]:
        return tuple(trial.seed for trial in self.trials)

    @property
    def distributions(self) -> tuple[str, ...]:
        return tuple(sorted({trial.distribution for trial in self.trials}))

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.verdict]

    @property
    def hash(self) -> str:
        """SHA-256 of what was checked and found. Numbers that depend on the last bits of floating point, versions of
        libraries and message texts are left out, so that another machine gets the same hash."""
        text = json.dumps(self._stable(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def _stable(self) -> dict[str, object]:
        data = asdict(self)
        for name in ("versions", "warnings", "failures", "leaves", "trials"):
            del data[name]
        data["failures"] = [(failure.kind, failure.statement, failure.tensor) for failure in self.failures]
        data["leaves"] = [(leaf.kind, leaf.path, leaf.dtype, leaf.shape, leaf.status) for leaf in self.leaves]
        data["trials"] = [(run.size, run.seed, run.distribution, run.precision) for run in self.trials]
        return data

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1, sort_keys=True) + "\n"

    @staticmethod
    def from_json(text: str) -> Certificate:
        """Raises DamagedCertificate."""
        try:
            data = json.loads(text)
        except ValueError as error:
            raise DamagedCertificate(f"not JSON: {error}") from None
        if isinstance(data, dict) and data.get("format") != FORMAT:
            raise DamagedCertificate(f"format {data.get('format')!r}, this version reads {FORMAT}")
        try:
            certificate = decode(Certificate, data, "certificate")
        except DecodeError as error:
            raise DamagedCertificate(str(error)) from None
        certificate._check_references()
        return certificate

    def _check_references(self) -> None:
        for position, trial in enumerate(self.trials):
            if not 0 <= trial.size < len(self.sizes):
                raise DamagedCertificate(f"trials.{position}.size: {trial.size} is no position in sizes")

    def feedback(self) -> str:
        """What a model is told so that it can repair the text; empty for a verified text."""
        from .feedback import of_certificate

        return of_certificate(self)
