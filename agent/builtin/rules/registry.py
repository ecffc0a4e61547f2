"""Where rules are kept: one small function for each operator, found by its name."""

from __future__ import annotations

from collections.abc import Callable

from ..model import Op
from ..writer import Writer

Rule = Callable[[Writer, Op], None]
RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a rule for ATen overloads ("aten.add.Tensor") or all overloads of an operator ("aten.add")."""

    def registered(function: Rule) -> Rule:
        for name in names:
            assert name not in RULES, name
            RULES[name] = function
        return function

    return registered
