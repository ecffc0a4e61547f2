"""The recordings that come with the project: they fit the prompts of today, and they play to their end.

All of them are looked at; those named in PLAYED are run here, the others by `make demo`."""

from __future__ import annotations

from pathlib import Path

import pytest
from solar_agent.agent.cassette import HASHED, Meta
from solar_agent.agent.prompt import prompt_version
from solar_agent.agent.record import remembering
from solar_agent.agent.state import Options
from solar_agent.agent.translate import checker_for, translate_with
from solar_agent.verifier.reference import open_reference

ROOT = Path(__file__).parents[2]
FOLDERS = sorted(path.parent for path in (ROOT / "cassettes").glob("*/meta.json"))
EXAMPLES = ROOT / "examples"
PLAYED = [folder for folder in FOLDERS if (EXAMPLES / f"{folder.name}.py").is_file()][:2]


def named(folder: Path) -> str:
    return folder.name


@pytest.mark.parametrize("folder", FOLDERS, ids=named)
def test_a_recording_fits_the_prompts_and_says_what_it_is(folder: Path) -> None:
    meta = Meta.read(folder)
    assert meta.prompt_version == prompt_version(), "the prompts have changed: record again"
    assert meta.origin.strip() and "estimated" in meta.usage
    for wire in meta.wires.values():
        text = (folder / wire["file"]).read_text()
        assert text.startswith(f"origin: {meta.origin}"[:60])
        assert text.count(f"body: {HASHED.decode()}") == len(meta.turns)
        assert "authorization" not in text.lower() and "api-key" not in text.lower()
    assert {path.name for path in folder.iterdir()} == {"meta.json", *(wire["file"] for wire in meta.wires.values())}


@pytest.mark.parametrize("folder", PLAYED, ids=named)
def test_a_recording_plays_to_its_end(folder: Path) -> None:
    meta = Meta.read(folder)
    with open_reference(EXAMPLES / f"{folder.name}.py", entry=meta.entry, inputs=meta.inputs) as reference:
        checker = remembering(checker_for(reference, Options()))
        for provider in meta.wires:
            asked = Options(translator=f"replay:{folder}", provider=provider)  # type: ignore[arg-type]
            result = translate_with(reference.describe(), checker, folder.name, asked)
            assert result.verdict == meta.verdict, result.message
            assert result.translator.attempts == len(meta.turns)
            assert not any("not asked for" in warning for warning in result.warnings)
