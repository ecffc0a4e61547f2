"""forward()'s arguments at some sizes: get_inputs is run with its random factories drawing from a chosen distribution,
so that whatever it derives from them (slices, transposes, softmax, masks) is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from ..types import Distribution, Domain
from .faults import Guard, Refused
from .load import Built, File
from .tensors import BY_NAME
from .tree import Arguments, name_arguments, replace_tensors

_KEEP_DOMAIN = frozenset({
    "to", "long", "int", "float", "double", "half", "bfloat16", "view", "reshape", "expand", "t", "transpose",
    "permute", "contiguous", "unsqueeze", "squeeze", "clone", "__getitem__", "type", "cuda", "cpu", "detach",
    "requires_grad_", "flatten", "swapaxes", "expand_as", "repeat", "movedim", "as_strided", "narrow", "select",
})  # fmt: skip
_UNIT = frozenset({"rand", "rand_like"})
_NORMAL = frozenset({"randn", "randn_like", "normal"})
_CONSTANT = {"zeros": 0.0, "zeros_like": 0.0, "ones": 1.0, "ones_like": 1.0}
_VALUES = frozenset({"tensor", "as_tensor", "arange", "full", "full_like", "linspace", "eye", "empty", "from_numpy"})
_REFILLED = frozenset({"constant", "values"})
LARGE, TINY = 100.0, 2.0**-8
NARROW_LIMITS = (2**7, 2**8, 2**15, 2**16)


@dataclass(frozen=True, slots=True)
class Plan:
    """How inputs are drawn. `level` 0: the distribution as it is; 1: folded into get_inputs' range; 2: as get_inputs
    draws by itself. `landmarks`: numbers of the source around which "ties" draws about half of the values."""

    distribution: Distribution
    level: int
    seed: int
    landmarks: tuple[float, ...] = ()


class Sampler(TorchFunctionMode):  # type: ignore[misc]
    """Knows which factory made a tensor and, given a plan, chooses what the random factories return."""

    def __init__(self, plan: Plan | None) -> None:
        super().__init__()
        self._plan = plan
        self._known: dict[int, Domain] = {}
        self._alive: list[torch.Tensor] = []
        self.generator = torch.Generator()
        self.generator.manual_seed(plan.seed if plan else 0)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # noqa: ANN401
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if not isinstance(result, torch.Tensor):
            return result
        name = getattr(func, "__name__", "")
        domain = _domain(name, args, kwargs, result)
        if domain is not None:
            self._note(result, domain)
            if self._plan is not None and domain.factory not in _REFILLED and not result.is_meta:
                result.copy_(draw(tuple(result.shape), result.dtype, domain, self._plan, self.generator))
        elif (name in _KEEP_DOMAIN or name == "__get__") and args and isinstance(args[0], torch.Tensor):
            known = self.domain(args[0])
            if known is not None:
                self._note(result, known)
        elif name in ("bool", "bernoulli", "bernoulli_") or result.dtype == torch.bool:
            self._note(result, Domain("bool", 0, 1))
        return result

    def _note(self, tensor: torch.Tensor, domain: Domain) -> None:
        self._alive.append(tensor)
        self._known[tensor.untyped_storage()._cdata] = domain

    def domain(self, tensor: torch.Tensor) -> Domain | None:
        return self._known.get(tensor.untyped_storage()._cdata)


def _domain(name: str, args: Any, kwargs: Any, result: torch.Tensor) -> Domain | None:  # noqa: ANN401
    if name in _UNIT:
        return Domain("rand", 0.0, 1.0)
    if name in _NORMAL:
        return Domain("randn", None, None)
    if name in ("randint", "randint_like"):
        return _randint_domain(name, args, kwargs)
    if name in _CONSTANT:
        return Domain("constant", _CONSTANT[name], _CONSTANT[name])
    if name in _VALUES:
        return _values_domain(result)
    return None


def _randint_domain(name: str, args: Any, kwargs: Any) -> Domain:  # noqa: ANN401
    numbers = [item for item in args if isinstance(item, int)]
    numbers = numbers[:2] if name == "randint" else numbers
    low = int(kwargs.get("low", numbers[0] if len(numbers) == 2 else 0))
    high = int(kwargs.get("high", numbers[-1] if numbers else 1))
    return Domain("randint", low, high - 1)


def _values_domain(tensor: torch.Tensor) -> Domain:
    if tensor.is_meta or tensor.numel() == 0 or tensor.dtype.is_complex:
        return Domain("values", None, None)
    if tensor.dtype == torch.bool:
        return Domain("bool", 0, 1)
    wide = tensor.double() if tensor.dtype.is_floating_point else tensor
    return Domain("values", wide.min().item(), wide.max().item())


def draw(
    shape: tuple[int, ...], dtype: torch.dtype, domain: Domain, plan: Plan, generator: torch.Generator
) -> torch.Tensor:
    """Fresh values of `dtype` for one tensor."""
    if dtype == torch.bool or domain.factory == "bool":
        return torch.randint(0, 2, shape, generator=generator).to(dtype)
    if not dtype.is_floating_point and not dtype.is_complex:
        drawn = _integers(shape, domain, plan, generator)
        return (_beyond(drawn, dtype, generator) if _is_signed_data(domain, plan) else drawn).to(dtype)
    if domain.factory == "randint":
        return _integers(shape, domain, plan, generator).to(dtype)
    unit = domain.factory == "rand"
    wide = _folded(shape, plan, unit, generator) if plan.level else _floats(shape, plan, unit, generator)
    return wide.to(dtype)


def _integers(shape: tuple[int, ...], domain: Domain, plan: Plan, generator: torch.Generator) -> torch.Tensor:
    low = 0 if domain.low is None else int(domain.low)
    high = low + 1 if domain.high is None else int(domain.high)
    drawn = torch.randint(low, high + 1, shape, generator=generator)
    match plan.distribution:
        case "ties":
            few = torch.randint(low, high + 1, (3,), generator=generator)
            tied = few[torch.randint(0, 3, shape, generator=generator)]
            around = [round(mark) + step for mark in plan.landmarks for step in (0, 1, -1)]
            return _spread([value for value in around if low <= value <= high], tied, generator)
        case "large":
            edges = torch.tensor([low, min(low + 1, high), max(high - 1, low), high])
            at_edge = torch.randint(0, 2, shape, generator=generator).bool()
            return torch.where(at_edge, edges[torch.randint(0, 4, shape, generator=generator)], drawn)
        case "negative" if low < 0:
            return torch.randint(low, min(high + 1, 0) or 1, shape, generator=generator)
        case "positive" if high > 0 > low:
            return torch.randint(1, high + 1, shape, generator=generator)
        case _:
            return drawn


def _is_signed_data(domain: Domain, plan: Plan) -> bool:
    """Integers written out in get_inputs, negative ones among them: numbers to compute with, hardly indices."""
    negative = domain.low is not None and domain.low < 0
    return domain.factory == "values" and negative and plan.level == 0 and plan.distribution in ("normal", "large")


def _beyond(drawn: torch.Tensor, dtype: torch.dtype, generator: torch.Generator) -> torch.Tensor:
    """About half of the integers replaced by ones at and past the limits of narrower types."""
    limits = torch.iinfo(dtype)
    edges = [sign * (limit + step) for limit in NARROW_LIMITS for step in (-1, 0, 1) for sign in (-1, 1)]
    return _or_one_of([edge for edge in edges if limits.min <= edge <= limits.max], drawn, generator)


def _floats(shape: tuple[int, ...], plan: Plan, unit: bool, generator: torch.Generator) -> torch.Tensor:
    normal = torch.randn(shape, generator=generator, dtype=torch.float64)
    match plan.distribution:
        case "normal":
            return normal
        case "uniform":
            return torch.rand(shape, generator=generator, dtype=torch.float64) if unit else normal
        case "large":
            return normal * LARGE
        case "tiny":
            return normal * TINY
        case "negative":
            return -normal.abs() - 2.0**-6
        case "positive":
            return normal.abs() + 2.0**-6
        case "ties":
            tied = torch.randint(-2, 4, shape, generator=generator).double()
            around = [mark + step for mark in plan.landmarks for step in (0.0, 0.25, -0.25)]
            return _spread(around, tied, generator)


def _or_one_of(values: Sequence[int], drawn: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """About half of `drawn` replaced by some of `values`, if there are any."""
    if not values:
        return drawn
    chosen = torch.tensor(values, dtype=drawn.dtype)[torch.randint(0, len(values), drawn.shape, generator=generator)]
    return torch.where(torch.randint(0, 2, drawn.shape, generator=generator).bool(), chosen, drawn)


def _spread(values: Sequence[float], drawn: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """About half of `drawn` replaced, as far as it goes by different ones of `values`, the first of them first."""
    places = torch.randperm(drawn.numel(), generator=generator)[: (drawn.numel() + 1) // 2]
    if not values or not len(places):
        return drawn
    spread = drawn.flatten().clone()
    spread[places] = torch.tensor(values, dtype=drawn.dtype)[torch.arange(len(places)) % len(values)]
    return spread.reshape(drawn.shape)


def _folded(shape: tuple[int, ...], plan: Plan, unit: bool, generator: torch.Generator) -> torch.Tensor:
    """The distribution's character inside [0, 1), or the plain normal distribution."""
    if not unit or plan.level > 1:
        maker = torch.rand if unit else torch.randn
        return maker(shape, generator=generator, dtype=torch.float64)
    uniform = torch.rand(shape, generator=generator, dtype=torch.float64)
    match plan.distribution:
        case "large":
            return 0.75 + uniform / 4
        case "tiny":
            return uniform * TINY
        case "positive":
            return 0.0625 + uniform * 0.875
        case "ties":
            return torch.randint(0, 4, shape, generator=generator).double() / 4
        case _:
            return uniform


def make_inputs(
    file: File, built: Built, changes: Mapping[str, int], plan: Plan | None
) -> tuple[Arguments, dict[str, Domain]]:
    """Arguments and what get_inputs says about each tensor. Without a plan: as get_inputs makes them."""
    sampler = Sampler(plan)
    made = _made(file, built, sampler)
    arguments = name_arguments(made, built.signature)
    domains = {name: sampler.domain(tensor) or _derived(tensor) for name, tensor in arguments.tensors.items()}
    arguments = _reshaped(arguments, built, changes, domains, plan, sampler)
    if plan is not None and plan.level == 0 and plan.distribution != "uniform":
        for name, tensor in arguments.tensors.items():
            if domains[name].factory in _REFILLED or (domains[name].factory == "bool" and sampler.domain(tensor)):
                _refill(tensor, domains[name], plan, sampler.generator)
    return arguments, domains


def _made(file: File, built: Built, sampler: Sampler) -> Any:  # noqa: ANN401
    if file.inputs:
        with sampler:
            return {name: _synthetic(dtype, shape) for name, dtype, shape in file.inputs}
    for name in ("get_inputs", "example_inputs"):
        found = built.namespace.get(name)
        if callable(found):
            with Guard(f"running {name}()", file.folder), sampler, torch.no_grad():
                return found()
        if found is not None:
            with sampler:
                return replace_tensors(found, lambda tensor: tensor.clone())
    if not built.signature.parameters:
        return ()
    raise Refused(
        f"{file.path.name} has no get_inputs and no example_inputs; give --inputs, for instance "
        f'"{next(iter(built.signature.parameters))}=f32[8,128]"',
        "bad_input",
    )


def _synthetic(dtype: str, shape: tuple[int, ...]) -> torch.Tensor:
    kind = BY_NAME[dtype]
    if kind.is_floating_point:
        return torch.randn(shape).to(kind)
    return torch.randint(0, 2, shape).to(kind)


def _derived(tensor: torch.Tensor) -> Domain:
    return Domain("derived", None, None)


def _reshaped(
    arguments: Arguments,
    built: Built,
    changes: Mapping[str, int],
    domains: Mapping[str, Domain],
    plan: Plan | None,
    sampler: Sampler,
) -> Arguments:
    """Apply changes of the form `input.NAME.AXIS`: the input gets another extent and fresh values."""
    wanted = {label: size for label, size in changes.items() if label.startswith("input.")}
    if not wanted:
        return arguments
    swapped: dict[int, torch.Tensor] = {}
    for name, tensor in arguments.tensors.items():
        shape = tuple(wanted.get(f"input.{name}.{axis}", extent) for axis, extent in enumerate(tensor.shape))
        if shape != tuple(tensor.shape):
            fresh = tensor.new_empty(shape)
            if not fresh.is_meta:
                used = plan or Plan("uniform", 2, 0)
                fresh.copy_(draw(shape, tensor.dtype, domains[name], used, sampler.generator))
            swapped[id(tensor)] = fresh
    made: Any = {**arguments.kwargs} if arguments.kwargs else arguments.args
    made = replace_tensors(made, lambda tensor: swapped.get(id(tensor), tensor))
    return name_arguments(made, built.signature)


def _refill(tensor: torch.Tensor, domain: Domain, plan: Plan, generator: torch.Generator) -> None:
    """New values for a constant input, written to the memory below it so that strides and aliases stay."""
    if tensor.is_meta or tensor.dtype.is_complex:
        return
    count = tensor.untyped_storage().nbytes() // tensor.element_size()
    flat = tensor.detach().as_strided((count,), (1,), 0)
    flat.copy_(draw((count,), tensor.dtype, domain, plan, generator))
