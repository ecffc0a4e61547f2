"""Contractions: products of two operands over labelled axes, as nests whose sums count as multiply-adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..model import Num, Op, Tensor
from ..writer import Writer
from .walks import Loops, bracket, cast, loops, temporary

Labels = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Factor:
    """An operand with a label for each of its axes. A label may repeat (a diagonal)."""

    tensor: Tensor
    labels: Labels


@dataclass(frozen=True, slots=True)
class Contraction:
    """`text`: the sum of products, in its natural storage type; `outer`, `dims`: the result's."""

    outer: Loops
    text: str
    dims: tuple[Num, ...]


def contraction(w: Writer, op: Op, factors: Sequence[Factor], out: Labels) -> Contraction:
    """sum over all labels that are not in `out` of the product of the factors. Axes of extent 1 are broadcast."""
    dims = _dims(op, factors)
    labels = (*out, *(label for label in dims if label not in out))
    sizes = {label: _size(w, label, factors, dims) for label in labels}
    names = dict(zip(labels, w.iterators(len(labels), like=[sizes[label] for label in labels]), strict=True))
    reads = [_read(w, factor, dims, names) for factor in factors]
    reduced = tuple((names[label], sizes[label]) for label in labels[len(out) :])
    product = " * ".join(reads)
    text = f"sum({loops(reduced)}: {product})" if reduced else product
    dtype = factors[0].tensor.dtype
    if reduced and not factors[0].tensor.is_float:
        text = cast(text, "i64", dtype)
    return Contraction(tuple((names[label], sizes[label]) for label in out), text, tuple(dims[label] for label in out))


def _dims(op: Op, factors: Sequence[Factor]) -> dict[str, Num]:
    found: dict[str, Num] = {}
    for factor in factors:
        if factor.tensor.is_bool or factor.tensor.dtype != factors[0].tensor.dtype:
            raise op.fail("operands of these types")
        for label, dim in zip(factor.labels, factor.tensor.dims, strict=True):
            known = found.get(label)
            if known is None or known.is_one:
                found[label] = dim
            elif not dim.is_one and dim.values != known.values:
                raise op.fail("operands whose sizes are broadcast at some sizes and equal at others")
    return found


def _size(w: Writer, label: str, factors: Sequence[Factor], dims: dict[str, Num]) -> str:
    for factor in factors:
        for axis, other in enumerate(factor.labels):
            if other == label and factor.tensor.dims[axis].values == dims[label].values:
                return w.sizes(factor.tensor)[axis]
    raise AssertionError(label)


def _read(w: Writer, factor: Factor, dims: dict[str, Num], names: dict[str, str]) -> str:
    at = [
        "0" if dim.is_one and not dims[label].is_one else names[label]
        for label, dim in zip(factor.labels, factor.tensor.dims, strict=True)
    ]
    return w.of(factor.tensor) + bracket(at)


def contract(
    w: Writer, op: Op, factors: Sequence[Factor], out: Labels, tensor: Tensor | None = None, form: str = "{}"
) -> None:
    """The result (the first one unless given) is `form` of the contraction."""
    found = contraction(w, op, factors, out)
    w.nest(op, found.outer, form.format(found.text), tensor=tensor)


def partial(w: Writer, op: Op, factors: Sequence[Factor], out: Labels, hint: str) -> Factor:
    """A contraction as a value of its own."""
    found = contraction(w, op, factors, out)
    target = temporary(found.dims, factors[0].tensor.dtype, hint)
    w.nest(op, found.outer, found.text, tensor=target)
    return Factor(target, out)
