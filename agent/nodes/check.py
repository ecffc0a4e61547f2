"""check: parse, elaborate and verify the latest text; a text that was there before is recognised and not run again."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from ..desk import Desk
from ..state import AttemptState, RunState

if TYPE_CHECKING:
    from ...verifier.certificate import Certificate

STAGES = {"parse": 0.0, "elaborate": 1.0, "range": 2.0, "execute": 2.0, "full-size": 3.0, "compare": 4.0}
NO_FAULT = 5.0
VERDICTS = {"refused": 0.0, "unverified": 0.0, "specialised": 1.0, "verified-in-part": 2.0, "verified": 3.0}


def check(state: RunState, desk: Desk) -> RunState:
    *earlier, attempt = state["attempts"]
    text = desk.run.text("texts", attempt["sha256"])
    same = next((old for old in earlier if _alike(desk.run.text("texts", old["sha256"]), text)), None)
    if same is not None:
        number = same["same_as"] or same["number"]
        settled: AttemptState = {
            **attempt,
            "verdict": "identical",
            "same_as": number,
            "feedback": same["feedback"],
            "score": same["score"],
            "certificate": same["certificate"],
        }
        return {"attempts": [*earlier, settled]}
    if not text:
        return {}
    desk.tell("verify", f"attempt {attempt['number']}: {len(text.splitlines())} lines, checking against the original")
    certificate = desk.checker.verify(text, desk.left_s(state))
    settled = {
        **attempt,
        "verdict": certificate.verdict,
        "feedback": certificate.feedback(),
        "score": score(certificate),
        "certificate": desk.run.keep_text("certificates", certificate.to_json()),
    }
    return {
        "attempts": [*earlier, settled],
        "elapsed_s": state["elapsed_s"] + desk.lap_s(),
    }


def score(certificate: Certificate) -> list[float]:
    """How near a text came, compared as lists: the verdict, the stage of its first fault, the share of results that
    were right, and the fewer faults."""
    stage = min((STAGES[failure.kind] for failure in certificate.failures), default=NO_FAULT)
    right = sum(leaf.status in ("verified", "constant", "constant-followed") for leaf in certificate.leaves)
    share = right / len(certificate.leaves) if certificate.leaves else 0.0
    return [VERDICTS[certificate.verdict], stage, share, -float(len(certificate.failures))]


def fingerprint(text: str) -> str:
    """Of the program, whatever its comments, blank lines and trailing blanks."""
    lines = (line.rstrip() for line in text.splitlines())
    kept = (line for line in lines if line and not line.lstrip().startswith("#"))
    return hashlib.sha256("\n".join(kept).encode()).hexdigest()


def _alike(one: str, other: str) -> bool:
    return fingerprint(one) == fingerprint(other)
