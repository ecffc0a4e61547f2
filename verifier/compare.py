"""Compares what a text computes with what the original program gave, leaf by leaf."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from ..ir.bindings import Scalar
from ..ir.dtypes import kind
from ..ir.program import Output
from .types import Array, Leaf, Precision

FLOOR = 1e-9
CHANGE_FACTOR = 32
CHANGE_LIMIT = 1e-6
FINITE_FLOOR = 0.5
NOISE = 1e-12
"""Below this share of the inputs' magnitude a result that rounding can change at will is taken for zero."""
NATIVE_FLIPS = 0.02
NATIVE_TOLERANCE = {"f64": 1e-9, "f32": 1e-3, "f16": 3e-2, "bf16": 0.125, "e4m3": 0.5, "e5m2": 0.5, "e2m1": 0.5}

Status = Literal["equal", "different", "undecided"]
Floats: TypeAlias = npt.NDArray[np.float64]
Value: TypeAlias = "Array | Scalar"


@dataclass(frozen=True, slots=True)
class Rules:
    """`origins` are the inputs and the state, whose magnitude tells rounding noise from results; `coarsest` is the
    coarsest float type in play."""

    precision: Precision = "promoted"
    origins: tuple[Array, ...] = ()
    coarsest: str = "f32"

    @property
    def noise(self) -> float:
        return NOISE * scale_of(self.origins)


@dataclass(frozen=True, slots=True)
class LeafResult:
    """The comparison of one leaf in one trial.

    `error` is the greater of max|d|/max|expected| and ||d||/||expected||; `compared` of `elements` were finite on both
    sides and decided; `undecided` trials do not count. `informative`: zeros, a constant and a permuted result would
    have been rejected here (for a leaf of one element that is judged over all trials). `noise`: the expected values are
    rounding errors of zero. `unrounded`: in the program's own types the original rounds where the text does not."""

    leaf: Leaf
    output: Output | None
    ours: Value
    status: Status
    reason: str = ""
    error: float = 0.0
    tolerance: float = 0.0
    compared: int = 0
    elements: int = 0
    informative: bool = False
    noise: bool = False
    unrounded: bool = False


@dataclass(frozen=True, slots=True)
class Pairing:
    """Outputs of the text against leaves of the original; `problems` says what has no counterpart."""

    pairs: tuple[tuple[int, Leaf], ...]
    problems: tuple[str, ...]


def pair(outputs: Sequence[Output], leaves: Sequence[Leaf], *, results_only: bool = False) -> Pairing:
    """Results are matched in order, mutated state and arguments by name. None leaves are dropped.

    `results_only`: nothing is known about what the original changes (at full size it is not run)."""
    wanted = [leaf for leaf in leaves if leaf.kind == "result" and not _is_none(leaf)]
    given = [position for position, output in enumerate(outputs) if output.kind == "result"]
    problems = []
    if len(wanted) != len(given):
        problems.append(_count_problem(wanted, [outputs[position] for position in given]))
    pairs = list(zip(given, wanted, strict=False))
    mutated = {(leaf.kind, leaf.path): leaf for leaf in leaves if leaf.kind != "result"}
    declared = {(output.kind, output.name): place for place, output in enumerate(outputs) if output.kind != "result"}
    for key, leaf in mutated.items():
        if key in declared:
            pairs.append((declared[key], leaf))
        else:
            what = "state entry" if key[0] == "state" else "argument"
            problems.append(f'the original changes the {what} "{key[1]}" ({show_type(leaf)}); '
                            f'the text needs `output {key[0]} "{key[1]}" = TENSOR`')  # fmt: skip
    problems += [
        f'the text has `output {name[0]} "{name[1]}"` but the original does not change it'
        for name in declared
        if name not in mutated and not results_only
    ]
    return Pairing(tuple(pairs), tuple(problems))


def _is_none(leaf: Leaf) -> bool:
    return leaf.shape is None and leaf.value is None


def _count_problem(wanted: Sequence[Leaf], given: Sequence[Output]) -> str:
    shown = ", ".join(f"{show_path(leaf)}: {show_type(leaf)}" for leaf in wanted[:12])
    more = ", ..." if len(wanted) > 12 else ""
    return (
        f"the original gives {len(wanted)} result(s) ({shown}{more}); the text has {len(given)} `output` line(s): "
        "one is needed for each leaf of the results, in order, None dropped"
    )


def show_path(leaf: Leaf) -> str:
    return f'"{leaf.path}"' if leaf.path else "the result"


def show_type(leaf: Leaf) -> str:
    return f"number {leaf.value!r}" if leaf.shape is None else f"{leaf.dtype}{list(leaf.shape)}"


def compare(output: Output, ours: Value, leaf: Leaf, rules: Rules) -> LeafResult:
    """One output of the text against the leaf of the original."""
    blank = LeafResult(leaf, output, ours, "equal")
    if leaf.shape is None:
        return _compare_plain(blank)
    if not isinstance(ours, np.ndarray | np.generic):
        return _differs(blank, f"expected a tensor {show_type(leaf)}, got the number {ours!r}")
    array, expected = np.asarray(ours), np.asarray(leaf.value)
    if array.shape != leaf.shape:
        return _differs(blank, f"expected shape {list(leaf.shape)}, got {list(array.shape)}")
    if output.dtype != leaf.dtype:
        return _differs(blank, f"expected storage type {leaf.dtype}, got {output.dtype}")
    blank = replace(blank, elements=array.size)
    if kind(leaf.dtype) in ("bool", "int"):
        return _compare_exact(blank, array, expected, rules)
    return _compare_floats(blank, _floats(array), _floats(expected), rules)


def leave_out(result: LeafResult, other: Value, rules: Rules) -> LeafResult:
    """The comparison again without the elements in which `other`, a run with open decisions taken the other way,
    differs from ours. With more than half of them gone the trial does not decide about the leaf."""
    ours, swayed, expected = np.asarray(result.ours), np.asarray(other), np.asarray(result.leaf.value)
    if result.output is None or ours.shape != swayed.shape or ours.shape != expected.shape or not ours.shape:
        return result
    hanging = _hanging(ours, swayed, result.tolerance)
    gone = int(np.count_nonzero(hanging))
    if not gone:
        return result
    again = compare(result.output, np.where(hanging, expected, ours).astype(ours.dtype), result.leaf, rules)
    if again.status == "different":
        return result
    kept = max(again.compared - gone, 0)
    reason = f"{gone} of {ours.size} elements hang on decisions that are too close to call"
    again = replace(again, ours=result.ours, compared=kept, reason=reason)
    return again if kept >= FINITE_FLOOR * ours.size else replace(again, status="undecided", informative=False)


def _hanging(ours: Array, swayed: Array, allowed: float) -> Array:
    if ours.dtype.kind != "f":
        return np.asarray(ours != swayed)
    left, right = _floats(ours), _floats(swayed)
    change = np.abs(left - right)
    return np.asarray((change > allowed * magnitude(left)) | (_classes(left) != _classes(right)))


def _differs(result: LeafResult, reason: str, error: float = 1.0) -> LeafResult:
    return replace(result, status="different", reason=reason, error=error, informative=False)


def _floats(array: Array) -> Floats:
    return array.astype(np.float64, copy=False)


def _compare_plain(blank: LeafResult) -> LeafResult:
    """A plain number, bool or string; a rank-0 tensor of the text may stand for it."""
    expected, ours = blank.leaf.value, blank.ours
    if isinstance(ours, np.ndarray | np.generic):
        if ours.shape != ():
            return _differs(blank, f"expected the number {expected!r}, got a tensor {list(ours.shape)}")
        ours = cast(Scalar, ours.item())
    same = ours == expected
    if isinstance(expected, float) and isinstance(ours, int | float):
        same = same or (expected != expected and ours != ours) or abs(ours - expected) <= FLOOR * abs(expected)
    done = replace(blank, elements=1, compared=1, informative=True)
    return done if same else _differs(done, f"expected {expected!r}, got {ours!r}")


def _compare_exact(blank: LeafResult, ours: Array, expected: Array, rules: Rules) -> LeafResult:
    wrong = int(np.count_nonzero(ours != expected))
    informative = bool(ours.size > 1 and (expected != expected.flat[0]).any())
    done = replace(blank, compared=ours.size, informative=informative)
    if not wrong:
        return done
    excused = blank.leaf.flipped if rules.precision == "promoted" else int(NATIVE_FLIPS * ours.size)
    if wrong <= excused:
        return replace(done, status="undecided", compared=ours.size - wrong, informative=False,
                       reason=f"{wrong} of {ours.size} elements hang on the last bits")  # fmt: skip
    return _differs(done, f"{wrong} of {ours.size} elements differ")


def _compare_floats(blank: LeafResult, ours: Floats, expected: Floats, rules: Rules) -> LeafResult:
    finite = np.isfinite(ours) & np.isfinite(expected)
    done = replace(blank, compared=int(np.count_nonzero(finite)), tolerance=tolerance(blank.leaf, rules))
    done = _check_pattern(done, ours, expected, rules)
    if done.status == "different":
        return done
    if _is_noise(blank.leaf, expected, rules):
        return _compare_noise(replace(done, noise=True), ours, rules)
    whole = done.compared == ours.size
    error = scaled_error(ours, expected) if whole else scaled_error(ours[finite], expected[finite])
    done = replace(done, error=error)
    if rules.precision == "promoted" and blank.leaf.change > CHANGE_LIMIT:
        reason = f"the original itself changes by {blank.leaf.change:.3g} in the last bits"
        return replace(done, status="undecided", reason=reason)
    if error > done.tolerance:
        reason = f"scaled error {error:.3g}, allowed {done.tolerance:.3g}"
        return _differs(done, reason, error)
    if done.status == "undecided":
        return done
    enough = bool(done.compared >= FINITE_FLOOR * max(1, ours.size))
    return replace(done, informative=enough and can_fail(expected, done.tolerance))


def tolerance(leaf: Leaf, rules: Rules) -> float:
    if rules.precision == "native":
        return max(NATIVE_TOLERANCE.get(name, 1.0) for name in (leaf.dtype, rules.coarsest))
    return max(FLOOR, CHANGE_FACTOR * leaf.change)


def _check_pattern(done: LeafResult, ours: Floats, expected: Floats, rules: Rules) -> LeafResult:
    """NaN, +inf and -inf have to lie at the same positions."""
    if done.compared == ours.size:
        return done
    wrong = int(np.count_nonzero(_classes(ours) != _classes(expected)))
    if not wrong:
        return done
    excused = done.leaf.flipped if rules.precision == "promoted" else int(NATIVE_FLIPS * ours.size)
    status: Status = "undecided" if wrong <= excused else "different"
    reason = f"NaN or infinity at other positions ({wrong} of {ours.size} elements)"
    return replace(done, status=status, error=1.0, reason=reason)


def _classes(array: Floats) -> npt.NDArray[np.int8]:
    """0 finite, 1 NaN, 2 +inf, 3 -inf."""
    kinds = [np.isnan(array), array == np.inf, array == -np.inf]
    return np.select(kinds, [np.int8(1), np.int8(2), np.int8(3)], default=np.int8(0)).astype(np.int8)


def _is_noise(leaf: Leaf, expected: Floats, rules: Rules) -> bool:
    """The expected values are nothing but rounding errors of zero."""
    exact_zero = not expected.any()
    return exact_zero or (leaf.change > CHANGE_LIMIT and magnitude(expected) <= rules.noise)


def _compare_noise(done: LeafResult, ours: Floats, rules: Rules) -> LeafResult:
    found = magnitude(ours)
    if not found or found <= rules.noise:
        return done
    return _differs(done, f"expected zero (up to rounding), got values up to {found:.3g}")


def magnitude(array: Array) -> float:
    """Greatest finite magnitude; 0.0 when there is none."""
    values = np.asarray(array, dtype=np.float64)
    if not values.size:
        return 0.0
    top = max(float(values.max()), -float(values.min()))
    if top < float("inf"):  # false for NaN, too
        return abs(top)
    values = np.abs(values[np.isfinite(values)])
    return float(values.max()) if values.size else 0.0


def scaled_error(ours: Floats, expected: Floats) -> float:
    """Greater of max|d|/max|expected| and ||d||/||expected||, over finite elements; inf when expected is all zero and
    ours is not."""
    top = magnitude(expected)
    if not top:
        return float("inf") if ours.any() else 0.0
    scaled = expected / top
    return _error(ours / top, scaled)


def _error(ours: Floats | float, expected: Floats, enough: float = float("inf")) -> float:
    """scaled_error of values that are divided by max|expected| already; above `enough` it may be too small."""
    difference = np.abs(ours - expected)
    largest = float(difference.max()) if difference.size else 0.0
    if not largest or largest > enough:
        return largest
    return max(largest, float(np.linalg.norm(difference) / np.linalg.norm(expected)))


def can_fail(expected: Array, allowed: float) -> bool:
    """Would zeros, a constant and a permuted result be rejected? (A permuted one only where it is another array.)"""
    values = _floats(np.asarray(expected)).ravel()
    values = values[np.isfinite(values)]
    top = magnitude(values)
    if values.size < 2 or not top:
        return False
    values = values / top
    if any(_error(wrong, values, allowed) <= allowed for wrong in (0.0, float(values.mean()))):
        return False
    moved = [wrong for wrong in (values[::-1], np.roll(values, 1)) if not np.array_equal(wrong, values)]
    return all(_error(wrong, values, allowed) > allowed for wrong in moved)


def compare_indexes(
    result: LeafResult, source: Array, axis: int, values: Array, *, captured: bool = False
) -> LeafResult:
    """An index result `i` of the text that says x[i] == v: honoured where it differs from the original's only among
    equal elements, without repeats. `source` and `values` are the text's own x and v.

    With `captured`, x is an argument or state of the original, so that the check decides; an x of the text's own
    making might be equal everywhere, so that the trial does not count."""
    if result.status != "different" or result.leaf.shape is None or not isinstance(result.ours, np.ndarray):
        return result
    ours, expected = result.ours, np.asarray(result.leaf.value)
    if ours.shape != expected.shape or result.output is None or result.output.dtype != result.leaf.dtype:
        return result
    for name, index in (("the text's", ours), ("the original's", expected)):
        if problem := _index_problem(index, source, axis, values):
            return replace(result, reason=f"{name} indices along axis {axis}: {problem}")
    done = replace(result, error=0.0, reason="another order among equal elements")
    if not captured:
        return replace(done, status="undecided")
    wrong = [other for other in (np.zeros_like(expected), np.roll(expected, 1)) if not np.array_equal(other, expected)]
    telling = bool(wrong) and all(_index_problem(other, source, axis, values) for other in wrong)
    return replace(done, status="equal", compared=ours.size, informative=telling)


def _index_problem(index: Array, source: Array, axis: int, values: Array) -> str:
    extent = source.shape[axis]
    if index.size and (int(index.min()) < 0 or int(index.max()) >= extent):
        return f"out of 0..{extent}"
    ordered = np.sort(index, axis=axis)
    if (np.diff(ordered, axis=axis) == 0).any():
        return "repeated"
    picked = np.take_along_axis(source, index.astype(np.int64), axis=axis)
    if picked.shape != values.shape or not np.array_equal(picked, values, equal_nan=values.dtype.kind == "f"):
        return "x[i] is not v"
    return ""


def scale_of(arrays: Iterable[Array]) -> float:
    """Greatest magnitude of the float arrays, at least a tiny positive number."""
    found = [magnitude(array) for array in arrays if array.dtype.kind == "f"]
    return max([*found, float(np.finfo(np.float64).tiny)])
