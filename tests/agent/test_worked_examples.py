"""What the prompt shows must be true: every worked example verifies, every piece of the language page parses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from solar_agent import prompts
from solar_agent.ir.parse import parse

PROMPTS = Path(prompts.__file__).parent
TEXTS = sorted((PROMPTS / "examples").glob("*.alir"))
CHARACTERS_PER_TOKEN = 3


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_worked_example_verifies(path: Path) -> None:
    pytest.importorskip("torch")
    from solar_agent.verifier.reference import open_reference
    from solar_agent.verifier.verify import verify

    with open_reference(path.with_suffix(".py")) as reference:
        certificate = verify(reference, path.read_text(encoding="utf-8"))
    assert certificate.verdict == "verified", certificate.feedback()


def test_examples_are_pairs_within_budget() -> None:
    files = sorted((PROMPTS / "examples").iterdir())
    programs = [file for file in files if file.suffix == ".py"]
    assert [file.stem for file in programs] == [file.stem for file in TEXTS] and len(TEXTS) >= 6
    assert sum(len(file.read_text(encoding="utf-8")) for file in (*programs, *TEXTS)) <= 4000 * CHARACTERS_PER_TOKEN


def test_language_page_parses_and_fits() -> None:
    page = (PROMPTS / "language.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```alir\n(.*?)```", page, re.DOTALL)
    assert len(blocks) >= 4
    for block in blocks:
        parse(block)
    assert len(page) <= 5000 * CHARACTERS_PER_TOKEN
