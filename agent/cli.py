"""The command line: results on stdout, progress and errors on stderr. A command imports only the rooms it needs."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from importlib.metadata import version
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from . import console, faults, tools
from .bench.command import bench
from .exitcodes import Exit
from .options import (
    DeviceChoice,
    ModelChoice,
    Output,
    ProgramChoice,
    TrialChoice,
    debug_option,
    device_options,
    model_options,
    output_options,
    program_options,
    trial_options,
)

if TYPE_CHECKING:
    from .findings import Findings

FILE = click.argument("file", type=click.Path(path_type=Path))
IR = click.option(
    "--ir",
    "ir",
    type=click.Path(path_type=Path),
    metavar="TEXT",
    required=True,
    help="The translation: a text in the loop language.",
)
OUT = click.option(
    "--out", type=click.Path(path_type=Path), metavar="DIR", help="Folder for the files that are written."
)
INTERRUPTED, BROKEN_PIPE = 130, 141


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    no_args_is_help=False,
    invoke_without_command=True,
)
@click.version_option(version("solar-agent"), "--version", prog_name="solar-agent")
@debug_option
@click.pass_context
def cli(context: click.Context) -> int:
    """Speed-of-light bounds for PyTorch programs, from translations that are verified numerically.

    Exit codes: 0 verified, 1 internal error, 2 bad input or usage, 10 verified in part, 11 specialised, 20 unverified,
    21 refused, 30 provider or key, 31 replay drift.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
    return 0


@cli.command()
@FILE
@device_options
@model_options
@program_options
@trial_options
@OUT
@output_options
def translate(
    file: Path,
    device: DeviceChoice,
    model: ModelChoice,
    program: ProgramChoice,
    trial: TrialChoice,
    out: Path | None,
    output: Output,
) -> int:
    """Translate, verify and bound the program in FILE.

    Rules or a language model write the translation; it counts only after it has given the same numbers as the program.
    """
    from . import stages

    stages.program_file(file)
    archs = stages.devices(device)
    with console.Status(output.quiet) as progress:
        options = stages.run_options(program, model, trial, out, progress)
        found = stages.translated(file, options, archs, device.precision)
    if out is not None and found.verdict in stages.TRUSTED:
        found = stages.written(out, file, found)
    _show(found, output)
    return found.exit_code


@cli.command()
@FILE
@program_options
@output_options
def prompt(file: Path, program: ProgramChoice, output: Output) -> int:
    """Print the prompt that asks for a translation.

    Any chat window or person can answer it: `translate FILE --translator manual --answer ANSWER` takes the answer.
    """
    from . import stages
    from .prompt import render_for

    rendered = render_for(stages.program_file(file), stages.options_of(program))
    if output.json:
        console.emit({"system": rendered.system, "user": rendered.user, "warnings": list(rendered.warnings)})
    else:
        click.echo(f"{rendered.system}\n{rendered.user}")
        console.warn(rendered.warnings)
    return Exit.VERIFIED


@cli.command()
@FILE
@IR
@program_options
@trial_options
@output_options
def verify(file: Path, ir: Path, program: ProgramChoice, trial: TrialChoice, output: Output) -> int:
    """Compare a translation with the program in FILE.

    Where the text came from does not matter.
    """
    from . import stages

    with console.Status(output.quiet) as progress:
        found = stages.checked(file, ir, program, trial, progress)
    _show(found, output)
    return found.exit_code


@cli.command()
@FILE
@IR
@program_options
@trial_options
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", required=True, help="Folder for the files.")
@output_options
def lift(file: Path, ir: Path, program: ProgramChoice, trial: TrialChoice, out: Path, output: Output) -> int:
    """Write the einsum graph of a translation.

    The text is verified first: its certificate lies beside einsum_graph.yaml.
    """
    from . import stages

    with console.Status(output.quiet) as progress:
        found = stages.checked(file, ir, program, trial, progress)
        if found.verdict in stages.TRUSTED:
            found = stages.written(out, file, found)
        else:
            found = found.failing(
                f"nothing was written to {out}, as the text is {found.verdict}; mend it and run lift again"
            )
    _show(found, output)
    return found.exit_code


@cli.command()
@FILE
@click.option(
    "--ir",
    "ir",
    type=click.Path(path_type=Path),
    metavar="TEXT",
    help="A translation to verify and use, instead of the cached one.",
)
@device_options
@program_options
@trial_options
@output_options
def analyze(
    file: Path, ir: Path | None, device: DeviceChoice, program: ProgramChoice, trial: TrialChoice, output: Output
) -> int:
    """Count and bound a program, or an einsum graph.

    FILE is a program with a cached translation (or --ir), or an einsum_graph.yaml.
    """
    from . import stages

    archs = stages.devices(device)
    if stages.program_file(file).suffix in {".yaml", ".yml"}:
        if ir is not None:
            raise click.UsageError("a lifted graph needs no --ir; leave it out, or give the program's Python file")
        found = stages.of_graph(file)
    else:
        with console.Status(output.quiet) as progress:
            found = stages.checked(file, ir, program, trial, progress) if ir else stages.cached(file, program)
    if found.verdict in stages.TRUSTED:
        found = stages.analysed(found, archs, device.precision)
    _show(found, output)
    return found.exit_code


def _show(found: Findings, output: Output) -> None:
    """The document or the report on stdout; why it is not more on stderr."""
    if output.json:
        from .document import document

        console.emit(document(found))
    else:
        from .report import report

        report(found)
    if found.message:
        console.error(found.message)


cli.add_command(tools.arch)
cli.add_command(tools.cache)
cli.add_command(tools.doctor)
cli.add_command(bench)


def main() -> NoReturn:
    _usable_streams()
    sys.exit(run(sys.argv[1:]))


def _usable_streams() -> None:
    """A stream that was closed before the start swallows; one that cannot say a character shows its number."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def run(arguments: Sequence[str]) -> int:
    """Runs one command and says every error in one line. The only place where any exception is caught."""
    session = {"json": "--json" in arguments}  # known even where the arguments cannot be parsed
    try:
        code = cli.main(list(arguments), prog_name="solar-agent", standalone_mode=False, obj=session)
        sys.stdout.flush()
        return int(code or 0)
    except (click.Abort, KeyboardInterrupt):
        return _told(INTERRUPTED, "interrupted; run the same command again, it resumes", json=session["json"])
    except (BrokenPipeError, SystemExit):  # click ends the process over a broken pipe, and over nothing else
        _drop_stdout()
        return BROKEN_PIPE
    except Exception as fault:  # noqa: BLE001
        code, message = faults.explained(fault)
        if session.get("debug"):
            traceback.print_exception(fault)
        return _told(code, message, json=session["json"])


def _told(code: int, message: str, *, json: bool) -> int:
    """An error as a line, and as a document where documents were asked for and stdout still takes them."""
    try:
        if json:
            console.emit({"error": message, "exit_code": code})
        sys.stdout.flush()
    except OSError:
        _drop_stdout()
    console.error(message)
    return code


def _drop_stdout() -> None:
    """What stdout still holds cannot be written; nothing tries again on the way out."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
