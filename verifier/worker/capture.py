"""State and plain values of a live program, by path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np
import torch

from ...ir.bindings import Constant
from .load import MODULE_NAME, Built, plain_constant

_INTERNAL = frozenset(vars(torch.nn.Module())) - {"training"}
_MOST_ATTRS = 60_000
_MOST_ITEMS = 4096
_DEPTH = 8
_SKIPPED_CONSTANTS = frozenset({"get_inputs", "get_init_inputs", "example_inputs"})


@dataclass(slots=True)
class Captured:
    """`tensors`: state by path; `attrs`: plain values by path ("self.", "const.", "arg."); `modules`: paths by
    id, the first of each."""

    tensors: dict[str, torch.Tensor] = field(default_factory=dict)
    modules: dict[int, str] = field(default_factory=dict)
    attrs: dict[str, Constant] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def capture(built: Built, forward_arguments: Mapping[str, object]) -> Captured:
    """`forward_arguments`: forward()'s arguments that are no tensors, by name, defaults included."""
    walker = _Walker()
    if built.model is not None:
        walker.module(built.model, "", "self.", ())
    for name, value in _constants(built.namespace):
        walker.value(value, f"const.{name}", f"const.{name}", ())
    for name, value in built.constructor.items():
        walker.constant(value, f"arg.{name}")
    found = walker.found
    for name, value in forward_arguments.items():
        if f"arg.{name}" in found.attrs and found.attrs[f"arg.{name}"] != plain_constant(value)[1]:
            found.warnings.append(f'"arg.{name}" is the constructor\'s argument; forward() has one of that name too')
        else:
            walker.constant(value, f"arg.{name}")
    if len(found.attrs) >= _MOST_ATTRS:
        found.warnings.append(f"only the first {_MOST_ATTRS} attributes are offered")
    return found


def _constants(namespace: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in namespace.items():
        if name.startswith("__") or name in _SKIPPED_CONSTANTS or isinstance(value, ModuleType | type):
            continue
        yield name, value


class _Walker:
    def __init__(self) -> None:
        self.found = Captured()

    def constant(self, value: object, path: str) -> bool:
        """Note a plain value, whole and by item; False when it is none."""
        plain, constant = plain_constant(value)
        if not plain or len(self.found.attrs) >= _MOST_ATTRS:
            return plain
        self.found.attrs[path] = constant
        if isinstance(constant, tuple) and len(constant) <= _MOST_ITEMS:
            for index, item in enumerate(constant):
                self.constant(item, f"{path}.{index}")
        return True

    def value(self, value: Any, path: str, attr_path: str, above: tuple[int, ...]) -> None:  # noqa: ANN401
        """`path` names state in it, `attr_path` plain values; `above`: ids of the objects that contain it."""
        if id(value) in above or len(above) > _DEPTH + 24:
            return
        if isinstance(value, np.ndarray):
            value = value.tolist() if value.size <= _MOST_ITEMS else None
        if isinstance(value, torch.Tensor):
            self.found.tensors[path] = value
        elif isinstance(value, torch.nn.Module):
            self.module(value, f"{path}.", f"{attr_path}.", above)
        elif self.constant(value, attr_path):
            return
        else:
            for key, item in self._items(value, len(above)):
                self.value(item, f"{path}.{key}", f"{attr_path}.{key}", (*above, id(value)))

    def _items(self, value: object, depth: int) -> Iterator[tuple[str | int, Any]]:
        if isinstance(value, list | tuple):
            yield from enumerate(value[:_MOST_ITEMS])
        elif isinstance(value, dict):
            yield from (item for item in list(value.items())[:_MOST_ITEMS] if isinstance(item[0], str | int))
        elif self._is_plain_object(value) and depth < _DEPTH:
            yield from (item for item in vars(value).items() if not item[0].startswith("_"))

    def _is_plain_object(self, value: object) -> bool:
        """A holder of settings: of a class of the user's file, a namespace, or a configuration of a library."""
        cls = type(value)
        if not hasattr(value, "__dict__") or callable(value):
            return False
        return cls.__module__ in (MODULE_NAME, "types", "argparse") or cls.__name__.endswith("Config")

    def module(self, module: torch.nn.Module, prefix: str, attr_prefix: str, above: tuple[int, ...]) -> None:
        if id(module) in above:
            return
        above = (*above, id(module))
        self.found.modules.setdefault(id(module), prefix.removesuffix("."))
        for group in (module._parameters, module._buffers):
            for name, tensor in group.items():
                if tensor is None:
                    self.constant(None, f"{attr_prefix}{name}")
                else:
                    self.found.tensors[f"{prefix}{name}"] = tensor
        for name, value in _own_values(module, root=not prefix):
            self.value(value, f"{prefix}{name}", f"{attr_prefix}{name}", above)
        for name, child in module._modules.items():
            if child is None:
                self.constant(None, f"{attr_prefix}{name}")
            else:
                self.module(child, f"{prefix}{name}.", f"{attr_prefix}{name}.", above)


def _own_values(module: torch.nn.Module, root: bool) -> Iterator[tuple[str, Any]]:
    library = type(module).__module__.startswith("torch.")
    if not library:
        for cls in reversed(type(module).__mro__):
            if cls.__module__ == MODULE_NAME:
                yield from ((k, v) for k, v in vars(cls).items() if not k.startswith("_") and plain_constant(v)[0])
    for name, value in vars(module).items():
        if name in _INTERNAL or (name == "training" and not root) or (library and name.startswith("_")):
            continue
        yield name, value
