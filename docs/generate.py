"""Fills the help blocks of docs/cli.md and the output blocks of README.md by running the program.

`python docs/generate.py` writes them; `--check` tells by its exit code whether they are what the program prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from click import Group
from click.testing import CliRunner
from solar_agent.agent.cli import cli

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "docs/cli.md", ROOT / "README.md")
HELP = re.compile(r"(?<=<!-- help: )([a-z ]*?)( *-->\n).*?(?=<!-- end -->)", re.DOTALL)


OUTPUT = re.compile(r"(?<=<!-- output: solar-agent )([^>]*?)( -->\n).*?(?=<!-- end -->)", re.DOTALL)


def help_text(words: list[str]) -> str:
    """What `solar-agent WORDS --help` prints on a terminal of 100 columns."""
    shown = CliRunner().invoke(cli, [*words, "--help"], prog_name="solar-agent", terminal_width=100)
    assert shown.exit_code == 0, shown.output
    return shown.output


def commands(group: Group = cli, above: tuple[str, ...] = ()) -> list[str]:
    """All commands with their groups: "", "analyze", "arch", "arch ls" …"""
    found = [" ".join(above)]
    for name, command in sorted(group.commands.items()):
        inner = (*above, name)
        found += commands(command, inner) if isinstance(command, Group) else [" ".join(inner)]
    return found


def output_text(words: list[str]) -> str:
    """What `solar-agent WORDS` prints into a file, run in the project's folder with an empty cache and no key."""
    with TemporaryDirectory() as cache:
        named = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "ANTHROPIC_"))}
        settings = {**named, "SOLAR_AGENT_CACHE": cache}
        program = str(Path(sys.executable).with_name("solar-agent"))
        ran = subprocess.run([program, *words], cwd=ROOT, env=settings, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def filled(page: str) -> str:
    def block(match: re.Match[str], made: Callable[[list[str]], str], option: str = "") -> str:
        words = match[1].split()
        line = " ".join(["$ solar-agent", *words]) + option
        return f"{match[1]}{match[2]}```text\n{line}\n{made(words)}```\n"

    page = HELP.sub(lambda match: block(match, help_text, " --help"), page)
    return OUTPUT.sub(lambda match: block(match, output_text), page)


def steady(page: str) -> str:
    """Without what differs between machines: the build of torch, and errors, which hang on the last bits."""
    return re.sub(r"error \de-\d+", "error …", page.replace("+cpu", ""))


def main() -> int:
    stale = 0
    for path in PAGES:
        page = path.read_text(encoding="utf-8")
        fresh = filled(page)
        if "--check" not in sys.argv:
            path.write_text(fresh, encoding="utf-8")
        stale += steady(fresh) != steady(page)
    return int("--check" in sys.argv and stale > 0)


if __name__ == "__main__":
    sys.exit(main())
