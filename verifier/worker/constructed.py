"""Values at full size of what a constructor makes from nothing but numbers (masks, index tables), without its weights.

The program is built on the meta device while the operators that make or write memory are noted. Those behind one entry
are run once more on the CPU, unless a random draw or unwritten memory has a say in it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from ..types import Array, Mode
from .alarm import alarm
from .capture import capture
from .draws import FACTORIES, HIDDEN, IN_PLACE
from .faults import Refused, TooSlow, UserError
from .known import Known
from .load import File, build, execute, seed_everything
from .modes import Placed
from .tensors import values

MOST_ELEMENTS = 1 << 26
_MOST_BYTES = 1 << 30
_MOST_GIVEN = 1 << 22
_BUILD_S = 40.0
_OVERWRITES = frozenset({"aten::fill_", "aten::zero_", "aten::copy_"})
_UNWRITTEN = ("aten::empty", "aten::new_empty", "aten::resize", "aten::_resize", "aten::set_")
_READ = "aten::_local_scalar_dense"
_NAMESPACES = frozenset({"aten", "prims"})


class Unsure(Exception):
    """A value that cannot be known, or is too large."""


@dataclass(frozen=True, slots=True)
class Place:
    """A tensor as part of a numbered memory."""

    memory: int
    dtype: torch.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


@dataclass(frozen=True, slots=True)
class Step:
    """One operator, with a Place for each tensor on the meta device. `made`: results in new memory, by position."""

    func: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    reads: frozenset[int]
    writes: frozenset[int]
    made: Mapping[int, Place]

    @property
    def typed(self) -> bool:
        """A factory, whose type may be the default type of the moment."""
        return bool(self.made) and not self.reads and any(a.name == "dtype" for a in self.func._schema.arguments)

    @property
    def changes(self) -> frozenset[int]:
        return self.writes | {place.memory for place in self.made.values()}


class Noting(TorchDispatchMode):  # type: ignore[misc]
    """Notes the operators whose results depend on numbers only. Memory that anything else has written is unsure."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[Step] = []
        self.unsure: set[int] = set()
        self._numbers: dict[int, int] = {}
        self._memories: list[torch.UntypedStorage] = []  # kept, so that no other memory gets the same identity
        self._given = 0
        self._copies: dict[int, torch.UntypedStorage] = {}
        self._lost: set[int] = set()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """False keeps torch from importing its compiler (2 s) at the first operator."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # noqa: ANN401
        with torch._C.DisableTorchFunction():
            if func._schema.name == _READ and args[0].is_meta:
                return self._read(func, args[0])
            return self._followed(func, args, kwargs or {})

    def _followed(self, func: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:  # noqa: ANN401
        placed = {id(item): self.place(item) for item in _tensors((args, tuple(kwargs.values()))) if item.is_meta}
        written = frozenset(placed[id(tensor)].memory for tensor in _written(func, args, kwargs) if tensor.is_meta)
        result = func(*args, **kwargs)
        results = [tensor if tensor.is_meta else None for tensor in _tensors((result,))]
        made = {n: self.place(t, new=True) for n, t in enumerate(results) if t is not None and not self._has(t)}
        if written or made:
            self._note(func, args, kwargs, placed, (written, made))
        return result

    def _read(self, func: Any, tensor: torch.Tensor) -> Any:  # noqa: ANN401
        """The number in a tensor of one element; the meta device's own error where it is not known."""
        try:
            with _disable_current_modes():
                return Replay(self).value(tensor).item()
        except Unsure:
            return func(tensor)

    def _has(self, tensor: torch.Tensor) -> bool:
        return tensor.untyped_storage()._cdata in self._numbers

    def place(self, tensor: torch.Tensor, new: bool = False) -> Place:
        """Memory that no noted operator made is unsure."""
        if tensor.layout != torch.strided or tensor.is_quantized:
            raise Refused(f"a {tensor.layout} tensor is not understood")
        storage = tensor.untyped_storage()
        if storage._cdata not in self._numbers:
            self._numbers[storage._cdata] = len(self._memories)
            self._memories.append(storage)
            if not new:
                self.unsure.add(self._numbers[storage._cdata])
        number = self._numbers[storage._cdata]
        if tensor.is_conj() or tensor.is_neg():
            self.unsure.add(number)
        return Place(number, tensor.dtype, tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset())

    def bytes_of(self, memory: int) -> int:
        return int(self._memories[memory].nbytes())

    def _note(
        self,
        func: Any,  # noqa: ANN401
        args: Any,  # noqa: ANN401
        kwargs: Mapping[str, Any],
        placed: Mapping[int, Place],
        touched: tuple[frozenset[int], Mapping[int, Place]],
    ) -> None:
        written, made = touched
        self._lost |= {self._copies[memory]._cdata for memory in written if memory in self._copies}
        changes = written | {place.memory for place in made.values()}
        whole = func._schema.name in _OVERWRITES and self._is_whole(args[0])
        reads = frozenset(place.memory for key, place in placed.items() if not whole or key != id(args[0]))
        if func.namespace not in _NAMESPACES or _random(func) or reads & self.unsure:
            self.unsure |= changes | (reads if "batch_norm" in func._schema.name else frozenset())
            return
        try:
            frozen = _mapped(lambda item: self._frozen(item, placed), (tuple(args), tuple(kwargs.values())))
        except Unsure:
            self.unsure |= changes
            return
        for item in _tensors((args, tuple(kwargs.values()))):
            if not item.is_meta:
                self._copies |= {place.memory: item.untyped_storage() for place in made.values()}
        self.unsure -= changes if whole else frozenset()
        self.steps.append(Step(func, frozen[0], dict(zip(kwargs, frozen[1], strict=True)), reads, written, made))

    def lost(self, tensor: torch.Tensor) -> bool:
        """Was the copy on the meta device of a tensor with values written to? The tensor itself does not know of it."""
        return tensor.untyped_storage()._cdata in self._lost

    def _is_whole(self, tensor: torch.Tensor) -> bool:
        """Does it fill its memory, each element once?"""
        size = tensor.numel() * tensor.element_size()
        return bool(tensor.is_contiguous() and size == tensor.untyped_storage().nbytes())

    def _frozen(self, item: Any, placed: Mapping[int, Place]) -> Any:  # noqa: ANN401
        """A Place for a tensor on the meta device; a copy of one with values."""
        if not isinstance(item, torch.Tensor):
            return torch.device("cpu") if isinstance(item, torch.device) else item
        if item.is_meta:
            return placed[id(item)]
        self._given += item.numel()
        if self._given > _MOST_GIVEN or self.lost(item):
            raise Unsure
        return item.detach().clone()


def _random(func: Any) -> bool:  # noqa: ANN401
    """Draws, leaves memory unwritten, or writes where its schema does not say so."""
    name = func._schema.name
    drawn = name in FACTORIES or name in IN_PLACE or name in HIDDEN or torch.Tag.nondeterministic_seeded in func.tags
    return drawn or name.startswith(_UNWRITTEN) or "batch_norm" in name


def _written(func: Any, args: Any, kwargs: Mapping[str, Any]) -> Iterator[torch.Tensor]:  # noqa: ANN401
    if func._schema.is_mutable:
        for position, argument in enumerate(func._schema.arguments):
            if argument.alias_info is not None and argument.alias_info.is_write:
                yield from _tensors((args[position] if position < len(args) else kwargs.get(argument.name),))


def _tensors(items: Any) -> Iterator[torch.Tensor]:  # noqa: ANN401
    for item in items:
        if isinstance(item, torch.Tensor):
            yield item
        elif isinstance(item, tuple | list):
            yield from _tensors(item)


def _mapped(function: Callable[[Any], Any], item: Any) -> Any:  # noqa: ANN401
    if isinstance(item, tuple | list):
        return type(item)(_mapped(function, part) for part in item)
    return function(item)


class Replay:
    """Values from what was noted; entries that were made in the same way share one array."""

    def __init__(self, noted: Noting) -> None:
        self._noted = noted
        self._elements = 0
        self._found: dict[str, Array] = {}

    def value(self, tensor: torch.Tensor) -> Array:
        """As in trials: float64, or the integers or bools that they are. Raises Unsure."""
        if self._elements + tensor.numel() > MOST_ELEMENTS:
            raise Unsure
        if not tensor.is_meta:
            return self._held(tensor)
        place = self._noted.place(tensor)
        if place.memory in self._noted.unsure:
            raise Unsure
        steps = self._behind(place.memory)
        key = _fingerprint(steps, place)
        if key not in self._found:
            self._found[key] = values(_at(place, self._run(steps)))
            self._elements += tensor.numel()
        return self._found[key]

    def _held(self, tensor: torch.Tensor) -> Array:
        """Of one that came from NumPy and stayed where it was."""
        if self._noted.lost(tensor):
            raise Unsure
        self._elements += tensor.numel()
        return values(tensor)

    def _behind(self, memory: int) -> list[Step]:
        needed, steps = {memory}, []
        for step in reversed(self._noted.steps):
            if step.changes & needed:
                steps.append(step)
                needed |= step.reads
        if sum(self._noted.bytes_of(number) for number in needed) > _MOST_BYTES:
            raise Unsure
        return steps[::-1]

    def _run(self, steps: list[Step]) -> dict[int, torch.UntypedStorage]:
        memories: dict[int, torch.UntypedStorage] = {}

        def given(item: Any) -> Any:  # noqa: ANN401
            if not isinstance(item, Place):
                return item
            if item.memory not in memories:  # made unwritten, and overwritten before it is read
                size = self._noted.bytes_of(item.memory)
                memories[item.memory] = torch.zeros(size, dtype=torch.uint8, device="cpu").untyped_storage()
            return _at(item, memories)

        for step in steps:
            kwargs = {name: _mapped(given, item) for name, item in step.kwargs.items()}
            if step.typed:
                kwargs["dtype"] = next(iter(step.made.values())).dtype
            made = list(_tensors((step.func(*_mapped(given, step.args), **kwargs),)))
            for position, place in step.made.items():
                if not _alike(made[position], place):
                    raise Unsure
                memories[place.memory] = made[position].untyped_storage()
        return memories


def _at(place: Place, memories: Mapping[int, torch.UntypedStorage]) -> torch.Tensor:
    tensor = torch.empty(0, dtype=place.dtype, device="cpu")
    return tensor.set_(memories[place.memory], place.offset, place.shape, place.strides)


def _alike(tensor: torch.Tensor, place: Place) -> bool:
    found = (tensor.dtype, tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset())
    return found == (place.dtype, place.shape, place.strides, place.offset)


def _fingerprint(steps: list[Step], place: Place) -> str:
    """The same for what is made by the same operators from the same numbers."""
    order: dict[int, int] = {}

    def told(item: Any) -> str:  # noqa: ANN401
        match item:
            case Place():
                number = order.setdefault(item.memory, len(order))
                return f"<{number} {item.dtype} {item.shape} {item.strides} {item.offset}>"
            case torch.Tensor():
                content = values(item).tobytes()
                return f"<{item.dtype} {tuple(item.shape)} {hashlib.sha256(content).hexdigest()}>"
            case _:
                return repr(item)

    parts = []
    for step in steps:
        kwargs = [(name, _mapped(told, item)) for name, item in sorted(step.kwargs.items())]
        made = [(position, told(item)) for position, item in step.made.items()]
        parts.append(f"{step.func} {_mapped(told, step.args)} {kwargs} {made}")
    return hashlib.sha256("\n".join((*parts, told(place))).encode()).hexdigest()


def known_values(file: File, mode: Mode, changes: Mapping[str, int], names: Collection[str]) -> dict[str, Array]:
    """Of state entries at these literals of the source ({}: the full size), those of them whose values can be known.

    Two builds that are seeded differently have to agree: the program may have drawn numbers behind torch's back."""
    found: list[dict[str, Array]] = []
    try:
        for seed in (0, 1):
            with alarm(_BUILD_S):
                found.append(_of_build(file, mode, changes, names, seed))
    except (UserError, Refused, TooSlow):
        return {}
    first, second = found
    return {name: array for name, array in first.items() if name in second and _same(array, second[name])}


def _same(left: Array, right: Array) -> bool:
    return left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes()


def _of_build(
    file: File, mode: Mode, changes: Mapping[str, int], names: Collection[str], seed: int
) -> dict[str, Array]:
    noting = Noting()
    with Placed("meta", shortcuts=False), Known(), noting:
        seed_everything(seed)
        namespace = execute(file, changes)
        seed_everything(seed)
        built = build(file, namespace, mode)
    tensors = capture(built, {}).tensors
    replay = Replay(noting)
    found: dict[str, Array] = {}
    for name in names:
        if name in tensors:
            try:
                found[name] = replay.value(tensors[name])
            except (Unsure, RuntimeError, MemoryError):
                continue
    return found
