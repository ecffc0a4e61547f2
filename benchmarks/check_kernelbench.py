"""Verifies the texts of benchmarks/kernelbench/texts against a KernelBench checkout, and compares the counts.

    python benchmarks/check_kernelbench.py KERNELBENCH_DIR [--only L3_43,L1_24] [--json OUT]

Every problem file is first checked against the hash of the commit that expected.json names. Exit code 1 on any miss."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from solar_agent.analysis.count import count
from solar_agent.ir.load import load
from solar_agent.verifier.certificate import Certificate
from solar_agent.verifier.reference import open_reference
from solar_agent.verifier.types import BadInput, Description, ReferenceFailed
from solar_agent.verifier.verify import verify

HERE = Path(__file__).resolve().parent / "kernelbench"
COUNTED = ("macs", "macs_nominal", "fused_bytes")


@dataclass(frozen=True, slots=True)
class Problem:
    """What is expected of one problem; a count that is None has no oracle. `source` says where the counts come from."""

    level: int
    id: int
    name: str
    sha256: str
    verdict: str
    macs: int | None
    macs_nominal: int | None
    fused_bytes: int | None
    source: str

    @property
    def key(self) -> str:
        return f"L{self.level}_{self.id}"


@dataclass(frozen=True, slots=True)
class Result:
    name: str
    level: int
    id: int
    verdict: str
    seconds: float
    error: float | None
    trials: int
    counts: Mapping[str, int]
    misses: tuple[str, ...]
    certificate_hash: str | None


def main() -> int:
    arguments = _arguments()
    commit, problems = read_expected(HERE / "expected.json")
    chosen = [problem for problem in problems if not arguments.only or problem.key in arguments.only.split(",")]
    start_s = time.monotonic()
    results = []
    with ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn")) as pool:
        paths = [find(arguments.root, problem) for problem in chosen]
        for result in pool.map(check, chosen, paths, [arguments.seed] * len(chosen)):
            results.append(result)
            print(row(result), flush=True)
    missed = [result for result in results if result.misses]
    spent_s = time.monotonic() - start_s
    print(f"{len(results) - len(missed)} of {len(results)} as expected, {spent_s:.0f} s")
    if arguments.json:
        arguments.json.write_text(json.dumps(document(commit, results), indent=1) + "\n")
    return 1 if missed or not results else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("root", type=Path, metavar="KERNELBENCH_DIR")
    parser.add_argument("--only", metavar="KEYS", help="comma-separated, as in L3_43,L1_24")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="problems at once; one per processor")
    parser.add_argument("--json", type=Path, metavar="OUT")
    return parser.parse_args()


def read_expected(path: Path) -> tuple[str, tuple[Problem, ...]]:
    data = json.loads(path.read_text())
    return data["kernelbench_commit"], tuple(Problem(**entry) for entry in data["problems"])


def find(root: Path, problem: Problem) -> Path:
    """The problem file below a checkout of the repository or its KernelBench folder."""
    inside = Path(f"level{problem.level}") / f"{problem.name}.py"
    return root / "KernelBench" / inside if (root / "KernelBench").is_dir() else root / inside


def check(problem: Problem, path: Path, seed: int) -> Result:
    start_s = time.monotonic()
    counts: Mapping[str, int] = {}
    certificate = None
    try:
        misses = file_misses(problem, path)
        if not misses:
            text = (HERE / "texts" / f"{problem.key}.alir").read_text()
            with open_reference(path) as reference:
                certificate = verify(reference, text, seed=seed)
                counts = counts_of(text, reference.describe())
            misses = verdict_misses(problem, certificate) + count_misses(problem, counts)
    except (BadInput, ReferenceFailed) as error:
        misses = [str(error)]
    return Result(
        name=problem.name,
        level=problem.level,
        id=problem.id,
        verdict=certificate.verdict if certificate else "not run",
        seconds=round(time.monotonic() - start_s, 2),
        error=max((leaf.error for leaf in certificate.leaves), default=None) if certificate else None,
        trials=len(certificate.trials) if certificate else 0,
        counts=counts,
        misses=tuple(misses),
        certificate_hash=certificate.hash if certificate else None,
    )


def file_misses(problem: Problem, path: Path) -> list[str]:
    if not path.is_file():
        return [f"no such file: {path}"]
    if hashlib.sha256(path.read_bytes()).hexdigest() != problem.sha256:
        return ["the problem file is not that of the expected commit"]
    return []


def counts_of(text: str, description: Description) -> Mapping[str, int]:
    counts = count(load(text, description.bindings))
    return {name: getattr(counts, name) for name in COUNTED}


def verdict_misses(problem: Problem, certificate: Certificate) -> list[str]:
    if certificate.verdict == problem.verdict:
        return []
    return [f"verdict {certificate.verdict}, expected {problem.verdict}: {certificate.feedback().strip()}"]


def count_misses(problem: Problem, counts: Mapping[str, int]) -> list[str]:
    expected = {name: getattr(problem, name) for name in COUNTED}
    return [
        f"{name} {counts[name]:,}, expected {value:,} ({problem.source})"
        for name, value in expected.items()
        if value is not None and counts[name] != value
    ]


def row(result: Result) -> str:
    error = "-" if result.error is None else f"{result.error:.0e}"
    counts = "  ".join(f"{name} {value:,}" for name, value in result.counts.items())
    name = f"L{result.level}/{result.id:<3d} {result.name[:44]:44s}"
    head = f"{name} {result.verdict:16s} {error:>6s} {result.seconds:6.1f} s  {counts}"
    return "\n    MISS: ".join([head, *result.misses])


def document(commit: str, results: Sequence[Result]) -> dict[str, object]:
    verdicts = [result.verdict for result in results]
    return {
        "environment": environment(commit),
        "problems": [asdict(result) for result in results],
        "summary": {
            "problems": len(results),
            "as_expected": sum(not result.misses for result in results),
            "verdicts": {verdict: verdicts.count(verdict) for verdict in sorted(set(verdicts))},
            "seconds": round(sum(result.seconds for result in results), 1),
        },
    }


def environment(commit: str) -> dict[str, object]:
    from importlib.metadata import version

    return {
        "kernelbench_commit": commit,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "torch": version("torch"),
        "solar_agent": version("solar-agent"),
        "machine": platform.machine(),
        "system": platform.system(),
        "cpus": os.cpu_count(),
        "threads": os.environ.get("OMP_NUM_THREADS"),
    }


if __name__ == "__main__":
    sys.exit(main())
