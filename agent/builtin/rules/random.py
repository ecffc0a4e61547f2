"""Random tensors, and dropout."""

from __future__ import annotations

import math

from ..model import Num, Op, Tensor
from ..writer import Writer
from .pointwise import constant, filled, made, refuse_complex
from .registry import rule


def drawn(w: Writer, op: Op, tensor: Tensor, hint: str) -> None:
    """`draw name[sizes]` for a tensor that the original draws: its next one."""
    refuse_complex(op, tensor)
    given = op.args.get("self", op.args.get("input"))
    sizes = w.extents_of(op, tensor.dims, (given,) if isinstance(given, Tensor) else ())
    name = w.fresh(hint)
    w.line(f"draw {name}[{', '.join(sizes)}]")
    w.name(tensor, name, sizes)


@rule(
    "aten.rand", "aten.randn", "aten.randint", "aten.rand_like", "aten.randn_like", "aten.randint_like",
    "aten.randperm", "aten.normal", "aten.bernoulli", "aten.multinomial", "aten.poisson",
    "aten.binomial", "aten._standard_gamma", "aten._sample_dirichlet", "aten.uniform", "aten.exponential",
    "aten.cauchy", "aten.log_normal", "aten.geometric", "aten.random",
)  # fmt: skip
def draw(w: Writer, op: Op) -> None:
    """The result is the draw itself."""
    if len(op.draws) != 1:
        raise op.fail(f"{len(op.draws)} draws")
    drawn(w, op, op.out, w.result(op.out, op) if op.out.hint else "noise")


# -- dropout ----------------------------------------------------------------------------------------------------------


def _given(op: Op) -> Tensor:
    """The operator in place calls it otherwise."""
    return op.tensor("input" if "input" in op.args else "self")


def _idle(w: Writer, op: Op, given: Tensor) -> bool:
    """Dropout that drops nothing hands its argument on, one that drops everything gives zeros: both draw nothing."""
    if not op.flag("train") or op.num("p").constant == 0:
        w.alias(op, given)
        return True
    if op.num("p").constant == 1:
        filled(w, op, constant(w, op, Num((0,)), op.out.dtype), (given,))
        return True
    return False


def _kept(op: Op) -> Num:
    """1 - p."""
    kept = Num(tuple(1 - p for p in op.num("p").values))
    if len(op.draws) != 1 or any(not 0 < value < 1 for value in kept.values):
        raise op.fail(f"{len(op.draws)} draws with p={list(op.num('p').values)}")
    return kept


@rule("aten.dropout")
def dropout(w: Writer, op: Op) -> None:
    given = _given(op)
    if not _idle(w, op, given):
        _scaled(w, op, given, _kept(op), given.dims)


@rule("aten.feature_dropout")
def feature_dropout(w: Writer, op: Op) -> None:
    given = _given(op)
    if not _idle(w, op, given):
        _scaled(w, op, given, _kept(op), _features(given))


def _features(given: Tensor) -> tuple[Num, ...]:
    """One number for each channel of each example."""
    return tuple(dim if axis < 2 else Num((1,) * len(dim.values)) for axis, dim in enumerate(given.dims))


def _scaled(w: Writer, op: Op, given: Tensor, kept: Num, dims: tuple[Num, ...]) -> None:
    mask = Tensor(dims, given.dtype)
    drawn(w, op, mask, "kept")
    made(w, op, "{0} * ({1} / {2})", given, mask, kept)


@rule("aten.alpha_dropout")
def alpha_dropout(w: Writer, op: Op) -> None:
    given = _given(op)
    if not _idle(w, op, given):
        _alpha(w, op, given, given.dims)


@rule("aten.feature_alpha_dropout")
def feature_alpha_dropout(w: Writer, op: Op) -> None:
    given = _given(op)
    if not _idle(w, op, given):
        _alpha(w, op, given, _features(given))


_ALPHA = 1.7580993408473766


def _alpha(w: Writer, op: Op, given: Tensor, dims: tuple[Num, ...]) -> None:
    """What is dropped becomes -_ALPHA; then mean and variance are put right."""
    kept = _kept(op).constant
    if kept is None:
        raise op.fail("a p that depends on sizes")
    p = op.num("p").values[0]
    scale = 1.0 / math.sqrt((_ALPHA * _ALPHA * p + 1) * kept)
    mask = Tensor(dims, given.dtype)
    drawn(w, op, mask, "kept")
    slope, shift = _ALPHA * scale, _ALPHA * scale * p
    made(w, op, "{0} * ({1} * {2}) + (({1} - 1) * {3} + {4})", given, mask, scale, slope, shift)


@rule("aten.native_dropout")
def native_dropout(w: Writer, op: Op) -> None:
    given, train = op.tensor("input"), op.args.get("train")
    mask = op.results[1]
    if train is False:
        raise op.fail("without training")
    kept = _kept(op)
    made_from = Tensor(given.dims, given.dtype)
    drawn(w, op, made_from, "kept")
    made(w, op, "{0} * {1} * {2}", given, made_from, Num(tuple(1 / value for value in kept.values)))
    if mask is not None:
        made(w, op, "{0}", made_from, tensor=mask)
