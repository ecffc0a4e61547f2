"""Prompts: templates and language page in, text and its named sections out. Same program, same text, on any machine."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from .. import prompts
from ..ir import prelude
from .gather import Facts, gathered
from .state import Options

NUMBER = re.compile(r"(?<![\w.])(\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)(?![\w.])")
FENCE_LINE = re.compile(r" {0,3}(`{3,}|~{3,})")
SIGNATURE = re.compile(r"def\s+[A-Za-z]")


@dataclass(frozen=True, slots=True)
class Part:
    """One section of a prompt: `name` is "system/HEADING" or "user/HEADING"."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class RenderedPrompt:
    """`system` is the same for all programs, `program` for all turns about one program; `task` is this turn's."""

    system: str
    program: str
    task: str
    warnings: tuple[str, ...] = ()

    @property
    def user(self) -> str:
        return f"{self.program}\n{self.task}"

    @property
    def parts(self) -> tuple[Part, ...]:
        return (*sections(self.system, "system"), *sections(self.user, "user"))


@dataclass(frozen=True, slots=True)
class Failed:
    """An earlier attempt, as the next prompt tells of it. `text` is empty when the answer held no program."""

    text: str
    feedback: str


def render_for(path: Path, options: Options) -> RenderedPrompt:
    """The first prompt for a file. Raises the verifier's BadInput and ReferenceFailed."""
    from ..verifier.reference import open_reference
    from .translate import limits_of

    limits = limits_of(options)
    with open_reference(
        path, entry=options.entry, inputs=options.inputs, mode=options.mode, limits=limits
    ) as reference:
        description = reference.describe()
    rendered = first_prompt(gathered(description))
    return replace(rendered, warnings=tuple(dict.fromkeys((*description.warnings, *rendered.warnings))))


def first_prompt(facts: Facts) -> RenderedPrompt:
    return _prompt(facts, _render("translate.jinja", facts=facts, tool=facts.tool))


def repair_prompt(facts: Facts, failed: Failed) -> RenderedPrompt:
    text = failed.text.rstrip("\n")
    feedback = rounded(failed.feedback.strip())
    task = _render("repair.jinja", facts=facts, text=numbered(text), fence=fence_for(text), feedback=feedback)
    return _prompt(facts, task)


def fresh_prompt(facts: Facts, earlier: tuple[Failed, ...]) -> RenderedPrompt:
    """Asks for another way; tells what went wrong before, each fault once."""
    faults = list(dict.fromkeys(rounded(failed.feedback.strip()) for failed in earlier))
    return _prompt(facts, _render("fresh.jinja", facts=facts, faults=faults))


def _prompt(facts: Facts, task: str) -> RenderedPrompt:
    sources = [(name, text, fence_for(text)) for name, text in facts.sources]
    program = _render("program.jinja", facts=facts, sources=sources)
    return RenderedPrompt(system_part(facts.worked_examples), program, task, facts.warnings)


@lru_cache(maxsize=2)
def system_part(worked_examples: bool = True) -> str:
    examples = list(_examples()) if worked_examples else []
    return _render("system.jinja", language=_language(), prelude="\n".join(prelude_signatures()), examples=examples)


@lru_cache(maxsize=1)
def prompt_version() -> str:
    """Hash of the constant part and all templates: what a recorded answer was an answer to."""
    whole = hashlib.sha256(system_part().encode())
    for name in ("program.jinja", "translate.jinja", "repair.jinja", "fresh.jinja"):
        whole.update(_read(files(prompts) / name).encode())
    return whole.hexdigest()[:16]


def numbered(text: str) -> str:
    """The lines with their numbers, as error messages name them."""
    lines = text.splitlines()
    width = len(str(len(lines)))
    return "\n".join(f"{number:>{width}}  {line}".rstrip() for number, line in enumerate(lines, 1))


def rounded(text: str) -> str:
    """Numbers with a point or an exponent to 3 significant digits: their last bits differ between machines."""
    return NUMBER.sub(lambda found: _short(found[0]), text)


def _short(number: str) -> str:
    digits = re.sub(r"[eE].*", "", number).replace(".", "").lstrip("0")
    return f"{float(number):.3g}" if len(digits) > 3 else number


def fence_for(text: str) -> str:
    """Backticks, more than any run of them in `text`."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    return "`" * max(3, longest + 1)


def sections(text: str, prefix: str) -> tuple[Part, ...]:
    """Splits at `# Heading` lines outside fences; the parts joined give `text` again."""
    parts: list[Part] = []
    lines: list[str] = []
    name, fence = f"{prefix}/", ""
    for line in text.splitlines(keepends=True):
        mark = FENCE_LINE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and line.strip() == mark[1] and mark[1].startswith(fence):
            fence = ""
        elif line.startswith("# ") and not fence:
            if lines:
                parts.append(Part(name, "".join(lines)))
            name, lines = f"{prefix}/{line[2:].strip()}", []
        lines.append(line)
    return (*parts, Part(name, "".join(lines)))


def prelude_signatures() -> tuple[str, ...]:
    """The first line of each public function of the families that are offered, with the comment lines right above."""
    texts = [_read(files(prelude) / f"{family}.alir") for family in prelude.OFFERED]
    return tuple(signature for text in texts for signature in _signatures(text))


def _signatures(text: str) -> Iterator[str]:
    comments: list[str] = []
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("#"):
            comments.append(line)
            continue
        if SIGNATURE.match(line):
            whole = line
            while whole.count("(") + whole.count("[") > whole.count(")") + whole.count("]"):
                whole = f"{whole.rstrip()} {next(lines).strip()}"
            yield "\n".join([*comments, whole.rstrip().removesuffix(":")])
        comments = []


def _language() -> str:
    page = files(prompts) / "language.md"
    return _read(page).strip() if page.is_file() else ""


def _examples() -> Iterator[dict[str, str]]:
    """Worked examples in the order of their names: NAME.py beside NAME.alir, and NAME.md (whole) where there is one."""
    folder = files(prompts) / "examples"
    if not folder.is_dir():
        return
    entries = {entry.name: entry for entry in folder.iterdir()}
    for name in sorted(entries):
        stem, _, kind = name.rpartition(".")
        if kind == "md":
            yield {"page": _read(entries[name]).strip()}
        elif kind == "py" and f"{stem}.alir" in entries:
            source, text = _read(entries[name]).strip("\n"), _read(entries[f"{stem}.alir"]).strip("\n")
            yield {"source": source, "text": text, "fence": fence_for(source + text)}


def _read(entry: Traversable) -> str:
    return entry.read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def _environment() -> Any:  # noqa: ANN401
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: _read(files(prompts) / name)),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )


def _render(template: str, **values: object) -> str:
    return str(_environment().get_template(template).render(**values))
