"""The stages between the command line and the rooms: read a text, check it, count and bound it, write it down."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from .exitcodes import BY_VERDICT
from .faults import UsageFault
from .findings import Analysis, Findings
from .options import DeviceChoice, ModelChoice, ProgramChoice, TrialChoice
from .state import Options, Prices, Progress

if TYPE_CHECKING:
    from ..analysis.arch import Arch
    from ..verifier.types import Reference
    from ..verifier.zygote import Zygote

Report = Callable[[Progress], None]
TRANSLATORS = ("auto", "builtin", "openai", "anthropic", "manual")
TRUSTED = ("verified", "verified-in-part", "specialised")


def run_options(
    program: ProgramChoice, model: ModelChoice, trial: TrialChoice, out: Path | None, progress: Report
) -> Options:
    if model.max_cost is not None and model.prices is None:
        raise UsageFault("--max-cost needs prices to count with; add --prices IN,OUT (US dollars per million tokens)")
    check_translator(model.translator)
    if model.answer is not None:
        _check_answer(model.answer, model.translator)
    return Options(
        translator=model.translator,
        provider=model.provider,
        base_url=model.base_url,
        model=model.model,
        escalate_to=model.escalate_to,
        api=model.api,
        submit_tool=model.submit_tool,
        answer=model.answer,
        entry=program.entry,
        inputs=program.inputs,
        mode=program.mode,
        time_limit_s=program.time_limit,
        max_attempts=model.max_attempts,
        max_tokens=model.max_tokens,
        max_cost_usd=model.max_cost,
        prices=_prices(model.prices),
        budget_s=model.budget,
        answer_tokens=model.answer_tokens,
        trials=trial.trials,
        seed=trial.seed,
        use_cache=model.cache,
        resume=model.resume,
        out=out,
        progress=progress,
    )


def check_translator(name: str) -> None:
    """Raises UsageFault."""
    if name not in TRANSLATORS and not name.startswith("replay:"):
        raise UsageFault(f"--translator {name!r} is unknown; choose {', '.join(TRANSLATORS)} or replay:DIR")


def options_of(program: ProgramChoice) -> Options:
    return Options(entry=program.entry, inputs=program.inputs, mode=program.mode, time_limit_s=program.time_limit)


def _check_answer(answer: Path, translator: str) -> None:
    if translator != "manual":
        raise UsageFault(f"--answer is read by --translator manual, not by {translator}; add --translator manual")
    read_text(answer, "the model's whole answer, or the text alone")


def _prices(text: str | None) -> Prices | None:
    if text is None:
        return None
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if len(values) not in (2, 3) or not all(0 <= value < math.inf for value in values):
        raise UsageFault(
            f"--prices {text!r} is not IN,OUT or IN,OUT,CACHED; give US dollars per million tokens: 2.5,10"
        )
    return Prices(*values)


def program_file(path: Path) -> Path:
    if path.is_dir():
        raise UsageFault(f"{path} is a directory; name the Python file inside it")
    if not path.exists():
        raise UsageFault(f"there is no file {path}; check the path")
    return path


def read_text(path: Path, what: str) -> str:
    """Raises UsageFault when there is no such file, or it holds no text."""
    try:
        text = program_file(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UsageFault(f"{path} is not UTF-8 text (byte {error.start}); give {what}") from None
    except OSError as error:
        raise UsageFault(f"{path} cannot be read ({error.strerror}); check its permissions") from None
    if not text.strip():
        raise UsageFault(f"{path} is empty; give {what}")
    return text


def devices(choice: DeviceChoice) -> tuple[Arch, ...]:
    """The named devices. Raises ArchError for an unknown name or a malformed file, PrecisionError, UsageFault."""
    from ..analysis.arch import load_arch
    from ..analysis.precision import parse_precision

    names = [name.strip() for name in choice.arch.split(",") if name.strip()]
    if not names:
        raise UsageFault("--arch names no device; `solar-agent arch ls` lists them")
    parse_precision(choice.precision)
    return tuple(load_arch(name) for name in dict.fromkeys(names))


def translated(
    file: Path, options: Options, archs: Sequence[Arch], precision: str | None, zygote: Zygote | None = None
) -> Findings:
    """The whole job. Raises the verifier's BadInput and ReferenceFailed."""
    from .translate import translate

    result = translate(file, options, zygote)
    found = Findings(
        file=file,
        exit_code=result.exit_code,
        verdict=result.verdict,
        description=result.description,
        translator=result.translator,
        attempts=result.attempts,
        from_cache=result.from_cache,
        text=result.text,
        certificate=result.certificate,
        written=(result.saved,) if result.saved else (),
        warnings=(*result.warnings, *(result.certificate.warnings if result.certificate else ())),
        message="" if result.stop == "accepted" else result.message,
    )
    if result.stop != "accepted":
        return found
    if options.progress is not None:
        options.progress(Progress("analyse", f"counting {len((result.text or '').splitlines())} lines at full size"))
    return analysed(found, archs, precision)


def checked(file: Path, ir: Path, program: ProgramChoice, trial: TrialChoice, progress: Report) -> Findings:
    """Verifies the text in `ir` against the program in `file`. Raises the verifier's BadInput and ReferenceFailed."""
    from ..verifier.verify import verify

    program_file(file)
    text = read_text(ir, "a text in the loop language")
    if any(line.startswith("```") for line in text.splitlines()):
        raise UsageFault(
            f"{ir} is a whole answer, and --ir takes the text alone; keep what is between the ``` lines, or give the "
            "answer to `translate` with --translator manual --answer"
        )
    progress(Progress("load", f"starting {file.name} in a process of its own"))
    with _reference(file, program) as reference:
        description = reference.describe()
        progress(Progress("verify", f"comparing {description.entry} with {ir.name}"))
        certificate = verify(reference, text, trials=trial.trials, seed=trial.seed)
    found = Findings(
        file=file,
        exit_code=certificate.exit_code,
        verdict=certificate.verdict,
        description=description,
        text=text,
        text_path=ir,
        certificate=certificate,
        warnings=(*description.warnings, *certificate.warnings),
    )
    return elaborated(found) if found.verdict in TRUSTED else found


def cached(file: Path, program: ProgramChoice) -> Findings:
    """The verified translation of an earlier run. Raises UsageFault when there is none."""
    from .translate import stored_translation

    try:
        result = stored_translation(program_file(file), options_of(program))
    except SyntaxError as error:
        raise UsageFault(f"{file}, line {error.lineno}: {error.msg}; mend the file") from None
    if result is None or result.text is None:
        raise UsageFault(
            f"{file} has no verified translation yet; run `solar-agent translate {file}`, or name one with --ir"
        )
    return Findings(
        file=file,
        exit_code=result.exit_code,
        verdict=result.verdict,
        description=result.description,
        translator=result.translator,
        from_cache=True,
        text=result.text,
        certificate=result.certificate,
        warnings=(*result.warnings, *(result.certificate.warnings if result.certificate else ())),
    )


def of_graph(file: Path) -> Findings:
    """A lifted graph: the text inside it and its bindings. Raises UsageFault."""
    from .graphfile import read_graph

    lifted = read_graph(file, read_text(file, "an einsum_graph.yaml"))
    if lifted.verdict not in TRUSTED:
        raise UsageFault(
            f"{file} says {lifted.verdict!r} of the text it was lifted from; verify the text and lift it again"
        )
    return Findings(
        file=file,
        exit_code=BY_VERDICT[lifted.verdict],
        verdict=lifted.verdict,
        text=lifted.text,
        bindings=lifted.bindings,
    )


def _reference(file: Path, program: ProgramChoice) -> AbstractContextManager[Reference]:
    from ..verifier.reference import open_reference
    from .translate import limits_of

    limits = limits_of(options_of(program))
    return open_reference(file, entry=program.entry, inputs=program.inputs, mode=program.mode, limits=limits)


def elaborated(found: Findings) -> Findings:
    """With the program at full size. Raises IRError."""
    from ..ir.load import load
    from ..verifier.claims import without_assumed

    bindings = found.bindings or (found.description.bindings if found.description else None)
    if found.text is None or bindings is None:
        return found
    program = load(found.text, bindings)
    return replace(found, program=program if found.certificate is None else without_assumed(program, found.certificate))


def analysed(found: Findings, archs: Sequence[Arch], precision: str | None) -> Findings:
    """With counts, and bounds for each device, at full size. Raises IRError, ArchError."""
    from ..analysis.bounds import bounds
    from ..analysis.count import count

    found = elaborated(found)
    if found.program is None:
        return found
    constant = _constant_outputs(found)
    by_device = {arch.name: bounds(found.program, arch, precision, constant=constant) for arch in archs}
    return replace(found, analysis=Analysis(count(found.program), by_device))


def _constant_outputs(found: Findings) -> tuple[int, ...]:
    """Positions of the outputs that were seen to be the same whatever the inputs."""
    if found.program is None or found.certificate is None:
        return ()
    records = iter(leaf for leaf in found.certificate.leaves if leaf.kind == "result")
    named = {(leaf.kind, leaf.path): leaf for leaf in found.certificate.leaves if leaf.kind != "result"}
    positions = []
    for position, output in enumerate(found.program.outputs):
        leaf = next(records, None) if output.kind == "result" else named.get((output.kind, output.name))
        if leaf is not None and leaf.status in ("constant", "constant-followed"):
            positions.append(position)
    return tuple(positions)


def written(folder: Path, file: Path, found: Findings) -> Findings:
    """Puts text, certificate and einsum graph into `folder`. Raises UsageFault."""
    from .graphfile import Lifted, graph_text

    if found.program is None or found.text is None or found.certificate is None or found.description is None:
        return found
    lifted = Lifted(found.certificate.verdict, found.text, found.description.bindings)
    files = {
        f"{file.stem}.alir": found.text,
        f"{file.stem}.certificate.json": found.certificate.to_json(),
        "einsum_graph.yaml": graph_text(found.program, lifted),
    }
    paths = write_files(folder, files)
    return replace(found, text_path=paths[0], written=(*found.written, *paths))


def write_files(folder: Path, files: Mapping[str, str]) -> tuple[Path, ...]:
    """Each file whole or not at all; the folder is made. Raises UsageFault."""
    if folder.exists() and not folder.is_dir():
        raise UsageFault(f"--out {folder} is a file; name a folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return tuple(_write(folder / name, text) for name, text in files.items())
    except OSError as error:
        raise UsageFault(f"cannot write to {folder} ({error.strerror}); choose another --out") from None


def _write(path: Path, text: str) -> Path:
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    return path
