"""torch.einsum: letters, ellipsis, diagonals, any number of operands."""

from __future__ import annotations

from collections.abc import Sequence

from ..model import Op, Tensor
from ..writer import Writer
from .products import Factor, Labels, contract, partial
from .registry import rule


@rule("aten.einsum.default")
def einsum(w: Writer, op: Op) -> None:
    tensors = op.tensors("tensors")
    factors, out = _parsed(op, op.text("equation"), tensors)
    for left, right in _order(op, len(factors)):
        pair = [factors[left], factors[right]]
        rest = [factor for index, factor in enumerate(factors) if index not in (left, right)]
        if not rest:
            factors = [*pair]
            break
        product = _pair(w, op, pair, _wanted(rest, out, pair))
        factors = [*rest, product] if op.args.get("path") else [product, *rest]
    _last(w, op, factors, out)


def _order(op: Op, count: int) -> list[tuple[int, int]]:
    """Which two operands are multiplied next: as torch was told (its choice at the first sample's sizes; every order
    is right), else from the left."""
    path = op.nums("path")
    if not path:
        return [(0, 1)] * (count - 1)
    numbers = [int(number.values[0]) for number in path]
    pairs = list(zip(numbers[::2], numbers[1::2], strict=True))
    return [(min(pair), max(pair)) for pair in pairs]


def _wanted(rest: Sequence[Factor], out: Labels, pair: Sequence[Factor]) -> Labels:
    """Labels of the pair that are needed later."""
    later = {*out, *(label for factor in rest for label in factor.labels)}
    found = dict.fromkeys(label for factor in pair for label in factor.labels if label in later)
    return tuple(found)


def _pair(w: Writer, op: Op, pair: Sequence[Factor], keep: Labels) -> Factor:
    return partial(w, op, _summed(w, op, pair, keep), keep, "product")


def _last(w: Writer, op: Op, factors: list[Factor], out: Labels) -> None:
    if len(factors) == 1 and set(factors[0].labels) == set(out):
        _arranged(w, op, factors[0], out)
        return
    contract(w, op, _summed(w, op, factors, out) if len(factors) > 1 else factors, out)


def _summed(w: Writer, op: Op, pair: Sequence[Factor], keep: Labels) -> list[Factor]:
    """What only one of the two operands has and nobody needs is summed before they are multiplied."""
    found = []
    for factor, other in ((pair[0], pair[1]), (pair[1], pair[0])):
        wide = _wide(other)
        own = tuple(dict.fromkeys(label for label in factor.labels if label in keep or label in other.labels))
        alone = [label for label in _wide(factor) if label not in keep and label not in wide]
        if alone:
            own = tuple(label for label in own if label not in alone)
            factor = partial(w, op, [factor], own, "summed")
        found.append(factor)
    return found


def _wide(factor: Factor) -> set[str]:
    """Labels of axes that are not broadcast."""
    return {label for label, dim in zip(factor.labels, factor.tensor.dims, strict=True) if not dim.is_one}


def _arranged(w: Writer, op: Op, factor: Factor, out: Labels) -> None:
    """One operand, nothing summed: a permutation or diagonal, which is a view."""
    if factor.labels == out:
        w.alias(op, factor.tensor)
        return
    sizes = w.sizes(factor.tensor)
    extents = [sizes[factor.labels.index(label)] for label in out]
    w.view(op, factor.tensor, lambda its: [its[out.index(label)] for label in factor.labels], extents)


def _parsed(op: Op, equation: str, tensors: Sequence[Tensor]) -> tuple[list[Factor], Labels]:
    given, arrow, result = equation.replace(" ", "").partition("->")
    terms = given.split(",")
    if len(terms) != len(tensors):
        raise op.fail(f"the equation {equation}")
    dots = max(tensor.rank - len(term.replace("...", "")) for term, tensor in zip(terms, tensors, strict=True))
    factors = [Factor(tensor, _labels(term, tensor.rank, dots)) for term, tensor in zip(terms, tensors, strict=True)]
    if arrow:
        out = _labels(result, None, dots)
    else:
        letters = [label for factor in factors for label in factor.labels if not label.startswith("dot")]
        once = sorted(letter for letter in set(letters) if letters.count(letter) == 1)
        out = (*(f"dot{index}" for index in range(dots)), *once)
    return factors, out


def _labels(term: str, rank: int | None, dots: int) -> Labels:
    """One label for each axis; those of `...` count from the right: dot0 ... dot{dots - 1}."""
    before, ellipsis, after = term.partition("...")
    if not ellipsis:
        return tuple(term)
    own = dots if rank is None else rank - len(before) - len(after)
    return (*before, *(f"dot{index}" for index in range(dots - own, dots)), *after)
