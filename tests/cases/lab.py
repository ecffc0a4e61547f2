"""A program beside this file, opened once a test module, and short ways to judge and count a text about it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest
from solar_agent.analysis.count import Counts, count
from solar_agent.ir.load import load
from solar_agent.ir.parse import parse
from solar_agent.ir.program import Program
from solar_agent.verifier.certificate import Certificate
from solar_agent.verifier.reference import RunningReference, open_reference
from solar_agent.verifier.run import Loader, Outcome, Step, attempt
from solar_agent.verifier.types import Assignment, Description, Distribution, Leaf, Limits, Mode, Precision, Trial
from solar_agent.verifier.verify import verify

PROGRAMS = Path(__file__).parent / "programs"
F32, F16, I64 = 4, 2, 8
"""Bytes of an element."""


@dataclass(frozen=True)
class Case:
    """One running program. Nothing here knows what is right: the tests say it."""

    reference: RunningReference

    @property
    def description(self) -> Description:
        return self.reference.describe()

    @property
    def leaves(self) -> dict[str, Leaf]:
        """Results at full size by path."""
        assert self.description.leaves is not None
        return {leaf.path: leaf for leaf in self.description.leaves}

    def program(self, text: str) -> Program:
        """The text at the program's full size."""
        return load(text, self.description.bindings)

    def count(self, text: str) -> Counts:
        return count(self.program(text))

    def verify(self, text: str) -> Certificate:
        return verify(self.reference, text)

    def rejected(self, text: str, *parts: str) -> Certificate:
        """The verdict on a wrong text, whose message has to hold all the parts."""
        certificate = self.verify(text)
        message = certificate.feedback()
        assert certificate.verdict == "unverified", f"accepted:\n{text}"
        assert certificate.failures and certificate.exit_code == 20
        for part in parts:
            assert part in message, message
        return certificate

    def accepted(self, text: str) -> Certificate:
        certificate = self.verify(text)
        assert certificate.verdict == "verified", certificate.feedback()
        assert certificate.exit_code == 0
        assert {leaf.status for leaf in certificate.leaves} == {"verified"}
        return certificate

    def own_sizes(self) -> Assignment:
        """The sizes that the file is written with."""
        inputs = {name: entry.shape for name, entry in self.description.bindings.inputs.items()}
        return Assignment("its own sizes", {}, inputs, batch_one=False)

    def trial(
        self, distribution: Distribution = "uniform", precision: Precision = "promoted", seed: int = 1
    ) -> Trial:
        """One run at the program's own sizes; `uniform` is what get_inputs draws by itself."""
        return self.reference.trial(self.own_sizes(), seed, distribution, precision)

    def attempt(self, text: str, distribution: Distribution = "uniform", precision: Precision = "promoted") -> Outcome:
        """One trial of the text at the program's own sizes."""
        step = Step(0, 1, distribution, precision)
        return attempt(self.reference, Loader(parse(text)), self.own_sizes(), step)


@contextmanager
def opened(name: str | Path, mode: Mode = "eval", limits: Limits | None = None) -> Iterator[Case]:
    if find_spec("torch") is None:
        pytest.skip("torch is not installed")
    path = name if isinstance(name, Path) else PROGRAMS / f"{name}.py"
    with open_reference(path, mode=mode, limits=limits) as reference:
        yield Case(reference)


def changed(text: str, old: str, new: str) -> str:
    """The text with one passage replaced, which has to be there exactly once."""
    assert text.count(old) == 1, (old, text)
    return text.replace(old, new)


def results(trial: Trial) -> dict[str, object]:
    return {leaf.path: leaf.value for leaf in trial.leaves if leaf.kind == "result"}
