"""Elements that hang on decisions too close to call are left out; the others still decide."""

from __future__ import annotations

import numpy as np
import pytest
from solar_agent.ir.program import Output, Source
from solar_agent.verifier.compare import Rules, compare, leave_out
from solar_agent.verifier.types import Leaf

EXPECTED = np.array([1.0, 2.0, 3.0, 4.0])
OUTPUT = Output("result", "y", "y", None, "f32", Source(1, 1, "output y"))


def judged(ours: list[float], swayed: list[float]) -> tuple[str, int]:
    leaf = Leaf(kind="result", path="", dtype="f32", shape=(4,), value=EXPECTED)
    first = compare(OUTPUT, np.array(ours), leaf, Rules())
    assert first.status == "different"
    again = leave_out(first, np.array(swayed), Rules())
    return again.status, again.compared


@pytest.mark.parametrize(
    ("ours", "swayed", "status", "compared"),
    [
        ([1.0, 2.0, 3.0, 9.0], [1.0, 2.0, 3.0, 4.0], "equal", 3),  # the wrong element hangs on a decision
        ([1.0, 2.0, 8.0, 9.0], [1.0, 2.0, 3.0, 4.0], "equal", 2),
        ([1.0, 7.0, 8.0, 9.0], [1.0, 2.0, 3.0, 4.0], "undecided", 1),  # too little is left
        ([1.0, 2.0, 8.0, 9.0], [1.0, 2.0, 8.0, 4.0], "different", 4),  # one wrong element hangs on none
        ([1.0, 2.0, 3.0, 9.0], [1.0, 2.0, 3.0, 9.0], "different", 4),
    ],
)
def test_left_out(ours: list[float], swayed: list[float], status: str, compared: int) -> None:
    assert judged(ours, swayed) == (status, compared)
