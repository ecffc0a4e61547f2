"""The bench's own process with rules that know a few programs by name, one of which they break over."""

from __future__ import annotations

import sys
import time
from types import ModuleType
from typing import Any

from solar_agent.agent.bench import child as real
from solar_agent.verifier.types import Reference

child, finish = real.child, real.finish
DOUBLE = "program double\ninput x[N]\nfor n<N: y[n] = 2*x[n]\noutput y\n"
TEXTS = {"1_double.py": DOUBLE, "2_triple.py": DOUBLE, "1_fill.py": DOUBLE}


class Untranslatable(Exception):
    pass


def translate(reference: Reference) -> str:
    name = reference.describe().path.rpartition("/")[2]
    match name:
        case "3_sorted.py":
            raise Untranslatable("3_sorted.py:5: aten.sort.default: no rule for this operator")
        case "5_broken.py":
            raise KeyError("a fault in the rules")
        case "6_waiting.py":
            time.sleep(600)
        case "7_greedy.py":
            return "x" * (1 << 40)
    return TEXTS[name]


def prepare() -> None:
    fake: Any = ModuleType("solar_agent.agent.builtin")
    fake.translate, fake.Untranslatable = translate, Untranslatable
    sys.modules["solar_agent.agent.builtin"] = fake
    real.prepare()
