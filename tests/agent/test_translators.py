"""Both SDKs against a loopback server that does what real ones do on a bad day."""

from __future__ import annotations

import json
import random
from email.utils import formatdate
from typing import Any

import pytest
from solar_agent.agent.prompt import RenderedPrompt
from solar_agent.agent.retry import Clock, ProviderError, Retry
from solar_agent.agent.state import Options, Progress, Usage
from solar_agent.agent.translators.base import Client, Declined, Request, Truncated
from solar_agent.agent.translators.choose import chosen, live, wire

from .lab import CUT, RIGHT, Reply, Server, fenced, said

PROVIDERS = ("openai", "anthropic")
NOW = 1_900_000_000.0


class Lab:
    """A client of one provider, whose waiting is only noted down."""

    def __init__(self, provider: str, server: Server, **options: Any) -> None:
        self.slept: list[float] = []
        self.shown: list[Progress] = []
        clock = Clock(now=lambda: NOW, monotonic=lambda: sum(self.slept), sleep=self.slept.append)
        made: Any = wire(provider, Options(**options), "KEY", server.url(provider))  # type: ignore[arg-type]
        made.clock = clock
        made.timeout_s = 20.0
        self.client = Client(made, "fake-1", Retry(clock=clock, jitter=random.Random(1), progress=self.shown.append))

    def ask(self, answer_tokens: int = 1000) -> Any:
        try:
            return self.client.ask(Request("translate", RenderedPrompt("S", "P", "T"), answer_tokens))
        finally:
            self.client.close()


@pytest.fixture(params=PROVIDERS)
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def limit_of(body: dict[str, Any]) -> int:
    return int(body.get("max_tokens") or body.get("max_completion_tokens") or 0)


def test_an_answer_with_its_usage(provider: str, server: Server) -> None:
    server.script = [said(provider, fenced(RIGHT))]
    reply = Lab(provider, server).ask()
    assert reply.text == fenced(RIGHT)
    # anthropic: 50 fresh + 10 written to the cache + 40 read from it
    assert reply.usage == Usage(100, 10, 40)
    assert limit_of(server.requests[0]) == 1000


def test_the_constant_part_is_marked_for_the_providers_cache(server: Server) -> None:
    server.script = [said("anthropic", fenced(RIGHT))]
    Lab("anthropic", server).ask()
    assert server.requests[0]["system"] == [{"type": "text", "text": "S", "cache_control": {"type": "ephemeral"}}]


def test_rate_limits_in_both_forms_and_overload(provider: str, server: Server) -> None:
    """F23 `limit`: 3 s, then a date 4 s ahead, then an overload without a hint, then an answer."""
    slow = {"error": {"type": "rate_limit_error", "message": "slow"}}
    server.script = [
        Reply(slow, 429, {"retry-after": "3"}),
        Reply(slow, 429, {"retry-after": formatdate(NOW + 4, usegmt=True)}),
        Reply({"error": {"type": "overloaded_error", "message": "busy"}}, 529),
        said(provider, fenced(RIGHT)),
    ]
    lab = Lab(provider, server)
    assert lab.ask().text == fenced(RIGHT)
    assert len(server.requests) == 4
    seconds, date, overload = lab.slept
    assert 3 <= seconds < 3.5
    assert 4 <= date < 4.5
    assert 2 <= overload <= 4  # third try: 4 s, of which half is random
    assert len(lab.shown) == 3


def test_a_hint_of_a_day_stops_at_once(provider: str, server: Server) -> None:
    server.script = [Reply({"error": {"message": "x"}}, 429, {"retry-after": "86400"})]
    lab = Lab(provider, server)
    with pytest.raises(ProviderError, match="retry after 24 h: run the same command again then, it resumes"):
        lab.ask()
    assert (len(server.requests), lab.slept) == (1, [])


def test_a_cut_answer_is_asked_for_again_with_more_room_and_never_used(provider: str, server: Server) -> None:
    """F22 `truncated`: what came is valid ALIR of another program."""
    finish = {"openai": "length", "anthropic": "max_tokens"}[provider]
    server.script = [said(provider, fenced(CUT), finish), said(provider, fenced(RIGHT))]
    reply = Lab(provider, server).ask()
    assert reply.text == fenced(RIGHT)
    assert reply.usage == Usage(200, 20, 80)
    assert [limit_of(body) for body in server.requests] == [1000, 2000]
    assert CUT not in str(server.requests[1])


def test_cut_twice_names_the_limit(provider: str, server: Server) -> None:
    finish = {"openai": "length", "anthropic": "max_tokens"}[provider]
    server.script = [said(provider, fenced(CUT), finish)]
    with pytest.raises(Truncated, match="limit of 2000 tokens") as caught:
        Lab(provider, server).ask()
    assert len(server.requests) == 2
    assert caught.value.usage == Usage(200, 20, 80)


REFUSALS = [
    said("openai", None, "stop", message={"refusal": "no"}),
    said("openai", "part of", "content_filter"),
    said("anthropic", None, "refusal", body={"stop_details": {"type": "refusal", "category": "frontier_llm"}}),
]


@pytest.mark.parametrize(("provider", "refusal"), list(zip(("openai", "openai", "anthropic"), REFUSALS, strict=True)))
def test_a_refusal_is_its_own_outcome(provider: str, refusal: Reply, server: Server) -> None:
    server.script = [refusal]
    with pytest.raises(Declined, match="declined to answer.*try another model"):
        Lab(provider, server).ask()
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("reply", "message", "requests"),
    [
        (Reply("<html>Welcome</html>"), "a page, not JSON .'<html>Welcome</html>'.; check --base-url", 1),
        (Reply(b'{"id": "c", "choi'), "broken JSON, after 2 requests", 2),
        (Reply({"error": {"message": "no such model"}}, 404), "not found .404.*check --model", 1),
        (Reply({"error": {"message": "bad key"}}, 401), "the key was refused .401.", 1),
        (Reply({"error": {"message": "too long"}}, 400), "the request was refused .400.*too long", 1),
        (Reply(reset=True), "no connection .*after 4 requests", 4),
        (Reply(b'{"id": "c"', cut=True), "no connection .*after 4 requests", 4),
        (Reply({"error": {"message": "oops"}}, 500), "server fault .500., after 6 requests", 6),
    ],
    ids=["html", "broken-json", "no-model", "bad-key", "bad-request", "reset", "cut-body", "server-fault"],
)
def test_faults(provider: str, server: Server, reply: Reply, message: str, requests: int) -> None:
    server.script = [reply]
    with pytest.raises(ProviderError, match=message):
        Lab(provider, server).ask()
    assert len(server.requests) == requests


def test_an_answer_that_does_not_say_why_it_ended_is_not_taken(provider: str, server: Server) -> None:
    broken = said(provider, fenced(CUT))
    if provider == "openai":
        broken.body["choices"][0]["finish_reason"] = None
    else:
        broken.body["stop_reason"] = None
    server.script = [broken]
    with pytest.raises(ProviderError, match="ended without saying why .finish None., after 2 requests"):
        Lab(provider, server).ask()


def test_a_spent_quota_is_not_waited_for(server: Server) -> None:
    server.script = [Reply({"error": {"message": "pay", "code": "insufficient_quota"}}, 429)]
    with pytest.raises(ProviderError, match="quota is spent"):
        Lab("openai", server).ask()
    assert len(server.requests) == 1


def call(provider: str, number: int, arguments: Any) -> Reply:
    if provider == "openai":
        function = {"name": "submit_ir", "arguments": arguments if isinstance(arguments, str) else str(arguments)}
        tool_calls = [{"id": f"t{number}", "type": "function", "function": function}]
        return said("openai", None, "tool_calls", message={"tool_calls": tool_calls})
    block = {"type": "tool_use", "id": f"t{number}", "name": "submit_ir", "input": arguments}
    return said("anthropic", None, "tool_use", blocks=[block])


def results(provider: str, body: dict[str, Any]) -> list[dict[str, Any]]:
    """What the model was told about its calls."""
    if provider == "openai":
        return [message for message in body["messages"] if message["role"] == "tool"]
    return [block for message in body["messages"] for block in message["content"] if block["type"] == "tool_result"]


def echoes(provider: str, body: dict[str, Any]) -> list[Any]:
    if provider == "openai":
        calls = [call for message in body["messages"] for call in message.get("tool_calls", [])]
        return [call["function"]["arguments"] for call in calls]
    blocks = [block for message in body["messages"] for block in message["content"]]
    return [block["input"] for block in blocks if block["type"] == "tool_use"]


def test_broken_tool_arguments_go_back_as_errors(provider: str, server: Server) -> None:
    """F24 `badargs`: an array, then an object without the field, then the text."""
    array: Any = ["not", "an", "object", "x" * 5000]
    empty: Any = {}
    good: Any = {"text": RIGHT}
    if provider == "openai":
        array, empty, good = json.dumps(array), json.dumps(empty), json.dumps(good)
    server.script = [call(provider, 1, array), call(provider, 2, empty), call(provider, 3, good)]
    reply = Lab(provider, server, submit_tool=True).ask()
    assert reply.program == RIGHT
    assert reply.usage == Usage(300, 30, 120)
    last = server.requests[-1]
    first, second = results(provider, last)
    assert '["not", "an", "object"' in first["content"] and "5027 characters" in first["content"]
    assert len(first["content"]) < 500
    assert "it got {}" in second["content"]
    assert echoes(provider, last) in ([{}, {}], ["{}", "{}"])  # what an API takes back
    if provider == "anthropic":
        assert first["is_error"] and second["is_error"]


def test_a_tool_that_is_never_used_well_gives_no_program(provider: str, server: Server) -> None:
    server.script = [call(provider, 1, "{}" if provider == "openai" else {})]
    reply = Lab(provider, server, submit_tool=True).ask()
    assert (reply.program, reply.text) == (None, "")
    assert "it got {}" in reply.complaint
    assert len(server.requests) == 3


def test_the_responses_form(server: Server) -> None:
    part = {"type": "output_text", "text": fenced(RIGHT), "annotations": []}
    message = {"type": "message", "id": "i", "role": "assistant", "status": "completed", "content": [part]}
    usage = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
    usage |= {"input_tokens_details": {"cached_tokens": 40}, "output_tokens_details": {"reasoning_tokens": 0}}
    body = {"id": "r", "object": "response", "created_at": 0, "model": "fake", "status": "completed"}
    body |= {"output": [message], "usage": usage}
    cut = body | {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    server.script = [Reply(cut), Reply(body)]
    reply = Lab("openai", server, api="responses").ask()
    assert reply.text == fenced(RIGHT)
    assert reply.usage == Usage(200, 20, 80)
    assert [body["max_output_tokens"] for body in server.requests] == [1000, 2000]


def test_auto_takes_the_provider_with_a_key_and_says_why() -> None:
    choice = chosen(Options(), {"OPENAI_API_KEY": "k"})
    assert (choice.kind, choice.why) == ("openai", "OPENAI_API_KEY is set")
    both = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}
    assert chosen(Options(), both).kind == "anthropic"
    assert chosen(Options(provider="openai"), both).kind == "openai"


@pytest.mark.parametrize("environment", [{}, {"ANTHROPIC_AUTH_TOKEN": "t"}])
def test_without_a_key_auto_takes_the_rules_and_says_so(environment: dict[str, str]) -> None:
    choice = chosen(Options(), environment)
    assert choice.kind == "builtin"
    assert choice.why.startswith("no ANTHROPIC_API_KEY or OPENAI_API_KEY is set, so without a model: rules over torch")


@pytest.mark.parametrize("options", [Options(provider="openai"), Options(model="any")])
def test_whoever_wants_a_model_without_a_key_is_told_all_ways_out(options: Options) -> None:
    with pytest.raises(ProviderError) as caught:
        chosen(options, {})
    for way in ("OPENAI_API_KEY", "--base-url", "builtin", "manual", "replay:DIR"):
        assert way in str(caught.value)


def test_a_server_of_ones_own_needs_no_key_but_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    options = Options(translator="openai", base_url="http://127.0.0.1:11434/v1")
    with pytest.raises(ProviderError, match="which model of 127.0.0.1:11434"):
        live("openai", options, "")
    monkeypatch.setenv("OPENAI_MODEL", "local")
    assert live("openai", options, "").model == "local"


def test_an_unknown_translator() -> None:
    with pytest.raises(ValueError, match="unknown translator 'gpt'; there are auto"):
        chosen(Options(translator="gpt"), {})
