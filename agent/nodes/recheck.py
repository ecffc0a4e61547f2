"""lookup and recheck: a cached text counts only when it passes one trial against the program as it is now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..cache import Cache, Entry, translation_key
from ..desk import ACCEPTED, Checker
from ..state import Options

if TYPE_CHECKING:
    from ...verifier.certificate import Certificate
    from ...verifier.types import Description


def lookup(cache: Cache, description: Description, options: Options) -> Entry | None:
    return cache.get(translation_key(description.source_sha256, options))


def recheck(entry: Entry, checker: Checker, cache: Cache) -> Certificate | None:
    """The certificate of the new trial; None, and the entry dropped, when the text does not pass any more."""
    from ...verifier.certificate import Certificate, DamagedCertificate

    try:
        certificate = checker.recheck(entry.text, Certificate.from_json(entry.certificate))
    except DamagedCertificate:
        certificate = None
    if certificate is None or certificate.verdict not in ACCEPTED:
        cache.remove(entry.key)
        return None
    return certificate
