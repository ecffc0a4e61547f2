"""Multiply-adds of KernelBench problems beside what other counters say, and why they differ.

    solar-agent bench kernelbench --root DIR --translator builtin --json --quiet > BENCH.json
    python benchmarks/counters/compare.py --root DIR --ours BENCH.json [--level 1,2,3] [--ids 1,5-9] [--jobs N]
        [--out JSON] [--answers JSONL] [--write]

The problems' code is run, without a sandbox, on the meta device (no tensor has memory). Each counter has a process of
its own for each problem. `--answers` keeps what the counters said, so that a run that was stopped goes on where it was.
Exit code 1 when a disagreement stays unexplained or an oracle is missed without a reason."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
if str(HERE) not in sys.path:
    sys.path.insert(0, str(HERE))

from accounts import Account, Cost, Layer  # noqa: E402
from explain import REASONS, Gap, gap, nominal, padding, unneeded  # noqa: E402
from forked import Job, run_all  # noqa: E402
from solar_agent.agent.bench import problems as bench  # noqa: E402
from sums import value  # noqa: E402

ROWS = HERE / "disagreements.json"
STRUCTURE = HERE / "structure.json"
ORACLES = HERE / "oracles.json"
COUNTERS = ("torch", "fvcore", "ptflops", "ptflops-aten", "SOLAR")
COUNTED = ("macs", "macs_nominal", "fused_bytes")
RECORDING = "recording"
Answers = dict[tuple[str, str], dict[str, Any]]


def key(level: object, number: object) -> str:
    return f"L{level}_{number}"


def ours_of(document: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Counts of each problem of a bench document that has any."""
    return {key(one["level"], one["id"]): one["counts"] for one in document["problems"] if one.get("counts")}


def asked(problems: tuple[bench.Problem, ...], answers: Answers, chosen: argparse.Namespace) -> None:
    """What each counter says of each problem is put beside what is known already."""
    import tools

    tools.prepare()
    work = {**tools.COUNTERS, RECORDING: tools.recorded}
    todo = [
        Job((key(problem.level, problem.id), name), partial(run, problem.file))
        for problem in problems
        for name, run in work.items()
        if (key(problem.level, problem.id), name) not in answers
    ]
    with open(chosen.answers or os.devnull, "a", encoding="utf-8") as kept:
        for done, (job, answer) in enumerate(run_all(todo, chosen.jobs, chosen.limit, chosen.memory << 30), 1):
            answers[job.label] = answer
            print(json.dumps([job.label, answer]), file=kept, flush=True)
            if answer.get("fails", "not installed") != "not installed":
                print(f"{done}/{len(todo)} {' '.join(job.label)} {answer['fails']}", file=sys.stderr)


def read_answers(path: Path | None) -> Answers:
    if path is None or not path.is_file():
        return {}
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
    return {(problem, counter): answer for (problem, counter), answer in lines}


def account_of(answer: Mapping[str, Any]) -> Account:
    return Account(tuple(Cost(**one) for one in answer["costs"]), tuple(Layer(**one) for one in answer["layers"]))


def coverage(names: list[str], answers: Answers, ours: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """By counter and level: how many it runs on, and how many of its numbers equal ours."""
    rows = []
    for counter in COUNTERS:
        for level in dict.fromkeys(name.partition("_")[0] for name in names):
            here = [name for name in names if name.startswith(f"{level}_")]
            said = {name: answers.get((name, counter), {"fails": "not asked"}) for name in here}
            runs = [name for name in here if "fails" not in said[name]]
            known = [name for name in runs if name in ours]
            rows.append(
                {
                    "counter": counter,
                    "level": level,
                    "problems": len(here),
                    "runs": len(runs),
                    "with_ours": len(known),
                    "equal_nominal": sum(said[name]["macs"] == ours[name]["macs_nominal"] for name in known),
                    "equal_exact": sum(said[name]["macs"] == ours[name]["macs"] for name in known),
                    "fails": Counter(said[name]["fails"] for name in here if name not in runs),
                }
            )
    return rows


def disagreements(names: list[str], answers: Answers, ours: Mapping[str, Any]) -> dict[str, Any]:
    """Quantities of each problem, and a row for each counter whose number is not our exact one."""
    structure = json.loads(STRUCTURE.read_text(encoding="utf-8")) if STRUCTURE.is_file() else {}
    made: dict[str, Any] = {"problems": {}, "rows": []}
    for name in names:
        recorded = answers.get((name, RECORDING), {"fails": "not recorded"})
        if name not in ours or "fails" in recorded:
            continue
        account = account_of(recorded)
        inner = own_gap(account, ours[name], structure.get(name))
        quantities: dict[str, str] = {}
        rows = [
            row(name, counter, answers[name, counter], account, ours[name], inner, quantities)
            | {"right": structure.get(name, {}).get("right", "ours")}
            for counter in COUNTERS
            if "macs" in answers.get((name, counter), {}) and answers[name, counter]["macs"] != ours[name]["macs"]
        ]
        if rows:
            made["problems"][name] = {
                "exact": ours[name]["macs"],
                "nominal": ours[name]["macs_nominal"],
                "quantities": quantities,
            }
            made["rows"] += rows
    return made


def own_gap(account: Account, ours: Mapping[str, Any], structure: Mapping[str, Any] | None) -> Gap:
    """From our exact count to the operators' nominal one; `structure` is what shapes alone do not show."""
    made = Gap()
    made.add("padding", "padding", padding(account))
    made.add("unneeded", "unneeded", unneeded(account))
    if structure is not None:
        made.add("unneeded", structure["quantity"], structure["text"])
    left = nominal(account) - ours["macs"] - made.total()
    if left:
        made.add("unexplained", "unexplained_of_ours", str(abs(left)), 1 if left > 0 else -1)
    return made


def row(
    name: str,
    counter: str,
    answer: Mapping[str, Any],
    account: Account,
    ours: Mapping[str, Any],
    inner: Gap,
    quantities: dict[str, str],
) -> dict[str, Any]:
    """`sum`, over the exact count and the problem's quantities, is the counter's number."""
    words, reasons = ["exact"], []
    for sign, reason, quantity, text in (*inner.terms, *gap(counter, answer, account).terms):
        words += ["+" if sign > 0 else "-", named(quantities, quantity, text)]
        reasons.append(reason)
    return {
        "problem": name,
        "counter": counter,
        "theirs": answer["macs"],
        "ours": ours["macs"],
        "sum": " ".join(words),
        "reasons": list(dict.fromkeys(reasons)),
    }


def named(quantities: dict[str, str], name: str, text: str) -> str:
    number = 1
    while quantities.get(name if number == 1 else f"{name}_{number}", text) != text:
        number += 1
    name = name if number == 1 else f"{name}_{number}"
    quantities[name] = text
    return name


def missed_oracles(ours: Mapping[str, Mapping[str, int]], names: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Where our counts are not those of oracles.json. `known`: arithmetic with a reason closes the gap."""
    differences = json.loads((HERE.parent / "kernelbench" / "differences.json").read_text(encoding="utf-8"))
    elsewhere = {(one["problem"], one["quantity"], one["ours"]) for one in differences}
    for oracle in json.loads(ORACLES.read_text(encoding="utf-8")):
        name = oracle["problem"]
        if name not in names or name not in ours:
            continue
        for quantity, field in (("macs", "exact"), ("macs_nominal", "nominal"), ("fused_bytes", "compulsory_bytes")):
            found, more = ours[name][quantity], value(oracle.get("more", {}).get(field, "0"))
            if found != oracle[field]:
                known = found == oracle[field] + more or (name, quantity, found) in elsewhere
                one = {"problem": name, "quantity": quantity, "oracle": oracle[field], "ours": found, "known": known}
                yield {**one, "why": oracle["note"] or "benchmarks/kernelbench/differences.json"}


def environment(root: Path) -> dict[str, Any]:
    from solar_agent.agent.bench.command import commit

    found: dict[str, Any] = {}
    for name in ("torch", "fvcore", "ptflops", "transformers", "numpy"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return {**found, **commit(root)}


def show(made: Mapping[str, Any]) -> None:
    print(f"{'counter':14}{'level':>6}{'of':>5}{'runs':>6}{'ours':>6}{'=nominal':>10}{'=exact':>8}  fails")
    for one in made["coverage"]:
        fails = "; ".join(f"{times}x {why}" for why, times in one["fails"].items())
        numbers = f"{one['problems']:>5}{one['runs']:>6}{one['with_ours']:>6}{one['equal_nominal']:>10}"
        print(f"{one['counter']:14}{one['level']:>6}{numbers}{one['equal_exact']:>8}  {fails[:100]}")
    reasons = Counter((row["counter"], reason) for row in made["disagreements"]["rows"] for reason in row["reasons"])
    print(f"\n{len(made['disagreements']['rows'])} disagreements with our exact counts")
    for (counter, reason), times in sorted(reasons.items()):
        print(f"  {counter:14}{reason:14}{times:>5}")
    for one in made["disagreements"]["rows"]:
        if "unexplained" in one["reasons"]:
            print(f"unexplained: {one['problem']} {one['counter']}: {one['theirs']} = {one['sum']}")
    for one in made["oracles"]:
        known = ", known" if one["known"] else ""
        print(f"oracle: {one['problem']} {one['quantity']}: {one['oracle']}, ours {one['ours']}{known} ({one['why']})")
    print("bytes: none of the counters that ran gives any; ptflops gives the number of trainable parameters")


def compared(names: list[str], answers: Answers, ours: Mapping[str, Any], root: Path) -> dict[str, Any]:
    return {
        "environment": environment(root),
        "coverage": coverage(names, answers, ours),
        "without_ours": [name for name in names if name not in ours],
        "disagreements": disagreements(names, answers, ours),
        "oracles": list(missed_oracles(ours, names)),
        "answers": {f"{problem} {counter}": answer for (problem, counter), answer in answers.items()
                    if counter != RECORDING and problem in names},
    }  # fmt: skip


def written(kept: Mapping[str, Any]) -> str:
    """JSON with one line for each row and problem."""
    parts = []
    for name, part in kept.items():
        if isinstance(part, list):
            lines = ",\n".join(f"  {json.dumps(one)}" for one in part)
            parts.append(f' "{name}": [\n{lines}\n ]')
        else:
            lines = ",\n".join(f"  {json.dumps(inner)}: {json.dumps(one)}" for inner, one in part.items())
            parts.append(f' "{name}": {{\n{lines}\n }}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, required=True, help="a checkout of KernelBench")
    parser.add_argument("--ours", type=Path, required=True, help="document of solar-agent bench")
    parser.add_argument("--level", default="1,2,3")
    parser.add_argument("--ids")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=240.0, help="seconds for one counter on one problem")
    parser.add_argument("--memory", type=int, default=16, help="GiB of address space for each")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--answers", type=Path)
    parser.add_argument("--known", action="store_true", help="ask nothing: only what is in --answers")
    parser.add_argument("--write", action="store_true", help=f"write {ROWS.name}")
    return parser.parse_args()


def main() -> int:
    chosen = options()
    problems = bench.kernelbench(
        chosen.root, bench.numbers(chosen.level, "--level") or (), bench.numbers(chosen.ids, "--ids")
    )
    names = [key(problem.level, problem.id) for problem in problems]
    ours = ours_of(json.loads(chosen.ours.read_text(encoding="utf-8")))
    answers = read_answers(chosen.answers)
    if not chosen.known:
        asked(problems, answers, chosen)
    made = compared(names, answers, ours, chosen.root)
    show(made)
    if chosen.out is not None:
        chosen.out.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    if chosen.write:
        kept = {
            "environment": made["environment"],
            "reasons": REASONS,
            "coverage": made["coverage"],
            "ours": {name: {field: ours[name][field] for field in COUNTED} for name in names if name in ours},
            "oracles": made["oracles"],
            **made["disagreements"],
        }
        ROWS.write_text(written(kept), encoding="utf-8")
    unexplained = any("unexplained" in one["reasons"] for one in made["disagreements"]["rows"])
    return int(unexplained or any(not one["known"] for one in made["oracles"]))


if __name__ == "__main__":
    os.environ.update({"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"})
    sys.exit(main())
