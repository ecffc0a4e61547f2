"""The recordings that come with the project: they fit the prompts of today and play to their end, with no network.

A replay has to come to the recorded verdict and the recorded certificate, in both wire formats."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
import yaml
from solar_agent.agent.cassette import HASHED, Meta
from solar_agent.agent.prompt import prompt_version
from solar_agent.agent.record import remembering
from solar_agent.agent.state import Options
from solar_agent.agent.translate import checker_for, translate_with
from solar_agent.verifier.reference import open_reference

ROOT = Path(__file__).parents[2]
CASSETTES = ROOT / "cassettes"
EXAMPLES = ROOT / "examples"
FOLDERS = sorted(path.parent for path in CASSETTES.rglob("meta.json"))
BARE = CASSETTES / "without-examples"
PLAYED = [folder for folder in FOLDERS if folder.parent == CASSETTES]
REPAIRED = [folder for folder in FOLDERS if len(Meta.read(folder).turns) > 1]


def named(folder: Path) -> str:
    return str(folder.relative_to(CASSETTES))


def test_every_example_has_a_recording() -> None:
    assert {folder.name for folder in PLAYED} == {path.stem for path in EXAMPLES.glob("*.py")}
    assert len(PLAYED) >= 16


@pytest.mark.parametrize("folder", FOLDERS, ids=named)
def test_a_recording_fits_the_prompts_and_says_what_it_is(folder: Path) -> None:
    meta = Meta.read(folder)
    assert meta.prompt_version == prompt_version(), "the prompts have changed: record again"
    assert meta.worked_examples == (folder.parent != BARE)
    assert meta.origin.strip() and "estimated" in meta.usage
    assert set(meta.wires) == {"openai", "anthropic"}
    for wire in meta.wires.values():
        text = (folder / wire["file"]).read_text()
        assert yaml.safe_load(text)["origin"] == meta.origin
        assert text.count(f"body: {HASHED.decode()}") == len(meta.turns)
        assert "authorization" not in text.lower() and "api-key" not in text.lower()
    assert {path.name for path in folder.iterdir()} == {"meta.json", *(wire["file"] for wire in meta.wires.values())}


@pytest.mark.parametrize("folder", sorted({*PLAYED, *REPAIRED}), ids=named)
def test_a_recording_plays_to_its_end(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket.socket, "connect", _no_network)
    meta = Meta.read(folder)
    texts = set()
    with open_reference(EXAMPLES / f"{folder.name}.py", entry=meta.entry, inputs=meta.inputs) as reference:
        checker = remembering(checker_for(reference, Options()))
        for provider in meta.wires:
            asked = Options(translator=f"replay:{folder}", provider=provider)  # type: ignore[arg-type]
            result = translate_with(reference.describe(), checker, folder.name, asked)
            assert result.verdict == meta.verdict == "verified", result.message
            assert result.certificate is not None and result.certificate.hash == meta.certificate
            assert result.translator.attempts == len(meta.turns)
            assert not any("not asked for" in warning for warning in result.warnings)
            texts.add(result.text)
    assert len(texts) == 1


def _no_network(*_: object) -> None:
    raise AssertionError("a replay touched the network")
