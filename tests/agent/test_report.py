"""The report of one program, from a text and bindings alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from solar_agent.agent.findings import Findings
from solar_agent.agent.report import report
from solar_agent.agent.stages import analysed
from solar_agent.agent.state import Attempt, TranslatorInfo, Usage
from solar_agent.agent.units import amount, seconds
from solar_agent.analysis.arch import load_arch
from solar_agent.ir.bindings import Bindings, TensorType
from solar_agent.verifier.certificate import Certificate, Failure, LeafRecord, SizeRecord, TrialRecord

TEXT = """program P
input x[B, K]
param w = "w"[K, N]
for b<B, n<N, k<K: y[b, n] += x[b, k] * w[k, n]
a = y + 1
b = a * 2
c = exp(b)
for b<B: s[b] = sum(n<N: c[b, n])
for b<B, n<N: z[b, n] = c[b, n] / s[b]
output z
"""
BINDINGS = Bindings(
    inputs={"x": TensorType((256, 1024), "f32")},
    state={"w": TensorType((1024, 4096), "f32")},
)
CERTIFICATE = Certificate(
    verdict="verified",
    flags=("stochastic",),
    entry="Model",
    mode="eval",
    source_sha256="0" * 64,
    ir_sha256="1" * 64,
    tool_version="0",
    versions={},
    sizes=(SizeRecord("B=1, K=5", {}, {}, True, ()), SizeRecord("B=3, K=7", {}, {}, False, ())),
    trials=(
        TrialRecord(0, 0, "normal", "promoted", True),
        TrialRecord(1, 1, "ties", "promoted", False),
        TrialRecord(0, 2, "uniform", "native", True),
    ),
    leaves=(LeafRecord("result", "heads.1", "f32", (256, 4096), "verified", 3e-16, 1e-9, 0.75, 2),),
    untested_decisions=("line 3: if N > 4",),
    unused_state=("s0", "s1", "s2", "s3", "s4", "s5", "s6"),
)


def lines_of(found: Findings, capsys: pytest.CaptureFixture[str]) -> list[str]:
    capsys.readouterr()
    report(found)
    out, err = capsys.readouterr()
    assert err == ""
    assert all(line == line.rstrip() for line in out.splitlines())
    return [line.strip() for line in out.splitlines()]


@pytest.fixture
def found() -> Findings:
    bare = Findings(
        file=Path("x.py"),
        verdict="verified",
        text=TEXT,
        bindings=BINDINGS,
        certificate=CERTIFICATE,
        warnings=("careful",),
    )
    return analysed(bare, [load_arch("H100_PCIe"), load_arch("A6000")], None)


def test_the_verdict_and_how_it_came_about(found: Findings, capsys: pytest.CaptureFixture[str]) -> None:
    shown = lines_of(found, capsys)
    assert shown[0] == "x.py  verified  (stochastic)"
    assert "text        10 lines, 6 nests" in shown
    assert "trials      3 (2 promoted, 1 native), 2 of them could tell right from wrong" in shown
    assert "inputs      normal, ties, uniform" in shown
    assert "size        B=1, K=5" in shown and "size        B=3, K=7" in shown
    assert "unused      s0; s1; s2; s3 and 3 more" in shown
    leaf = "heads.1 f32[256, 4096]: verified, error 3e-16 (allowed 1e-09), 75% compared, 2 trials"
    assert f"output      {leaf}" in shown
    assert "not tried   line 3: if N > 4" in shown
    assert shown[-2:] == ["warnings", "careful"]


def test_results_of_one_element_are_judged_together(found: Findings, capsys: pytest.CaptureFixture[str]) -> None:
    trials = tuple(TrialRecord(number, number, "normal", "promoted", False) for number in range(3))
    loss = LeafRecord("result", "", "f32", (), "verified", 0.0, 1e-9, 1.0, 3)
    shown = lines_of(replace(found, certificate=replace(CERTIFICATE, trials=trials, leaves=(loss,))), capsys)
    assert "trials      3 (3 promoted), 3 of them could tell right from wrong" in shown


def test_bounds_of_each_device(found: Findings, capsys: pytest.CaptureFixture[str]) -> None:
    shown = lines_of(found, capsys)
    assert found.analysis is not None
    for name, bound in found.analysis.bounds.items():
        row = next(line for line in shown if line.startswith(name))
        assert row.split("  ")[0] == name
        for part in (seconds(bound.fused_s), seconds(bound.unfused_s), bound.binding, bound.precision):
            assert part in row


def test_the_five_costliest_statements(found: Findings, capsys: pytest.CaptureFixture[str]) -> None:
    shown = lines_of(found, capsys)
    assert found.analysis is not None
    bound = found.analysis.bounds["H100_PCIe"]
    first = next(index for index, line in enumerate(shown) if line.startswith("costliest of"))
    assert shown[first] == f"costliest of {len(bound.per_statement)} statements on H100_PCIe, each on its own"
    rows = shown[first + 2 : shown.index("assumptions")]
    assert len(rows) == 5 < len(bound.per_statement)
    costs = sorted((row.unfused_s for row in bound.per_statement), reverse=True)
    assert [seconds(cost) in row for cost, row in zip(costs, rows, strict=False)] == [True] * 5
    # Every line of the text that is named is the one that stands beside it.
    for row in rows:
        number, _, statement = row.partition("line ")[2].partition("    ")
        assert statement.strip().rstrip("…") in TEXT.splitlines()[int(number) - 1]


def test_assumptions_stand_once(found: Findings, capsys: pytest.CaptureFixture[str]) -> None:
    assert found.analysis is not None
    h100, a6000 = found.analysis.bounds.values()
    shared, own = "all of them", "this one alone"
    bounds = {
        "H100_PCIe": replace(h100, assumptions=(shared,), notes=(own,)),
        "A6000": replace(a6000, assumptions=(shared,), notes=()),
    }
    shown = lines_of(replace(found, analysis=replace(found.analysis, bounds=bounds)), capsys)
    after = shown[shown.index("assumptions") :]
    assert after.count(shared) == 1
    assert after.count(f"H100_PCIe: {own}") == 1


def test_a_failure_is_shown_with_its_line_and_the_attempts_before_it(capsys: pytest.CaptureFixture[str]) -> None:
    failure = Failure("compare", "the result differs", 4)
    failed = Findings(
        file=Path("x.py"),
        verdict="unverified",
        text=TEXT,
        certificate=replace(CERTIFICATE, verdict="unverified", failures=(failure,), trials=(), leaves=()),
        translator=TranslatorInfo("openai", "m", 2, Usage(1200, 30), 0.0125, "asked for"),
        attempts=(
            Attempt(1, "translate", TEXT, "unverified", "wrong"),
            Attempt(2, "repair", TEXT, "unverified", "wrong"),
        ),
    )
    shown = lines_of(failed, capsys)
    assert "translator  openai m, 2 attempts, 1,200 tokens in, 30 out, $0.0125, asked for" in shown
    assert "attempt     1: translate, unverified" in shown
    assert not any(line.startswith("not tried") for line in shown)
    assert "trials      none" in shown
    assert "compare: line 4: the result differs" in shown


@pytest.mark.parametrize(
    ("value_s", "text"),
    [
        (0.0, "0 ns"),
        (3.2e-10, "0.32 ns"),
        (1.234e-6, "1.23 µs"),
        (12.34e-3, "12.3 ms"),
        (123.4, "123 s"),
        (2e-12, "0.002 ns"),
    ],
)
def test_seconds(value_s: float, text: str) -> None:
    assert seconds(value_s) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(0, "B", "0 B"), (999, "B", "999 B"), (1000, "B", "1 kB"), (2.5e9, "B", "2.5 GB"), (206_158_430_208, "", "206 G")],
)
def test_amounts(value: float, unit: str, text: str) -> None:
    assert amount(value, unit) == text
