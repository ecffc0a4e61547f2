"""Fills the help blocks of docs/cli.md from the command line itself: `python docs/generate.py`, or `--check`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from click import Group
from click.testing import CliRunner
from solar_agent.agent.cli import cli

PAGE = Path(__file__).with_name("cli.md")
BLOCK = re.compile(r"(?<=<!-- help: )([a-z ]*?)( *-->\n).*?(?=<!-- end -->)", re.DOTALL)


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


def filled(page: str) -> str:
    def block(match: re.Match[str]) -> str:
        words = match[1].split()
        line = " ".join(["$ solar-agent", *words, "--help"])
        return f"{match[1]}{match[2]}```text\n{line}\n{help_text(words)}```\n"

    return BLOCK.sub(block, page)


def main() -> int:
    page = PAGE.read_text(encoding="utf-8")
    fresh = filled(page)
    if "--check" not in sys.argv:
        PAGE.write_text(fresh, encoding="utf-8")
    return int("--check" in sys.argv and fresh != page)


if __name__ == "__main__":
    sys.exit(main())
