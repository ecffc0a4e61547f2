"""Processor time (user + system, children included) of starting the program, against that of `import torch`.

python benchmarks/startup.py [--repeat 5] [--out FILE]: one JSON document. Exit code 1 when a target is missed."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from pathlib import Path

from solar_agent.agent.doctor import environment

PROGRAM = """import torch


class Model(torch.nn.Module):
    def __init__(self, k, n):
        super().__init__()
        self.linear = torch.nn.Linear(k, n)

    def forward(self, x):
        return torch.softmax(self.linear(x), dim=-1)


def get_inputs():
    return [torch.rand(4096, 1024)]


def get_init_inputs():
    return [1024, 4096]
"""
ANSWER = """```alir
program linear_softmax
input x[B, K]
y = softmax(Linear(x; name="linear"))
output y
```
"""
# Share of the time of `import torch` that a command may take.
TARGETS = {"help": 0.3, "cached_translate": 1.5}


def cpu_s(command: list[str], settings: dict[str, str]) -> float:
    """User and system seconds of one run, its children included. Raises RuntimeError when it fails."""
    actions = [
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ]
    child = os.posix_spawn(command[0], command, settings, file_actions=actions)
    _, status, usage = os.wait4(child, 0)
    if status:
        raise RuntimeError(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return usage.ru_utime + usage.ru_stime


def measure(repeat: int, folder: Path) -> dict[str, object]:
    program = [str(Path(sys.executable).with_name("solar-agent"))]
    (folder / "program.py").write_text(PROGRAM)
    (folder / "answer.txt").write_text(ANSWER)
    translate = [*program, "translate", str(folder / "program.py"), "--arch", "H100_PCIe,B200"]
    commands = {
        "import_torch": [sys.executable, "-c", "import torch"],
        "python": [sys.executable, "-c", "pass"],
        "help": [*program, "--help"],
        "cached_translate": [*translate, "--json", "--quiet"],
        "cached_translate_report": [*translate, "--quiet"],
    }
    settings = {**os.environ, "SOLAR_AGENT_CACHE": str(folder / "cache"), "OMP_NUM_THREADS": "1"}
    cpu_s([*translate, "--translator", "manual", "--answer", str(folder / "answer.txt")], settings)
    best_s = {name: min(cpu_s(command, settings) for _ in range(repeat)) for name, command in commands.items()}
    shares = {name: best_s[name] / best_s["import_torch"] for name in TARGETS}
    return {
        "environment": {**environment(), "machine": platform.machine(), "load_1min": os.getloadavg()[0]},
        "repeat": repeat,
        "cpu_s": {name: round(value, 4) for name, value in best_s.items()},
        "share_of_import_torch": {name: round(share, 3) for name, share in shares.items()},
        "targets": TARGETS,
        "met": {name: shares[name] <= target for name, target in TARGETS.items()},
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(chosen.repeat, Path(folder))
    text = json.dumps(found, indent=2)
    print(text)
    if chosen.out is not None:
        chosen.out.write_text(text + "\n")
    return 0 if all(found["met"].values()) else 1  # type: ignore[attr-defined]


if __name__ == "__main__":
    sys.exit(main())
