"""Does the program run at these sizes? On the meta device first, which costs no memory; then, when small, for real."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import prod

import torch

from ..types import Mode
from .alarm import alarm
from .capture import Captured
from .describe import Shaped, forward, shaped
from .faults import Guard, Refused, TooSlow, UserError
from .inputs import make_inputs
from .load import File, build, execute, seed_everything
from .modes import Placed
from .tensors import blocks_of
from .tree import flatten

_DIGITS = re.compile(r"\d+")
_RUN_ELEMENTS = 2 << 20
_RUN_INPUT_ELEMENTS = 64 << 10
_MOST_RUN_ELEMENTS = 96 << 20
_BUILD_S = 10.0
_QUICK_S = 1.0
_RUN_S = 10.0
_PATIENCE = 4


@dataclass(frozen=True, slots=True)
class Attempt:
    """What one attempt showed. `elements`: distinct elements of state and inputs; `redrawable`: inputs that
    are not derived from others; `structure`: which state there is and which attributes are None, true or false,
    whatever the sizes; `leads`: which results begin with the first extent of the first input; `seconds` of a real
    forward (None: not run)."""

    ok: bool
    reason: str = ""
    elements: int = 0
    inputs: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    redrawable: frozenset[str] = frozenset()
    structure: frozenset[tuple[str, object]] = frozenset()
    leads: tuple[bool, ...] = ()
    seconds: float | None = None


class Attempts:
    """Attempts with what was learnt from them: whether meta runs work, and whether results are finite by nature."""

    def __init__(self, file: File, mode: Mode, deadline: float) -> None:
        self.file = file
        self.mode: Mode = mode
        self.meta_works = True
        self._deadline = deadline
        self._done: dict[tuple[tuple[str, int], ...], Attempt] = {}
        self._nonfinite = 0
        self._finite_seen = False

    @property
    def time_left(self) -> float:
        return self._deadline - time.process_time()

    def at(self, changes: Mapping[str, int]) -> Attempt:
        key = tuple(sorted(changes.items()))
        if key not in self._done:
            try:
                self._done[key] = self._attempt(changes)
            except (UserError, Refused) as error:
                self._done[key] = Attempt(False, str(error))
            except TooSlow:
                self._done[key] = Attempt(False, "too slow")
        return self._done[key]

    def _attempt(self, changes: Mapping[str, int]) -> Attempt:
        with alarm(_BUILD_S):
            program = shaped(self.file, self.mode, changes)
        elements, structure = _size(program), _structure(program.captured)
        inputs = {name: tuple(tensor.shape) for name, tensor in program.arguments.tensors.items()}
        redrawable = frozenset(name for name, domain in program.domains.items() if domain.factory != "derived")
        shown = Attempt(True, "", elements, inputs, redrawable, structure)
        if self.meta_works:
            ran = forward(self.file, self.mode, program, _BUILD_S)
            if ran.leaves is None:
                return replace(shown, ok=False, reason=ran.error)
            results = tuple(leaf.shape for leaf in ran.leaves if leaf.shape is not None)
            if any(prod(shape) == 0 for shape in results):
                return replace(shown, ok=False, reason="an empty result")
            shown = replace(shown, leads=_leads(inputs, results))
            if elements > _RUN_ELEMENTS or sum(prod(shape) for shape in inputs.values()) > _RUN_INPUT_ELEMENTS:
                return shown
        try:
            return self._real(changes, shown, _QUICK_S)
        except TooSlow:
            return shown

    def real(self, changes: Mapping[str, int]) -> Attempt:
        """As `at`, and run for real whatever the size."""
        found = self.at(changes)
        if not found.ok or found.seconds is not None:
            return found
        try:
            return self._real(changes, found, _RUN_S)
        except (UserError, Refused) as error:
            return Attempt(False, str(error))
        except TooSlow:
            return Attempt(False, f"a run takes longer than {_RUN_S:g} s", found.elements)

    def _real(self, changes: Mapping[str, int], shown: Attempt, seconds: float) -> Attempt:
        if shown.elements > _MOST_RUN_ELEMENTS:
            return Attempt(False, "too large to run", shown.elements)
        with alarm(seconds):
            finite, taken = _run(self.file, self.mode, changes)
        self._finite_seen |= finite
        if not finite:
            self._nonfinite += 1
            if self._finite_seen or self._nonfinite < _PATIENCE:
                return Attempt(False, "results that are not finite", shown.elements)
        return replace(shown, seconds=taken)


def _run(file: File, mode: Mode, changes: Mapping[str, int]) -> tuple[bool, float]:
    with Placed("cpu"):
        seed_everything(0)
        built = build(file, execute(file, changes), mode)
        arguments, _ = make_inputs(file, built, changes, None)
        started = time.perf_counter()
        with Guard("running forward()", file.folder), torch.no_grad():
            returned = built.call(*arguments.args, **arguments.kwargs)
        seconds = time.perf_counter() - started
    tensors = [item for _, item in flatten(returned) if isinstance(item, torch.Tensor)]
    floats = [tensor for tensor in tensors if tensor.dtype.is_floating_point]
    return all(bool(tensor.double().isfinite().all()) for tensor in floats), seconds


def _leads(inputs: Mapping[str, tuple[int, ...]], results: tuple[tuple[int, ...], ...]) -> tuple[bool, ...]:
    first = next(iter(inputs.values()), ())
    return tuple(bool(first) and bool(shape) and shape[0] == first[0] for shape in results)


def _size(program: Shaped) -> int:
    state = blocks_of(program.captured.tensors, copy=False)
    inputs = blocks_of(program.arguments.tensors, copy=False)
    return sum(block.flat.numel() for block in (*state, *inputs))


def _structure(captured: Captured) -> frozenset[tuple[str, object]]:
    kinds: set[tuple[str, object]] = {(_DIGITS.sub("#", name), "tensor") for name in captured.tensors}
    for path, value in captured.attrs.items():
        if value is None or isinstance(value, bool | str):
            kinds.add((_DIGITS.sub("#", path), value))
    return frozenset(kinds)


def input_shapes(file: File, changes: Mapping[str, int]) -> dict[str, tuple[int, ...]] | None:
    """Shapes of what get_inputs returns, by position; None when it fails."""
    try:
        with Placed("meta"), Guard("running get_inputs()", file.folder):
            namespace = execute(file, changes)
            maker = namespace.get("get_inputs", namespace.get("example_inputs"))
            made = maker() if callable(maker) else maker
        return {path: tuple(item.shape) for path, item in flatten(made) if isinstance(item, torch.Tensor)}
    except (UserError, Refused):
        return None

