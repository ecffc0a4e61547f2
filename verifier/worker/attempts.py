"""Does the program run at these sizes? On the meta device first, which costs no memory; then, when small, for real."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import torch

from ..types import Mode
from . import pretrained
from .alarm import alarm
from .capture import Captured, capture
from .describe import Shaped, forward, shaped
from .faults import Guard, Refused, TooSlow, UserError
from .inputs import make_inputs
from .load import File, build, execute, seed_everything
from .modes import Placed
from .tensors import blocks_of
from .tree import flatten

_RUN_ELEMENTS = 5 << 20
_RUN_INPUT_ELEMENTS = 128 << 10
_MOST_RUN_ELEMENTS = 96 << 20
_BUILD_S = 10.0
_QUICK_S = 1.0
_RUN_S = 10.0
_PATIENCE = 4
_FILLED = "._is_hf_initialized"  # a library's note that weights were drawn: not on the meta device


@dataclass(frozen=True, slots=True)
class Attempt:
    """What one attempt showed. `elements`: distinct elements of state and inputs; `redrawable`: inputs that
    are not derived from others; `structure`: which state there is and which attributes are None, true or false,
    whatever the sizes; `leads`: which results begin with the first extent of the first input; `seconds` of a real
    forward, in processor time (None: not run); `state` and `results`: their shapes; `attrs`: plain values that a text
    can read; `configs`: configurations of library models that were asked for by name."""

    ok: bool
    reason: str = ""
    elements: int = 0
    inputs: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    redrawable: frozenset[str] = frozenset()
    structure: frozenset[tuple[str, object]] = frozenset()
    leads: tuple[bool, ...] = ()
    seconds: float | None = None
    state: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    attrs: Mapping[str, object] = field(default_factory=dict)
    results: tuple[tuple[int, ...], ...] = ()
    configs: Mapping[str, pretrained.Found] = field(default_factory=dict)


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
        self._quick: dict[str, int] | None = None
        self._own = {spot.label: spot.value for spot in file.spots}

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
        if self._like_a_small_one(changes):
            try:
                return self._real(changes, _QUICK_S)
            except TooSlow:
                pass
        with alarm(_BUILD_S):
            program = shaped(self.file, self.mode, changes)
        shown = _shown(program)
        if self.meta_works:
            ran = forward(self.file, self.mode, program, _BUILD_S)
            if ran.leaves is None:
                return replace(shown, ok=False, reason=ran.error)
            shown = _with_results(shown, [leaf.shape for leaf in ran.leaves if leaf.shape is not None])
            inputs = sum(prod(shape) for shape in shown.inputs.values())
            if not shown.ok or shown.elements > _RUN_ELEMENTS or inputs > _RUN_INPUT_ELEMENTS:
                return shown
        elif shown.elements > _MOST_RUN_ELEMENTS:
            return replace(shown, ok=False, reason="too large to run")
        try:
            return self._real(changes, _QUICK_S)
        except TooSlow:
            return shown

    def _like_a_small_one(self, changes: Mapping[str, int]) -> bool:
        """No literal is much above what ran quickly before, so that running at once costs little."""
        quick = self._quick
        if quick is None or not self.meta_works:
            return False
        return all(
            changes.get(label, self._own.get(label, 0)) <= max(4 * quick.get(label, self._own.get(label, 0)), 32)
            for label in {*quick, *changes}
        )

    def real(self, changes: Mapping[str, int]) -> Attempt:
        """As `at`, and run for real whatever the size."""
        found = self.at(changes)
        if not found.ok or found.seconds is not None:
            return found
        if found.elements > _MOST_RUN_ELEMENTS:
            return replace(found, ok=False, reason="too large to run")
        try:
            return self._real(changes, _RUN_S)
        except (UserError, Refused) as error:
            return Attempt(False, str(error))
        except TooSlow:
            return replace(found, ok=False, reason=f"a run takes longer than {_RUN_S:g} s")

    def _real(self, changes: Mapping[str, int], seconds: float) -> Attempt:
        with alarm(seconds):
            program, returned, taken = _run(self.file, self.mode, changes)
        tensors = [item for _, item in flatten(returned) if isinstance(item, torch.Tensor)]
        shown = _with_results(_shown(program), [tuple(tensor.shape) for tensor in tensors])
        finite = all(bool(t.double().isfinite().all()) for t in tensors if t.dtype.is_floating_point)
        self._finite_seen |= finite
        if not finite:
            self._nonfinite += 1
            if self._finite_seen or self._nonfinite < _PATIENCE:
                return replace(shown, ok=False, reason="results that are not finite")
        if shown.ok and taken < _QUICK_S / 4 and shown.elements <= _RUN_ELEMENTS:
            self._quick = dict(changes)
        return replace(shown, seconds=taken)


def _run(file: File, mode: Mode, changes: Mapping[str, int]) -> tuple[Shaped, Any, float]:
    with Placed("cpu"):
        seed_everything(0)
        built = build(file, execute(file, changes), mode)
        arguments, domains = make_inputs(file, built, changes, None)
        captured = capture(built, {})
        started = time.process_time()
        with Guard("running forward()", file.folder), torch.no_grad():
            returned = built.call(*arguments.args, **arguments.kwargs)
        seconds = time.process_time() - started
    return Shaped(built, captured, arguments, domains, ()), returned, seconds


def _shown(program: Shaped) -> Attempt:
    inputs = {name: tuple(tensor.shape) for name, tensor in program.arguments.tensors.items()}
    redrawable = frozenset(name for name, domain in program.domains.items() if domain.factory != "derived")
    state = {name: tuple(tensor.shape) for name, tensor in program.captured.tensors.items()}
    structure = _structure(program.captured)
    attrs = program.captured.attrs
    asked = pretrained.used()
    return Attempt(True, "", _size(program), inputs, redrawable, structure, state=state, attrs=attrs, configs=asked)


def _with_results(shown: Attempt, results: Sequence[tuple[int, ...]]) -> Attempt:
    if any(prod(shape) == 0 for shape in results):
        return replace(shown, ok=False, reason="an empty result")
    return replace(shown, leads=_leads(shown.inputs, results), results=tuple(results))


def _leads(inputs: Mapping[str, tuple[int, ...]], results: Sequence[tuple[int, ...]]) -> tuple[bool, ...]:
    first = next(iter(inputs.values()), ())
    return tuple(bool(first) and bool(shape) and shape[0] == first[0] for shape in results)


def _size(program: Shaped) -> int:
    state = blocks_of(program.captured.tensors, copy=False)
    inputs = blocks_of(program.arguments.tensors, copy=False)
    return sum(block.flat.numel() for block in (*state, *inputs))


def _structure(captured: Captured) -> frozenset[tuple[str, object]]:
    kinds: set[tuple[str, object]] = {(name, "tensor") for name in captured.tensors}
    kinds |= {
        (path, kind)
        for path, kind in captured.attrs.items()
        if (kind is None or isinstance(kind, bool | str)) and not path.endswith(_FILLED)
    }
    return frozenset(kinds)


def broadcast(full: Mapping[str, tuple[int, ...]], small: Mapping[str, tuple[int, ...]]) -> bool:
    """An input got an extent of 1 though it does not have one, while the first input's leading extent, which is as
    large at full size, did not: the program runs only because that is broadcast."""
    if not small or not full:
        return False
    name = next(iter(small))
    batch, now = (shapes.get(name, ())[:1] for shapes in (full, small))
    return any(
        extent == 1 and now != (1,) and whole > 1 and (whole,) == batch
        for key, shape in small.items()
        for whole, extent in zip(full.get(key, ()), shape, strict=False)
    )


def alike(full: Attempt, small: Attempt) -> bool:
    """The same state entries and flags, except below lists that have another length."""
    if full.structure == small.structure:
        return True
    differing = full.structure ^ small.structure
    counts = [_lengths(attempt.structure) for attempt in (full, small)]
    longer = {path for path in counts[0].keys() & counts[1].keys() if counts[0][path] != counts[1][path]}
    return all(any(parent in longer for parent, _ in _indexed(path)) for path, _ in differing)


def _indexed(path: str) -> Iterator[tuple[str, str]]:
    """The lists that a path goes through, with the index in each."""
    parts = path.split(".")
    for position, part in enumerate(parts):
        if part.isdigit():
            yield ".".join(parts[:position]), part


def _lengths(structure: frozenset[tuple[str, object]]) -> dict[str, int]:
    members: dict[str, set[str]] = {}
    for path, _ in structure:
        for parent, index in _indexed(path):
            members.setdefault(parent, set()).add(index)
    return {parent: len(indices) for parent, indices in members.items()}


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
