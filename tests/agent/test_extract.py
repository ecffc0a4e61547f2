from __future__ import annotations

import pytest
from solar_agent.agent.extract import NoText, program_text

PROGRAM = "program p\ninput x[B]\noutput x\n"


def test_the_last_labelled_block_is_taken_whole() -> None:
    inner = '# doc: "```" opens a block, and ``` closes it\n' + PROGRAM
    before = "Plan first:\n```text\nignore me\n```\nA try:\n```ir\nprogram wrong\n```\nThen:\n"
    answer = f"{before}```ir\n{inner}```\nDone.\n"
    assert program_text(answer) == inner


@pytest.mark.parametrize("label", ["alir", "ir", "ALIR"])
def test_both_labels_count(label: str) -> None:
    assert program_text(f"```{label}\n{PROGRAM}```") == PROGRAM


def test_a_longer_fence_holds_shorter_ones() -> None:
    inner = "# usage:\n```\nnot the end\n```\n" + PROGRAM
    assert program_text(f"````alir\n{inner}````\n") == inner


def test_a_tilde_fence() -> None:
    assert program_text(f"~~~alir\n{PROGRAM}~~~\n") == PROGRAM


def test_an_unlabelled_block_counts_when_it_is_the_only_one() -> None:
    assert program_text(f"Here:\n```\n{PROGRAM}```\n") == PROGRAM
    with pytest.raises(NoText, match="no ```alir block, only ```, ```"):
        program_text("```\na = 1\n```\n```\nb = 2\n```\n")


def test_of_other_blocks_the_one_that_is_a_program() -> None:
    assert program_text(f"```python\nx @ w\n```\n```text\n# mine\n{PROGRAM}```\n") == f"# mine\n{PROGRAM}"


def test_a_bare_program_needs_no_fence() -> None:
    assert program_text(f"\n# first\n{PROGRAM}") == f"# first\n{PROGRAM}"


def test_a_block_that_is_never_closed_runs_to_the_end() -> None:
    assert program_text(f"```alir\n{PROGRAM}") == PROGRAM


@pytest.mark.parametrize(
    ("answer", "message"),
    [("", "empty"), (" \n\n", "empty"), ("I cannot.", "no ```alir block"), ("```alir\n\n```", "code block was empty")],
)
def test_without_a_program_the_message_says_what_came(answer: str, message: str) -> None:
    with pytest.raises(NoText, match=message):
        program_text(answer)
