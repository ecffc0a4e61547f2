"""The command line without any program being run: usage, errors, the cache commands, the shape of documents."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from solar_agent.agent import cli as cli_module
from solar_agent.agent.cache import Cache, Entry
from solar_agent.agent.cli import cli, run
from solar_agent.agent.document import document, dumps
from solar_agent.agent.findings import Findings
from solar_agent.agent.state import TranslatorInfo, Usage
from solar_agent.verifier.certificate import Certificate, LeafRecord

TEXT = "program P\ninput x[B]\n\n# doubled\nfor b<B: y[b] = 2*x[b]\noutput y\n"


class Said:
    """One run: its exit code and what it wrote."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> None:
        capsys.readouterr()
        self.code = run([str(argument) for argument in arguments])
        self.out, self.err = capsys.readouterr()

    @property
    def document(self) -> dict[str, object]:
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found


@pytest.mark.parametrize("command", sorted(cli.commands))
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = Said(capsys, command, "--help")
    assert said.code == 0
    assert said.out.startswith(f"Usage: solar-agent {command}")
    assert said.err == ""


def test_alone_it_shows_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    said = Said(capsys)
    assert said.code == 0
    assert "translate" in said.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["translte"], "error: No such command 'translte'. Did you mean 'translate'; see `solar-agent --help`"),
        (["translate"], "error: Missing argument 'FILE'; see `solar-agent translate --help`"),
        (
            ["translate", "x.py", "--trials", "0"],
            "error: Invalid value for '--trials': 0 is not in the range x>=1; see",
        ),
        (["translate", "x.py"], "error: there is no file x.py; check the path"),
        (["translate", "."], "error: . is a directory; name the Python file inside it"),
        (["prompt", "x.py"], "error: there is no file x.py; check the path"),
        (["verify", "x.py", "--ir", "y"], "error: there is no file x.py; check the path"),
        (["analyze", "x.yaml"], "error: there is no file x.yaml; check the path"),
        (["cache"], "error: Missing command; see `solar-agent cache --help`"),
        (["cache", "rm"], "error: give either KEY or --all; see `solar-agent cache rm --help`"),
        (
            ["cache", "show", "zz"],
            "error: no cached translation has a key that starts with 'zz'; `solar-agent cache ls`",
        ),
    ],
)
def test_wrong_usage_is_one_line(
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    said = Said(capsys, *arguments)
    assert said.code == 2
    assert message in said.err
    assert said.err.startswith("error: ") and said.err.count("\n") == 1
    assert said.out == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--arch", "GTX_9000"], "error: unknown device 'GTX_9000'; there are A100_80GB, "),
        (["--arch", ","], "error: --arch names no device; `solar-agent arch ls` lists them"),
        (["--precision", "f31"], "error: unknown precision 'f31'; there are "),
        (["--translator", "oracle"], "error: --translator 'oracle' is unknown; choose auto, builtin, openai, "),
        (["--max-cost", "1"], "error: --max-cost needs prices to count with; add --prices"),
        (["--prices", "cheap"], "error: --prices 'cheap' is not IN,OUT or IN,OUT,CACHED"),
    ],
)
def test_options_that_do_not_fit(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "x.py"
    file.write_text("")
    said = Said(capsys, "translate", file, *options)
    assert (said.code, said.err[: len(message)]) == (2, message)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty; give a text in the loop language"),
        (b"\xff\xfe\x00", "is not UTF-8 text (byte 0); give a text in the loop language"),
    ],
)
def test_a_text_that_is_none(content: bytes, message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("")
    text = tmp_path / "x.alir"
    text.write_bytes(content)
    said = Said(capsys, "verify", tmp_path / "x.py", "--ir", text)
    assert (said.code, said.err) == (2, f"error: {text} {message}\n")


def test_with_json_an_error_is_a_document_too(capsys: pytest.CaptureFixture[str]) -> None:
    said = Said(capsys, "cache", "show", "zz", "--json")
    assert said.document == {"error": said.err.removeprefix("error: ").rstrip("\n"), "exit_code": 2}


def break_down(_: object) -> None:
    raise ZeroDivisionError("a fault\nof ours")


def test_an_internal_error_is_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli_module.tools, "environment_report", break_down)
    said = Said(capsys, "doctor")
    assert said.code == 1
    assert said.err == ("internal error: ZeroDivisionError: a fault of ours; run with --debug for the traceback\n")
    assert said.out == ""


def test_debug_shows_the_traceback(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli_module.tools, "environment_report", break_down)
    for arguments in (["doctor", "--debug"], ["--debug", "doctor"]):
        said = Said(capsys, *arguments)
        assert said.code == 1
        assert "in break_down" in said.err
        assert said.err.splitlines()[-1].startswith("internal error: ")


@pytest.fixture
def keys() -> tuple[str, str]:
    """Two translations in the cache."""
    store = Cache()
    for key, program in (("aa11" * 16, "first"), ("ab22" * 16, "second")):
        store.put(Entry(key, program, "verified", TEXT, CERTIFICATE.to_json(), "{}"))
    store.close()
    return "aa11" * 16, "ab22" * 16


CERTIFICATE = Certificate(
    verdict="verified",
    flags=(),
    entry="Model",
    mode="eval",
    source_sha256="0" * 64,
    ir_sha256="1" * 64,
    tool_version="0",
    versions={},
    sizes=(),
    trials=(),
    leaves=(LeafRecord("result", "", "f32", (2,), "verified", math.inf, 1e-9, 1.0, 3),),
)


def test_cache_commands(keys: tuple[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    listed = Said(capsys, "cache", "ls", "--json").document["translations"]
    assert listed == [
        {"key": keys[0], "program": "first", "verdict": "verified", "lines": 4},
        {"key": keys[1], "program": "second", "verdict": "verified", "lines": 4},
    ]
    assert len(Said(capsys, "cache", "ls").out.splitlines()) == 2
    assert Said(capsys, "cache", "show", "aa").out == TEXT
    assert Said(capsys, "cache", "show", "aa", "--json").document["text"] == TEXT
    assert "2 cached translations" in Said(capsys, "cache", "show", "a").err

    paths = Said(capsys, "cache", "export", "--out", tmp_path / "texts", "--json").document["paths"]
    assert isinstance(paths, list) and [Path(path).read_text() for path in paths] == [TEXT, TEXT]

    assert Said(capsys, "cache", "rm", "ab").out == "removed 1 translation\n"
    assert Said(capsys, "cache", "rm", "--all").out == "removed 1 translation\n"
    assert Said(capsys, "cache", "ls").out == ""


def test_document_has_all_keys_and_null_for_what_is_missing() -> None:
    empty = document(Findings(file=Path("x.py")))
    assert empty == {
        "source": None,
        "verdict": None,
        "translator": None,
        "ir": None,
        "certificate": None,
        "counts": None,
        "bounds": None,
        "warnings": [],
    }


def test_document_of_an_unverified_text() -> None:
    info = TranslatorInfo("openai", "m", 2, Usage(10, 3), None, "why")
    found = Findings(
        file=Path("x.py"),
        verdict="unverified",
        translator=info,
        text=TEXT,
        certificate=CERTIFICATE,
        warnings=("w", "w"),
        message="attempts spent; next",
    )
    made = document(found)
    assert made["translator"] == {
        "name": "openai",
        "model": "m",
        "attempts": 2,
        "input_tokens": 10,
        "output_tokens": 3,
        "why": "why",
    }
    assert made["ir"] == {"path": None, "nests": None, "lines": 4}
    assert made["warnings"] == ["w", "attempts spent; next"]
    # JSON has no infinity.
    assert json.loads(dumps(made))["certificate"]["leaves"][0]["error"] is None


@pytest.mark.parametrize(
    "arguments",
    [["--json"], ["nope", "--json"], ["analyze", "x", "--nope", "--json"], ["cache", "nope", "--json"]],
)
def test_arguments_that_cannot_be_parsed_get_a_document_too(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    said = Said(capsys, *arguments)
    assert (said.code, said.document["exit_code"]) == (2, 2)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--time-limit", "nan"), ("--time-limit", "inf"), ("--time-limit", "1e300"), ("--time-limit", "0"),
        ("--budget", "nan"), ("--budget", "inf"), ("--max-cost", "nan"), ("--prices", "nan,1"), ("--prices", "1,inf"),
        ("--seed", "99999999999999999999"), ("--seed", "0.5"),
    ],
)  # fmt: skip
def test_numbers_out_of_range(option: str, value: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "x.py"
    file.write_text("")
    said = Said(capsys, "translate", file, option, value)
    assert said.code == 2
    assert option in said.err and said.err.count("\n") == 1


@pytest.mark.parametrize("sizes", ["99999999999999999999", "²", "1e3", "-1"])
def test_sizes_that_are_none(sizes: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name in ("x.py", "x.alir"):
        (tmp_path / name).write_text("x\n")
    said = Said(capsys, "verify", tmp_path / "x.py", "--ir", tmp_path / "x.alir", "-q", "--inputs", f"x=f32[{sizes}]")
    assert (said.code, said.err.split(",")[0]) == (
        2,
        "error: --inputs: the sizes of x must be whole numbers below 10^12",
    )


@pytest.mark.parametrize(
    ("redirected", "code"),
    [("> /dev/full", 2), (">&-", 0), ("2>&-", 0), ("| true; exit ${PIPESTATUS[0]}", 141)],
    ids=["full", "stdout-closed", "stderr-closed", "pipe"],
)
def test_streams_that_cannot_be_written(redirected: str, code: int, tmp_path: Path) -> None:
    """Through a real process; `arch ls --json` writes at once, so the pipe is closed first."""
    script = "import sys, time; from solar_agent.agent.cli import main; time.sleep(0.3); main()"
    line = f"{sys.executable} -c '{script}' arch ls --json {redirected}"
    ran = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert ran.returncode == code
    assert "Traceback" not in ran.stderr and "Exception ignored" not in ran.stderr


def interrupt(_: object) -> None:
    raise KeyboardInterrupt


def test_an_interrupt_is_a_document_too(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli_module.tools, "environment_report", interrupt)
    said = Said(capsys, "doctor", "--json")
    assert (said.code, said.document["exit_code"]) == (130, 130)
    assert said.err.lstrip("\n").startswith("error: interrupted")


def test_a_stream_without_our_characters() -> None:
    script = "from solar_agent.agent.cli import _usable_streams; _usable_streams(); print('\u2026\u00e9')"
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, env={"PYTHONIOENCODING": "latin-1"}
    )
    assert ran.stdout == b"\\u2026\xe9\n"
