"""The agent with nothing faked but the model: a real program in a real child process, and the real verifier."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from solar_agent.agent.prompt import render_for
from solar_agent.agent.record import Place, record, remembering
from solar_agent.agent.state import Options
from solar_agent.agent.translate import checker_for, stored_translation, translate, translate_with
from solar_agent.verifier.reference import open_reference
from solar_agent.verifier.types import BadInput

from .lab import CUT, RIGHT, SOURCE, Server, fenced, said


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "product.py"
    path.write_text(SOURCE)
    return path


def test_from_a_file_to_a_verified_text_and_back_from_the_cache(file: Path, server: Server, options: Options) -> None:
    wrong = RIGHT.replace("w[k, n]", "w[k, n] + 1")
    server.script = [said("openai", fenced(text)) for text in ("program p\ninput x[", CUT, wrong, RIGHT)]
    asked = replace(options, translator="openai", base_url=server.url("openai"), model="fake-1")
    result = translate(file, asked)
    assert (result.verdict, result.exit_code, result.text) == ("verified", 0, RIGHT)
    assert [attempt.kind for attempt in result.attempts] == ["translate", "repair", "repair", "fresh"]
    feedback = [attempt.feedback for attempt in result.attempts]
    assert "line 2" in feedback[0]  # does not parse
    assert feedback[1] and feedback[2] and feedback[3] == ""
    assert result.certificate is not None and result.certificate.verdict == "verified"
    assert result.description is not None and result.description.bindings.inputs["x"].shape == (4, 16)

    again = translate(file, replace(asked, base_url="http://127.0.0.1:9/v1"))
    assert (again.from_cache, again.verdict, again.text) == (True, "verified", RIGHT)
    stored = stored_translation(file, Options())
    assert stored is not None and stored.text == RIGHT and stored.description == result.description
    file.write_text(f"# another comment\n{SOURCE}")
    assert stored_translation(file, Options()) is not None  # the same syntax tree
    file.write_text(SOURCE.replace("x @ self.w", "x @ self.w + 1"))
    assert stored_translation(file, Options()) is None


def test_the_prompt_of_a_file(file: Path) -> None:
    prompt = render_for(file, Options())
    assert SOURCE.strip() in prompt.user
    assert "- x: [4, 16] f32" in prompt.user and "- w: [16, 8] f32" in prompt.user and "- arg.k: 16" in prompt.user
    assert str(file.parent) not in prompt.user


def test_a_recording_of_a_real_run_plays(file: Path, tmp_path: Path) -> None:
    place = Place(answers=tmp_path / "answers", cassettes=tmp_path / "tapes", origin="a test", model="hand-1")
    folder = tmp_path / "answers" / "product"
    folder.mkdir(parents=True)
    (folder / "1.txt").write_text(fenced(CUT))
    (folder / "2.txt").write_text(fenced(RIGHT))
    assert record(file, place, Options()).verdict == "verified"
    with open_reference(file) as reference:
        checker = remembering(checker_for(reference, Options()))
        for provider in ("openai", "anthropic"):
            asked = Options(translator=f"replay:{tmp_path / 'tapes'}", provider=provider)  # type: ignore[arg-type]
            result = translate_with(reference.describe(), checker, "product", asked)
            assert (result.verdict, result.translator.attempts, result.warnings) == ("verified", 2, ())


def test_a_file_that_is_no_program(tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text("def forward(:\n")
    with pytest.raises(BadInput):
        translate(path, Options(translator="manual"))
