"""`bench`: the whole job on many programs, as a table and one document."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from .. import console
from ..exitcodes import Exit
from ..faults import UsageFault
from ..options import AboveZero, Command, DeviceChoice, Output, Seed, device_options, output_options, packed
from ..state import Provider

if TYPE_CHECKING:
    from ..document import Json
    from .journal import Journal
    from .problems import Problem
    from .task import Record, Wanted

INTERRUPTED = 130
BUDGET_S = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchChoice:
    """`budget` is wall time for each program, `time_limit` for one run of it, in seconds."""

    translator: str
    provider: Provider | None
    base_url: str | None
    model: str | None
    mode: Literal["eval", "train"]
    trials: int | None
    seed: int
    jobs: int | None
    budget: float
    time_limit: float | None
    out: Path | None
    texts: Path | None
    resume: bool


def bench_options(command: Command) -> Command:
    options = [
        click.option(
            "--translator",
            default="builtin",
            show_default=True,
            metavar="T",
            help="builtin, auto, openai, anthropic, or replay:DIR.",
        ),
        click.option("--provider", type=click.Choice(["openai", "anthropic"]), help="Which one, for auto or replay."),
        click.option("--base-url", metavar="URL", help="A server that speaks the provider's protocol."),
        click.option("--model", metavar="NAME", help="Model that translates."),
        click.option(
            "--mode",
            type=click.Choice(["eval", "train"]),
            default="eval",
            show_default=True,
            help="eval, or train: the mode that the constructor leaves.",
        ),
        click.option("--trials", type=click.IntRange(min=1), metavar="N", help="Comparisons with the original."),
        click.option(
            "--seed", type=Seed(), default=0, show_default=True, metavar="N", help="Seed of weights and inputs."
        ),
        click.option(
            "--jobs", type=click.IntRange(1, 256), metavar="N", help="Programs at once; one per processor by default."
        ),
        click.option(
            "--budget",
            type=AboveZero(),
            default=BUDGET_S,
            show_default=True,
            metavar="SECONDS",
            help="Wall time for each program.",
        ),
        click.option(
            "--time-limit", type=AboveZero(), metavar="SECONDS", help="Longest time for one run of a program."
        ),
        click.option(
            "--out",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help="JSON document to write; FILE with an l at its end holds the results as they come.",
        ),
        click.option(
            "--texts",
            type=click.Path(path_type=Path, file_okay=False),
            metavar="DIR",
            help="Folder for the translations.",
        ),
        click.option("--resume/--fresh", default=True, show_default=True, help="Keep results that are there already."),
    ]
    return packed(BenchChoice, "choice", list(options))(command)


@click.group(no_args_is_help=False)
def bench() -> None:
    """Run many programs through the whole job.

    Each program has processes of its own; one that crashes, hangs or eats memory is a result like any other. The exit
    code is 0 when all have one, whatever it is.
    """


@bench.command("kernelbench")
@click.option(
    "--root", type=click.Path(path_type=Path), metavar="DIR", required=True, help="A checkout of KernelBench."
)
@click.option("--level", "levels", default="1,2,3", show_default=True, metavar="N,…", help="Levels to run.")
@click.option("--ids", metavar="N,…", help="Numbers of the problems in a level, as in 1,2,7-9; all by default.")
@device_options
@bench_options
@output_options
def kernelbench(
    root: Path, levels: str, ids: str | None, device: DeviceChoice, choice: BenchChoice, output: Output
) -> int:
    """Run the problems of a KernelBench checkout."""
    from . import problems

    wanted = problems.numbers(levels, "--level") or ()
    return _bench(problems.kernelbench(root, wanted, problems.numbers(ids, "--ids")), root, device, choice, output)


@bench.command("programs")
@click.option(
    "--root",
    type=click.Path(path_type=Path),
    metavar="DIR",
    required=True,
    help="A folder of program files, or a file.",
)
@device_options
@bench_options
@output_options
def programs(root: Path, device: DeviceChoice, choice: BenchChoice, output: Output) -> int:
    """Run all program files in a folder and in those below it."""
    from . import problems

    return _bench(problems.programs(root), root, device, choice, output)


def _bench(problems: tuple[Problem, ...], root: Path, device: DeviceChoice, choice: BenchChoice, output: Output) -> int:
    from .journal import Journal
    from .summary import bench_document

    began_s = time.monotonic()
    wanted = _wanted(device, choice)
    jobs = choice.jobs or len(os.sched_getaffinity(0))
    journal = Journal(_journal_path(choice.out, root), fresh=not choice.resume)
    run = _Run(problems, wanted, journal)
    interrupted = False
    with closing(journal), _shown(run, quiet=output.quiet) as show:
        try:
            run.all(jobs, show)
        except KeyboardInterrupt:
            interrupted = True
    facts: dict[str, Json] = {"root": str(root), "jobs": jobs, "archs": list(wanted.archs), **commit(root)}
    spent_s = time.monotonic() - began_s
    made = bench_document(run.results, wanted, facts, wall_s=spent_s, missing=len(problems) - len(run.results))
    _told(made, choice.out, output)
    if interrupted:
        console.error("interrupted; run the same command again, it goes on where it was")
        return INTERRUPTED
    return Exit.VERIFIED


@dataclass(slots=True)
class _Run:
    problems: tuple[Problem, ...]
    wanted: Wanted
    journal: Journal
    known: dict[str, Record] = field(default_factory=dict)

    @property
    def results(self) -> list[tuple[Problem, Record]]:
        """In the order of the problems, whatever order they were done in."""
        return [(problem, self.known[problem.label]) for problem in self.problems if problem.label in self.known]

    def all(self, jobs: int, show: Callable[[Problem, Record], None]) -> None:
        from .journal import result_key
        from .pool import open_pool, run_all

        keys = {problem.label: result_key(problem, self.wanted) for problem in self.problems}
        for problem in self.problems:
            if (record := self.journal.get(keys[problem.label])) is not None:
                self._keep(problem, record, show)
        rest = [problem for problem in self.problems if problem.label not in self.known]
        if not rest:
            return
        with ExitStack() as stack:
            scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="solar-agent-bench-"))
            own = {"SOLAR_AGENT_CACHE": scratch} if self.wanted.translator == "builtin" else {}
            zygote = stack.enter_context(open_pool(os.environ))
            done = run_all(rest, self.wanted, zygote, jobs=jobs, environment=own)
            for problem, record in stack.enter_context(closing(done)):
                self.journal.put(keys[problem.label], record)
                self._keep(problem, record, show)

    def _keep(self, problem: Problem, record: Record, show: Callable[[Problem, Record], None]) -> None:
        self.known[problem.label] = record
        show(problem, record)


def _wanted(device: DeviceChoice, choice: BenchChoice) -> Wanted:
    """Raises whatever makes all programs fail alike: unknown devices, no key."""
    from .. import stages
    from ..translators.choose import chosen, live
    from .task import Wanted

    stages.devices(device)
    if choice.translator == "manual":
        raise UsageFault("a bench cannot wait for answers by hand; choose another --translator")
    stages.check_translator(choice.translator)
    archs = tuple(dict.fromkeys(name.strip() for name in device.arch.split(",") if name.strip()))
    if choice.texts is not None:
        choice.texts.mkdir(parents=True, exist_ok=True)
    wanted = Wanted(
        translator=choice.translator,
        provider=choice.provider,
        base_url=choice.base_url,
        model=choice.model,
        mode=choice.mode,
        archs=archs,
        precision=device.precision,
        trials=choice.trials,
        seed=choice.seed,
        time_limit_s=choice.time_limit,
        budget_s=choice.budget,
        texts=str(choice.texts.absolute()) if choice.texts is not None else None,
    )
    options = wanted.options(None)
    taken = chosen(options, os.environ)
    if taken.kind == "builtin":
        return replace(wanted, translator="builtin", provider=None)
    if taken.kind in ("openai", "anthropic") and taken.provider is not None:
        live(taken.provider, options, taken.why).close()
    return wanted


def _journal_path(out: Path | None, root: Path) -> Path:
    if out is not None:
        return out.with_name(f"{out.name}l")
    import hashlib

    from ..places import cache_dir, private

    return private(cache_dir() / "bench") / f"{hashlib.sha256(str(root.resolve()).encode()).hexdigest()[:16]}.jsonl"


def commit(root: Path) -> Mapping[str, Json]:
    """Of the checkout, where git's own files tell it."""
    git = root / ".git"
    try:
        head = (git / "HEAD").read_text(encoding="utf-8").strip()
        if head.startswith("ref: "):
            head = (git / head.removeprefix("ref: ")).read_text(encoding="utf-8").strip()
    except OSError:
        return {}
    return {"commit": head}


@contextmanager
def _shown(run: _Run, *, quiet: bool) -> Iterator[Callable[[Problem, Record], None]]:
    """On a terminal a bar with the counts, elsewhere a line per program; on stderr."""
    if quiet or not sys.stderr.isatty():
        yield (lambda problem, record: None) if quiet else _line
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, TextColumn("{task.description}"), console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("", total=len(run.problems))

        def show(problem: Problem, record: Record) -> None:
            verified = sum(one["verdict"] == "verified" for one in run.known.values())
            text = f"{verified} verified; {problem.label}: {record['verdict']}"
            progress.update(bar, advance=1, description=text.replace("[", "\\["))

        yield show


def _line(problem: Problem, record: Record) -> None:
    seconds = record.get("seconds")
    spent = f" ({seconds['total']:.1f} s)" if isinstance(seconds, dict) else ""
    reason = f": {record['message']}" if record.get("message") else ""
    click.echo(f"{problem.label}: {record['verdict']}{spent}{reason}", err=True)


def _told(made: Record, out: Path | None, output: Output) -> None:
    """The document goes to stdout when asked for, the table to stdout otherwise."""
    from rich.console import Console

    from ..document import dumps
    from .summary import show

    if out is not None:
        from ..stages import write_files

        write_files(out.absolute().parent, {out.name: dumps(made) + "\n"})
    if output.json:
        console.emit(made)
    if output.json and output.quiet:
        return
    stream = sys.stderr if output.json else sys.stdout
    wide = None if stream.isatty() else 200
    shown = Console(file=stream, highlight=False, markup=False, emoji=False, width=wide)
    show(shown, made)
