"""Recordings made through the real SDKs from answers in files, and played with nobody listening."""

from __future__ import annotations

import json
import re
import socket
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from solar_agent.agent.cassette import Meta, Readable, canonical, recorder, scan
from solar_agent.agent.record import Place, record_with, remembering
from solar_agent.agent.state import Options, TranslationResult
from solar_agent.agent.translate import translate_with
from solar_agent.verifier.types import Description

from .lab import CUT, RIGHT, SOURCE, Judge, Server, fenced, said

PROVIDERS = ("openai", "anthropic")
ORIGIN = "written by hand for a test"


@dataclass
class Studio:
    folder: Path
    description: Description
    judge: Judge

    @property
    def place(self) -> Place:
        return Place(answers=self.folder / "answers", cassettes=self.folder / "tapes", origin=ORIGIN, model="hand-1")

    def answer(self, *texts: str) -> None:
        folder = self.place.answers / "product"
        folder.mkdir(parents=True, exist_ok=True)
        for number, text in enumerate(texts, 1):
            (folder / f"{number}.txt").write_text(text, encoding="utf-8")

    def record(self, **options: Any) -> TranslationResult:
        checker = remembering(self.judge.checker)
        return record_with(self.description, checker, "product", self.place, Options(**options))

    def replay(self, **options: Any) -> TranslationResult:
        chosen = Options(translator=f"replay:{self.place.cassettes}", **options)
        return translate_with(self.description, self.judge.checker, "product", chosen)

    @property
    def tape(self) -> Path:
        return self.place.cassettes / "product"


@pytest.fixture
def studio(tmp_path: Path, description: Description, judge: Judge) -> Studio:
    return Studio(tmp_path, description, judge)


@pytest.fixture
def recorded(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> Studio:
    """A recording with a failed attempt and its repair; from here on nothing may touch the network."""
    studio.answer("First I thought:\n" + fenced(CUT), fenced(RIGHT))
    assert studio.record().verdict == "verified"

    def refuse(*_: object) -> None:
        raise AssertionError("a replay touched the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    return studio


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_recording_plays_wholly_and_without_network(recorded: Studio, provider: str) -> None:
    result = recorded.replay(provider=provider)
    assert (result.verdict, result.exit_code, result.text) == ("verified", 0, RIGHT)
    assert [attempt.kind for attempt in result.attempts] == ["translate", "repair"]
    assert (result.translator.name, result.translator.model) == ("replay", "hand-1")
    assert result.translator.usage.output_tokens > 0
    assert result.warnings == ()  # nothing was left unplayed


def test_each_text_was_verified_once_for_both_providers(studio: Studio) -> None:
    studio.answer(fenced(CUT), fenced(RIGHT))
    studio.record()
    assert studio.judge.verified == [CUT, RIGHT]


def test_nothing_of_the_user_and_everything_of_the_answer_is_in_the_files(recorded: Studio) -> None:
    for provider in PROVIDERS:
        text = (recorded.tape / f"{provider}.yaml").read_text()
        assert f"origin: {ORIGIN}" in text and "estimated" in text
        assert "torch.nn.Parameter" not in text and "127.0.0.1" not in text and "authorization" not in text.lower()
        as_it_was = "\nfor b<B, n<N, k<K: y[b, n] += x[b, k] * w[k, n]\n"
        assert as_it_was in re.sub(r"\n +", "\n", text)
        assert text.count("body: sha256:") == 2
    assert all(line not in (recorded.tape / "meta.json").read_text() for line in SOURCE.splitlines() if len(line) > 8)
    assert sorted(path.name for path in recorded.tape.iterdir()) == ["anthropic.yaml", "meta.json", "openai.yaml"]


def test_the_description_says_where_the_answers_come_from(recorded: Studio) -> None:
    meta = Meta.read(recorded.tape)
    assert meta.origin == ORIGIN
    assert meta.wires["anthropic"] == {"file": "anthropic.yaml", "format": "messages", "model": "hand-1"}
    assert [turn.kind for turn in meta.turns] == ["translate", "repair"]
    assert set(meta.libraries) == {"openai", "anthropic", "vcrpy", "torch"}
    assert Meta.read(recorded.tape).to_json() == (recorded.tape / "meta.json").read_text()


def test_recording_the_same_again_gives_the_same_files(studio: Studio) -> None:
    studio.answer(fenced(CUT), fenced(RIGHT))
    studio.record()
    before = {path.name: path.read_bytes() for path in studio.tape.iterdir()}
    studio.record()
    assert {path.name: path.read_bytes() for path in studio.tape.iterdir()} == before


def test_a_missing_answer_leaves_the_exact_question(studio: Studio) -> None:
    result = studio.record()
    assert (result.stop, result.exit_code) == ("answer-needed", 20)
    question = studio.place.answers / "product" / "1.prompt.txt"
    assert SOURCE.strip() in question.read_text()
    assert not (studio.tape / "meta.json").exists() and list(studio.tape.glob("*.yaml")) == []

    studio.answer(fenced(CUT))
    assert studio.record().stop == "answer-needed"
    question = studio.place.answers / "product" / "2.prompt.txt"
    assert "expected 0.123, got 7.65e+10" in question.read_text()
    assert not (studio.tape / "meta.json").exists()

    studio.answer(fenced(CUT), fenced(RIGHT))
    assert studio.record().verdict == "verified"
    assert studio.replay().verdict == "verified"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_changed_program_is_drift_that_names_the_line(recorded: Studio, provider: str) -> None:
    changed = SOURCE.replace("return x @ self.w", "return x @ self.w + 1")
    recorded.description = replace(recorded.description, sources={"product.py": changed})
    result = recorded.replay(provider=provider)
    assert (result.stop, result.exit_code) == ("drift", 31)
    assert "request 1: section `user/The program`, line 17: now 'return x @ self.w + 1'" in result.message


def test_drift_in_a_repair_names_what_changed_there(recorded: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    from solar_agent.verifier.certificate import Failure

    from .lab import certificate_for

    fault = Failure("compare", "something else is wrong", 3)
    judged = recorded.judge.judged
    monkeypatch.setattr(
        recorded.judge, "judged", lambda text: certificate_for(text, fault) if text == CUT else judged(text)
    )
    result = recorded.replay()
    assert result.exit_code == 31
    assert "request 2: section `user/What is wrong with it`, line" in result.message
    assert "something else is wrong" in result.message


def test_other_library_versions_are_named_first(recorded: Studio) -> None:
    meta = json.loads((recorded.tape / "meta.json").read_text())
    meta["libraries"]["torch"] = "1.0"
    (recorded.tape / "meta.json").write_text(json.dumps(meta))
    recorded.description = replace(recorded.description, signature="forward(self, z)")
    message = recorded.replay().message
    assert "request 1: recorded with torch 1.0, installed is 2.13.0; section `user/The program`, line" in message


def test_an_answer_beyond_the_recording_is_drift(recorded: Studio) -> None:
    recorded.judge.judged = lambda text: Judge().judged(text.replace("w[k, n]", "w[n, k]"))  # type: ignore[method-assign]
    result = recorded.replay()
    assert result.exit_code == 31
    assert "request 3 goes beyond the recording, which ends after 2" in result.message


def test_what_was_not_played_is_reported(recorded: Studio) -> None:
    recorded.judge.judged = lambda text: Judge().judged(RIGHT)  # type: ignore[method-assign]
    result = recorded.replay()
    assert result.translator.attempts == 1
    assert result.warnings == ("replay: 1 of 2 recorded answers were not asked for",)


def test_a_replay_does_not_take_the_cache_instead(recorded: Studio) -> None:
    assert recorded.replay().from_cache is False
    assert recorded.replay().from_cache is False


def test_a_recording_that_is_not_there(studio: Studio) -> None:
    result = studio.replay()
    assert (result.stop, result.exit_code) == ("drift", 31)
    assert "no such folder" in result.message
    (studio.place.cassettes / "other").mkdir(parents=True)
    assert "none of `product`" in studio.replay().message


def test_the_folder_of_one_program_can_be_named(recorded: Studio) -> None:
    options = Options(translator=f"replay:{recorded.tape}")
    assert translate_with(recorded.description, recorded.judge.checker, "x", options).verdict == "verified"


def test_a_recording_is_found_by_the_programs_hash(recorded: Studio) -> None:
    recorded.tape.rename(recorded.tape.with_name("renamed"))
    assert recorded.replay().verdict == "verified"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_secrets_stay_out(provider: str, server: Server, tmp_path: Path) -> None:
    """F25 `secrets`: the key in a header and echoed in the answer, a cookie, an organisation id."""
    from solar_agent.agent.translators.choose import wire

    key = "FAKE-KEY-123"
    reply = said(provider, f"key seen: Bearer {key}\n{fenced(RIGHT)}")
    reply.headers |= {"set-cookie": "sid=COOKIE-SECRET", "anthropic-organization-id": "ORG-SECRET",
                      "openai-organization": "ORG-SECRET", "x-request-id": "REQUEST-ID"}  # fmt: skip
    server.script = [reply]
    tape = tmp_path / "tape.yaml"
    asked = request("SECRET SOURCE")
    with recorder("all", (key,)).use_cassette(str(tape)):
        made = wire(provider, Options(), key, server.url(provider))  # type: ignore[arg-type]
        assert key in made.send(asked, "m", 100, ()).text
        made.close()
    assert any(key in value for value in server.request_headers[0].values())
    text = tape.read_text()
    for secret in (key, "COOKIE-SECRET", "ORG-SECRET", "REQUEST-ID", "SECRET SOURCE", "127.0.0.1"):
        assert secret not in text
    assert "key seen: Bearer REDACTED" in text
    scan(tape, (key,))


def test_the_scan_removes_a_file_with_a_key(tmp_path: Path) -> None:
    tape = tmp_path / "tape.yaml"
    tape.write_text("body: FAKE-KEY-123")
    with pytest.raises(ValueError, match="held a key"):
        scan(tape, ("FAKE-KEY-123",))
    assert not tape.exists()


def request(source: str) -> Any:
    from solar_agent.agent.prompt import RenderedPrompt
    from solar_agent.agent.translators.base import Request

    return Request("translate", RenderedPrompt("S", source, "T"), 100)


def test_the_order_of_keys_and_blanks_does_not_matter() -> None:
    assert canonical(b'{"b": 1, "a": [1, 2]}') == canonical(b'{"a":[1,2],"b":1}')
    assert canonical(b'{"a": 1}') != canonical(b'{"a": 2}')


NASTY = ["trailing blank \nnext", "tab\tand\x85and\u2028 é 漢 😀", "- a: b\n# c\n\n", "  indented\n\ttab\n"]
NASTY += ["'\"`\\", "1e5", "null", ""]


@pytest.mark.parametrize("text", NASTY)
def test_answers_survive_the_file(text: str) -> None:
    response = {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": json.dumps({"text": text})}}
    one = {"request": {"method": "POST", "uri": "u", "body": "sha256:0", "headers": {}}, "response": response}
    readable = Readable({"origin": "x"})
    back = readable.deserialize(readable.serialize({"version": 1, "interactions": [one]}))
    assert json.loads(back["interactions"][0]["response"]["body"]["string"]) == {"text": text}


def test_a_cassette_cannot_run_code(tmp_path: Path) -> None:
    import yaml

    with pytest.raises(yaml.YAMLError):
        Readable({}).deserialize("version: 1\ninteractions: !!python/object/apply:os.mkdir [x]\n")
