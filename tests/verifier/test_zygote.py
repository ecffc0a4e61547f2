"""Workers forked from a process that has imported torch: as separate as those started afresh, cleaned up as well."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from solar_agent.verifier.reference import open_reference, open_zygote
from solar_agent.verifier.types import Assignment, Limits, ReferenceFailed
from solar_agent.verifier.zygote import Zygote

PROGRAMS = Path(__file__).parent / "programs"
OWN_SIZES = Assignment("its own sizes", {}, {}, False)


@pytest.fixture(scope="module")
def zygote():
    with open_zygote() as started:
        yield started


def running(pid):
    state = Path(f"/proc/{pid}/stat")
    return state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z"


def children(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def gone(pids):
    deadline = time.monotonic() + 20
    while any(running(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not any(running(pid) for pid in pids)


def test_a_forked_worker_tells_the_same(zygote):
    found = []
    for warm in (zygote, None):
        with open_reference(PROGRAMS / "tied.py", zygote=warm) as reference:
            first = reference.assignments()[0]
            trial = reference.trial(first, 1, "normal", "promoted")
            found.append(
                (reference.describe(), reference.assignments(), [leaf.value.tolist() for leaf in trial.leaves])
            )
            if warm is not None:
                assert children(zygote.pid) == [reference._process.pid]
    assert found[0] == found[1]
    assert children(zygote.pid) == []


def test_what_a_forked_worker_reaches(zygote):
    with open_reference(PROGRAMS / "hostile.py", zygote=zygote) as reference:
        trial = reference.trial(OWN_SIZES, 0, "normal", "native")
        found = {leaf.path: leaf.value for leaf in trial.leaves}
        folder = Path(found["folder"])
        assert reference.warnings != () or (found["network"], found["write"], found["escape"]) == (0, 0, 0)
        assert found["own folder"] == 1 and folder.exists()
        assert running(found["child"])
    assert not folder.exists()
    assert gone([found["child"]])
    assert zygote.peak_bytes > 1 << 20


@pytest.mark.parametrize(
    ("way", "message"),
    [
        (3, "needs more memory than the limit of 8 GiB: ending.py:22: RuntimeError: "),
        (4, "the program ended its process (exit code 0) (running it at its own sizes)"),
        (5, "the program crashed (SIGSEGV) at ending.py:26 (running it at its own sizes)"),
        (6, "no answer within the limit of 2 s"),
    ],
)
def test_an_end_of_one_worker_is_not_that_of_others(way, message, zygote):
    limits = Limits(request_s=2) if way == 6 else Limits()
    with (
        open_reference(PROGRAMS / "tied.py", zygote=zygote) as other,
        open_reference(PROGRAMS / "ending.py", limits=limits, zygote=zygote) as reference,
    ):
        other.describe()
        with pytest.raises(ReferenceFailed) as caught:
            reference.trial(Assignment("its own sizes", {"const.way": way}, {}, False), 0, "normal", "promoted")
        assert str(caught.value).startswith(message)
        assert len(other.assignments()) >= 3
    assert children(zygote.pid) == []


def test_a_file_that_uses_what_is_stood_in_for_gets_a_process_of_its_own(zygote, tmp_path):
    file = tmp_path / "own.py"
    file.write_text("import torch  # no sympy\n\ndef fn(x):\n    return x\n")
    with open_reference(file, inputs="x=f32[3]", zygote=zygote) as reference:
        assert reference.describe().leaves[0].shape == (3,)
        assert children(zygote.pid) == []


OWNER = """import sys, time
from pathlib import Path
from solar_agent.verifier.reference import open_reference, open_zygote
with open_zygote() as zygote, open_reference(Path(sys.argv[1]), zygote=zygote) as reference:
    reference.describe()
    print(zygote.pid, reference._process.pid, reference._temporary, flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("victim", ["owner", "zygote"])
def test_nothing_outlives_whoever_is_killed(victim):
    command = [sys.executable, "-c", OWNER, str(PROGRAMS / "tied.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        started, worker, folder = owner.stdout.readline().split()
        if victim == "owner":
            owner.kill()
            assert gone([int(started), int(worker)])
            assert not Path(folder).exists()
        else:
            os.kill(int(started), signal.SIGKILL)
            assert gone([int(worker)])
            owner.kill()
            Path(folder).rmdir()


def test_a_zygote_that_does_not_start_says_why():
    said = r"did not start: ModuleNotFoundError: No module named 'solar_agent"
    with Zygote("solar_agent.no_such_module", os.environ) as broken, pytest.raises(ReferenceFailed, match=said):
        broken.ready()
