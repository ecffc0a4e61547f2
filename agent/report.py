"""The report of one program for a terminal: the verdict, how hard it was tried, the bounds and what binds them."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from .findings import Analysis, Findings, line_count, nest_count
from .units import amount, seconds

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from ..verifier.certificate import Certificate, LeafRecord

COLOURS = {
    "verified": "bold green",
    "verified-in-part": "bold yellow",
    "specialised": "bold yellow",
    "unverified": "bold red",
    "refused": "bold red",
}
PLAIN_WIDTH = 110
COSTLIEST = 5
SHOWN = 4


def report(found: Findings) -> None:
    """Prints it. On a terminal as wide as that is and in colour, else plain."""
    import click
    from rich.console import Console

    live = sys.stdout.isatty()
    console = Console(highlight=False, markup=False, emoji=False, width=None if live else PLAIN_WIDTH)
    with console.capture() as captured:
        _parts(console, found)
    click.echo("\n".join(line.rstrip() for line in captured.get().rstrip().split("\n")))


def _parts(console: Console, found: Findings) -> None:
    _headline(console, found)
    if found.certificate is not None:
        _checks(console, found.certificate)
    if found.analysis is not None:
        _work(console, found.analysis)
        _devices(console, found.analysis)
        _statements(console, found.analysis)
        _assumptions(console, found.analysis)
    _notes(console, "warnings", found.warnings)
    for path in found.written:
        console.print(f"wrote {path}", soft_wrap=True)


def _headline(console: Console, found: Findings) -> None:
    from rich.text import Text

    verdict = found.verdict or "no verdict"
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
    rows += [("attempt", f"{one.number}: {one.kind}, {one.verdict}") for one in found.attempts[:-1]]
    _rows(console, rows)


def _text(found: Findings) -> str:
    parts = [f"{line_count(found.text or '')} lines"]
    if found.program is not None:
        nests = nest_count(found.program.body)
        parts.append(f"{nests} nest{'' if nests == 1 else 's'}")
    if found.text_path is not None:
        parts.append(str(found.text_path))
    return ", ".join(parts)


def _translator(found: Findings) -> str:
    info = found.translator
    if info is None:
        return ""
    parts = [info.name if info.model is None else f"{info.name} {info.model}"]
    if not found.from_cache:
        parts.append(f"{info.attempts} attempt{'' if info.attempts == 1 else 's'}")
        if info.usage.input_tokens or info.usage.output_tokens:
            parts.append(f"{info.usage.input_tokens:,} tokens in, {info.usage.output_tokens:,} out")
    if info.cost_usd is not None:
        parts.append(f"${info.cost_usd:.4f}")
    if info.why:
        parts.append(info.why)
    return ", ".join(parts)


def _checks(console: Console, certificate: Certificate) -> None:
    """How the verdict came about: sizes, trials, distributions, errors, and what was not tried."""
    counts = Counter(trial.precision for trial in certificate.trials)
    # Results of one element are judged together, so a trial on its own does not know that it tells.
    leaves = max((leaf.informative_trials for leaf in certificate.leaves), default=0)
    telling = max(leaves, sum(trial.informative for trial in certificate.trials))
    kinds = ", ".join(f"{count} {precision}" for precision, count in sorted(counts.items(), reverse=True))
    told = f"{len(certificate.trials)} ({kinds}), {telling} of them could tell right from wrong" if kinds else "none"
    rows = [("trials", told)]
    if certificate.trials:
        rows.append(("inputs", ", ".join(certificate.distributions)))
        rows += [("size", size.label) for size in certificate.sizes]
    rows += [("output", _leaf(leaf)) for leaf in certificate.leaves]
    listed = [
        ("not tried", certificate.untested_decisions if certificate.verdict != "unverified" else ()),
        ("assumed", (*certificate.assumed_ranges, *certificate.assumed_facts)),
        ("no effect", certificate.dead),
        ("unused", certificate.unused_state),
    ]
    rows += [(name, _some(values)) for name, values in listed if values]
    _rows(console, rows)
    for failure in certificate.failures:
        known = failure.statement is None or failure.message.startswith(f"line {failure.statement}")
        where = "" if known else f"line {failure.statement}: "
        console.print(f"  {failure.kind}: {where}{failure.message}", style="red")


def _some(values: Sequence[str]) -> str:
    """The first few; the certificate has them all."""
    more = len(values) - SHOWN
    return "; ".join(values[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def _leaf(leaf: LeafRecord) -> str:
    kind = "" if leaf.kind == "result" else f"{leaf.kind} "
    name = f"{leaf.path} " if leaf.path else ""
    shape = "" if leaf.shape is None else f"[{', '.join(map(str, leaf.shape))}]"
    error = f"error {leaf.error:.0e} (allowed {leaf.tolerance:.0e})" if leaf.tolerance else "equal"
    return (
        f"{kind}{name}{leaf.dtype}{shape}: {leaf.status}, {error}, {leaf.compared:.0%} compared, "
        f"{leaf.informative_trials} trials"
    )


def _work(console: Console, analysis: Analysis) -> None:
    counts = analysis.counts
    macs, unguarded = amount(counts.macs), amount(counts.macs_nominal)
    nominal = f" ({unguarded} without guards)" if unguarded != macs else ""
    own = "" if all(one.precision.startswith("as written") for one in analysis.bounds.values()) else " in its own types"
    rows = [
        (
            "work",
            f"{macs} multiply-adds{nominal}, {amount(counts.vector_ops)} vector, "
            f"{amount(counts.special_ops)} special operations",
        ),
        (
            "traffic",
            f"{amount(counts.fused_bytes, 'B')} at least{own}: inputs {amount(counts.input_bytes, 'B')}, weights "
            f"{amount(counts.weight_bytes, 'B')}, outputs {amount(counts.output_bytes, 'B')}; "
            f"{amount(counts.unfused_bytes, 'B')} operation by operation",
        ),
    ]
    _rows(console, rows)


def _devices(console: Console, analysis: Analysis) -> None:
    if not analysis.bounds:
        return
    table = _table("device", "precision", ">fused", "bound by", ">unfused")
    for name, bound in analysis.bounds.items():
        table.add_row(name, bound.precision, seconds(bound.fused_s), bound.binding, seconds(bound.unfused_s))
    console.print(table)


def _statements(console: Console, analysis: Analysis) -> None:
    """The lines of the text that cost most, each run on its own, on the first device."""
    device, bound = next(iter(analysis.bounds.items()), (None, None))
    if bound is None or not bound.per_statement:
        return
    costliest = sorted(bound.per_statement, key=lambda row: row.unfused_s, reverse=True)[:COSTLIEST]
    console.print(_title(f"costliest of {len(bound.per_statement)} statements on {device}, each on its own"))
    table = _table(">share", ">time", "bound by", "where", "~statement")
    for row in costliest:
        share = row.unfused_s / bound.unfused_s if bound.unfused_s else 0.0
        binding = "compute" if row.compute_s > row.memory_s else "DRAM"
        where = f"line {row.line}" + (f", {row.unit}" if row.unit else "")
        table.add_row(f"{share:.0%}", seconds(row.unfused_s), binding, where, " ".join(row.text.split()))
    console.print(table)


def _assumptions(console: Console, analysis: Analysis) -> None:
    """Each line once, with the devices it holds for when it does not hold for all of them."""
    held: dict[str, list[str]] = {}
    for name, bound in analysis.bounds.items():
        for line in (*bound.assumptions, *bound.notes):
            held.setdefault(line, []).append(name)
    every = len(analysis.bounds)
    lines = [line if len(names) == every else f"{', '.join(names)}: {line}" for line, names in held.items()]
    _notes(console, "assumptions", (*analysis.counts.notes, *lines))


def _notes(console: Console, title: str, lines: Sequence[str]) -> None:
    if lines:
        console.print(_title(title))
        _rows(console, [("", line) for line in dict.fromkeys(lines)], min_width=0)


def _title(text: str) -> Text:
    from rich.text import Text

    return Text(text, "bold")


def _rows(console: Console, rows: Sequence[tuple[str, str]], min_width: int = 12) -> None:
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", min_width=min_width)
    grid.add_column(overflow="fold")
    for name, value in rows:
        grid.add_row(f"  {name}", value)
    console.print(grid)


def _table(*heads: str) -> Table:
    """`>` before a head: a column aligned to the right; `~`: one that takes the width that is left."""
    from rich.table import Table

    cut = any(head.startswith("~") for head in heads)
    table = Table(box=None, padding=(0, 2), header_style="dim", expand=cut)
    for head in heads:
        justify: Literal["left", "right"] = "right" if head.startswith(">") else "left"
        table.add_column(head.lstrip(">~"), justify=justify, no_wrap=True, ratio=1 if head.startswith("~") else None)
    return table
