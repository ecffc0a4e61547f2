"""One program through the whole job, as it is asked for and as it is told."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ..state import Options, Progress, Provider

if TYPE_CHECKING:
    from ...verifier.certificate import Certificate
    from ...verifier.types import Mode
    from ...verifier.zygote import Zygote
    from ..document import Json
    from ..findings import Findings

Record: TypeAlias = "dict[str, Json]"
STAGES = ("load", "translate", "verify", "analyse")
STAGE_OF = {"load": "load", "recheck": "verify", "verify": "verify", "analyse": "analyse"}  # else translate
FAILED = "failed"
SHOWN_FAILURES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is the same for all programs of a bench. `budget_s`: wall time for each; `texts`: the folder that the
    translations go to."""

    translator: str
    provider: Provider | None = None
    base_url: str | None = None
    model: str | None = None
    mode: Mode = "eval"
    archs: tuple[str, ...] = ()
    precision: str | None = None
    trials: int | None = None
    seed: int = 0
    time_limit_s: float | None = None
    budget_s: float = 300.0
    texts: str | None = None

    def options(self, laps: Laps | None) -> Options:
        """A translation by rule is made anew, as it is what is measured; a model's costs something."""
        return Options(
            translator=self.translator,
            provider=self.provider,
            base_url=self.base_url,
            model=self.model,
            mode=self.mode,
            trials=self.trials,
            seed=self.seed,
            time_limit_s=self.time_limit_s,
            use_cache=self.translator != "builtin",
            progress=laps,
        )


@dataclass(slots=True)
class Laps:
    """Wall time by stage, from what the run tells of its progress."""

    began_s: float = field(default_factory=time.monotonic)
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(STAGES, 0.0))
    stage: str = "load"
    mark_s: float = field(init=False)

    def __post_init__(self) -> None:
        self.mark_s = self.began_s

    def __call__(self, step: Progress) -> None:
        self.to(STAGE_OF.get(step.stage, "translate"))

    def to(self, stage: str) -> None:
        now = time.monotonic()
        self.seconds[self.stage] += now - self.mark_s
        self.stage, self.mark_s = stage, now

    def told(self) -> dict[str, Json]:
        self.to(self.stage)
        rounded: dict[str, Json] = {name: round(spent, 3) for name, spent in self.seconds.items()}
        return {**rounded, "total": round(self.mark_s - self.began_s, 3)}


def perform(name: str, file: Path, wanted: Wanted, zygote: Zygote | None, laps: Laps) -> Record:
    """All that is told of one program, whatever becomes of it, short of an error in this tool."""
    from .. import faults, stages
    from ..options import DeviceChoice

    try:
        archs = stages.devices(DeviceChoice(arch=",".join(wanted.archs), precision=wanted.precision))
        found = stages.translated(file, wanted.options(laps), archs, wanted.precision, zygote)
    except faults.foreseen() as fault:
        code, message = faults.explained(fault)
        return failed(message, int(code), laps)
    record = told(found, laps)
    if wanted.texts is not None and found.text is not None:
        (Path(wanted.texts) / f"{name}.alir").write_text(found.text, encoding="utf-8")
    return record


def told(found: Findings, laps: Laps) -> Record:
    from ..document import document
    from ..nodes.give_up import SAVED
    from ..translators.builtin import INSTEAD

    made = document(found)
    message = found.message.partition(SAVED)[0].partition(f"; {INSTEAD}")[0]
    translator = made["translator"]
    return {
        "verdict": found.verdict,
        "exit_code": int(found.exit_code),
        "attempts": found.translator.attempts if found.translator else 0,
        "seconds": laps.told(),
        "translator": translator,
        "ir": made["ir"],
        "certificate": certificate(found.certificate) if found.certificate else None,
        "counts": made["counts"],
        "bounds": made["bounds"],
        "message": message or None,
    }


def failed(message: str, code: int, laps: Laps | None = None) -> Record:
    """The program, or this tool on it, came to a bad end."""
    return {
        "verdict": FAILED,
        "exit_code": code,
        "attempts": 0,
        "seconds": laps.told() if laps is not None else None,
        "translator": None,
        "ir": None,
        "certificate": None,
        "counts": None,
        "bounds": None,
        "message": " ".join(message.split()),
    }


def certificate(found: Certificate) -> Record:
    failures: list[Json] = [f"{one.kind}: {one.message.splitlines()[0]}" for one in found.failures[:SHOWN_FAILURES]]
    return {
        "hash": found.hash,
        "flags": list(found.flags),
        "sizes": len(found.sizes),
        "trials": len(found.trials),
        "error": max((leaf.error for leaf in found.leaves), default=None),
        "leaves": {leaf.path: leaf.status for leaf in found.leaves},
        "failures": failures,
        "untested_decisions": len(found.untested_decisions),
    }
