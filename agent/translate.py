"""`translate`: from a file to a verified text, through the cache or the graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .exitcodes import exit_code
from .state import Attempt, Options, Progress, RunState, StopReason, TranslationResult, TranslatorInfo, Usage

if TYPE_CHECKING:
    from ..verifier.certificate import Certificate
    from ..verifier.types import Description, Limits, Reference
    from ..verifier.zygote import Zygote
    from .cache import Cache
    from .desk import Checker, Desk
    from .graph import RunEnd
    from .translators.base import Translator


def translate(path: Path, options: Options, zygote: Zygote | None = None) -> TranslationResult:
    """Raises the verifier's BadInput and ReferenceFailed; every other end is a result with its exit code."""
    from ..verifier.reference import open_reference

    _tell(options, "load", f"starting {path.name}")
    limits = limits_of(options)
    with open_reference(
        path, entry=options.entry, inputs=options.inputs, mode=options.mode, limits=limits, zygote=zygote
    ) as reference:
        description, checker = reference.describe(), checker_for(reference, options)
        return translate_with(description, checker, path.stem, options, reference=reference)


def limits_of(options: Options) -> Limits:
    from ..verifier.types import Limits

    return Limits() if options.time_limit_s is None else Limits(request_s=options.time_limit_s)


def stored_translation(path: Path, options: Options) -> TranslationResult | None:
    """The cached translation as it is, neither run nor checked again; None if there is none.

    Raises OSError, and SyntaxError for a file that is not Python."""
    from ..verifier.certificate import Certificate, DamagedCertificate
    from ..verifier.types import Description
    from ..verifier.worker.source import local_sources, sources_sha256
    from .cache import Cache
    from .nodes.recheck import lookup

    cache = Cache()
    sources = local_sources(path, path.read_text(encoding="utf-8"))
    entry = lookup(cache, sources_sha256(sources), options, rules=True)
    cache.close()
    if entry is None:
        return None
    try:
        certificate, description = Certificate.from_json(entry.certificate), Description.from_json(entry.description)
    except (DamagedCertificate, ValueError):
        return None
    why = "a verified text of an earlier run, not run again"
    return _from_cache(entry.text, certificate, description, tuple(cache.warnings), why)


def checker_for(reference: Reference, options: Options) -> Checker:
    from ..verifier.verify import recheck, verify
    from .desk import Checker

    def full(text: str, left_s: float | None) -> Certificate:
        limits = [limit for limit in (options.verify_budget_s, left_s) if limit is not None]
        budget_s = min(limits) if limits else None
        return verify(reference, text, trials=options.trials, seed=options.seed, budget_s=budget_s)

    return Checker(full, lambda text, certificate: recheck(reference, text, certificate))


def translate_with(
    description: Description,
    checker: Checker,
    program: str,
    options: Options,
    translator: Translator | None = None,
    reference: Reference | None = None,
) -> TranslationResult:
    """The same with everything at hand; a `translator` given here is asked even when the cache has the program.

    `reference` is what the built-in translator reads."""
    from .cache import Cache

    cache = Cache() if options.use_cache else None
    try:
        if cache is not None and translator is None and not options.translator.startswith("replay:"):
            hit = cached_translation(cache, description, checker, options)
            if hit is not None:
                return hit
        return _asked(description, checker, program, options, cache, translator, reference)
    finally:
        if cache is not None:
            cache.close()


def cached_translation(
    cache: Cache, description: Description, checker: Checker, options: Options
) -> TranslationResult | None:
    """The hit path: no graph, no SDK. The text is run once more before it counts."""
    from .nodes.recheck import lookup, recheck
    from .translators.choose import by_rule

    entry = lookup(cache, description.source_sha256, options, rules=by_rule(options))
    if entry is None:
        return None
    _tell(options, "recheck", "the cache has this program; one trial before it counts")
    certificate = recheck(entry, checker, cache)
    if certificate is None:
        _tell(options, "recheck", "the cached text does not pass any more; translating anew")
        return None
    why = "a verified text of an earlier run, checked again with one trial"
    return _from_cache(entry.text, certificate, description, (*description.warnings, *cache.warnings), why)


def _from_cache(
    text: str, certificate: Certificate, description: Description, warnings: tuple[str, ...], why: str
) -> TranslationResult:
    verdict = certificate.verdict
    return TranslationResult(
        verdict=verdict,
        exit_code=exit_code(verdict, "accepted"),
        stop="accepted",
        message=f"{verdict} (from the cache)",
        text=text,
        certificate=certificate,
        description=description,
        translator=TranslatorInfo("cache", None, 0, Usage(), None, why),
        from_cache=True,
        warnings=warnings,
    )


def _asked(
    description: Description,
    checker: Checker,
    program: str,
    options: Options,
    cache: Cache | None,
    translator: Translator | None,
    reference: Reference | None,
) -> TranslationResult:
    from .desk import Desk
    from .gather import gathered
    from .prompt import prompt_version
    from .retry import ProviderError
    from .runfolder import RunFolder, run_id
    from .translators.base import Drift
    from .translators.choose import opened

    try:
        translator = translator or opened(options, program, description, reference)
    except (ProviderError, Drift) as fault:
        return _nothing(description, options, fault)
    _tell(options, "translator", f"{translator.name}: {translator.why}")
    run = RunFolder.opened(run_id(description.source_sha256, prompt_version(), options, translator.name))
    finished = False
    try:
        shown = options.worked_examples and getattr(translator, "worked_examples", True)
        prompted = translator.prompted
        facts = gathered(description, tool=options.submit_tool, worked_examples=shown) if prompted else None
        desk = Desk(options, program, description, checker, facts, translator, run, cache)
        result = _run(desk)
        finished = result.stop == "accepted" or not translator.keeps_replies and result.saved is None
        return result
    finally:
        translator.close()
        run.close(remove=finished)


def _run(desk: Desk) -> TranslationResult:
    from .graph import run_graph

    end = run_graph(desk, resume=desk.options.resume and desk.translator.keeps_replies)
    return _result(desk, end)


def _result(desk: Desk, end: RunEnd) -> TranslationResult:
    from .desk import cost_usd
    from .nodes.give_up import best_attempt, save_attempts, saved_folder

    state = end.state
    stop, message, spent = _ending(state, end.fault)
    attempts = state.get("attempts", [])
    saved = None
    if stop != "accepted" and attempts:
        saved = save_attempts({**state, "stop": stop, "message": message}, desk) if end.fault else saved_folder(desk)
    accepted = attempts[-1] if stop == "accepted" else best_attempt(attempts)
    verdict = accepted["verdict"] if accepted else "refused" if stop == "refused" else "unverified"
    warnings = (*state.get("warnings", []), *desk.translator.warnings(), *(desk.cache.warnings if desk.cache else ()))
    info = TranslatorInfo(
        desk.translator.name,
        state.get("model") or desk.translator.model,
        len(attempts),
        spent,
        cost_usd(spent, desk.options),
        desk.translator.why,
    )
    return TranslationResult(
        verdict=verdict,
        exit_code=exit_code(verdict, stop),
        stop=stop,
        message=message,
        text=desk.run.text("texts", accepted["sha256"]) if accepted else None,
        certificate=_certificate(desk, accepted["certificate"] if accepted else None),
        description=desk.description,
        translator=info,
        attempts=_told(desk, state),
        saved=saved,
        warnings=warnings,
    )


def _ending(state: RunState, fault: Exception | None) -> tuple[StopReason, str, Usage]:
    from .desk import used
    from .retry import ProviderError
    from .translators.base import AnswerNeeded, Declined, Drift, NoRule, Truncated

    spent = used(state)
    match fault:
        case None:
            return state["stop"], state["message"], spent
        case Truncated(usage=usage):
            return "truncated", str(fault), spent + usage
        case Declined():
            return "declined", str(fault), spent
        case Drift():
            return "drift", str(fault), spent
        case NoRule():
            return "refused", str(fault), spent
        case AnswerNeeded():
            return "answer-needed", str(fault), spent
        case ProviderError(out_of_time=True):
            return "wall", f"the time for this run is over (--budget allows more): {fault}", spent
        case _:
            return "provider", str(fault), spent


def _certificate(desk: Desk, sha256: str | None) -> Certificate | None:
    from ..verifier.certificate import Certificate

    return Certificate.from_json(desk.run.text("certificates", sha256)) if sha256 else None


def _told(desk: Desk, state: RunState) -> tuple[Attempt, ...]:
    return tuple(
        Attempt(
            item["number"],
            item["kind"],
            desk.run.text("texts", item["sha256"]),
            item["verdict"],
            item["feedback"],
            item["same_as"],
        )
        for item in state.get("attempts", [])
    )


def _nothing(description: Description, options: Options, fault: Exception) -> TranslationResult:
    stop, message, usage = _ending({}, fault)
    return TranslationResult(
        verdict="unverified",
        exit_code=exit_code("unverified", stop),
        stop=stop,
        message=message,
        text=None,
        certificate=None,
        description=description,
        translator=TranslatorInfo(options.translator, options.model, 0, usage),
        warnings=description.warnings,
    )


def _tell(options: Options, stage: str, message: str) -> None:
    if options.progress is not None:
        options.progress(Progress(stage, message))
