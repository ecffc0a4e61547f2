"""One trial: the program built at small sizes, state and inputs drawn afresh, run in its own types and in float64."""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import torch

from ...ir.bindings import Bindings, TensorType
from ..types import Array, Distribution, Leaf, Mode, Precision
from .capture import Captured, capture
from .draws import DrawLog, Drawn, python_draws
from .faults import Guard, Refused, UserError
from .feeding import Notes
from .inputs import Plan, make_inputs
from .leaves import merged
from .load import Built, File, build, execute, seed_everything
from .modes import Follow, Placed, Run, Watch, Watched
from .source import landmarks
from .state import counters, randomised, structural
from .tensors import Block, blocks_of, dtype_name, install, renew, same, types_of, values, wide
from .tree import Arguments, leaves_of, replace_tensors

Outcome = Literal["finite", "nonfinite", "raised"]
_MOST_CHECKS = 40
_RELATIVE_STEP = 2.0**-52
_ODD = 0x1E3779B97F4A7C15
_JOLTS = 1 << 16
_DRAWS = 104_729
_MORE_JOLTS = 3
_TINY = 1e-12


@dataclass(slots=True)
class Prepared:
    """The program built at one assignment. `keep`: blocks of state that are not randomised, grown when needed."""

    file: File
    mode: Mode
    changes: Mapping[str, int]
    built: Built
    captured: Captured
    blocks: tuple[Block, ...]
    keep: frozenset[str]
    rebuild: bool = False
    expected: Outcome | None = None
    warnings: list[str] = field(default_factory=list)

    def renewed(self) -> None:
        """Build again when runs leave traces on the object."""
        if self.rebuild:
            self.built, self.captured, self.blocks = _built(self.file, self.mode, self.changes, 0)


@dataclass(frozen=True, slots=True)
class Setting:
    """What one run starts from: flat values of state by block name, the arguments with their blocks, and the seed of
    what forward() draws."""

    state: Mapping[str, torch.Tensor]
    arguments: Arguments
    inputs: tuple[Block, ...]
    seed: int


@dataclass(frozen=True, slots=True)
class Result:
    leaves: tuple[Leaf, ...]
    log: DrawLog
    seen: Watched
    seconds: float


def prepare(file: File, mode: Mode, changes: Mapping[str, int]) -> Prepared:
    """Raises UserError when the program cannot be built at these sizes."""
    _, _, other = _built(file, mode, changes, 1)
    built, captured, blocks = _built(file, mode, changes, 0)
    keep = structural(blocks, other) - counters(built.model)
    return Prepared(file, mode, changes, built, captured, blocks, keep, warnings=list(captured.warnings))


def _built(file: File, mode: Mode, changes: Mapping[str, int], seed: int) -> tuple[Built, Captured, tuple[Block, ...]]:
    with Placed("cpu"):
        seed_everything(seed)
        namespace = execute(file, changes)
        seed_everything(seed)
        built = build(file, namespace, mode)
    captured = capture(built, {})
    return built, captured, blocks_of(captured.tensors)


def settle(prepared: Prepared, plan: Plan, state: Mapping[str, torch.Tensor]) -> Setting:
    with Placed("cpu"):
        seed_everything(plan.seed)
        arguments, _ = make_inputs(prepared.file, prepared.built, prepared.changes, plan)
    return Setting(state, arguments, blocks_of(arguments.tensors), plan.seed + _DRAWS)


def run(
    prepared: Prepared,
    setting: Setting,
    promote: bool,
    earlier: Result | None = None,
    change: Callable[[torch.Tensor], torch.Tensor] | None = None,
    notes: Notes | None = None,
) -> Result:
    """One run on fresh copies. With `earlier`, its draws are replayed and, promoted, its dtype questions answered.
    `change` alters the float64 values of inputs and state."""
    prepared.renewed()
    starts = {block.name: _start(setting.state[block.name], promote, change) for block in prepared.blocks}
    state = renew(prepared.blocks, lambda block: starts[block.name].clone())
    before = renew(prepared.blocks, lambda block: starts[block.name])
    input_starts = {block.name: _start(block.flat, promote, change) for block in setting.inputs}
    inputs = renew(setting.inputs, lambda block: input_starts[block.name].clone())
    inputs_before = renew(setting.inputs, lambda block: input_starts[block.name])
    install(prepared.blocks, state)
    log = DrawLog(replay=tuple(earlier.log.drawn) if earlier else None)
    seen = Watched()
    started = time.perf_counter()
    returned = _call(prepared, setting, inputs, promote, log, seen, earlier, notes)
    seconds = time.perf_counter() - started
    if notes is not None:
        notes.finish(returned)
    leaves = leaves_of(returned)
    leaves += _state_leaves(prepared, state, before)
    leaves += [leaf for name in inputs for leaf in _changed("input", name, inputs[name], inputs_before[name])]
    return Result(tuple(leaves), log, seen, seconds)


def _start(flat: torch.Tensor, promote: bool, change: Callable[[torch.Tensor], torch.Tensor] | None) -> torch.Tensor:
    if not promote:
        return flat.clone()
    copy = flat.to(wide(flat.dtype), copy=True)
    return change(copy) if change is not None and copy.dtype == torch.float64 else copy


def _call(
    prepared: Prepared,
    setting: Setting,
    inputs: Mapping[str, torch.Tensor],
    promote: bool,
    log: DrawLog,
    seen: Watched,
    earlier: Result | None,
    notes: Notes | None = None,
) -> Any:  # noqa: ANN401
    names = {id(tensor): name for name, tensor in setting.arguments.tensors.items()}

    def fresh(tensor: torch.Tensor) -> torch.Tensor:
        return inputs[names[id(tensor)]]

    args = replace_tensors(setting.arguments.args, fresh)
    kwargs = replace_tensors(dict(setting.arguments.kwargs), fresh)
    watch = Follow(earlier.seen if earlier else Watched()) if promote else Watch(seen)
    seed_everything(setting.seed)
    usual = torch.get_default_dtype()
    torch.set_default_dtype(wide(usual) if promote else usual)
    try:
        with (
            Guard("running forward()", prepared.file.folder),
            torch.no_grad(),
            python_draws(log, prepared.built.namespace),
            Placed("cpu"),
            watch,
            Run(log, promote, notes),
        ):
            return prepared.built.call(*args, **kwargs)
    finally:
        torch.set_default_dtype(usual)


def _state_leaves(
    prepared: Prepared, state: Mapping[str, torch.Tensor], before: Mapping[str, torch.Tensor]
) -> list[Leaf]:
    """State that the run changed, in place or by putting another tensor under its name."""
    now = capture(prepared.built, {})
    leaves: list[Leaf] = []
    for name, tensor in prepared.captured.tensors.items():
        current = now.tensors.get(name)
        if current is not None and current is not tensor:
            prepared.rebuild = True
            if not is_derived(name, now.tensors):
                leaves += _changed("state", name, current, before[name])
        else:
            leaves += _changed("state", name, state[name], before[name])
    if now.attrs != prepared.captured.attrs or now.tensors.keys() != prepared.captured.tensors.keys():
        prepared.rebuild = True
    return leaves


def is_derived(name: str, tensors: Mapping[str, torch.Tensor]) -> bool:
    """A weight that weight_norm computes from two others before every call."""
    return f"{name}_g" in tensors and f"{name}_v" in tensors


def _changed(kind: Literal["state", "input"], name: str, after: torch.Tensor, before: torch.Tensor) -> list[Leaf]:
    return [] if same(after, before) else leaves_of({name: after}, kind)


def outcome(leaves: Iterable[Leaf]) -> Outcome:
    for leaf in leaves:
        if leaf.shape is not None and leaf.value is not None and _has_nonfinite(leaf.value):
            return "nonfinite"
    return "finite"


def _has_nonfinite(value: Any) -> bool:  # noqa: ANN401
    return bool(value.dtype.kind == "f" and value.size and not (abs(value) < float("inf")).all())


@dataclass(frozen=True, slots=True)
class Pair:
    """The same setting run in the program's own types and promoted; either may be impossible."""

    setting: Setting
    native: Result | None
    promoted: Result | None
    error: UserError | Refused | None

    @property
    def outcome(self) -> Outcome:
        best = self.promoted or self.native
        return "raised" if best is None else outcome(best.leaves)


def both(prepared: Prepared, setting: Setting) -> Pair:
    native = promoted = None
    error: UserError | Refused | None = None
    try:
        native = run(prepared, setting, promote=False)
    except (UserError, Refused) as fault:
        error = fault
    try:
        promoted = run(prepared, setting, promote=True, earlier=native)
    except (UserError, Refused) as fault:
        error = error or fault
    return Pair(setting, native, promoted, error)


def settled(prepared: Prepared, seed: int, distribution: Distribution) -> tuple[Pair, tuple[str, ...]]:
    """A pair of runs whose outcome is as good as that of the program's own inputs and state, with notes on what had
    to be given up for it. Raises the program's own error when it fails on those, too."""
    notes: list[str] = []
    marks = landmarks(ast.parse(prepared.file.text)) if distribution == "ties" else ()
    tries = [(0, marks)] if marks else []
    for level, marks in (*tries, (0, ()), (1, ()), (2, ())):
        state = randomised(prepared.blocks, prepared.keep, distribution, seed)
        pair = both(prepared, settle(prepared, Plan(distribution, level, seed, marks), state))
        if _as_good(prepared, pair):
            return pair, tuple(notes)
        if marks:
            continue
        if level == 0 and _blame_state(prepared, distribution, seed):
            state = randomised(prepared.blocks, prepared.keep, distribution, seed)
            pair = both(prepared, settle(prepared, Plan(distribution, level, seed, marks), state))
            if _as_good(prepared, pair):
                return pair, tuple(notes)
        if level == 0:
            notes.append("inputs are kept to the range that get_inputs uses")
    if pair.error is not None and pair.outcome == "raised":
        raise pair.error
    return pair, tuple(notes)


def _as_good(prepared: Prepared, pair: Pair) -> bool:
    if pair.outcome == "finite":
        return True
    if prepared.expected is None:
        own = {block.name: block.flat for block in prepared.blocks}
        prepared.expected = both(prepared, settle(prepared, Plan("uniform", 2, 0), own)).outcome
    return pair.outcome == "nonfinite" and prepared.expected == "nonfinite"


def _blame_state(prepared: Prepared, distribution: Distribution, seed: int) -> bool:
    """Find state entries whose fresh values make the program raise or turn non-finite and keep those; True if any."""
    fresh = randomised(prepared.blocks, prepared.keep, distribution, seed)
    checks = 0

    def bad(names: frozenset[str]) -> bool:
        nonlocal checks
        checks += 1
        mixed = {b.name: fresh[b.name] if b.name in names else b.flat for b in prepared.blocks}
        return not _as_good(prepared, both(prepared, settle(prepared, Plan("uniform", 2, seed), mixed)))

    def culprits(names: list[str]) -> list[str]:
        if checks > _MOST_CHECKS or not bad(frozenset(names)):
            return []
        if len(names) == 1:
            return names
        half = len(names) // 2
        found = culprits(names[:half]) + culprits(names[half:])
        return found or names

    found = culprits([block.name for block in prepared.blocks if block.name not in prepared.keep])
    prepared.keep |= frozenset(found)
    return bool(found)


def _jolt(seed: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """A change by 2**-52 relative, up or down by a hash of the value: equal values stay equal."""

    def jolt(flat: torch.Tensor) -> torch.Tensor:
        mixed = flat.view(torch.int64) + seed
        mixed.mul_(_ODD).bitwise_right_shift_(61).bitwise_and_(2).sub_(1)
        return (flat * mixed).mul_(_RELATIVE_STEP).add_(flat)

    return jolt


@dataclass(frozen=True, slots=True)
class Finished:
    """A trial as it goes to the other side."""

    bindings: Bindings
    inputs: Mapping[str, Array]
    state: Mapping[str, Array]
    draws: tuple[Array, ...]
    leaves: tuple[Leaf, ...]
    kept_state: tuple[str, ...]
    seconds: float
    warnings: tuple[str, ...]


def trial(prepared: Prepared, seed: int, distribution: Distribution, precision: Precision) -> Finished:
    pair, notes = settled(prepared, seed, distribution)
    native, promoted, setting = pair.native, pair.promoted, pair.setting
    chosen = promoted if precision == "promoted" else native
    if chosen is None:
        assert pair.error is not None
        raise Refused(str(pair.error), "not_promotable" if precision == "promoted" else "failed")
    first = native or chosen
    if precision == "promoted":
        leaves = _jolted(prepared, setting, chosen, first, seed)
    else:
        leaves = chosen.leaves
    arguments = capture(prepared.built, setting.arguments.others)
    return Finished(
        bindings=_bindings(prepared, setting, first, arguments),
        inputs=_values(setting.inputs, lambda block: block.flat),
        state={**_values(prepared.blocks, lambda block: setting.state[block.name]), **_literal_values(first.seen)},
        draws=tuple(values(_as_tensor(item)) for item in first.log.drawn),
        leaves=leaves,
        kept_state=_kept(prepared),
        seconds=chosen.seconds,
        warnings=tuple(dict.fromkeys((*prepared.warnings, *notes))),
    )


def feeding(prepared: Prepared, seed: int, distribution: Distribution) -> Notes:
    """What the results of the trial of that seed were computed from, in float64."""
    pair, _ = settled(prepared, seed, distribution)
    notes = Notes()
    run(prepared, pair.setting, promote=True, earlier=pair.native, notes=notes)
    return notes


def _jolted(prepared: Prepared, setting: Setting, chosen: Result, first: Result, seed: int) -> tuple[Leaf, ...]:
    """The leaves with what a change in the last bits does to them. One change may happen to do nothing to a rounding
    error: then others are tried."""
    leaves = merged(chosen.leaves, first.leaves, _repeat(prepared, setting, first, seed))
    for attempt in range(1, _MORE_JOLTS + 1):
        if not any(_untouched(leaf) for leaf in leaves):
            break
        others = merged(chosen.leaves, first.leaves, _repeat(prepared, setting, first, seed + attempt))
        pairs = zip(leaves, others, strict=True)
        leaves = tuple(replace(leaf, change=max(leaf.change, other.change)) for leaf, other in pairs)
    return leaves


def _untouched(leaf: Leaf) -> bool:
    """A float result, tiny and yet not zero, that did not change."""
    if leaf.shape is None or leaf.value is None or leaf.change or not leaf.dtype.startswith(("f", "bf")):
        return False
    top = abs(np.asarray(leaf.value, dtype=np.float64)).max(initial=0.0)
    return bool(0.0 < top < _TINY)


def _repeat(prepared: Prepared, setting: Setting, first: Result, seed: int) -> tuple[Leaf, ...] | None:
    """Leaves of the perturbed run; None when the perturbation alone makes the program raise."""
    try:
        return run(prepared, setting, promote=True, earlier=first, change=_jolt(seed)).leaves
    except (UserError, Refused):
        return None


def _bindings(prepared: Prepared, setting: Setting, first: Result, captured: Captured) -> Bindings:
    state = types_of(prepared.blocks)
    for index, literal in enumerate(first.seen.literals):
        state[f"made.{index}"] = TensorType(tuple(literal.shape), dtype_name(literal.dtype))
    attrs = {**captured.attrs, **prepared.captured.attrs}
    draws = tuple(_draw_type(item) for item in first.log.drawn)
    return Bindings(types_of(setting.inputs), state, draws, attrs)


def _draw_type(item: Drawn) -> TensorType:
    tensor = _as_tensor(item)
    return TensorType(tuple(tensor.shape), dtype_name(tensor.dtype))


def _as_tensor(item: Drawn) -> torch.Tensor:
    if isinstance(item, torch.Tensor):
        return item
    return torch.tensor(item, dtype=torch.float64 if isinstance(item, float) else torch.int64)


def _values(blocks: Iterable[Block], flat: Callable[[Block], torch.Tensor]) -> dict[str, Array]:
    """Values by entry; names for the very same elements share one array."""
    found: dict[str, Array] = {}
    for block in blocks:
        base = flat(block)
        made: dict[tuple[object, ...], Array] = {}
        for entry in block.entries:
            key = (entry.shape, entry.strides, entry.offset)
            if key not in made:
                made[key] = values(base.as_strided(*key))
            found[entry.name] = made[key]
    return found


def own_values(prepared: Prepared) -> dict[str, Array]:
    """State as the constructor left it."""
    return _values(prepared.blocks, lambda block: block.flat)


def _literal_values(seen: Watched) -> dict[str, Array]:
    return {f"made.{index}": values(literal) for index, literal in enumerate(seen.literals)}


def _kept(prepared: Prepared) -> tuple[str, ...]:
    return tuple(
        entry.name
        for block in prepared.blocks
        if block.name in prepared.keep and block.flat.dtype.is_floating_point
        for entry in block.entries
    )
