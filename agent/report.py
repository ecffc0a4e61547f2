"""The report of one program for a terminal: the verdict, how hard it was tried, the bounds and what binds them."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING

from .findings import Analysis, Findings, line_count, nest_count
from .units import amount, seconds

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ..analysis.bounds import Bounds
    from ..verifier.certificate import Certificate

COLOURS = {
    "verified": "bold green",
    "verified-in-part": "bold yellow",
    "specialised": "bold yellow",
    "unverified": "bold red",
    "refused": "bold red",
}
PLAIN_WIDTH = 110
COSTLIEST = 5


def report(found: Findings) -> None:
    from rich.console import Console

    live = sys.stdout.isatty()
    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=False, width=None if live else PLAIN_WIDTH)
    _headline(console, found)
    if found.certificate is not None:
        _checks(console, found.certificate)
    if found.analysis is not None:
        _work(console, found.analysis)
        _devices(console, found.analysis)
        _statements(console, found)
        _assumptions(console, found.analysis)
    _notes(console, "warnings", found.warnings)
    for path in found.written:
        console.print(f"wrote {path}")


def _headline(console: Console, found: Findings) -> None:
    from rich.text import Text

    verdict = found.verdict or "not a program: a lifted graph"
    line = Text.assemble((found.file.name, "bold"), "  ", (verdict, COLOURS.get(verdict, "")))
    if found.certificate is not None and found.certificate.flags:
        line.append(f"  ({', '.join(found.certificate.flags)})")
    console.print(line)
    rows = []
    if found.description is not None:
        told = found.description
        rows.append(("program", f"{told.entry}, {told.framework} {told.framework_version}, {told.mode} mode"))
    if found.text is not None:
        rows.append(("text", _text(found)))
    if found.translator is not None:
        rows.append(("translator", _translator(found)))
    _rows(console, rows)


def _text(found: Findings) -> str:
    parts = [f"{line_count(found.text or '')} lines"]
    if found.analysis is not None and found.analysis.program is not None:
        parts.append(f"{nest_count(found.analysis.program.body)} nests")
    if found.text_path is not None:
        parts.append(str(found.text_path))
    return ", ".join(parts)


def _translator(found: Findings) -> str:
    info = found.translator
    if info is None:
        return ""
    parts = [info.name if info.model is None else f"{info.name} {info.model}"]
    if found.from_cache:
        parts.append("from the cache, checked again")
    else:
        parts.append(f"{info.attempts} attempt{'' if info.attempts == 1 else 's'}")
        parts.append(f"{info.usage.input_tokens:,} tokens in, {info.usage.output_tokens:,} out")
    if info.cost_usd is not None:
        parts.append(f"${info.cost_usd:.4f}")
    if info.why:
        parts.append(info.why)
    return ", ".join(parts)


def _checks(console: Console, certificate: Certificate) -> None:
    """How the verdict came about: sizes, trials, distributions, errors, and what was not tried."""
    counts = Counter(trial.precision for trial in certificate.trials)
    telling = sum(trial.informative for trial in certificate.trials)
    kinds = ", ".join(f"{count} {precision}" for precision, count in sorted(counts.items(), reverse=True))
    rows = [("trials", f"{len(certificate.trials)} ({kinds}), {telling} of them could tell right from wrong")]
    rows.append(("inputs", ", ".join(certificate.distributions)))
    rows.append(("sizes", "; ".join(size.label for size in certificate.sizes)))
    rows += [("output", _leaf(leaf)) for leaf in certificate.leaves]
    listed = [
        ("not tried", certificate.untested_decisions),
        ("assumed", certificate.assumed_ranges),
        ("no effect", certificate.dead),
        ("unused", certificate.unused_state),
    ]
    rows += [(name, "; ".join(values)) for name, values in listed if values]
    _rows(console, rows)
    for failure in certificate.failures:
        where = f"line {failure.statement}: " if failure.statement else ""
        console.print(f"  {failure.kind}: {where}{failure.message}", style="red")
