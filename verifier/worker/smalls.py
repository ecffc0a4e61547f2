"""Small numbers of a program (kernel sizes, strides, head counts): other values for those that are sizes, so that a
number written into a text in their place is noticed.

A number that selects something (an axis, an exponent) is part of the program's structure and stays, and so does one
that stands in a constructor's code: there the program itself says it, and a text may."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from .attempts import Attempt, Attempts
from .knobs import SMALL, Knob

_WORK = 6000
_FEWEST, _MOST = 8, 48
_OVERTIME_S = 3.0
_COUNT = re.compile(
    r"kernel|stride|pad|dilation|window|patch|block|chunk|size|length|heads?$|groups?$|(^|_)(num|n|nb|len)_|factor",
    re.IGNORECASE,
)
_AXIS = re.compile(r"(^|[^a-z])(axis|axes|dims?)(\W|$)|(start|end|reduce|norm)\w*_dim", re.IGNORECASE)


def vary(
    attempts: Attempts, runs: Callable[[Mapping[str, int]], bool], base: Mapping[str, int], knobs: Sequence[Knob]
) -> dict[str, int]:
    """`base` and changes of as many of the knobs as the program runs with, tried one after the other."""
    changes = dict(base)
    left = allowance(attempts.at(base))
    for knob in knobs:
        if knob.value > SMALL or knob.where == "body":
            continue
        for value in _values(knob.value):
            if left <= 0 or attempts.time_left < -_OVERTIME_S:
                return changes
            left -= 1
            tried = {**changes, knob.label: value}
            if runs(tried) and _is_size(knob, attempts.at(changes), attempts.at(tried)):
                changes = tried
                break
    return changes


def allowance(base: Attempt) -> int:
    """How many attempts: fewer for programs of many parts, whatever the speed of the machine."""
    return min(max(_WORK // max(len(base.structure) + len(base.attrs), 1), _FEWEST), _MOST)


def _values(here: int) -> Iterator[int]:
    """A little more, a little less, half."""
    near = [here + 1, here - 1]
    if here > 3 and here % 2 == 0:
        near.append(here // 2)
    yield from (value for value in near if value > 1 or here == 2)


def _is_size(knob: Knob, before: Attempt, after: Attempt) -> bool:
    """State and results keep their names, ranks and extents of 1, and the change is one of extents or has the name
    of a count."""
    if before.structure != after.structure or _shown(before).keys() != _shown(after).keys():
        return False
    if any(_another_rank(shape, _shown(after)[name]) for name, shape in _shown(before).items()):
        return False
    shapes = before.state != after.state or before.inputs != after.inputs
    read = [path for path, value in after.attrs.items() if before.attrs.get(path) != value]
    names = [*_last(read), *_last([knob.label])]
    if any(_AXIS.search(name) for name in names) and not shapes:
        return False
    return shapes or any(_COUNT.search(name) for name in names) or not _extents(after) <= _extents(before)


def _last(paths: Iterable[str]) -> list[str]:
    """The last name of each path that is no position: self.pool.kernel_size.0 -> kernel_size."""
    parts = [[part for part in re.split(r"[.()#]", path) if part and not part.isdigit()] for path in paths]
    return [names[-1] for names in parts if names]


def _shown(attempt: Attempt) -> dict[str, tuple[int, ...]]:
    results = {f"result {number}": shape for number, shape in enumerate(attempt.results)}
    return {**attempt.state, **{f"input {name}": shape for name, shape in attempt.inputs.items()}, **results}


def _another_rank(before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    """Extents of 1 are there to be broadcast: they are part of the rank."""
    return len(before) != len(after) or any((a == 1) != (b == 1) for a, b in zip(before, after, strict=True))


def _extents(attempt: Attempt) -> set[int]:
    return {extent for shape in (*attempt.results, *attempt.state.values()) for extent in shape}
