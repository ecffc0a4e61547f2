"""The child process: its limits, what it may reach, and how its ends are told."""

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from solar_agent.verifier.reference import open_reference
from solar_agent.verifier.types import Assignment, BadInput, Limits, NotPromotable, ReferenceFailed

PROGRAMS = Path(__file__).parent / "programs"
OWN_SIZES = Assignment("its own sizes", {}, {}, False)


def running(pid):
    state = Path(f"/proc/{pid}/stat")
    return state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_session_from_start_to_end():
    limits = Limits(memory_bytes=4 << 30)  # each matrix of the program would fill it
    with open_reference(PROGRAMS / "huge.py", limits=limits) as reference:
        first = reference.assignments()[0]
        trial = reference.trial(first, 0, "normal", "promoted")
        description = reference.describe()
        assert reference.describe() is description
    assert description.leaves[0].shape == (32768, 32768)
    assert description.sources == {"huge.py": (PROGRAMS / "huge.py").read_text()}
    assert len(description.source_sha256) == 64 and description.framework == "torch"
    assert trial.assignment == first and trial.bindings.inputs["x"].shape == first.inputs["x"]
    assert np.allclose(trial.leaves[0].value, np.exp(trial.inputs["x"]) @ trial.state["matrix"], rtol=1e-12)
    assert trial.leaves[0].dtype == "f32" and trial.leaves[0].value.dtype == np.float64


def test_what_a_program_reaches(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    with open_reference(PROGRAMS / "hostile.py") as reference:
        trial = reference.trial(OWN_SIZES, 0, "normal", "native")
        found = {leaf.path: leaf.value for leaf in trial.leaves}
        folder = Path(found["folder"])
        assert reference.warnings != () or (found["network"], found["write"], found["escape"]) == (0, 0, 0)
        assert found["own folder"] == 1 and folder.exists()
        assert "OPENAI_API_KEY" not in found["environment"] and "OMP_NUM_THREADS" in found["environment"]
        assert running(found["child"])
    assert not running(found["child"])
    assert not folder.exists()


def ending(reference, way):
    """The one line that a trial of ending.py fails with."""
    with pytest.raises(ReferenceFailed) as caught:
        reference.trial(Assignment("its own sizes", {"const.way": way}, {}, False), 0, "normal", "promoted")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_faults_that_leave_the_child_alive():
    with open_reference(PROGRAMS / "ending.py") as reference:
        assert ending(reference, 1) == "ending.py:18: ValueError: no way (while running forward())"
        child = reference._process.pid
        assert ending(reference, 2) == "ending.py:20: the program called sys.exit(3) (while running forward())"
        needs = "needs more memory than the limit of 8 GiB: ending.py:22: RuntimeError: "
        assert ending(reference, 3).startswith(needs)
        assert reference._process.pid == child


@pytest.mark.parametrize(
    ("way", "message"),
    [
        (4, r"^the program ended its process \(exit code 0\) \(running it at its own sizes\)$"),
        (5, r"^the program crashed \(SIGSEGV\) at ending\.py:26 \(running it at its own sizes\)$"),
        (6, r"^no answer within the limit of 4 s( at ending\.py:28)? \(running it at its own sizes\)$"),
    ],
)
def test_faults_that_end_the_child(way, message):
    limits = Limits(request_s=4) if way == 6 else Limits()
    with open_reference(PROGRAMS / "ending.py", limits=limits) as reference:
        assert re.search(message, ending(reference, way))
        assert reference._process is None


def test_a_new_child_answers_after_a_crash(tmp_path):
    path = tmp_path / "fragile.py"
    path.write_text(
        "import os, torch\n"
        "def fn(x):\n"
        "    if x.shape[0] == 3: os._exit(7)\n"
        "    return x + 1\n"
        "def get_inputs():\n"
        "    return [torch.randn(2)]\n"
    )
    with open_reference(path) as reference:
        with pytest.raises(ReferenceFailed, match=r"^the program ended its process \(exit code 7\) "):
            reference.trial(Assignment("three", {"get_inputs.return.0(0)": 3}, {}, False), 0, "normal", "promoted")
        trial = reference.trial(OWN_SIZES, 0, "normal", "promoted")
        assert np.allclose(trial.leaves[0].value, trial.inputs["x"] + 1)


def test_kinds_of_refusal(tmp_path):
    path = tmp_path / "bits.py"
    path.write_text(
        "import torch\n"
        "def fn(x):\n"
        "    return x.view(torch.int32)\n"
        "def get_inputs():\n"
        "    return [torch.randn(2)]\n"
    )
    with open_reference(path, entry="other") as reference, pytest.raises(BadInput, match=r'^bits\.py has no "other"'):
        reference.describe()
    with open_reference(path) as reference, pytest.raises(NotPromotable, match="bits of a float"):
        reference.trial(OWN_SIZES, 0, "normal", "promoted")
    with pytest.raises(BadInput, match=r"^no such file: /.*missing\.py$"), open_reference(tmp_path / "missing.py"):
        pass


def test_leaving_early_removes_everything(tmp_path):
    path = tmp_path / "plain.py"
    path.write_text("def fn(x):\n    return x\n")
    with pytest.raises(KeyError), open_reference(path, inputs="x=f32[3]") as reference:
        found = reference.trial(OWN_SIZES, 0, "normal", "native")
        pid, folder = reference._process.pid, reference._temporary
        assert found.inputs["x"].shape == (3,) and folder.exists()
        raise KeyError
    assert not running(pid) and not folder.exists()


def test_a_killed_parent_leaves_nothing_behind():
    code = (
        "import os, signal\n"
        "from pathlib import Path\n"
        "from solar_agent.verifier.reference import open_reference\n"
        "from solar_agent.verifier.types import Assignment\n"
        f"with open_reference(Path({str(PROGRAMS / 'hostile.py')!r})) as reference:\n"
        "    trial = reference.trial(Assignment('its own sizes', {}, {}, False), 0, 'normal', 'native')\n"
        "    found = {leaf.path: leaf.value for leaf in trial.leaves}\n"
        "    print(reference._process.pid, found['child'], found['folder'], flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    worker, child, folder = done.stdout.split()
    assert done.returncode == -signal.SIGKILL
    for _ in range(100):
        if not (running(worker) or running(child) or Path(folder).exists()):
            break
        time.sleep(0.1)
    assert (running(worker), running(child), Path(folder).exists()) == (False, False, False)


TORCH = "import torch\n\n\ndef fn(x):\n    {body}\n\n\n{more}\n"


@pytest.mark.parametrize(
    ("body", "more", "message"),
    [
        ("raise Mute", "class Mute(Exception):\n    def __str__(self):\n        raise KeyError", "odd.py:5: Mute"),
        ("y = [x]; y.append(y); return y", "", "nested too deeply, or contain themselves"),
    ],
    ids=["mute-exception", "cyclic-result"],
)
def test_values_that_bite(body, more, message, tmp_path):
    path = tmp_path / "odd.py"
    path.write_text(TORCH.format(body=body, more=more))
    with open_reference(path, inputs="x=f32[3]") as reference, pytest.raises(ReferenceFailed, match=message):
        reference.trial(OWN_SIZES, 0, "normal", "native")


def test_a_number_too_long_to_be_written_is_left_out(tmp_path):
    path = tmp_path / "long.py"
    path.write_text("LONG, SHORT = 10**5000, 10**50\n\n\ndef fn(x):\n    return x\n")
    with open_reference(path, inputs="x=f32[3]") as reference:
        attrs = reference.describe().bindings.attrs
    assert attrs["const.SHORT"] == 10**50 and "const.LONG" not in attrs
