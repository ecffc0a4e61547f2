"""`bench` on small problems laid out like KernelBench: the document, what a bad problem does, stopping and going on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from solar_agent.agent.bench import command, pool, problems
from solar_agent.agent.bench.journal import Journal, result_key
from solar_agent.agent.bench.problems import Problem
from solar_agent.agent.bench.summary import bench_document, show, summary
from solar_agent.agent.bench.task import Record, Wanted, failed
from solar_agent.agent.faults import UsageFault
from solar_agent.agent.translators.builtin import rules_version

from .test_cli import Said
from .test_cli_programs import BOUNDS, COUNTS

HERE = Path(__file__).parent
PROGRAM = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        {body}


def get_inputs():
    return [torch.rand(12)]


def get_init_inputs():
    return []
"""
BODIES = {
    "level1/1_double": "return 2 * x",
    "level1/2_triple": "return 3 * x",
    "level1/3_sorted": "return torch.sort(x)[0]",
    "level1/4_crash": "import os; os.abort()",
    "level1/5_broken": "return x",
    "level2/6_waiting": "return x",
    "level2/7_greedy": "return x",
    "level2/1_fill": "return x + x",
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name, body in BODIES.items():
        file = tmp_path / "checkout" / "KernelBench" / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(PROGRAM.format(body=body))
    (tmp_path / "checkout" / "KernelBench" / "level1" / "notes.txt").write_text("no problem")
    return tmp_path / "checkout"


@pytest.fixture
def fake_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bench's processes get the rules of bench_fake.py."""
    monkeypatch.syspath_prepend(str(HERE))
    monkeypatch.setattr(pool, "open_pool", partial(pool.open_pool, module="bench_fake"))


def descendants() -> set[int]:
    """All processes below this one, whatever session they are in."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if words[0] != "Z":
            parents[int(stat.parent.name)] = int(words[1])
    found = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {os.getpid()}


@pytest.fixture
def no_process_left() -> Iterator[None]:
    before = descendants()
    yield
    deadline = time.monotonic() + 20
    while descendants() - before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert descendants() - before == set()


def by_name(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in document["problems"]}


@pytest.mark.usefixtures("fake_rules", "no_process_left")
def test_one_bad_problem_never_stops_the_others(
    checkout: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out, texts = tmp_path / "out.json", tmp_path / "texts"
    options = ["--root", checkout, "--level", "1,2", "--jobs", "2", "--budget", "15", "--arch", "H100_PCIe,B200"]
    said = Said(capsys, "bench", "kernelbench", *options, "--out", out, "--texts", texts, "--json")
    assert said.code == 0
    assert said.document == json.loads(out.read_text())
    found = json.loads(said.out)
    assert list(found) == ["environment", "problems", "summary"]
    assert (found["environment"]["translator"], found["environment"]["jobs"]) == ("builtin", 2)
    assert [(one["level"], one["id"], one["name"]) for one in found["problems"]] == [
        *((1, number, f"{number}_{name}") for number, name in enumerate(("double", "triple", "sorted"), start=1)),
        *((1, 4, "4_crash"), (1, 5, "5_broken"), (2, 1, "1_fill"), (2, 6, "6_waiting"), (2, 7, "7_greedy")),
    ]
    told = by_name(found)
    verdicts = {name: one["verdict"] for name, one in told.items()}
    assert verdicts == {
        "1_double": "verified",
        "2_triple": "unverified",
        "3_sorted": "refused",
        "4_crash": "failed",
        "5_broken": "failed",
        "1_fill": "verified",
        "6_waiting": "failed",
        "7_greedy": "failed",
    }
    good = told["1_double"]
    assert list(good["counts"]) == COUNTS and good["counts"]["fused_bytes"] == 2 * 4 * 12
    assert list(good["bounds"]) == ["H100_PCIe", "B200"] and list(good["bounds"]["B200"]) == BOUNDS
    assert set(good["seconds"]) == {"load", "translate", "verify", "analyse", "total"}
    assert good["seconds"]["total"] >= good["seconds"]["verify"] > 0
    assert good["peak_memory_bytes"] > 50e6 and good["cpu_seconds"] > 0
    assert (good["attempts"], good["message"], good["certificate"]["leaves"]) == (1, None, {"": "verified"})
    assert told["3_sorted"]["message"] == "3_sorted.py:5: aten.sort.default: no rule for this operator"
    assert told["2_triple"]["message"].startswith("the built-in translation did not pass: the result (f32[")
    assert told["2_triple"]["certificate"]["failures"][0].startswith("compare: the result")
    assert told["4_crash"]["message"] == "the program crashed (SIGABRT) at 4_crash.py:6 (describing the program)"
    assert told["5_broken"]["message"].startswith("internal error: KeyError: 'a fault in the rules' at agent/bench_f")
    assert told["6_waiting"]["message"] == "not done within 15 s; allow more with --budget"
    assert told["7_greedy"]["message"] == "the translation or its check needs more memory than the limit"
    assert told["7_greedy"]["counts"] is None and told["7_greedy"]["bounds"] is None
    assert found["summary"]["complete"] is True
    assert list(found["summary"]["levels"]) == ["1", "2"]
    assert found["summary"]["total"]["verified"] == 2 and found["summary"]["levels"]["1"]["failed"] == 2
    assert sorted(path.name for path in texts.iterdir()) == [
        "L1_1_double.alir",
        "L1_2_triple.alir",
        "L2_1_fill.alir",
    ]
    assert "1/3_sorted  refused: 3_sorted.py:5: aten.sort.default" in said.err


def test_results_that_are_there_are_kept(
    checkout: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def run_all(waiting: list[Problem], *_: object, **__: object) -> Iterator[tuple[Problem, Record]]:
        for problem in reversed(waiting):
            asked.append(problem.name)
            yield problem, failed(f"run {len(asked)}", 1)

    monkeypatch.setattr(pool, "open_pool", lambda environment: nullcontext())
    monkeypatch.setattr(pool, "run_all", run_all)
    monkeypatch.setattr("solar_agent.agent.translators.builtin.rules_version", lambda: "fixed")
    options = ["--root", checkout / "KernelBench", "--level", "1", "--ids", "1,3", "--out", tmp_path / "out.json"]

    def messages(*more: str) -> list[str]:
        said = Said(capsys, "bench", "kernelbench", *options, "--quiet", "--json", *more)
        assert said.code == 0
        return [one["message"] for one in json.loads(said.out)["problems"]]

    assert messages() == ["run 2", "run 1"]
    assert asked == ["3_sorted", "1_double"]
    assert messages() == ["run 2", "run 1"] and len(asked) == 2
    journal = tmp_path / "out.jsonl"
    lines = [line for line in journal.read_text().splitlines() if line]
    journal.write_text(f"{lines[0]}\n{lines[1][:40]}")  # as if killed while it wrote the second
    assert messages() == ["run 3", "run 1"]
    assert messages("--mode", "train") == ["run 5", "run 4"]
    assert messages() == ["run 3", "run 1"]
    assert messages("--fresh") == ["run 7", "run 6"]
    (checkout / "KernelBench/level1/1_double.py").write_text("changed = True\n")
    assert messages() == ["run 8", "run 6"]


@pytest.mark.usefixtures("no_process_left")
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_bench_leaves_what_it_had(sign: int, checkout: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    body = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "  # ignored in background jobs
        "from functools import partial; from solar_agent.agent.bench import pool; "
        "from solar_agent.agent.cli import run; "
        "pool.open_pool = partial(pool.open_pool, module='bench_fake'); sys.exit(run(sys.argv[1:]))"
    )
    options = ["bench", "kernelbench", "--root", str(checkout), "--level", "2", "--out", str(out), "--jobs", "2"]
    settings = {**os.environ, "PYTHONPATH": str(HERE)}
    command_ = [sys.executable, "-c", body, *options]
    with subprocess.Popen(command_, env=settings, stderr=subprocess.PIPE, text=True, stdout=subprocess.PIPE) as run:
        assert run.stderr is not None and run.stdout is not None
        seen = [run.stderr.readline(), run.stderr.readline()]
        assert sorted(line.split(":")[0] for line in seen) == ["2/1_fill", "2/7_greedy"]
        run.send_signal(sign)
        assert run.wait(120) == (130 if sign == signal.SIGINT else -9)
        rest = run.stderr.read()
    assert sum(bool(line) for line in Path(f"{out}l").read_text().splitlines()) == 2
    if sign == signal.SIGINT:
        assert rest == "error: interrupted; run the same command again, it goes on where it was\n"
        document = json.loads(out.read_text())
        assert [one["name"] for one in document["problems"]] == ["1_fill", "7_greedy"]
        assert (document["summary"]["complete"], document["summary"]["missing"]) == (False, 1)


def test_programs_of_a_folder(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """With the real rules."""
    root = tmp_path / "programs"
    (root / "inner").mkdir(parents=True)
    (root / "inner" / "double.py").write_text(PROGRAM.format(body="return 2 * x"))
    (root / "wrong.py").write_text("X = 3\n")
    (root / "_helper.py").write_text("Y = 4\n")
    said = Said(capsys, "bench", "programs", "--root", root, "--out", tmp_path / "o.json", "--json", "--quiet")
    assert (said.code, said.err) == (0, "")
    told = [(one["level"], one["name"], one["verdict"]) for one in json.loads(said.out)["problems"]]
    assert told == [("inner", "double", "verified"), (".", "wrong", "failed")]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["kernelbench"], 2, "error: Missing option '--root'; see `solar-agent bench kernelbench --help`"),
        (["kernelbench", "--root", "."], 2, "error: . has no folder KernelBench/level1; give a checkout"),
        (["kernelbench", "--root", "X", "--level", "9"], 2, "error: there is no level 9 in X/KernelBench; it has 1, 2"),
        (["kernelbench", "--root", "X", "--level", "1", "--ids", "one"], 2, "error: --ids 'one' is no list of numbers"),
        (
            ["kernelbench", "--root", "X", "--level", "1", "--ids", "99"],
            2,
            "error: no problem of X/KernelBench is chos",
        ),
        (["programs", "--root", "empty"], 2, "error: empty has no Python file; give a folder of programs"),
        (["kernelbench", "--root", "X", "--level", "1", "--translator", "manual"], 2, "error: a bench cannot wait"),
        (["kernelbench", "--root", "X", "--level", "1", "--translator", "x"], 2, "error: --translator 'x' is unknown"),
        (["kernelbench", "--root", "X", "--level", "1", "--translator", "openai"], 30, "error: openai: no key: OPENAI"),
        (["kernelbench", "--root", "X", "--level", "1", "--arch", "X"], 2, "error: unknown device 'X'; there are"),
    ],
)
def test_wrong_usage(
    arguments: list[str],
    code: int,
    message: str,
    checkout: Path,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "here" / "empty").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    Path("X").symlink_to(checkout)
    said = Said(capsys, "bench", *arguments)
    assert (said.code, said.err[: len(message)], said.err.count("\n")) == (code, message, 1)


def test_lists_of_numbers() -> None:
    assert problems.numbers("1, 3,7-9,8", "--ids") == (1, 3, 7, 8, 9)
    assert problems.numbers(None, "--ids") is None
    for wrong in ("", "3-", "-3", "1;2", "1" * 13):
        with pytest.raises(UsageFault, match="write it like 1,2,5-9"):
            problems.numbers(wrong, "--ids")


def test_what_a_result_hangs_on(tmp_path: Path) -> None:
    file = tmp_path / "1_a.py"
    file.write_text("X = 1\n")
    problem = Problem("1_a", 1, 1, file)
    base = Wanted(translator="builtin", archs=("B200",))
    changed = [
        Wanted(translator="builtin", archs=("H100_PCIe",)),
        Wanted(translator="builtin", archs=("B200",), mode="train"),
        Wanted(translator="auto", archs=("B200",)),
        Wanted(translator="builtin", archs=("B200",), budget_s=1.0),
    ]
    keys = {result_key(problem, wanted) for wanted in (base, *changed)}
    assert result_key(problem, Wanted(translator="builtin", archs=("B200",), texts="anywhere")) in keys
    file.write_text("X = 2\n")
    keys.add(result_key(problem, base))
    assert len(keys) == 6


def test_results_of_other_rules_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "1_a.py"
    file.write_text("X = 1\n")
    before = result_key(Problem("1_a", 1, 1, file), Wanted(translator="builtin"))
    assert len(rules_version()) == 16
    monkeypatch.setattr("solar_agent.agent.translators.builtin.rules_version", lambda: "newer")
    assert result_key(Problem("1_a", 1, 1, file), Wanted(translator="builtin")) != before


def test_a_journal_survives_foreign_lines(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "results.jsonl"
    journal = Journal(path, fresh=False)
    journal.put("k", failed("first", 1))
    journal.put("k", failed("second", 1))
    journal.close()
    with path.open("ab") as stream:
        stream.write(b"[" * 100_000 + b'\n{"key": "z", "record": {"verdict": "great", "seconds": null}}\n')
        stream.write(
            b'{"key": "z", "record": {}}\n{"key": "z", "record": {"verdict": "verified", "seconds": {"load": "1"}}}\n'
        )
        stream.write(b'[1]\n{"key": "z"}\n\xff\n{"key": "y", "record": {"verdict"')
    again = Journal(path, fresh=False)
    assert (again.get("k") or {})["message"] == "second"
    assert again.get("z") is None and again.get("y") is None
    again.put("y", failed("whole", 1))
    again.close()
    with closing(Journal(path, fresh=False)) as third:
        assert (third.get("y") or {})["message"] == "whole"
    with closing(Journal(path, fresh=True)) as emptied:
        assert emptied.get("k") is None
    with pytest.raises(UsageFault, match="choose another --out"):
        Journal(tmp_path / "deep" / "results.jsonl" / "inside", fresh=True)


def test_summary_of_some_records() -> None:
    def record(verdict: str, total: float, memory: int) -> Record:
        return {**failed("", 1), "verdict": verdict, "seconds": {"total": total}, "peak_memory_bytes": memory}

    found = summary([record("verified", 1.0, 5), record("refused", 3.0, 9), failed("no seconds", 1)])
    assert (found["problems"], found["verified"], found["refused"], found["failed"]) == (3, 1, 1, 1)
    assert (found["median_seconds"], found["total_seconds"], found["peak_memory_bytes"]) == (1.0, 4.0, 9)
    assert summary([])["median_seconds"] is None


def test_the_table_says_why_something_was_not_verified(capsys: pytest.CaptureFixture[str]) -> None:
    partly = {"flags": ["input-independent"], "leaves": {"a": "verified", "b": "constant"}, "failures": []}
    record: Record = {**failed("", 0), "verdict": "verified-in-part", "message": None}
    record["certificate"] = {**partly, "untested_decisions": 2}
    results = [
        (Problem("1_a", 1, 1, Path("1_a.py")), record),
        (Problem("2_b", 1, 2, Path("2_b.py")), failed("a crash\nat line 3", 1)),
        (Problem("3_c", 2, 3, Path("3_c.py")), {**record, "verdict": "verified", "peak_memory_bytes": 3_000_000}),
    ]
    made = bench_document(results, Wanted(translator="builtin"), {}, wall_s=1.0, missing=1)
    show(Console(width=200, highlight=False, markup=False), made)
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        "level of verified in part special unverified refused failed median total memory",
        "1 2 0 1 0 0 0 1 0.00 s 0 s -",
        "2 1 1 0 0 0 0 0 0.00 s 0 s 3 MB",
        "all 3 1 1 0 0 0 1 0.00 s 0 s 3 MB",
        "1/1_a verified-in-part: input-independent; result b constant; 2 decisions not tried",
        "1/2_b failed: a crash at line 3",
        "1 problems have no result yet; the same command goes on",
    ]


def test_the_commit_of_a_checkout(tmp_path: Path) -> None:
    read: Callable[[Path], object] = command.commit
    assert read(tmp_path) == {}
    git = tmp_path / ".git"
    (git / "refs/heads").mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "refs/heads/main").write_text("1234\n")
    assert read(tmp_path) == {"commit": "1234"}


def test_names_of_problems_may_have_dashes(tmp_path: Path) -> None:
    folder = tmp_path / "KernelBench" / "level1"
    folder.mkdir(parents=True)
    for name in ("2_plain.py", "10_with-dash-1p5b.py", "notes.py"):
        (folder / name).write_text("")
    assert [problem.id for problem in problems.kernelbench(tmp_path, (1,), None)] == [2, 10]
