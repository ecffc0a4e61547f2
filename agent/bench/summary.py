"""The document of a bench and its table: by level, and what did not pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from ..units import amount
from .problems import Problem
from .task import FAILED, Record, Wanted

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from ..document import Json

VERDICTS = ("verified", "verified-in-part", "specialised", "unverified", "refused", FAILED)
HEADS = (
    "level",
    "of",
    "verified",
    "in part",
    "special",
    "unverified",
    "refused",
    "failed",
    "median",
    "total",
    "memory",
)


def problem_document(problem: Problem, record: Record) -> Record:
    head: Record = {"name": problem.name, "level": problem.level, "id": problem.id}
    return {**head, **{key: value for key, value in record.items() if key != "exit_code"}}


def bench_document(
    results: Sequence[tuple[Problem, Record]], wanted: Wanted, facts: Mapping[str, Json], *, wall_s: float, missing: int
) -> Record:
    """`missing`: how many problems have no result, as the run was stopped."""
    from ..doctor import environment

    levels = list(dict.fromkeys(problem.level for problem, _ in results))
    by_level = {level: [record for problem, record in results if problem.level == level] for level in levels}
    asked: Record = {"translator": wanted.translator, "model": wanted.model, "mode": wanted.mode, "seed": wanted.seed}
    return {
        "environment": {**environment(), **asked, **facts},
        "problems": [problem_document(problem, record) for problem, record in results],
        "summary": {
            "complete": missing == 0,
            "missing": missing,
            "wall_seconds": round(wall_s, 3),
            "levels": {str(level): summary(records) for level, records in by_level.items()},
            "total": summary([record for _, record in results]),
        },
    }


def summary(records: Sequence[Mapping[str, Any]]) -> Record:
    counted = Counter(str(record["verdict"]) for record in records)
    spent = [_number((record["seconds"] or {}).get("total")) for record in records]
    worked = [_number(record.get("cpu_seconds")) for record in records]
    memory = [int(_number(record.get("peak_memory_bytes"))) for record in records]
    return {
        "problems": len(records),
        **{verdict: counted[verdict] for verdict in VERDICTS},
        "median_seconds": round(median(spent), 3) if spent else None,
        "total_seconds": round(sum(spent), 3),
        "median_cpu_seconds": round(median(worked), 3) if worked else None,
        "total_cpu_seconds": round(sum(worked), 3),
        "peak_memory_bytes": max(memory, default=0) or None,
    }


def _number(value: object) -> float:
    """0 for what is not known."""
    return float(value) if isinstance(value, int | float) else 0.0


def show(console: Console, made: Mapping[str, Any]) -> None:
    """The table, then a line for each problem that was not verified."""
    from rich.text import Text

    console.print(_table(made["summary"]))
    rest = [one for one in made["problems"] if one["verdict"] != "verified"]
    for one in rest:
        where = f"{one['level']}/{one['name']}"
        console.print(Text.assemble((where, "bold"), f"  {one['verdict']}: {_reason(one)}"), soft_wrap=True)
    if made["summary"]["missing"]:
        console.print(f"{made['summary']['missing']} problems have no result yet; the same command goes on")


def _reason(one: Mapping[str, Any]) -> str:
    """Why a problem is not verified, in a line."""
    if one["message"]:
        return str(one["message"])
    certificate = one["certificate"] or {"failures": [], "flags": [], "leaves": {}, "untested_decisions": 0}
    parts = [*certificate["failures"], *certificate["flags"]]
    parts += [f"result {path} {status}" for path, status in certificate["leaves"].items() if status != "verified"]
    if certificate["untested_decisions"]:
        parts.append(f"{certificate['untested_decisions']} decisions not tried")
    return "; ".join(" ".join(part.split()) for part in parts) or "see the certificate"


def _table(found: Mapping[str, Any]) -> RenderableType:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2), header_style="dim")
    for head in HEADS:
        table.add_column(head, justify="left" if head == "level" else "right", no_wrap=True)
    levels = found["levels"]
    for level, row in levels.items():
        table.add_row(level, *_cells(row))
    if len(levels) > 1:
        table.add_row("all", *_cells(found["total"]), style="bold")
    return table


def _cells(row: Mapping[str, Any]) -> list[str]:
    median_s, memory = row["median_seconds"], row["peak_memory_bytes"]
    return [
        str(row["problems"]),
        *(str(row[verdict]) for verdict in VERDICTS),
        "-" if median_s is None else f"{median_s:.2f} s",
        f"{row['total_seconds']:.0f} s",
        "-" if memory is None else amount(memory, "B"),
    ]
