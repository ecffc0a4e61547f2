"""The pages say what the program does: help texts, commands, options, files and make targets that they name."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest
from solar_agent.agent.cli import cli
from solar_agent.agent.document import BOUNDS, COUNTS
from solar_agent.agent.exitcodes import Exit

ROOT = Path(__file__).parents[1]
PAGES = [
    path.relative_to(ROOT)
    for path in [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/*.md"),
        *ROOT.glob("cassettes/*.md"),
        *ROOT.glob("benchmarks/**/*.md"),
    ]
]
COMMAND = re.compile(r"(?:^ {4}|^\$ |`)(?:\.venv/bin/)?solar-agent ([^`#\n]+)", re.MULTILINE)
TARGET = re.compile(r"(?:^ {4}|^\$ |`)make ([a-z-]+)", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)\)")


def load_generator() -> Any:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs/generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def named(pattern: re.Pattern[str]) -> list[tuple[Path, str]]:
    return [(page, found.strip()) for page in PAGES for found in pattern.findall((ROOT / page).read_text())]


@pytest.mark.parametrize("page", ["docs/cli.md", "README.md"])
def test_generated_blocks_are_what_the_program_prints(page: str) -> None:
    generate = load_generator()
    text = (ROOT / page).read_text()
    fresh = generate.filled(text)
    assert generate.steady(fresh) == generate.steady(text), "run `make docs`"
    assert "```text\n$ solar-agent" in text


def test_every_command_has_a_help_block() -> None:
    generate = load_generator()
    documented = [words for words, _ in generate.HELP.findall((ROOT / "docs/cli.md").read_text())]
    assert sorted(documented) == sorted(generate.commands())


def words_of(line: str) -> list[str]:
    """The arguments in a line; `…` and `[optional]` of a synopsis are left out."""
    return [word for word in shlex.split(line) if "…" not in word and word not in ("…", ";")]


@pytest.mark.parametrize(("page", "line"), named(COMMAND))
def test_commands_in_the_pages_exist(page: Path, line: str) -> None:
    context = click.Context(cli, info_name="solar-agent")
    command: click.Command = cli
    words = words_of(line)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(context, words[0].split("|")[0])
        assert found is not None, f"{page}: no command {words[0]!r}"
        command, words = found, words[1:]
    options = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    options |= {"--help", "-h"}
    for word in words:
        if word.startswith("-"):
            assert word.split("=")[0] in options, f"{page}: {command.name} has no option {word}"


def test_the_pages_name_commands() -> None:
    """The pattern above finds what it is meant to find."""
    assert len(named(COMMAND)) >= 10
    assert len(named(TARGET)) >= 3


@pytest.mark.parametrize(("page", "target"), named(TARGET))
def test_make_targets_in_the_pages_exist(page: Path, target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE), f"{page}: no target {target}"


@pytest.mark.parametrize(("page", "link"), named(LINK))
def test_links_lead_somewhere(page: Path, link: str) -> None:
    assert (ROOT / page.parent / link).exists(), f"{page}: {link}"


@pytest.mark.parametrize("page", ["README.md", "docs/architecture.md"])
def test_files_named_in_the_pages_exist(page: str) -> None:
    rooms = "agent|analysis|arch_configs|benchmarks|cassettes|docs|examples|ir|prompts|verifier|tests"
    for name in re.findall(rf"`((?:{rooms})/[\w./*-]*)`", (ROOT / page).read_text()):
        assert list(ROOT.glob(name.rstrip("/"))), f"{page}: {name}"


def test_exit_codes_are_all_documented() -> None:
    table = re.findall(r"^\| (\d+) \|", (ROOT / "docs/cli.md").read_text(), re.MULTILINE)
    assert [int(code) for code in table] == [int(code) for code in Exit]
    for code in Exit:
        assert f" {int(code)} " in (cli.help or ""), code


def test_the_documents_keys_are_documented() -> None:
    page = (ROOT / "docs/cli.md").read_text()
    for key in (*COUNTS, *BOUNDS):
        assert f"`{key}`" in page
    assert "MIT" in (ROOT / "LICENSE").read_text().splitlines()[0]


def test_the_demo_runs_examples_that_have_recordings() -> None:
    names = re.search(r"^EXAMPLES \?= (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert names is not None
    for name in names[1].split():
        assert (ROOT / f"examples/{name}.py").is_file(), name
        assert list((ROOT / f"cassettes/{name}").glob("*.yaml")), name
