"""Exit codes of the command line, and which verdict or stop leads to which."""

from __future__ import annotations

from enum import IntEnum

from .state import StopReason


class Exit(IntEnum):
    VERIFIED = 0
    INTERNAL = 1
    USAGE = 2
    IN_PART = 10
    SPECIALISED = 11
    UNVERIFIED = 20
    REFUSED = 21
    PROVIDER = 30
    DRIFT = 31


BY_VERDICT = {
    "verified": Exit.VERIFIED,
    "verified-in-part": Exit.IN_PART,
    "specialised": Exit.SPECIALISED,
    "unverified": Exit.UNVERIFIED,
    "refused": Exit.REFUSED,
}


def exit_code(verdict: str, stop: StopReason) -> Exit:
    match stop:
        case "provider" | "declined":
            return Exit.PROVIDER
        case "drift":
            return Exit.DRIFT
        case "answer-needed":
            return Exit.UNVERIFIED
        case _:
            return BY_VERDICT[verdict]
