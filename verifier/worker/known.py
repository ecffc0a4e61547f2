"""Values on the meta device that do not depend on inputs or weights: a library may ask whether a mask of ones that it
made itself is all ones. Tensors made from nothing but numbers are made once more on the CPU when they are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import _disable_current_modes

_FACTORIES = frozenset({"ones", "zeros", "full", "arange", "eye", "linspace", "tensor", "as_tensor"})
_SHAPED = frozenset({"ones_like", "zeros_like", "full_like", "new_ones", "new_zeros", "new_full"})
_READS = frozenset({"item", "__bool__", "__contains__", "tolist", "__int__", "__float__", "__index__", "equal"})
_WRITES = frozenset({
    "__setitem__", "__set__", "__iadd__", "__isub__", "__imul__", "__itruediv__", "__ifloordiv__", "__imod__",
    "__ipow__", "__iand__", "__ior__", "__ixor__", "__ilshift__", "__irshift__",
})  # fmt: skip
_RANDOM = frozenset({"dropout", "multinomial", "bernoulli"})
_MOST_ELEMENTS = 1 << 22
_MOST_KNOWN = 4096


@dataclass(frozen=True, slots=True)
class _Made:
    """How a tensor was made; `tensor` keeps it alive, so that its id stays its own."""

    tensor: torch.Tensor
    func: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class Known(TorchFunctionMode):  # type: ignore[misc]
    """Enter it last, inside the mode that places tensors on the meta device."""

    def __init__(self) -> None:
        super().__init__()
        self._made: dict[int, _Made] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # noqa: ANN401
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name in _READS and self._all_known(args):
            return self._valued(func, args, kwargs)
        result = func(*args, **kwargs)
        if name in _WRITES or (name.endswith("_") and not name.endswith("__")):
            self._forget(args[0] if args else None)
        elif "out" in kwargs:
            self._forget(kwargs["out"])
        elif isinstance(result, torch.Tensor) and result.is_meta and self._is_made(name, args, kwargs):
            self._note(result, func, args, kwargs)
        return result

    def _is_made(self, name: str, args: Any, kwargs: Any) -> bool:  # noqa: ANN401
        if name in _FACTORIES or name in _SHAPED:
            return not any(isinstance(item, torch.Tensor) for item in (*args[1:], *kwargs.values()))
        tensors = list(_tensors((*args, *kwargs.values())))
        return bool(tensors) and name not in _RANDOM and all(id(item) in self._made for item in tensors)

    def _note(self, result: torch.Tensor, func: Any, args: Any, kwargs: Any) -> None:  # noqa: ANN401
        if result.numel() <= _MOST_ELEMENTS and len(self._made) < _MOST_KNOWN and id(result) not in self._made:
            self._made[id(result)] = _Made(result, func, _copied(tuple(args)), _copied(dict(kwargs)))

    def _forget(self, target: Any) -> None:  # noqa: ANN401
        """It was written to: its value, and that of everything in the same memory, is no longer known."""
        if not isinstance(target, torch.Tensor) or not self._made:
            return
        memory = target.untyped_storage()._cdata
        gone = [key for key, made in self._made.items() if made.tensor.untyped_storage()._cdata == memory]
        for key in gone:
            del self._made[key]

    def _all_known(self, args: Any) -> bool:  # noqa: ANN401
        """Also what they were made from: one of those may have been written to since."""
        tensors = list(_tensors(args))
        return bool(tensors) and all(item.is_meta and self._stands(item, set()) for item in tensors)

    def _stands(self, tensor: torch.Tensor, seen: set[int]) -> bool:
        open_ = [tensor]
        while open_:
            item = open_.pop()
            if id(item) not in self._made:
                return False
            made = self._made[id(item)]
            if id(item) not in seen and getattr(made.func, "__name__", "") not in _SHAPED:
                open_ += _tensors((*made.args, *made.kwargs.values()))
            seen.add(id(item))
        return True

    def _valued(self, func: Any, args: Any, kwargs: Any) -> Any:  # noqa: ANN401
        with _disable_current_modes(), torch._C.DisableTorchFunction():
            done: dict[int, torch.Tensor] = {}
            return func(*(self._on_cpu(item, done) for item in args), **kwargs)

    def _on_cpu(self, item: Any, done: dict[int, torch.Tensor]) -> Any:  # noqa: ANN401
        if isinstance(item, torch.Tensor):
            if id(item) not in done:
                done[id(item)] = self._again(self._made[id(item)], done)
            return done[id(item)]
        if isinstance(item, tuple | list):
            return type(item)(self._on_cpu(part, done) for part in item)
        if isinstance(item, torch.device) or item == "meta":
            return torch.device("cpu")
        return item

    def _again(self, made: _Made, done: dict[int, torch.Tensor]) -> torch.Tensor:
        name = getattr(made.func, "__name__", "")
        kwargs = {key: self._on_cpu(value, done) for key, value in made.kwargs.items()}
        if name in _FACTORIES:
            kwargs["device"] = "cpu"
        if name in _SHAPED:
            like = torch.empty(made.args[0].shape, dtype=made.args[0].dtype)
            return made.func(like, *made.args[1:], **{**kwargs, "device": "cpu"})
        return made.func(*(self._on_cpu(item, done) for item in made.args), **kwargs)


def _copied(item: Any) -> Any:  # noqa: ANN401
    """The program may change its lists afterwards."""
    if isinstance(item, dict):
        return {key: _copied(part) for key, part in item.items()}
    return type(item)(_copied(part) for part in item) if type(item) in (tuple, list) else item


def _tensors(items: Any) -> Any:  # noqa: ANN401
    for item in items:
        if isinstance(item, torch.Tensor):
            yield item
        elif isinstance(item, tuple | list):
            yield from _tensors(item)


__all__ = ["Known"]
