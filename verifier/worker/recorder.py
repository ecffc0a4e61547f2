"""A mode that notes every operator as it is called, before torch takes composite ones (linear, lstm, ...) apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch._subclasses.schema_check_mode import SchemaCheckMode

from ..traced import Argument, DType, Operator, Ref, Value
from .draws import DrawLog
from .faults import Refused
from .modes import Run
from .slow import answered
from .tensors import dtype_name

_DROPPED = frozenset({"device", "layout", "memory_format", "generator", "pin_memory"})
_RUNNING_STATISTICS = {"aten::batch_norm": "training", "aten::instance_norm": "use_input_stats"}
_READS = frozenset({"aten::item", "aten::_local_scalar_dense", "aten::is_nonzero", "aten::equal", "aten::allclose"})
_MOST_OPERATORS = 200_000


@dataclass(frozen=True, slots=True)
class _Schema:
    """What is needed of an operator's schema. `written`: arguments whose values it changes."""

    name: str
    full_name: str
    arguments: tuple[str, ...]
    defaults: Mapping[str, Any]
    written: tuple[str, ...]
    may_draw: bool


def _schema_of(func: Any) -> _Schema:  # noqa: ANN401
    schema = func._schema
    only_shape = torch.Tag.inplace_view in func.tags
    written = [item.name for item in schema.arguments if item.alias_info is not None and item.alias_info.is_write]
    return _Schema(
        schema.name,
        str(func),
        tuple(item.name for item in schema.arguments),
        {item.name: item.default_value for item in schema.arguments if item.has_default_value()},
        () if only_shape else tuple(written),
        torch.Tag.nondeterministic_seeded in func.tags,
    )


class Tensors:
    """Numbers for tensor objects. Each is kept, so that no id and no address of memory comes twice."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self._numbers: dict[int, int] = {}
        self._kept: list[object] = []
        self._storages: dict[int, int] = {}
        self._places: list[tuple[object, ...]] = []
        self._at: dict[tuple[object, ...], int] = {}

    def made(self, tensor: torch.Tensor) -> int:
        """Of the result of an operator: a known object with the memory and shape that it had, or a new value."""
        number = self._numbers.get(id(tensor))
        place = _place(tensor)
        return number if number is not None and self._places[number] == place else self._new(tensor, place)

    def used(self, tensor: torch.Tensor) -> int:
        """Of a tensor that comes from somewhere. A new object on known elements (`x.data`, nn.Parameter(x), what
        torch.zeros gives for what its operator gave) is the value that was there."""
        number = self._numbers.get(id(tensor))
        place = _place(tensor)
        if number is not None and self._places[number] == place:
            return number
        number = self._at.get(place)
        if number is None:
            return self._new(tensor, place)
        self._kept.append(tensor)
        self._numbers[id(tensor)] = number
        return number

    def _new(self, tensor: torch.Tensor, place: tuple[object, ...]) -> int:
        storage = tensor.untyped_storage()
        number = len(self.values)
        known = self._storages.setdefault(storage._cdata, len(self._storages))
        self.values.append(Value(tuple(tensor.shape), dtype_name(tensor.dtype), known, tensor.is_contiguous()))
        self._kept += (tensor, storage)
        self._numbers[id(tensor)] = number
        self._places.append(place)
        self._at[place] = number
        return number


def _place(tensor: torch.Tensor) -> tuple[object, ...]:
    if tensor.layout != torch.strided or tensor.is_quantized:
        raise Refused(f"a {tensor.layout} tensor is not understood")
    try:
        storage = tensor.untyped_storage()
    except NotImplementedError:
        raise Refused("a tensor without memory of its own (of torch.func or torch.vmap) is not understood") from None
    return (
        storage._cdata,
        tensor.storage_offset(),
        tensor.shape,
        tensor.stride(),
        tensor.dtype,
        tensor.is_conj(),
        tensor.is_neg(),
    )


class Recorder(SchemaCheckMode):  # type: ignore[misc]
    """Operators in the order of their calls, at the key where composite ones are whole.

    torch lets few classes of modes in at that key; this one is derived from the lightest. `place` gives the number of
    the current module call and the user's line."""

    def __init__(self, place: Callable[[], tuple[int, str]], log: DrawLog) -> None:
        super().__init__()
        self.__dict__["_dispatch_key"] = torch._C.DispatchKey.PreDispatch
        self.tensors = Tensors()
        self.operators: list[Operator] = []
        self.drawn: dict[int, tuple[int, ...]] = {}
        self.refused: Refused | None = None
        self.running = ""
        self._place = place
        self._log = log
        self._schemas: dict[Any, _Schema] = {}
        self._paused = False

    @contextmanager
    def paused(self) -> Iterator[None]:
        """What is called in it is not noted."""
        before, self._paused = self._paused, True
        try:
            yield
        finally:
            self._paused = before

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # noqa: ANN401
        kwargs = kwargs or {}
        with torch._C._DisablePythonDispatcher(), torch._C.DisableTorchFunction():
            if self._paused:
                return func(*args, **kwargs)
            known = self._schemas.get(func)
            if known is None:
                known = self._schemas[func] = _schema_of(func)
            try:
                return self._noted(func, known, args, kwargs)
            except Refused as refused:
                self.refused = self.refused or self._located(known, refused)
                raise self.refused from None

    def _located(self, known: _Schema, refused: Refused) -> Refused:
        _, where = self._place()
        return Refused(f"{where}: {known.full_name}: {refused}", "unrecordable")

    def _noted(self, func: Any, known: _Schema, args: Any, kwargs: Any) -> Any:  # noqa: ANN401
        arguments = self._arguments(known, args, kwargs)
        before = len(self._log.drawn)
        self.running = known.full_name
        out = self._called(func, known, args, kwargs)
        self.running = ""
        call, where = self._place()
        results = tuple(self._results(out))
        if len(self._log.drawn) > before:
            self.drawn[len(self.operators)] = tuple(range(before, len(self._log.drawn)))
        written = (*known.written, *_statistics_written(known, arguments))
        if written or any(result is not None for result in results):
            self._append(Operator(known.full_name, arguments, results, written, call, where))
        return out

    def _append(self, operator: Operator) -> None:
        if len(self.operators) >= _MOST_OPERATORS:
            raise Refused(f"more than {_MOST_OPERATORS:,} operators are called")
        self.operators.append(operator)

    def _called(self, func: Any, known: _Schema, args: Any, kwargs: Any) -> Any:  # noqa: ANN401
        if torch.is_autocast_enabled("cpu"):
            raise Refused("it is called under torch.autocast, which does not act on tensors without values")
        if known.name in _READS:
            raise Refused("a tensor's value is read, which is not known without running the program")
        out = answered(func, args, kwargs, self._log)
        if out is not None:
            return out
        if not known.may_draw:
            return func(*args, **kwargs)
        with Run(self._log, promote=False):
            return func(*args, **kwargs)

    def _arguments(self, known: _Schema, args: Any, kwargs: Any) -> dict[str, Argument]:  # noqa: ANN401
        given = dict(zip(known.arguments, args, strict=False))
        given.update(kwargs)
        found = {}
        for name in known.arguments:
            if name not in _DROPPED:
                found[name] = self._argument(given[name] if name in given else known.defaults[name])
        return found

    def _argument(self, value: Any) -> Argument:  # noqa: ANN401
        match value:
            case torch.Tensor():
                return Ref(self.tensors.used(value))
            case None | bool() | int() | float() | str():
                return value
            case list() | tuple():
                return tuple(self._argument(item) for item in value)
            case torch.dtype():
                return DType(dtype_name(value))
            case _:
                raise Refused(f"an argument of type {type(value).__name__} is not understood")

    def _results(self, out: Any) -> Iterator[int | None]:  # noqa: ANN401
        match out:
            case torch.Tensor():
                yield self.tensors.made(out)
            case list() | tuple():
                for item in out:
                    yield from self._results(item)
            case _:
                yield None


def _statistics_written(known: _Schema, arguments: Mapping[str, Argument]) -> tuple[str, ...]:
    """Running statistics that a norm updates, which its schema does not say."""
    switch = _RUNNING_STATISTICS.get(known.name)
    if switch is None or not arguments[switch]:
        return ()
    return tuple(name for name in ("running_mean", "running_var") if isinstance(arguments[name], Ref))
