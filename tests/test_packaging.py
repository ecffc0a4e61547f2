"""What is shipped: the package list, the data files, and a wheel that works away from the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
ROOMS = ("agent", "verifier", "ir", "analysis", "prompts", "arch_configs")


def test_package_list_is_the_tree() -> None:
    packages = {
        f"solar_agent.{'.'.join(path.parent.relative_to(ROOT).parts)}"
        for room in ROOMS
        for path in (ROOT / room).rglob("__init__.py")
    }
    assert packages == set(SETUPTOOLS["packages"])


def test_package_dir_follows_the_names() -> None:
    assert SETUPTOOLS["package-dir"] == {
        name: name.removeprefix("solar_agent.").replace(".", "/") for name in SETUPTOOLS["packages"]
    }


@pytest.mark.parametrize("package", SETUPTOOLS["packages"])
def test_every_package_is_marked_typed(package: str) -> None:
    assert (ROOT / SETUPTOOLS["package-dir"][package] / "py.typed").is_file()


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder holding the unpacked wheel, built from a copy (`source` beside it) so that the checkout stays clean."""
    base = tmp_path_factory.mktemp("wheel")
    source = base / "source"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    names = [name for name in listed.stdout.decode().split("\0") if name] if listed.returncode == 0 else _walk()
    for name in names:
        if (ROOT / name).is_file() and (name.split("/")[0] in ROOMS or "/" not in name):
            target = source / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((ROOT / name).read_bytes())
    built = subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--quiet",
            "--no-deps",
            "--no-build-isolation",
            "--no-index",
            "--wheel-dir",
            str(base),
            str(source),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    (wheel,) = base.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(base / "unpacked")
    return base / "unpacked"


def _walk() -> list[str]:
    return [
        str(path.relative_to(ROOT))
        for room in ROOMS
        for path in (ROOT / room).rglob("*")
        if "__pycache__" not in path.parts
    ] + [path.name for path in ROOT.iterdir() if path.is_file()]


def test_the_wheel_holds_every_file_of_the_rooms(unpacked: Path) -> None:
    wanted = {path for room in ROOMS for path in _files(unpacked.parent / "source", room)}
    shipped = {path for room in ROOMS for path in _files(unpacked / "solar_agent", room)}
    assert wanted == shipped


def _files(base: Path, room: str) -> set[Path]:
    return {path.relative_to(base) for path in (base / room).rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "pattern", ["ir/*.lark", "ir/prelude/*.alir", "prompts/*.jinja", "arch_configs/*.yaml", "*/py.typed"]
)
def test_the_wheel_holds_each_kind_of_data(unpacked: Path, pattern: str) -> None:
    assert list((unpacked / "solar_agent").glob(pattern))


def test_the_wheel_alone_parses_a_text_with_the_prelude(unpacked: Path, tmp_path: Path) -> None:
    code = """
import solar_agent.ir.load as load, sys
from pathlib import Path
from solar_agent.ir.bindings import Bindings, TensorType
assert Path(load.__file__).is_relative_to(sys.argv[1]), load.__file__
text = 'program P\\ninput x[B, D]\\ny = softmax(x)\\noutput y\\n'
program = load.load(text, Bindings(inputs={"x": TensorType((2, 3), "f32")}))
print(program.tensors[program.outputs[0].tensor].shape)
"""
    # -S -I keeps the editable install out; the dependencies' folder is appended behind the wheel.
    site = next(path for path in sys.path if path.endswith("site-packages"))
    preamble = f"import sys; sys.path[:0] = [{str(unpacked)!r}]; sys.path.append({site!r})\n"
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-c", preamble + code, str(unpacked)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"]},
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == "(2, 3)"
