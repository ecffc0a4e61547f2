"""Verifies deliberately wrong texts: each must be rejected, with a message that names the statement or the tensor.

    python benchmarks/check_wrong_texts.py KERNELBENCH_DIR [--only L3_43,L1_24] [--json OUT]

kernelbench/wrong.json holds one edit of a right text a row: what is wrong, the piece replaced, and the names of which
the message must hold at least one. Exit code 1 when one is accepted or badly explained."""

from __future__ import annotations

import argparse
import json
import re
import sys
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path

from check_kernelbench import HERE, Problem, environment, find, read_expected
from solar_agent.verifier.reference import open_reference
from solar_agent.verifier.types import Reference
from solar_agent.verifier.verify import verify


@dataclass(frozen=True, slots=True)
class Wrong:
    """`old` is replaced by `new` in the text of `problem`; `names` are those that the message may give."""

    problem: str
    fault: str
    old: str
    new: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row:
    problem: str
    fault: str
    verdict: str
    named: bool
    message: str

    @property
    def missed(self) -> bool:
        return self.verdict == "verified" or not self.named


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("root", type=Path, metavar="KERNELBENCH_DIR")
    parser.add_argument("--only", metavar="KEYS", help="comma-separated, as in L3_43,L1_24")
    parser.add_argument("--json", type=Path, metavar="OUT")
    arguments = parser.parse_args()
    commit, problems = read_expected(HERE / "expected.json")
    by_key = {problem.key: problem for problem in problems}
    rows: list[Row] = []
    for key, group in groupby(read_wrong(HERE / "wrong.json"), key=lambda wrong: wrong.problem):
        if not arguments.only or key in arguments.only.split(","):
            rows += check(arguments.root, by_key[key], list(group))
    missed = [row for row in rows if row.missed]
    print(f"{len(rows) - len(missed)} of {len(rows)} wrong texts rejected with the right name")
    if arguments.json:
        found = {"environment": environment(commit), "rows": [asdict(row) for row in rows]}
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")
    return 1 if missed or not rows else 0


def read_wrong(path: Path) -> list[Wrong]:
    entries = [Wrong(**{**entry, "names": tuple(entry["names"])}) for entry in json.loads(path.read_text())]
    return sorted(entries, key=lambda wrong: wrong.problem)


def check(root: Path, problem: Problem, wrongs: list[Wrong]) -> list[Row]:
    text = (HERE / "texts" / f"{problem.key}.alir").read_text()
    with open_reference(find(root, problem)) as reference:
        rows = [judge(reference, text, wrong) for wrong in wrongs]
    for row in rows:
        print(f"{'MISS' if row.missed else 'ok':5}{row.problem:7}{row.verdict:18}{row.fault}", flush=True)
        if row.missed:
            print(f"      {row.message}", flush=True)
    return rows


def judge(reference: Reference, text: str, wrong: Wrong) -> Row:
    if text.count(wrong.old) < 1:
        raise SystemExit(f"{wrong.problem}: the text does not hold {wrong.old!r}")
    certificate = verify(reference, text.replace(wrong.old, wrong.new))
    message = certificate.feedback()
    named = any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", message) for name in wrong.names)
    return Row(wrong.problem, wrong.fault, certificate.verdict, named, message)


if __name__ == "__main__":
    sys.exit(main())
