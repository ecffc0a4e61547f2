"""Random numbers that a program draws: recorded in one run, replayed in the next."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
import torch

from .faults import Refused
from .tensors import wide

Drawn: TypeAlias = torch.Tensor | float | int
FACTORIES = frozenset(
    f"aten::{name}"
    for name in (
        "rand", "randn", "randint", "rand_like", "randn_like", "randint_like", "randperm", "normal", "bernoulli",
        "multinomial", "poisson", "binomial", "_standard_gamma", "_sample_dirichlet",
    )
)  # fmt: skip
IN_PLACE = frozenset(
    f"aten::{name}"
    for name in ("normal_", "uniform_", "bernoulli_", "exponential_", "cauchy_", "log_normal_", "geometric_", "random_")
)
HIDDEN = frozenset({"aten::rrelu_with_noise", "aten::_fused_dropout"})
_PYTHON = (
    "random", "uniform", "randint", "randrange", "gauss", "normalvariate", "betavariate", "expovariate", "triangular",
)  # fmt: skip
_NUMPY = ("rand", "randn", "random", "random_sample", "randint", "uniform", "normal", "standard_normal", "binomial")


@dataclass(slots=True)
class DrawLog:
    """Draws in order. With `replay`, the k-th draw of the run is answered by the k-th recorded one."""

    drawn: list[Drawn] = field(default_factory=list)
    replay: tuple[Drawn, ...] | None = None
    taken: int = 0

    def next(self, shape: tuple[int, ...]) -> Drawn:
        assert self.replay is not None
        if self.taken >= len(self.replay):
            raise Refused("the program drew more random tensors in its second run than in its first")
        value = self.replay[self.taken]
        self.taken += 1
        if isinstance(value, torch.Tensor) and tuple(value.shape) != shape:
            raise Refused("the program drew random tensors of other shapes in its second run")
        return value

    def note(self, value: Drawn) -> None:
        self.drawn.append(value.detach().clone() if isinstance(value, torch.Tensor) else value)


def drawn_by(log: DrawLog, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], promote: bool) -> Any:  # noqa: ANN401
    """Run the random operator `func` (an ATen overload), recording what it draws or replaying it."""
    name = func._schema.name
    if log.replay is None:
        result = func(*args, **kwargs)
        log.note(result[1].to(result[0].dtype) if name == "aten::native_dropout" else result)
        return result
    if name == "aten::native_dropout":
        return _replayed_dropout(log, args, promote)
    if name in IN_PLACE:
        target = args[0]
        value = log.next(tuple(target.shape))
        return target.copy_(value)
    value = log.next(_shape_of(log, log.taken))
    assert isinstance(value, torch.Tensor)
    return value.to(wide(value.dtype)).clone() if promote else value.clone()


def _shape_of(log: DrawLog, index: int) -> tuple[int, ...]:
    assert log.replay is not None
    value = log.replay[index] if index < len(log.replay) else None
    return tuple(value.shape) if isinstance(value, torch.Tensor) else ()


def _replayed_dropout(log: DrawLog, args: tuple[Any, ...], promote: bool) -> tuple[torch.Tensor, torch.Tensor]:
    tensor, probability = args[0], args[1]
    mask = log.next(tuple(tensor.shape))
    assert isinstance(mask, torch.Tensor)
    kept = mask.to(wide(tensor.dtype) if promote else tensor.dtype)
    scale = 0.0 if probability == 1 else 1.0 / (1.0 - probability)
    return tensor * kept * scale, mask.to(torch.bool)


@contextmanager
def python_draws(log: DrawLog, namespace: dict[str, Any]) -> Iterator[None]:
    """Within it, `random` and `numpy.random` functions record their results in `log`, or replay them."""
    targets: list[tuple[ModuleType, str]] = [(random, name) for name in _PYTHON]
    targets += [(np.random, name) for name in _NUMPY] if "numpy.random" in sys.modules else []
    wrapped = {id(getattr(module, name)): _wrapped(getattr(module, name), log) for module, name in targets}
    undo: list[tuple[dict[str, Any], str, Any]] = []
    for module, name in targets:
        undo.append((vars(module), name, getattr(module, name)))
    undo += [(namespace, name, value) for name, value in namespace.items() if id(value) in wrapped]
    for space, name, value in undo:
        space[name] = wrapped[id(value)]
    try:
        yield
    finally:
        for space, name, value in undo:
            space[name] = value


def _wrapped(function: Callable[..., Any], log: DrawLog) -> Callable[..., Any]:
    def draw(*args: object, **kwargs: object) -> object:
        if log.replay is not None:
            value = log.next(_shape_of(log, log.taken))
            return value.clone().numpy() if isinstance(value, torch.Tensor) else value
        result = function(*args, **kwargs)
        if isinstance(result, np.ndarray):
            log.note(torch.from_numpy(result))
        else:
            log.note(result.item() if isinstance(result, np.generic) else result)
        return result

    return draw
