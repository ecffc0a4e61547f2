"""The command line on real programs, good and bad, in a child process each: what is said, which code, what is left."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from solar_agent.agent.cli import run

from .lab import RIGHT, SOURCE, Server, fenced, said
from .test_cli import Said

HEAD = "import torch\n\n\nclass Model(torch.nn.Module):\n"
TAIL = "\n\ndef get_inputs():\n    return [torch.rand({size})]\n\n\ndef get_init_inputs():\n    return []\n"
PLUS_ONE = "program P\ninput x[N]\ny = x + 1\noutput y\n"
DOCUMENT = ["source", "verdict", "translator", "ir", "certificate", "counts", "bounds", "warnings"]
COUNTS = ["macs", "macs_nominal", "flops", "vector_ops", "special_ops", "unfused_bytes", "fused_bytes", "input_bytes",
          "weight_bytes", "output_bytes"]  # fmt: skip
BOUNDS = ["unfused_s", "fused_s", "cache_aware_s", "certified_s", "algebraic_s", "binding", "precision"]


@pytest.fixture(autouse=True)
def nothing_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder for temporary files of its own; see `assert_nothing_left`."""
    (tmp_path / "tmp").mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.chdir(tmp_path / "here")


def assert_nothing_left(tmp_path: Path, *written: str) -> None:
    assert list((tmp_path / "tmp").iterdir()) == []
    assert {path.name for path in Path.cwd().iterdir()} == {"x.py", "x.alir", *written}


def put(source: str, text: str = PLUS_ONE) -> None:
    Path("x.py").write_text(source)
    Path("x.alir").write_text(text)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("X = 3\n", "error: x.py has no Model"),
        ("class Model(object:\n    pass\n", "error: x.py:1: SyntaxError"),
        ("import no_such_package\n" + HEAD + "    pass\n", "error: x.py:1: cannot import no_such_package"),
        (
            HEAD + "    def forward(self, x):\n        while True:\n            pass\n" + TAIL.format(size=3),
            "error: no answer within the limit of 3 s at x.py:",
        ),
    ],
    ids=["no-model", "syntax", "import", "hang"],
)
def test_programs_that_cannot_be_used(
    source: str, message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    put(source)
    result = Said(capsys, "verify", "x.py", "--ir", "x.alir", "--time-limit", "3", "--quiet", "--json")
    assert result.code == 2
    assert result.err.startswith(message) and result.err.count("\n") == 1
    assert result.document["exit_code"] == 2
    assert_nothing_left(tmp_path)


def test_a_tensor_of_100_gigabytes_is_never_made(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    put(HEAD + "    def forward(self, x):\n        return x + 1\n" + TAIL.format(size="25_000_000_000"))
    result = Said(capsys, "analyze", "x.py", "--ir", "x.alir", "--trials", "3", "--quiet", "--json")
    assert result.code == 0
    found = result.document
    assert isinstance(found["counts"], dict) and found["counts"]["fused_bytes"] == 2 * 4 * 25_000_000_000
    assert_nothing_left(tmp_path)


def test_without_a_key_it_says_what_would_do(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    put(SOURCE)
    result = Said(capsys, "translate", "x.py", "--translator", "anthropic", "--quiet", "--json")
    assert result.code == 30
    for way in ("ANTHROPIC_API_KEY", "--base-url", "builtin", "manual", "replay"):
        assert way in result.err
    assert list(result.document) == DOCUMENT
    assert (result.document["ir"], result.document["certificate"]) == (None, None)
    assert_nothing_left(tmp_path)


def test_files_that_hold_no_answer_or_no_text(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    put(SOURCE, f"Here it is.\n```alir\n{RIGHT}```\n")
    fenced = Said(capsys, "verify", "x.py", "--ir", "x.alir", "--quiet")
    assert (fenced.code, fenced.out) == (2, "") and "x.alir is a whole answer" in fenced.err
    missing = Said(capsys, "translate", "x.py", "--translator", "manual", "--answer", "nowhere", "--quiet")
    assert (missing.code, missing.out) == (2, "") and "there is no file nowhere" in missing.err
    unread = Said(capsys, "translate", "x.py", "--answer", "x.alir", "--quiet")
    assert (unread.code, unread.out) == (2, "") and "add --translator manual" in unread.err


def test_a_prompt_for_a_program_that_fails_comes_with_a_warning(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    put(HEAD + "    def forward(self, x):\n        return x @ x[:, 1:]\n" + TAIL.format(size=3))
    result = Said(capsys, "prompt", "x.py", "--quiet")
    assert result.code == 0 and "warning: the shapes of the results at full size are not known" in result.err


def test_an_empty_answer_of_the_model(capsys: pytest.CaptureFixture[str], server: Server, tmp_path: Path) -> None:
    put(SOURCE)
    server.script = [said("openai", "")]
    options = ["--translator", "openai", "--base-url", server.url("openai"), "--model", "fake", "--max-attempts", "2"]
    result = Said(capsys, "translate", "x.py", *options, "--out", "out", "--quiet", "--json")
    assert result.code == 20
    assert result.err.startswith("error: ") and result.err.count("\n") == 1
    assert (result.document["verdict"], result.document["bounds"]) == ("unverified", None)
    assert_nothing_left(tmp_path, "out")


def test_the_whole_job_and_what_is_cached(capsys: pytest.CaptureFixture[str], server: Server, tmp_path: Path) -> None:
    """Translate, then everything that rests on the result."""
    put(SOURCE, RIGHT)
    server.script = [said("openai", fenced(RIGHT))]
    options = ["--translator", "openai", "--base-url", server.url("openai"), "--model", "fake"]
    first = Said(capsys, "translate", "x.py", *options, "--arch", "H100_PCIe,B200", "--out", "out", "--quiet", "--json")
    assert (first.code, first.err) == (0, "")
    assert list(first.document) == DOCUMENT
    found = json.loads(first.out)
    assert list(found["counts"]) == COUNTS
    assert found["counts"]["macs"] == 4 * 16 * 8
    assert found["counts"]["fused_bytes"] == 4 * (4 * 16 + 16 * 8 + 4 * 8)
    assert list(found["bounds"]) == ["H100_PCIe", "B200"]
    assert list(found["bounds"]["B200"]) == BOUNDS
    assert found["bounds"]["B200"]["cache_aware_s"] is None
    assert found["translator"] == {
        "name": "openai",
        "model": "fake",
        "attempts": 1,
        "input_tokens": 100,
        "output_tokens": 10,
        "why": "openai was asked for",
    }
    assert found["ir"] == {"path": str(Path("out/x.alir")), "nests": 1, "lines": 5}
    assert sorted(path.name for path in Path("out").iterdir()) == ["einsum_graph.yaml", "x.alir", "x.certificate.json"]
    assert Path("out/x.alir").read_text() == RIGHT

    again = Said(capsys, "translate", "x.py", *options, "--quiet")
    assert (again.code, again.err) == (0, "")
    assert "cache, a verified text of an earlier run, checked again" in again.out
    assert len(server.requests) == 1

    cached = Said(capsys, "analyze", "x.py", "--json")
    assert json.loads(cached.out)["counts"] == found["counts"]
    lifted = Said(capsys, "analyze", "out/einsum_graph.yaml", "--arch", "H100_PCIe,B200", "--json")
    assert json.loads(lifted.out)["bounds"] == found["bounds"]
    assert_nothing_left(tmp_path, "out")


def test_verify_and_lift(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    put(SOURCE, RIGHT)
    result = Said(capsys, "lift", "x.py", "--ir", "x.alir", "--out", "graph", "--trials", "3", "--seed", "5")
    assert result.code == 0
    assert result.err.startswith("load: starting x.py")
    assert "x.py  verified" in result.out
    graph = yaml.safe_load(Path("graph/einsum_graph.yaml").read_text())
    equations = [layer["einsum_equation"] for layer in graph["layers"].values() if layer["is_real_einsum"]]
    assert len(equations) == 1
    certificate = json.loads(Path("graph/x.certificate.json").read_text())
    assert certificate["verdict"] == "verified"
    assert {trial["seed"] // 1000 for trial in certificate["trials"]} == {5}
    assert_nothing_left(tmp_path, "graph")


def test_a_wrong_text_is_not_lifted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    put(SOURCE, RIGHT.replace("* w[k, n]", "* w[k, n] * 2"))
    result = Said(capsys, "lift", "x.py", "--ir", "x.alir", "--out", "graph", "--quiet")
    assert result.code == 20
    assert "line 4" in result.out
    assert result.err == "error: nothing was written to graph, as the text is unverified; mend it and run lift again\n"
    assert_nothing_left(tmp_path)


def test_analyze_without_a_translation(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    put(SOURCE)
    result = Said(capsys, "analyze", "x.py")
    assert result.code == 2
    assert result.err == (
        "error: x.py has no verified translation yet; run `solar-agent translate x.py`, or name one with --ir\n"
    )
    assert_nothing_left(tmp_path)


def test_prompt(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    put(SOURCE)
    shown = Said(capsys, "prompt", "x.py", "--json").document
    assert sorted(shown) == ["system", "user", "warnings"]
    assert SOURCE.strip() in str(shown["user"])
    assert_nothing_left(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("layers: [", "not YAML"),
        ("a: 1\n", "holds no `layers`"),
        ("layers: {}\n", "does not say what it was lifted from"),
        ("layers: {}\nsolar_agent: {format: 1, layers_sha256: x}\n", "were changed after they were lifted"),
    ],
)
def test_graphs_that_cannot_be_used(
    content: str, message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    graph = tmp_path / "g.yaml"
    graph.write_text(content)
    result = Said(capsys, "analyze", graph)
    assert result.code == 2
    assert message in result.err and result.err.count("\n") == 1


def test_a_device_file_that_is_malformed(capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.py").write_text("")
    Path("toaster.yaml").write_text("name: [toaster\n")
    assert Said(capsys, "translate", "x.py", "--arch", "toaster.yaml").code == 2
    checked = Said(capsys, "arch", "check", "toaster.yaml", "B200")
    assert checked.code == 2
    assert checked.err.startswith("error: toaster.yaml: not YAML") and checked.out == "B200: ok\n"


def test_output_that_cannot_be_written(capsys: pytest.CaptureFixture[str]) -> None:
    put(SOURCE, RIGHT)
    Path("file").write_text("")
    result = Said(capsys, "lift", "x.py", "--ir", "x.alir", "--out", "file", "--trials", "3", "--quiet")
    assert (result.code, result.err) == (2, "error: --out file is a file; name a folder\n")
    assert run(["arch", "ls"]) == 0
