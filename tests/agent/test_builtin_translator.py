"""The built-in translator through the same graph and verifier: one answer, no repair, a cache entry of its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from solar_agent.agent import builtin
from solar_agent.agent.cache import Cache, translation_key
from solar_agent.agent.state import Options, Progress
from solar_agent.agent.translate import translate_with
from solar_agent.agent.translators import builtin as by_rule
from solar_agent.agent.translators.choose import by_rule as takes_rules
from solar_agent.verifier.types import Description, Reference

from .lab import CUT, RIGHT, SOURCE, Judge, Server, fenced, said
from .test_cli import Said

NO_RULE = "product.py:10: aten.foo.default: no rule for this operator"
WRONG = RIGHT.replace("* w[k, n]", "* w[k, n] * 2")


class Untranslatable(Exception):
    pass


@pytest.fixture
def rules(monkeypatch: pytest.MonkeyPatch) -> Callable[[str | None], list[Reference]]:
    """`rules(text)`: the core answers with this text, or with a refusal; what it was asked about."""
    asked: list[Reference] = []

    def answering(text: str | None) -> list[Reference]:
        def translate(reference: Reference) -> str:
            asked.append(reference)
            if text is None:
                raise Untranslatable(NO_RULE)
            return text

        monkeypatch.setattr(builtin, "translate", translate, raising=False)
        monkeypatch.setattr(builtin, "Untranslatable", Untranslatable, raising=False)
        return asked

    return answering


class Nothing:
    """A reference that the fake rules do not look at."""


ANY: Reference = Nothing()  # type: ignore[assignment]


def test_one_answer_without_a_prompt(
    rules: Callable[[str | None], list[Reference]],
    description: Description,
    judge: Judge,
    options: Options,
    heard: list[Progress],
) -> None:
    asked = rules(RIGHT)
    wanted = replace(options, translator="builtin")
    result = translate_with(description, judge.checker, "product", wanted, reference=ANY)
    assert (result.verdict, result.exit_code, result.stop, result.text) == ("verified", 0, "accepted", RIGHT)
    info = result.translator
    assert (info.name, info.model, info.attempts) == ("builtin", None, 1)
    assert (info.usage.input_tokens, info.usage.output_tokens) == (0, 0)
    assert info.why == "no key, no network: rules over torch's operator graph"
    assert asked == [ANY]
    assert "attempt 1 of 1: asking builtin" in [step.message for step in heard]


def test_a_wrong_text_ends_the_run(
    rules: Callable[[str | None], list[Reference]], description: Description, judge: Judge, options: Options
) -> None:
    asked = rules(CUT)
    result = translate_with(
        description, judge.checker, "product", replace(options, translator="builtin"), reference=ANY
    )
    assert (result.verdict, result.exit_code, result.stop) == ("unverified", 20, "attempts")
    assert result.message.startswith("the built-in translation did not pass: the result differs: expected 0.123")
    assert "--translator openai, anthropic or manual" in result.message
    assert result.certificate is not None and result.certificate.failures[0].kind == "compare"
    assert asked == [ANY] and result.text == CUT
    assert result.saved is not None and (result.saved / "best.alir").read_text() == CUT


def test_no_rule_is_a_refusal(
    rules: Callable[[str | None], list[Reference]], description: Description, judge: Judge, options: Options
) -> None:
    rules(None)
    result = translate_with(
        description, judge.checker, "product", replace(options, translator="builtin"), reference=ANY
    )
    assert (result.verdict, result.exit_code, result.stop, result.text) == ("refused", 21, "refused", None)
    assert result.message == f"{NO_RULE}; {by_rule.INSTEAD}"
    assert judge.verified == []


def test_texts_of_rules_and_of_models_are_kept_apart(
    rules: Callable[[str | None], list[Reference]],
    description: Description,
    judge: Judge,
    options: Options,
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = RIGHT.replace("program product", "program other")
    asked = rules(other)
    named = replace(options, translator="builtin")
    translate_with(description, judge.checker, "product", named, reference=ANY)
    again = translate_with(description, judge.checker, "product", named, reference=ANY)
    assert (again.from_cache, again.text, len(asked)) == (True, other, 1)

    server.script = [said("openai", fenced(RIGHT))]
    model = replace(options, translator="openai", base_url=server.url("openai"), model="m")
    written = translate_with(description, judge.checker, "product", model)
    assert (written.from_cache, written.text) == (False, RIGHT)
    assert translate_with(description, judge.checker, "product", named, reference=ANY).text == other
    assert translate_with(description, judge.checker, "product", options, reference=ANY).text == RIGHT

    monkeypatch.setattr("solar_agent.agent.nodes.recheck.rules_version", lambda: "newer")
    changed = translate_with(description, judge.checker, "product", named, reference=ANY)
    assert (changed.from_cache, len(asked)) == (False, 2)


def test_without_a_key_the_cached_text_of_the_rules_is_used(
    rules: Callable[[str | None], list[Reference]],
    description: Description,
    judge: Judge,
    options: Options,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rules(RIGHT)
    first = translate_with(description, judge.checker, "product", options, reference=ANY)
    assert first.translator.why.startswith("no ANTHROPIC_API_KEY or OPENAI_API_KEY is set, so without a model")
    assert translate_with(description, judge.checker, "product", options, reference=ANY).from_cache
    assert Cache().get(translation_key("5" * 64, options, by_rule.rules_version())) is not None
    assert takes_rules(options)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert not takes_rules(options)


@pytest.mark.parametrize(("text", "code"), [(RIGHT, 0), (WRONG, 20), (None, 21)], ids=["right", "wrong", "none"])
def test_the_command(
    text: str | None,
    code: int,
    rules: Callable[[str | None], list[Reference]],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    rules(text)
    file = tmp_path / "product.py"
    file.write_text(SOURCE)
    said_ = Said(capsys, "translate", file, "--json", "--quiet")
    assert said_.code == code
    document = json.loads(said_.out)
    assert document["translator"]["name"] == "builtin" and document["translator"]["model"] is None
    assert "without a model: rules over torch's operator graph" in document["translator"]["why"]
    assert document["verdict"] == {0: "verified", 20: "unverified", 21: "refused"}[code]
    assert (document["bounds"] is not None) is (code == 0)
    if code == 0:
        assert said_.err == ""
        cached = Said(capsys, "analyze", file, "--json")
        assert cached.code == 0 and cached.document["counts"] == document["counts"]
    else:
        assert said_.err.startswith("error: ") and said_.err.count("\n") == 1
