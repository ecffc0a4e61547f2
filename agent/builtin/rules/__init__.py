"""Rules by operator: `RULES["aten.relu.default"]` or, for all overloads alike, `RULES["aten.relu"]`."""

from __future__ import annotations

from ..model import Op, Untranslatable
from ..writer import Writer
from . import (  # noqa: F401 - each registers its rules
    activations,
    arranging,
    attention,
    casts,
    classes,
    comparisons,
    conv,
    creation,
    einsum,
    elementwise,
    indexing,
    integers,
    integrals,
    joining,
    lookups,
    losses,
    matmul,
    normalization,
    norms,
    padding,
    pooling,
    random,
    recurrent,
    reductions,
    resampling,
    reshape,
    scatter,
    shapes,
    slices,
    softmax,
    sorting,
    sums,
    writes,
)
from .registry import RULES


def apply(writer: Writer, op: Op) -> None:
    """Write the statements for `op`. Raises Untranslatable where there is no rule, or its rule does not cover it."""
    packet = op.name.rpartition(".")[0]
    found = RULES.get(op.name) or RULES.get(packet)
    if found is None:
        raise Untranslatable(f"{op.where}: {op.name}: no rule for this operator")
    found(writer, op)
    writer.origins.update((result, op) for result in op.results if result is not None)


__all__ = ["RULES", "apply"]
