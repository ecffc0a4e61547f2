"""Modes that a run is done under: where tensors live, what is watched, and floats turned into float64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._device import _device_constructors
from torch.utils._python_dispatch import TorchDispatchMode

from .draws import FACTORIES, HIDDEN, IN_PLACE, DrawLog, Drawn, drawn_by
from .faults import Refused
from .feeding import Notes
from .tensors import wide

_CASTS = frozenset({"to", "float", "half", "bfloat16", "double", "type", "type_as"})
_TYPE_QUESTIONS = frozenset({"promote_types", "can_cast", "result_type"})
_MAY_DRAW_INSIDE = frozenset({
    "dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout", "gumbel_softmax",
    "rrelu", "fractional_max_pool2d", "fractional_max_pool3d",
})  # fmt: skip
_LITERALS = frozenset({"tensor", "as_tensor", "asarray"})
_LITERAL_METHODS = frozenset({"new_tensor"})
_MOST_LITERALS = 1024
RECURRENT = frozenset({"lstm", "gru", "rnn_tanh", "rnn_relu"})
NORMS = frozenset({"batch_norm", "layer_norm", "group_norm", "instance_norm"})


class Placed(TorchFunctionMode):  # type: ignore[misc]
    """Every tensor is made on, and moved to, one device, whatever the program asks for.

    `shortcuts`: slow operators are answered by shape on the meta device, without being called."""

    def __init__(self, device: str, shortcuts: bool = True) -> None:
        super().__init__()
        self._device = device
        self._shortcuts = shortcuts and device == "meta"
        self._constructors = _device_constructors()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # noqa: ANN401
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if self._device == "meta" and name != "__get__":
            args = _map_tensors(_to_meta, tuple(args))
        if name in ("cuda", "cpu", "pin_memory", "xpu", "npu") and args:
            return args[0].to(self._device)
        if name == "to":
            args, kwargs = self._without_device(args, kwargs)
            return func(*args, **kwargs)
        if self._shortcuts and (name in RECURRENT or name in NORMS):
            shaped = _shortcut(name, args)
            if shaped is not None:
                return shaped
        if func in self._constructors:
            kwargs = {key: value for key, value in kwargs.items() if key not in ("pin_memory", "generator")}
            kwargs["device"] = self._device
            if name == "asarray" or (self._device == "meta" and name in _LITERALS):
                return _literal_on(self._device, func, args, kwargs)
        elif name == "from_numpy" and self._device != "cpu":
            return func(*args, **kwargs).to(self._device)
        elif kwargs.get("device") is not None:
            kwargs = {**kwargs, "device": self._device}
        return func(*args, **kwargs)

    def _without_device(self, args: Any, kwargs: Any) -> tuple[Any, Any]:  # noqa: ANN401
        args = tuple(self._device if isinstance(item, torch.device | str) else item for item in args)
        if "device" in kwargs:
            kwargs = {**kwargs, "device": self._device}
        return args, kwargs


def norm_fits(name: str, args: tuple[Any, ...]) -> bool:
    """Do the sizes agree? If not, the operator itself says so."""
    data = args[0] if args else None
    if not isinstance(data, torch.Tensor) or data.dim() < 2:
        return False
    if name == "layer_norm":
        shape = tuple(args[1]) if len(args) > 1 and isinstance(args[1], tuple | list | torch.Size) else ()
        return bool(shape) and tuple(data.shape[-len(shape) :]) == shape
    if name == "group_norm" and not (len(args) > 1 and isinstance(args[1], int) and data.shape[1] % args[1] == 0):
        return False
    return all(item.shape == (data.shape[1],) for item in args[1:] if isinstance(item, torch.Tensor))


def _to_meta(tensor: torch.Tensor) -> torch.Tensor:
    """Tensors made behind the mode's back (from_numpy, at module level) follow the others."""
    return tensor if tensor.is_meta or isinstance(tensor, torch.nn.Parameter) else tensor.to("meta")


def _shortcut(name: str, args: tuple[Any, ...]) -> Any:  # noqa: ANN401
    """Empty results of operators whose meta kernels are slow Python: norms, and recurrent layers, which would walk
    through every time step. None where the shape is not that plain (packed sequences)."""
    if name in NORMS:
        return torch.empty_like(args[0]) if norm_fits(name, args) else None
    if len(args) != 9:
        return None
    data, start, weights = args[:3]
    if isinstance(start, torch.Tensor) == (name == "lstm") or not isinstance(weights, list | tuple):
        return None
    finals = tuple(torch.empty_like(item) for item in start) if name == "lstm" else (torch.empty_like(start),)
    width = finals[0].shape[-1] * (2 if args[7] else 1)
    for shape in masks_between_layers(args, width):
        data.new_empty(shape).bernoulli_(0.5)
    return (data.new_empty((*data.shape[:-1], width)), *finals)


def masks_between_layers(args: tuple[Any, ...], width: int) -> tuple[tuple[int, ...], ...]:
    """Shapes, time first, of what the dropout of a recurrent layer draws. `args`: of torch.lstm, gru, ..."""
    data, layers, dropout, train, batch_first = args[0], args[4], args[5], args[6], args[8]
    if not train or not 0 < dropout < 1:
        return ()
    shape: tuple[int, ...] = (*data.shape[:-1], width)
    times: int = layers - 1
    return ((shape[1], shape[0], *shape[2:]) if batch_first else shape,) * times


def _literal_on(device: str, func: Any, args: Any, kwargs: Any) -> Any:  # noqa: ANN401
    return func(*args, **{**kwargs, "device": "cpu"}).to(device)


@dataclass(slots=True)
class Watched:
    """What a native run answered: dtype questions, whether casts gave back the same object; tensor literals made."""

    answers: list[tuple[str, Any]] = field(default_factory=list)
    literals: list[torch.Tensor] = field(default_factory=list)
    may_draw: bool = False


class Watch(TorchFunctionMode):  # type: ignore[misc]
    """Notes dtype questions, casts and tensor literals of a run in the program's own types."""

    def __init__(self, seen: Watched) -> None:
        super().__init__()
        self._seen = seen
        self._get_dtype = torch.Tensor.dtype.__get__

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # noqa: ANN401
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        name = getattr(func, "__name__", "")
        if name in _CASTS and args and isinstance(result, torch.Tensor):
            self._seen.answers.append(("same", result is args[0]))
        elif name == "type":
            self._seen.answers.append(("type", result))
        elif name == "__get__" and func == self._get_dtype:
            self._seen.answers.append(("dtype", result))
        elif _leaves_eps_open(name, args, kwargs):
            own = torch.float64 if args[0].dtype == torch.float64 else torch.float32
            self._seen.answers.append(("eps", torch.finfo(own).eps))
        elif makes_literal(func, args) and len(self._seen.literals) < _MOST_LITERALS:
            self._seen.literals.append(result if result.is_meta else result.clone())
        elif name in _MAY_DRAW_INSIDE and kwargs.get("training", args[2] if len(args) > 2 else True):
            self._seen.may_draw = True
        return result


def _leaves_eps_open(name: str, args: Any, kwargs: Any) -> bool:  # noqa: ANN401
    """torch.rms_norm without eps takes that of the type that it computes in: float32, or float64 for float64."""
    is_norm = name == "rms_norm" and bool(args) and isinstance(args[0], torch.Tensor) and args[0].is_floating_point()
    return is_norm and (args[3] if len(args) > 3 else kwargs.get("eps")) is None


def makes_literal(func: Any, args: Any) -> bool:  # noqa: ANN401
    """Does the call make a tensor of numbers that stand in the program?"""
    return isinstance(literal_data(func, args), list | tuple | int | float | np.ndarray)


def literal_data(func: Any, args: Any) -> Any:  # noqa: ANN401
    """What a tensor is made of by torch.tensor(data), x.new_tensor(data) and the like; None for other calls."""
    name = getattr(func, "__name__", "")
    place = 0 if name in _LITERALS else 1 if name in _LITERAL_METHODS else len(args)
    return args[place] if place < len(args) else None


class ApiDraws(TorchFunctionMode):  # type: ignore[misc]
    """Notes random tensors at the level of the Python functions: all that a run on the meta device needs to tell."""

    _factories = frozenset(name.removeprefix("aten::") for name in FACTORIES)
    _in_place = frozenset(name.removeprefix("aten::") for name in IN_PLACE)

    def __init__(self, log: DrawLog) -> None:
        super().__init__()
        self._log = log

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # noqa: ANN401
        result = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", "")
        if (name in self._factories or name in self._in_place) and isinstance(result, torch.Tensor):
            self._log.drawn.append(result)
        return result


class Follow(TorchFunctionMode):  # type: ignore[misc]
    """Answers dtype questions as the native run did, and asks for float64 wherever the program names a float type."""

    def __init__(self, seen: Watched) -> None:
        super().__init__()
        kinds = ("dtype", "same", "type", "eps")
        self._answers = {kind: [value for k, value in seen.answers if k == kind] for kind in kinds}
        self._taken = dict.fromkeys(kinds, 0)
        self._get_dtype = torch.Tensor.dtype.__get__

    def _answer(self, kind: str) -> Any:  # noqa: ANN401
        index = self._taken[kind]
        self._taken[kind] += 1
        return self._answers[kind][index] if index < len(self._answers[kind]) else None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # noqa: ANN401
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name == "__get__":
            answer = self._answer("dtype") if func == self._get_dtype else None
            return func(*args, **kwargs) if answer is None else answer
        if name in _TYPE_QUESTIONS:
            return func(*args, **kwargs)
        if name == "view" and any(isinstance(item, torch.dtype) for item in (*args, *kwargs.values())):
            raise Refused("the program looks at the bits of a float (view(dtype))", "not_promotable")
        args = tuple(_widened(item) for item in args)
        kwargs = {key: _widened(item) for key, item in kwargs.items()}
        if _leaves_eps_open(name, args, kwargs):
            args, kwargs = args[:3], {**kwargs, "eps": self._answer("eps")}
        result = func(*args, **kwargs)
        if name in _CASTS and args and isinstance(result, torch.Tensor):
            return self._cast(args[0], result)
        if name == "type":
            return self._answer("type") or result
        return result

    def _cast(self, source: Any, result: torch.Tensor) -> torch.Tensor:  # noqa: ANN401
        match self._answer("same"):
            case True if source.dtype == result.dtype:
                return source
            case False if result is source:
                return result.clone()
            case _:
                return result


def _widened(item: Any) -> Any:  # noqa: ANN401
    return wide(item) if isinstance(item, torch.dtype) else item


class Run(TorchDispatchMode):  # type: ignore[misc]
    """Operator level: records or replays draws and, when `promote`, computes every float in float64."""

    def __init__(self, log: DrawLog, promote: bool, notes: Notes | None = None) -> None:
        super().__init__()
        self._log = log
        self._promote = promote
        self._notes = notes

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """False keeps torch from importing its compiler (2 s) at the first operator."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # noqa: ANN401
        result = self._computed(func, args, kwargs or {})
        if self._notes is not None:
            self._notes.note(args, kwargs or {}, result)
        return result

    def _computed(self, func: Any, args: Any, kwargs: Any) -> Any:  # noqa: ANN401
        name = func._schema.name
        if name in HIDDEN and _draws_inside(name, args, kwargs):
            raise Refused(f"the random draw inside {name} cannot be replayed")
        if self._promote:
            args, kwargs = _promoted_arguments(func, args, kwargs)
        if name in FACTORIES or name in IN_PLACE or (name == "aten::native_dropout" and args[2]):
            return drawn_by(self._log, func, args, kwargs, self._promote)
        result = func(*args, **kwargs)
        return _map_tensors(_promoted_result, result) if self._promote else result


def _draws_inside(name: str, args: Any, kwargs: Any) -> bool:  # noqa: ANN401
    """rrelu without training has the mean slope; its schema's default is no training."""
    return name != "aten::rrelu_with_noise" or bool(kwargs.get("training", args[4] if len(args) > 4 else False))


def _promoted_arguments(func: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:  # noqa: ANN401
    if func._schema.name == "aten::view" and func._overloadname == "dtype":
        raise Refused("the program looks at the bits of a float (view(dtype))", "not_promotable")
    if any(isinstance(item, torch.dtype) for item in args):
        args = tuple(_widened(item) for item in args)
    if kwargs:
        kwargs = {key: _widened(item) for key, item in kwargs.items()}
    if func._schema.is_mutable:
        return args, kwargs
    args = tuple(_map_tensors(_promoted_result, item) for item in args)
    return args, {key: _map_tensors(_promoted_result, item) for key, item in kwargs.items()}


def _promoted_result(tensor: torch.Tensor) -> torch.Tensor:
    dtype = tensor.dtype
    if dtype == torch.float64 or not (dtype.is_floating_point or dtype.is_complex):
        return tensor
    return tensor.to(wide(dtype))


def _map_tensors(function: Callable[[torch.Tensor], torch.Tensor], item: Any) -> Any:  # noqa: ANN401
    if isinstance(item, torch.Tensor):
        return function(item)
    if isinstance(item, tuple | list):
        return type(item)(_map_tensors(function, part) for part in item)
    return item


__all__ = ["ApiDraws", "Drawn", "Follow", "Placed", "Run", "Watch", "Watched"]
