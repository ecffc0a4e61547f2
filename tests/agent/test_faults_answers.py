"""Answers that go wrong on their way: cut at the token limit, fenced in odd ways, rate-limited, with broken tool calls.

Kinds F22 (truncation, fences), F23 (waits) and F24 (tool arguments, no convergence), through the whole run."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from solar_agent.agent.extract import program_text
from solar_agent.agent.places import cache_dir
from solar_agent.agent.state import Options, TranslationResult
from solar_agent.agent.translate import translate_with
from solar_agent.ir.errors import IRError
from solar_agent.ir.load import load
from solar_agent.ir.parse import parse
from solar_agent.ir.program import Nest
from solar_agent.verifier.types import Description

from .lab import CUT, RIGHT, Judge, Reply, Server, fenced, said

PROVIDERS = ("openai", "anthropic")
SECOND_FACTOR = " * w[k, n]"
# The right answer up to the token limit: the last statement has lost its second factor and the fence was never closed.
STATEMENT = "y[b, n] += x[b, k]"
STUMP = fenced(RIGHT)[: fenced(RIGHT).index(SECOND_FACTOR)]
FINISH = {"openai": "length", "anthropic": "max_tokens"}
DAY = Reply({"error": {"message": "x"}}, 429, {"retry-after": "86400"})


@pytest.fixture(params=PROVIDERS)
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def ask(provider: str, server: Server, description: Description, judge: Judge, options: Options) -> Any:
    def run(*script: Reply, **more: Any) -> TranslationResult:
        server.script = list(script)
        settings = {"translator": provider, "base_url": server.url(provider), "model": "fake-1", **more}
        return translate_with(description, judge.checker, "product", replace(options, **settings))

    return run


def limits(server: Server) -> list[int]:
    return [int(body.get("max_tokens") or body.get("max_completion_tokens") or 0) for body in server.requests]


def stored() -> bytes:
    """All that lies in the cache folder."""
    return b"".join(path.read_bytes() for path in cache_dir().rglob("*") if path.is_file())


def test_the_stump_is_a_program_without_its_second_factor(description: Description) -> None:
    """What makes it dangerous: it parses, and with an output line it even loads."""
    text = program_text(STUMP)
    assert parse(text).name == "product"
    assert text == RIGHT[: RIGHT.index(SECOND_FACTOR)] + "\n"
    assert RIGHT.count(SECOND_FACTOR) == 1 and "w[k, n]" not in text
    whole = load(text + "output y\n", description.bindings)
    (nest,) = [statement for statement in whole.body if isinstance(statement, Nest)]
    assert "w" not in str(nest.value)
    assert parse(RIGHT) != parse(text + "output y\n")


def test_a_cut_answer_is_asked_for_once_more_and_leaves_no_trace(
    ask: Any, provider: str, server: Server, judge: Judge
) -> None:
    """Not parsed, not cached, not sent back; the second answer is taken."""
    result = ask(said(provider, STUMP, FINISH[provider]), said(provider, fenced(RIGHT)), answer_tokens=500)
    assert (result.verdict, result.text, result.translator.attempts) == ("verified", RIGHT, 1)
    assert limits(server) == [500, 1000]
    assert judge.verified == [RIGHT]
    assert STATEMENT not in json.dumps(server.requests[1])
    whole, any_product = SECOND_FACTOR.encode(), STATEMENT.encode()
    assert stored().count(any_product) == stored().count(any_product + whole) > 0


def test_cut_again_it_stops_and_names_the_limit(ask: Any, provider: str, server: Server, judge: Judge) -> None:
    result = ask(said(provider, STUMP, FINISH[provider]), answer_tokens=500)
    assert (result.stop, result.exit_code, result.text, result.attempts) == ("truncated", 20, None, ())
    assert "limit of 1000 tokens" in result.message
    assert limits(server) == [500, 1000]
    assert judge.verified == []
    assert STATEMENT.encode() not in stored()


def test_the_same_text_with_another_ending_would_have_been_judged(ask: Any, provider: str, judge: Judge) -> None:
    """The control: it is the reason for stopping, not the text, that keeps it out."""
    result = ask(said(provider, STUMP), DAY)
    assert judge.verified == [program_text(STUMP)]
    assert result.attempts[0].verdict == "unverified"
    assert STATEMENT.encode() in stored()


INNER = '# doc: "```" opens a block, ```ir too\n' + RIGHT
DECOYS = f"Plan first:\n```text\nignore me\n```\nA try:\n```ir\n{CUT}```\nThen:\n```ir\n{INNER}```\nDone.\n"


def test_of_several_blocks_the_last_is_taken_whole(ask: Any, provider: str, judge: Judge) -> None:
    assert parse(INNER) is not None and parse(CUT) is not None  # the decoy is a program as well
    result = ask(said(provider, DECOYS))
    assert (result.verdict, result.text) == ("verified", INNER)
    assert judge.verified == [INNER]


def test_waiting_is_shown_and_a_day_is_not_waited(
    ask: Any, provider: str, server: Server, heard: list[Any]
) -> None:
    result = ask(DAY)
    assert (result.stop, result.exit_code, len(server.requests)) == ("provider", 30, 1)
    assert "retry after 24 h" in result.message and "resumes" in result.message
    assert all(line.wait_s is None or line.wait_s < 3600 for line in heard)
    server.requests.clear()
    assert ask(said(provider, fenced(RIGHT))).verdict == "verified"
    assert len(server.requests) == 1


def tool_call(provider: str, number: int, arguments: Any) -> Reply:
    if provider == "openai":
        function = {"name": "submit_ir", "arguments": json.dumps(arguments)}
        calls = [{"id": f"t{number}", "type": "function", "function": function}]
        return said("openai", None, "tool_calls", message={"tool_calls": calls})
    block = {"type": "tool_use", "id": f"t{number}", "name": "submit_ir", "input": arguments}
    return said("anthropic", None, "tool_use", blocks=[block])


def test_nothing_runs_on_broken_tool_arguments(ask: Any, provider: str, server: Server, judge: Judge) -> None:
    """An array, then an object without the field: complaints go back, and only the text that came is judged."""
    bad = [tool_call(provider, 1, ["not", "an", "object", "x" * 5000]), tool_call(provider, 2, {})]
    result = ask(*bad, tool_call(provider, 3, {"text": RIGHT}), submit_tool=True)
    assert (result.verdict, result.text) == ("verified", RIGHT)
    assert judge.verified == [RIGHT]
    assert len(server.requests) == 3
    assert "x" * 1000 not in json.dumps(server.requests[-1])  # the preview is short


def test_a_run_that_goes_in_circles_is_ended_by_its_own_budget(ask: Any, provider: str, judge: Judge) -> None:
    """The stuck text is a program of the language, wrong in the same way for ever."""
    assert parse(CUT).name == "product"
    result = ask(said(provider, fenced(CUT)), max_attempts=50)
    assert (result.stop, result.exit_code, result.verdict) == ("identical", 20, "unverified")
    assert judge.verified == [CUT]
    assert result.saved is not None
    assert (result.saved / "best.alir").read_text(encoding="utf-8") == CUT
    assert (result.saved / "best.diff").is_file()


def test_a_text_that_does_not_parse_is_no_stump() -> None:
    """Cut in the middle of a name or a bracket, the parser would notice by itself."""
    with pytest.raises(IRError):
        parse(RIGHT[: RIGHT.index("k] * w")])
