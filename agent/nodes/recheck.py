"""lookup and recheck: a cached text counts only when it passes one trial against the program as it is now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..cache import Cache, Entry, translation_key
from ..desk import ACCEPTED, Checker
from ..state import Options
from ..translators.builtin import rules_version

if TYPE_CHECKING:
    from ...verifier.certificate import Certificate


def lookup(cache: Cache, source_sha256: str, options: Options, *, rules: bool) -> Entry | None:
    """A model's text, unless the rules were asked for by name; with `rules`, then theirs."""
    versions = [] if options.translator == "builtin" else [""]
    versions += [rules_version()] if rules else []
    found = (cache.get(translation_key(source_sha256, options, version)) for version in versions)
    return next((entry for entry in found if entry is not None), None)


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
