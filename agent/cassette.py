"""Recorded answers: vcrpy files without secrets and without user source, and beside them what they were answers to."""

from __future__ import annotations

import copy
import difflib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .prompt import Part, RenderedPrompt
from .translators.base import Drift

FORMAT = 1
META = "meta.json"
HOST = "https://recorded.invalid"
HASHED = b"sha256:"
REQUEST_HEADERS = ("content-type", "anthropic-version")
RESPONSE_HEADERS = ("content-type",)
MATCH_ON = ("method", "path", "body")
LINE_DIGITS = 6
SHOWN_LINES = 5
ESTIMATED = "estimated: one token for every 4 characters"
REDACTED = "REDACTED"


@dataclass(frozen=True, slots=True)
class Turn:
    """One recorded request: `sections` are (name, sha256) of its prompt, in order."""

    kind: str
    answer_tokens: int
    sections: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Meta:
    """What lies beside the recordings of one program.

    `origin` says truthfully who wrote the answers; `verdict` what the last of them came to, `certificate` the hash of
    its certificate. `worked_examples` is false where the prompt did without them. `wires`: provider ->
    {"file", "format", "model"}. `lines`: section sha256 -> the hashes of its lines, run together."""

    program: str
    source_sha256: str
    origin: str
    verdict: str
    usage: str
    prompt_version: str
    language_version: int
    libraries: Mapping[str, str]
    wires: Mapping[str, Mapping[str, str]]
    turns: tuple[Turn, ...]
    lines: Mapping[str, str]
    entry: str | None = None
    inputs: str | None = None
    mode: str = "eval"
    worked_examples: bool = True
    certificate: str | None = None
    format: int = FORMAT

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1, sort_keys=True) + "\n"

    @staticmethod
    def read(folder: Path) -> Meta:
        """Raises Drift when it is not there or not of this format."""
        path = folder / META
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            if data.get("format") != FORMAT:
                raise Drift(f"{path} has format {data.get('format')!r}, this version reads {FORMAT}: record it again")
            turns = tuple(
                Turn(turn["kind"], turn["answer_tokens"], tuple((name, sha) for name, sha in turn["sections"]))
                for turn in data["turns"]
            )
            return Meta(**{**data, "turns": turns})
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise Drift(f"{path} is not the description of a recording ({error})") from error


def turn_of(kind: str, answer_tokens: int, prompt: RenderedPrompt) -> Turn:
    return Turn(kind, answer_tokens, tuple((part.name, sha256(part.text)) for part in prompt.parts))


def lines_of(prompt: RenderedPrompt) -> dict[str, str]:
    return {sha256(part.text): "".join(_line_hashes(part)) for part in prompt.parts}


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _line_hashes(part: Part) -> list[str]:
    return [sha256(line)[:LINE_DIGITS] for line in part.text.splitlines()]


def library_versions(framework: str, framework_version: str) -> dict[str, str]:
    """Those that shape a prompt or a request."""
    found = {name: version(name) for name in ("anthropic", "openai", "vcrpy")}
    return {**found, framework: framework_version}


def find_folder(folder: Path, program: str, source_sha256: str) -> Path:
    """`folder` itself, or the one in it that was recorded for this program: by its hash, else by its name.

    Raises Drift."""
    if (folder / META).is_file():
        return folder
    if not folder.is_dir():
        raise Drift(f"there is no recording in {folder}: no such folder")
    inside = sorted((path.parent for path in folder.glob(f"*/{META}")), key=lambda place: place.name != program)
    for candidate in inside:
        if Meta.read(candidate).source_sha256 == source_sha256:
            return candidate
    if inside and inside[0].name == program:
        return inside[0]
    raise Drift(f"{folder} holds {len(inside)} recordings, none of `{program}` (source hash {source_sha256[:12]})")


def explain(meta: Meta, position: int, prompt: RenderedPrompt, libraries: Mapping[str, str]) -> str:
    """Why a request is not in the recording: library versions first, then the sections and lines that differ."""
    reasons = [
        f"recorded with {name} {old}, installed is {libraries[name]}"
        for name, old in sorted(meta.libraries.items())
        if libraries.get(name, old) != old
    ]
    if position >= len(meta.turns):
        reasons.append(f"request {position + 1} goes beyond the recording, which ends after {len(meta.turns)}")
        return "; ".join(reasons)
    changed = list(_changed(meta, meta.turns[position], prompt.parts))
    what = changed[:SHOWN_LINES] or ["the prompt is the same; the request differs in another field"]
    more = [f"and {len(changed) - SHOWN_LINES} more places"] if len(changed) > SHOWN_LINES else []
    return f"request {position + 1}: " + "; ".join([*reasons, *what, *more])


def _changed(meta: Meta, turn: Turn, parts: tuple[Part, ...]) -> list[str]:
    recorded = dict(turn.sections)
    places = [f"section `{name}` is gone" for name in recorded if name not in {part.name for part in parts}]
    for part in parts:
        if part.name not in recorded:
            places.append(f"section `{part.name}` is new")
        elif recorded[part.name] != sha256(part.text):
            places += _changed_lines(meta.lines.get(recorded[part.name], ""), part)
    return places


def _changed_lines(recorded: str, part: Part) -> list[str]:
    old = [recorded[start : start + LINE_DIGITS] for start in range(0, len(recorded), LINE_DIGITS)]
    lines = part.text.splitlines()
    matcher = difflib.SequenceMatcher(None, old, _line_hashes(part), autojunk=False)
    places = []
    for tag, old_start, old_end, start, end in matcher.get_opcodes():
        if tag == "equal":
            continue
        where = f"section `{part.name}`, line {start + 1}"
        if start == end:
            places.append(f"{where}: {old_end - old_start} recorded lines are missing")
        else:
            places.append(f"{where}{f' to {end}' if end > start + 1 else ''}: now {lines[start].strip()[:80]!r}")
    return places or [f"section `{part.name}` differs"]


def recorder(mode: str, secrets: tuple[str, ...] = (), facts: Mapping[str, str] | None = None) -> Any:  # noqa: ANN401
    """A VCR that keeps a request as its path and the hash of its body, and of both sides the listed headers only.

    `mode` "all" records, "none" replays. `secrets` are blotted out of the answers; `facts` stand in each file."""
    import vcr

    made = vcr.VCR(
        record_mode=mode,
        match_on=MATCH_ON,
        before_record_request=stripped_request,
        before_record_response=lambda response: stripped_response(response, secrets),
        decode_compressed_response=True,
    )
    made.register_serializer("readable", Readable(dict(facts or {})))
    made.serializer = "readable"
    return made


def stripped_request(request: Any) -> Any:  # noqa: ANN401
    """Applied again when a file is loaded, so it leaves alone what it made."""
    made = copy.copy(request)
    made.headers = {name: value for name, value in request.headers.items() if name.lower() in REQUEST_HEADERS}
    made.uri = HOST + request.path
    body = request.body or b""
    if not body.startswith(HASHED):
        made.body = HASHED + hashlib.sha256(canonical(body)).hexdigest().encode()
    return made


def canonical(body: bytes) -> bytes:
    """JSON with its keys in order and no blanks; other bytes as they are."""
    try:
        return json.dumps(json.loads(body), sort_keys=True, separators=(",", ":")).encode()
    except ValueError:
        return body


def stripped_response(response: Any, secrets: tuple[str, ...] = ()) -> Any:  # noqa: ANN401
    """None, so not recorded, for an error answer."""
    if response["status"]["code"] != 200:
        return None
    kept = {name: value for name, value in response["headers"].items() if name.lower() in RESPONSE_HEADERS}
    body = response["body"]["string"]
    for secret in secrets:
        body = body.replace(secret.encode(), REDACTED.encode())
    return {**response, "headers": kept, "body": {"string": body}}


@dataclass(frozen=True, slots=True)
class Readable:
    """vcrpy's YAML with JSON answers written out as data, and `facts` at the top."""

    facts: dict[str, str]

    def serialize(self, cassette: dict[str, Any]) -> str:
        import yaml

        interactions = [{**one, "response": _opened_body(one["response"])} for one in cassette["interactions"]]
        whole = {**self.facts, "version": cassette["version"], "interactions": interactions}
        text = yaml.dump(whole, Dumper=_dumper(), sort_keys=False, allow_unicode=True, width=120)
        if self.deserialize(text)["interactions"] != [
            {**one, "response": _closed_body(_opened_body(one["response"]))} for one in cassette["interactions"]
        ]:
            raise ValueError("a recorded answer does not survive being written to a file")
        return str(text)

    def deserialize(self, text: str) -> dict[str, Any]:
        import yaml

        data = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        interactions = [{**one, "response": _closed_body(one["response"])} for one in data["interactions"]]
        return {"version": data["version"], "interactions": interactions}


def _opened_body(response: dict[str, Any]) -> dict[str, Any]:
    try:
        return {**response, "body": {"json": json.loads(response["body"]["string"])}}
    except ValueError:
        return response


def _closed_body(response: dict[str, Any]) -> dict[str, Any]:
    body = response["body"]
    if "json" not in body:
        return response
    return {**response, "body": {"string": json.dumps(body["json"], ensure_ascii=False)}}


def _dumper() -> Any:  # noqa: ANN401
    import yaml

    class Dumper(yaml.SafeDumper):
        """Texts of several lines as blocks."""

    def text(dumper: Any, value: str) -> Any:  # noqa: ANN401
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)

    Dumper.add_representer(str, text)
    return Dumper


def scan(path: Path, secrets: tuple[str, ...]) -> None:
    """Raises ValueError, the file removed, when one of `secrets` stands in it."""
    text = path.read_text(encoding="utf-8")
    if any(secret and secret in text for secret in secrets):
        path.unlink()
        raise ValueError(f"{path.name} held a key and was removed")
