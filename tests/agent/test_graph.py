"""The whole run over the real SDKs, with a server that plays a script and a checker that knows the right text."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from solar_agent.agent.places import cache_dir
from solar_agent.agent.state import Options, Prices, Progress, TranslationResult
from solar_agent.agent.translate import translate_with
from solar_agent.verifier.certificate import Failure
from solar_agent.verifier.types import Description

from .lab import CUT, RIGHT, SOURCE, Judge, Reply, Server, certificate_for, fenced, said

PROVIDERS = ("openai", "anthropic")
FAULT = Failure("compare", "wrong", 3)
OTHER = CUT.replace("+= x[b, k]", "max= x[b, k]")
THIRD = CUT.replace("+= x[b, k]", "min= x[b, k]")


class Run:
    def __init__(self, provider: str, server: Server, description: Description, judge: Judge, options: Options) -> None:
        self.server, self.description, self.judge = server, description, judge
        self.options = replace(options, translator=provider, base_url=server.url(provider), model="fake-1")
        self.provider = provider

    def __call__(self, *texts: str | Reply, **options: Any) -> TranslationResult:
        self.server.script = [
            text if isinstance(text, Reply) else said(self.provider, fenced(text)) for text in texts
        ]
        return translate_with(self.description, self.judge.checker, "product", replace(self.options, **options))

    def question(self, number: int) -> str:
        """The user part of the request with this number, from 1."""
        body = self.server.requests[number - 1]
        if self.provider == "openai":
            return str(body["messages"][1]["content"])
        return "\n".join(block["text"] for block in body["messages"][0]["content"])


@pytest.fixture(params=PROVIDERS)
def run(
    request: pytest.FixtureRequest, server: Server, description: Description, judge: Judge, options: Options
) -> Run:
    return Run(str(request.param), server, description, judge, options)


@pytest.fixture
def one(server: Server, description: Description, judge: Judge, options: Options) -> Run:
    return Run("openai", server, description, judge, options)


def test_right_at_the_first_attempt(run: Run) -> None:
    result = run(RIGHT)
    assert (result.verdict, result.exit_code, result.stop) == ("verified", 0, "accepted")
    assert result.text == RIGHT
    assert result.certificate is not None and result.certificate.ir_sha256 == RIGHT
    assert (result.translator.attempts, result.translator.usage.input_tokens) == (1, 100)
    assert result.message == "verified after 1 attempt"
    assert SOURCE.strip() in run.question(1)
    assert "w: [16, 8] f32" in run.question(1)


def test_a_failed_attempt_is_repaired_with_its_text_and_the_finding(run: Run) -> None:
    result = run(CUT, RIGHT)
    assert (result.verdict, result.translator.attempts) == ("verified", 2)
    assert [attempt.kind for attempt in result.attempts] == ["translate", "repair"]
    assert "3  for b<B, k<K: y[b] += x[b, k]" in run.question(2)
    # Measured numbers are rounded, so that the same fault gives the same prompt on every machine.
    assert "expected 0.123, got 7.65e+10" in run.question(2)
    assert run.judge.verified == [CUT, RIGHT]


def test_the_program_part_is_the_same_in_every_turn(run: Run) -> None:
    run(CUT, OTHER, RIGHT)
    program = run.question(1).split("# Your task")[0]
    assert all(run.question(number).startswith(program) for number in (2, 3))
    systems = [body.get("system", body["messages"][0]) for body in run.server.requests]
    assert systems[0] == systems[1] == systems[2]


def test_the_same_wrong_text_for_ever_is_noticed(run: Run) -> None:
    """F24 `stuck`: not run again, one fresh start, then a stop that says so, with the best attempt saved."""
    result = run(CUT)
    assert (result.stop, result.exit_code, result.verdict) == ("identical", 20, "unverified")
    assert [attempt.kind for attempt in result.attempts] == ["translate", "repair", "fresh"]
    assert [attempt.same_as for attempt in result.attempts] == [None, 1, 1]
    assert run.judge.verified == [CUT]
    assert "attempt 3 is attempt 1 again, also after a fresh start" in result.message
    assert "Start anew" in run.question(3) and run.question(3).count("the result differs") == 1
    assert result.saved is not None
    assert (result.saved / "best.alir").read_text() == CUT
    assert (result.saved / "best.diff").read_text().startswith("--- attempt 0")
    report = json.loads((result.saved / "report.json").read_text())
    assert (report["stop"], report["best"], len(report["attempts"])) == ("identical", 1, 3)


def test_comments_and_blank_lines_do_not_make_another_text(one: Run) -> None:
    result = one(CUT, "# now it is right\n\n" + CUT, RIGHT)
    assert [attempt.same_as for attempt in result.attempts] == [None, 1, None]
    assert result.verdict == "verified"


def test_two_useless_repairs_lead_to_a_fresh_start(one: Run) -> None:
    result = one(CUT, OTHER, THIRD, RIGHT, escalate_to="stronger")
    assert [attempt.kind for attempt in result.attempts] == ["translate", "repair", "repair", "fresh"]
    assert [body["model"] for body in one.server.requests] == ["fake-1", "fake-1", "fake-1", "stronger"]


def test_the_attempt_budget(one: Run) -> None:
    result = one(CUT, OTHER, THIRD, max_attempts=3)
    assert (result.stop, result.exit_code, result.translator.attempts) == ("attempts", 20, 3)
    assert "all 3 attempts failed (--max-attempts allows more)" in result.message


def test_the_token_budget(one: Run) -> None:
    result = one(CUT, OTHER, RIGHT, max_tokens=220)
    assert (result.stop, result.translator.attempts) == ("tokens", 2)
    assert result.translator.usage.input_tokens + result.translator.usage.output_tokens == 220


def test_the_money_budget(one: Run) -> None:
    prices = Prices(input=10.0, output=100.0, cached=1.0)
    result = one(CUT, OTHER, RIGHT, prices=prices, max_cost_usd=0.003)
    assert result.stop == "money"
    # two answers: 60 fresh tokens at $10, 40 cached at $1 and 10 written at $100 per million each
    assert result.translator.cost_usd == pytest.approx(2 * (60 * 10 + 40 * 1 + 10 * 100) / 1e6)


def test_the_wall_budget(one: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one.judge, "judged", lambda text: (time.sleep(0.1), certificate_for(text, FAULT))[1])
    result = one(CUT, OTHER, budget_s=0.05)
    assert (result.stop, result.exit_code) == ("wall", 20)
    assert len(one.server.requests) == 1


def test_an_answer_without_a_program_is_an_attempt_with_a_clear_complaint(run: Run) -> None:
    result = run(said(run.provider, "I would rather not."), RIGHT)
    assert [attempt.verdict for attempt in result.attempts] == ["unverified", "verified"]
    assert "no ```alir block" in run.question(2)
    assert "There is none: your answer held no program." in run.question(2)
    assert run.judge.verified == [RIGHT]


def test_empty_answers_stop(run: Run) -> None:
    result = run(said(run.provider, ""))
    assert (result.stop, result.text, result.exit_code) == ("identical", None, 20)
    assert result.attempts[0].feedback == "the answer was empty"


def test_a_cut_answer_is_never_checked(run: Run) -> None:
    finish = {"openai": "length", "anthropic": "max_tokens"}[run.provider]
    result = run(said(run.provider, fenced(CUT), finish), answer_tokens=500)
    assert (result.stop, result.exit_code, result.attempts) == ("truncated", 20, ())
    assert "limit of 1000 tokens" in result.message
    assert run.judge.verified == []
    assert result.translator.usage.output_tokens == 20


def test_a_refusal_of_the_model(one: Run) -> None:
    result = one(CUT, said("openai", None, message={"refusal": "no"}))
    assert (result.stop, result.exit_code) == ("declined", 30)
    assert result.text == CUT and result.saved is not None


def test_a_wait_of_a_day_can_be_taken_up_again(one: Run) -> None:
    result = one(CUT, Reply({"error": {"message": "x"}}, 429, {"retry-after": "86400"}))
    assert (result.stop, result.exit_code) == ("provider", 30)
    assert "retry after 24 h" in result.message
    assert [attempt.text for attempt in result.attempts] == [CUT]
    one.server.requests.clear()
    again = one(RIGHT)
    assert (again.verdict, again.translator.attempts) == ("verified", 2)
    assert len(one.server.requests) == 1  # the first answer was not asked for again
    assert one.judge.verified == [CUT, RIGHT]


def test_without_resume_it_begins_again(one: Run) -> None:
    one(CUT, Reply({"error": {"message": "x"}}, 429, {"retry-after": "86400"}), resume=False)
    again = one(RIGHT, resume=False)
    assert again.translator.attempts == 2  # the first reply was paid for and is used, the run itself is new
    assert one.judge.verified == [CUT, CUT, RIGHT]


def test_more_attempts_go_on_where_the_answers_are_there(one: Run) -> None:
    one(CUT, OTHER, max_attempts=2)
    asked = len(one.server.requests)
    result = one(RIGHT, max_attempts=3)
    assert (result.verdict, result.translator.attempts) == ("verified", 3)
    assert len(one.server.requests) == asked + 1


def test_a_hit_asks_nobody(run: Run, heard: list[Progress]) -> None:
    run(RIGHT)
    asked = len(run.server.requests)
    again = run(CUT)
    assert (again.from_cache, again.text, again.translator.name) == (True, RIGHT, "cache")
    assert again.exit_code == 0
    assert len(run.server.requests) == asked
    assert run.judge.rechecked == [RIGHT]
    assert heard[-1].stage == "recheck"


def test_a_cached_text_that_does_not_pass_any_more_is_translated_anew(one: Run) -> None:
    one(RIGHT)
    one.judge.still_right = False
    again = one(RIGHT.replace("product", "other"))
    assert (again.from_cache, again.text) == (False, RIGHT.replace("product", "other"))


def test_no_cache_asks_again(one: Run) -> None:
    one(RIGHT)
    assert one(RIGHT, use_cache=False).from_cache is False
    assert len(one.server.requests) == 2


def test_nothing_of_the_source_lies_in_the_checkpoints(one: Run) -> None:
    one(CUT, Reply({"error": {"message": "x"}}, 429, {"retry-after": "86400"}))
    database = cache_dir() / "checkpoints.db"
    stored = b"".join(path.read_bytes() for path in cache_dir().glob("checkpoints.db*"))
    assert b"5" * 64 in stored
    assert b"torch.nn.Parameter" not in stored and b"y[b] += x[b, k]" not in stored
    assert stat.S_IMODE(database.stat().st_mode) == 0o600
    assert stat.S_IMODE(cache_dir().stat().st_mode) == 0o700


def test_a_finished_run_leaves_no_checkpoint_and_no_folder(one: Run) -> None:
    one(CUT, RIGHT)
    assert list((cache_dir() / "runs").iterdir()) == []


def test_manual_writes_the_prompt_then_takes_the_answer(
    description: Description, judge: Judge, options: Options, tmp_path: Path
) -> None:
    manual = replace(options, translator="manual", out=tmp_path / "out")
    first = translate_with(description, judge.checker, "product", manual)
    assert (first.stop, first.exit_code) == ("answer-needed", 20)
    prompt = tmp_path / "out" / "product.prompt.txt"
    assert str(prompt) in first.message
    assert SOURCE.strip() in prompt.read_text() and "# Form of the answer" in prompt.read_text()

    answer = tmp_path / "answer.txt"
    answer.write_text(fenced(CUT))
    second = translate_with(description, judge.checker, "product", replace(manual, answer=answer))
    assert (second.stop, second.exit_code, second.text) == ("answer-needed", 20, CUT)
    repair = tmp_path / "answer.txt.repair.txt"
    assert str(repair) in second.message
    assert "expected 0.123" in repair.read_text()

    answer.write_text(fenced(RIGHT))
    third = translate_with(description, judge.checker, "product", replace(manual, answer=answer))
    assert (third.verdict, third.exit_code) == ("verified", 0)


def test_without_a_key_the_result_says_what_to_do(description: Description, judge: Judge, options: Options) -> None:
    result = translate_with(description, judge.checker, "product", replace(options, translator="anthropic"))
    assert (result.stop, result.exit_code) == ("provider", 30)
    assert "ANTHROPIC_API_KEY" in result.message and "--base-url" in result.message


KILLED = """
import os, signal, sys
sys.path.insert(0, {tests!r})
from agent.lab import Judge, product
from solar_agent.agent.nodes import {module} as node
from solar_agent.agent.state import Options
from solar_agent.agent.translate import translate_with
inner = node.{function}
def deadly(argument):
    if {sign!r} in str(argument):
        os.kill(os.getpid(), signal.SIGKILL)
    return inner(argument)
node.{function} = deadly
options = Options(translator="openai", base_url={url!r}, model="fake-1")
translate_with(product(), Judge().checker, "product", options)
"""


@pytest.mark.parametrize(("module", "function"), [("translate", "_text"), ("check", "score")])
def test_a_killed_run_resumes_without_asking_again(one: Run, module: str, function: str) -> None:
    """kill -9 in the second attempt, when its answer has come or when it is checked: both answers are there, and the
    first is not even checked again."""
    one.server.script = [said("openai", fenced(CUT)), said("openai", fenced(OTHER)), said("openai", fenced(RIGHT))]
    tests, sign = str(Path(__file__).parents[1]), "max= x"
    code = KILLED.format(tests=tests, module=module, function=function, sign=sign, url=one.server.url("openai"))
    died = subprocess.run([sys.executable, "-c", code], env=dict(os.environ), capture_output=True, check=False)
    assert died.returncode == -signal.SIGKILL, died.stderr.decode()
    assert len(one.server.requests) == 2
    result = translate_with(one.description, one.judge.checker, "product", one.options)
    assert (result.verdict, result.translator.attempts) == ("verified", 3)
    assert len(one.server.requests) == 3
    assert one.judge.verified == [OTHER, RIGHT]


def test_a_hit_loads_neither_the_graph_nor_an_sdk(one: Run) -> None:
    one(RIGHT)
    code = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from agent.lab import Judge, product
from solar_agent.agent.state import Options
from solar_agent.agent.translate import translate_with
result = translate_with(product(), Judge().checker, "product", Options())
assert result.from_cache, result.message
heavy = {{"langgraph", "langchain_core", "langsmith", "openai", "anthropic", "vcr", "jinja2", "pydantic", "torch"}}
print(sorted(heavy & {{name.split(".")[0] for name in sys.modules}}))
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == "[]"


def test_tracing_stays_off_whatever_the_environment_says(one: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2", "LANGSMITH_TRACING_V2"):
        monkeypatch.setenv(name, "true")
    monkeypatch.setenv("LANGSMITH_API_KEY", "k")
    monkeypatch.setenv("LANGSMITH_ENDPOINT", one.server.url("anthropic"))
    assert one(CUT, RIGHT).verdict == "verified"
    assert os.environ["LANGSMITH_TRACING_V2"] == "false"
    assert len(one.server.requests) == 2


def test_two_processes_on_one_program_do_not_share_a_run(one: Run) -> None:
    from solar_agent.agent.runfolder import RunFolder, forget_runs

    first, second = RunFolder.opened("same"), RunFolder.opened("same")
    assert first.folder != second.folder
    second.close(remove=True)
    assert forget_runs() == 0
    first.close()
    assert forget_runs() == 1
    assert list((cache_dir() / "runs").iterdir()) == []
