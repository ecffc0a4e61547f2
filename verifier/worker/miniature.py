"""Small values for the numbers of library configurations, chosen so that what holds at full size goes on holding: heads
divide the width, lengths keep their order, their divisibility and (up to a limit) their ratios, the widths and products
of lists add up, patterns of layers stay whole. Numbers without such a relation are distinct, primes where possible."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from math import prod
from typing import Any, Literal, TypeAlias

from .configs import Number, Role, numbers, step

Style: TypeAlias = Literal["primes", "even", "ratio"]
STYLES: tuple[Style, ...] = ("primes", "even", "ratio")
VARIANTS = 3
_SMALL = 8
_MAIN_WIDTHS = ("hidden_size", "d_model", "n_embd", "dim")
_MAIN_HEADS = ("num_attention_heads", "n_head", "num_heads", "encoder_attention_heads")
_STARTS = (5, 7, 3, 11)
_HEADS = (2, 3, 5)
_LAYERS = (2, 1, 3)
_HEAD_WIDTHS: Mapping[Style, tuple[int, ...]] = {
    "primes": (7, 5, 4, 11, 13),
    "even": (8, 4, 12, 16, 20),
    "ratio": (8, 16, 4, 12, 24),
}
_FEEDS = (23, 29, 31, 37, 41, 43, 47, 53, 59)
_WIDTHS = (11, 13, 17, 19, 23, 29, 31, 37)
_MOST_RATIO = 17
_TOKEN_LIMIT = 200


@dataclass(slots=True)
class _Draft:
    """One small configuration in the making. `values`: label -> number; `used`: numbers that are taken."""

    style: Style
    variant: int
    values: dict[str, int] = field(default_factory=dict)
    used: set[int] = field(default_factory=set)

    def fresh(self, options: Iterable[int]) -> int:
        """The first unused one; options start at another place in each variant."""
        listed = list(options)
        turned = listed[self.variant % len(listed) :] + listed[: self.variant % len(listed)]
        value = next((option for option in turned if option not in self.used), turned[0])
        self.used.add(value)
        return value


def miniatures(
    found: Mapping[str, Mapping[str, Any]], lengths: Mapping[str, int], style: Style
) -> tuple[dict[str, int], ...]:
    """Three sets of changes for the configurations `found` (name -> facts) and for `lengths`, the program's numbers
    that are extents of inputs (label -> value)."""
    listed = {name: list(numbers(name, full)) for name, full in found.items()}
    drafts = []
    for variant in range(VARIANTS):
        draft = _Draft(style, variant)
        _lengths([number for group in listed.values() for number in group], lengths, draft)
        for name, group in listed.items():
            _widths(group, draft)
            _layers(found[name], group, draft)
            _vocabularies(found[name], group, draft)
        drafts.append(draft.values)
    known = {number.label: number.value for group in listed.values() for number in group} | dict(lengths)
    return tuple({k: v for k, v in values.items() if v != known[k]} for values in drafts)


def _of(group: Iterable[Number], *roles: Role) -> list[Number]:
    return [number for number in group if number.role in roles]


def _set(draft: _Draft, group: Iterable[Number], values: Mapping[int, int]) -> None:
    for number in group:
        if number.value in values:
            draft.values[number.label] = values[number.value]


# -- lengths -----------------------------------------------------------------------------------------------------------


def _lengths(group: Sequence[Number], outside: Mapping[str, int], draft: _Draft) -> None:
    sized = [number for number in _of(group, "length") if number.value > _SMALL]
    lists = _lists(sized)
    products = {prod(n.value for n in members) for members in lists if len(members) > 1}
    values = sorted({number.value for number in sized} | {value for value in outside.values() if value > _SMALL})
    small = _scaled([value for value in values if value not in products], draft)
    for members in lists:
        total = prod(n.value for n in members)
        if len(members) > 1 and total in values:
            small[total] = prod(small.get(n.value, n.value) for n in members)
    _set(draft, sized, small)
    tied = {number.value for number in sized} & {values[0]} if draft.variant == 1 and values else set()
    for label, value in outside.items():
        if value in small:  # an extent that is equal to a limit, as it happens, is below it in one variant
            draft.values[label] = max(small[value] - 2, 2) if value in tied else small[value]
    draft.used |= set(small.values())


def _scaled(values: Sequence[int], draft: _Draft) -> dict[int, int]:
    """Small lengths for ascending ones."""
    small: dict[int, int] = {}
    for value in values:
        below = list(small)
        whole = [other for other in below if value % other == 0]
        if not below:
            small[value] = draft.fresh(_STARTS)
        elif whole:
            unit, ratio = small[whole[-1]], value // whole[-1]
            least = small[below[-1]] // unit + 1
            small[value] = unit * max(min(ratio, _MOST_RATIO), least)
        else:
            ratios = [min(value / other, _MOST_RATIO) * small[other] for other in below]
            start = max(int(max(ratios)), small[below[-1]] + 1)
            small[value] = next(n for n in count(start) if not any(n % small[other] == 0 for other in below))
    return small


def _lists(group: Iterable[Number]) -> list[list[Number]]:
    """Numbers that stand in one list."""
    found: dict[tuple[str, ...], list[Number]] = {}
    for number in group:
        if number.path[-1].isdigit():
            found.setdefault(number.path[:-1], []).append(number)
    return list(found.values())


# -- widths and heads --------------------------------------------------------------------------------------------------


def _widths(group: Sequence[Number], draft: _Draft) -> None:
    heads = _heads(group, draft)
    main = _main(_of(group, "width"), _MAIN_WIDTHS)
    head_count = _main(_of(group, "heads"), _MAIN_HEADS)
    before = head_count.value if head_count else 1
    times = heads.get(before, 1)
    whole = main is not None and main.value % before == 0
    options = _HEAD_WIDTHS[draft.style]
    here = draft.fresh([option for option in options if not whole or times * option not in draft.used] or options)
    small: dict[int, int] = {}
    if main is not None:
        small[main.value] = times * here if whole else here
        draft.used.add(small[main.value])
    for number in _of(group, "head"):
        tied = main is not None and number.value * before == main.value
        draft.values[number.label] = here if tied else draft.fresh(_HEAD_WIDTHS[draft.style])
    for number in _of(group, "width", "feed"):
        if number.value > _SMALL and number.value not in small and not number.path[-1].isdigit():
            small[number.value] = _width(number, main, small, draft)
    _set(draft, [number for number in _of(group, "width", "feed") if not number.path[-1].isdigit()], small)
    for members in _lists(_of(group, "width")):
        _parts(members, small, draft)


def _main(group: Sequence[Number], names: Sequence[str]) -> Number | None:
    named = sorted((number for number in group if number.name in names), key=lambda number: names.index(number.name))
    return next(iter((*named, *group)), None)


def _width(number: Number, main: Number | None, small: Mapping[int, int], draft: _Draft) -> int:
    if draft.style == "ratio" and main is not None:
        if number.value % main.value == 0:
            return small[main.value] * (number.value // main.value)
        if (small[main.value] * number.value) % main.value == 0:
            return small[main.value] * number.value // main.value
    return draft.fresh(_FEEDS if number.role == "feed" else _WIDTHS)


def _heads(group: Sequence[Number], draft: _Draft) -> dict[int, int]:
    """Numbers of heads: those of keys and values divide those of queries as far as they did."""
    counts = sorted({number.value for number in _of(group, "heads")})
    small: dict[int, int] = {}
    for value in counts:
        whole = [other for other in small if value % other == 0 and other > 1]
        if value == 1:
            small[value] = 1
        elif whole:
            small[value] = 2 * small[whole[-1]]
        else:
            small[value] = draft.fresh(_HEADS)
    draft.used |= set(small.values())
    _set(draft, _of(group, "heads"), small)
    return small


def _parts(members: Sequence[Number], small: Mapping[int, int], draft: _Draft) -> None:
    """Widths in a list that add up to another width go on doing so."""
    total = sum(member.value for member in members)
    if total not in small or small[total] <= len(members):
        return
    rest = small[total]
    for index, member in enumerate(members[:-1]):
        value = max(small[total] * member.value // total, 1)
        value = min(value + draft.variant % 2, rest - (len(members) - 1 - index))
        draft.values[member.label] = value
        rest -= value
    draft.values[members[-1].label] = rest


# -- layers and vocabularies -------------------------------------------------------------------------------------------


def _layers(full: Mapping[str, Any], group: Sequence[Number], draft: _Draft) -> None:
    small: dict[int, int] = {}
    for number in sorted(_of(group, "layers"), key=lambda number: number.value):
        if number.value > 1 and number.value not in small:
            unit = step(full, number.owner, number.value)
            wanted = unit * (_LAYERS[draft.variant] + len(small))
            small[number.value] = wanted if wanted <= number.value else unit
    _set(draft, _of(group, "layers"), small)


def _vocabularies(full: Mapping[str, Any], group: Sequence[Number], draft: _Draft) -> None:
    """Above every special token that is a small number."""
    tokens = [number.value for number in group if number.name.endswith("_id") and number.value < _TOKEN_LIMIT]
    least = max((61, *(token + 2 for token in tokens)))
    primes = list(_primes(least, 12))
    small = {n.value: draft.fresh(primes) for n in _of(group, "vocab") if n.value > 10 * _SMALL}
    _set(draft, _of(group, "vocab"), small)


def _primes(least: int, many: int) -> Iterator[int]:
    found = 0
    for number in count(least):
        if all(number % divisor for divisor in range(2, int(number**0.5) + 1)):
            yield number
            found += 1
        if found == many:
            return


__all__ = ["STYLES", "VARIANTS", "Style", "miniatures"]
