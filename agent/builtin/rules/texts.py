"""Arithmetic on texts of whole numbers: constants are folded, brackets put only where they are needed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from ..numbers import atom


def as_int(text: str) -> int | None:
    """The number that the text is, if it is a literal."""
    digits = text[1:] if text.startswith("-") else text
    return int(text) if digits.isdecimal() else None


def _outside(text: str) -> str:
    """The text without what stands in brackets."""
    depth, kept = 0, []
    for letter in text:
        depth -= letter in ")]"
        if depth == 0:
            kept.append(letter)
        depth += letter in "(["
    return "".join(kept)


def _is_sum(text: str) -> bool:
    return any(sign in _outside(text) for sign in "+-")


def _is_product(text: str) -> bool:
    """Nothing but factors joined by `*`."""
    outside = _outside(text)
    return not any(sign in outside for sign in "+-/%") and "*" in outside


Terms = dict[str, int]


def _terms(text: str) -> Terms:
    """A sum as its terms with their whole coefficients; the constant is the coefficient of ""."""
    found: Terms = {}
    for sign, part in _signed(text):
        number = as_int(part)
        split = [] if number is not None else factors(part)
        coefficient = number if number is not None else math.prod(as_int(factor) or 1 for factor in split)
        kept = [factor for factor in split if as_int(factor) is None]
        key = _bare("*".join(kept))
        if "0" not in split:
            found[key] = found.get(key, 0) + sign * coefficient
    return found


def _bare(key: str) -> str:
    """Without brackets around all of it, unless they hold a sum."""
    inner = key[1:-1]
    whole = key.startswith("(") and not _outside(key).strip("()")
    return inner if whole and not _is_sum(inner) else key


def _signed(text: str) -> Iterator[tuple[int, str]]:
    """The parts between the + and - that stand outside of brackets."""
    sign, depth, start = 1, 0, 0
    for position, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if depth == 0 and letter in "+-":
            if text[start:position].strip():
                yield sign, text[start:position].strip()
            sign, start = (1 if letter == "+" else -1), position + 1
    yield sign, text[start:].strip()


def _sum(parts: Iterable[tuple[int, str]]) -> str:
    total: Terms = {}
    for sign, text in parts:
        for key, coefficient in _terms(text).items():
            total[key] = total.get(key, 0) + sign * coefficient
    constant = total.pop("", 0)
    shown = [(key, coefficient) for key, coefficient in total.items() if coefficient]
    shown.sort(key=lambda term: term[1] < 0)
    text = ""
    for key, coefficient in [*shown, *([("", constant)] if constant or not shown else [])]:
        size = abs(coefficient)
        term = str(size) if not key else key if size == 1 else f"{_wrapped(key)}*{size}"
        if not text and coefficient == -1 and key:
            term = _wrapped(key)  # a minus sign binds closer than // and %
        text += f" {'+' if coefficient >= 0 else '-'} {term}" if text else f"{'-' if coefficient < 0 else ''}{term}"
    return text


def _wrapped(key: str) -> str:
    return key if _is_product(key) else atom(key)


def plus(*terms: str) -> str:
    """The sum, its constant last; equal terms are taken together."""
    return _sum((1, term) for term in terms)


def minus(left: str, right: str) -> str:
    return _sum(((1, left), (-1, right)))


def factors(text: str) -> list[str]:
    """The factors of a product, in order; other texts are one factor."""
    if not _is_product(text):
        return [text]
    found, depth, start = [], 0, 0
    for position, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if letter == "*" and depth == 0:
            found.append(text[start:position].strip())
            start = position + 1
    return [*found, text[start:].strip()]


def times(*texts: str) -> str:
    """The product, its constant last; 1 when there are no factors."""
    split = [factor for text in texts for factor in factors(text)]
    constant = math.prod(as_int(factor) or 1 for factor in split) if "0" not in split else 0
    kept = [factor for factor in split if as_int(factor) is None]
    if constant == 0 or not kept:
        return str(constant)
    shown = [atom(factor) for factor in kept] + ([str(constant)] if constant != 1 else [])
    return "*".join(shown)


def quotient(left: str, right: str) -> str:
    """left // right, for right > 0."""
    a, b = as_int(left), as_int(right)
    if b == 1:
        return left
    if a is not None and b is not None:
        return str(a // b)
    return f"{f'({left})' if _is_sum(left) else left} // {atom(right)}"


def remainder(left: str, right: str) -> str:
    """left % right, for right > 0."""
    a, b = as_int(left), as_int(right)
    if b == 1:
        return "0"
    if a is not None and b is not None:
        return str(a % b)
    return f"{f'({left})' if _is_sum(left) else left} % {atom(right)}"


def share(whole: Iterable[str], parts: Iterable[str]) -> str:
    """The product of `whole` over that of `parts`, where it is known to be a whole number: common factors cancel."""
    above = [factor for text in whole for factor in factors(text)]
    below = []
    for factor in (factor for text in parts for factor in factors(text)):
        if factor in above:
            above.remove(factor)
        else:
            below.append(factor)
    top, bottom = _constant(above), _constant(below)
    common = math.gcd(top, bottom) if top and bottom else 1
    left = times(*_names(above), str(top // common))
    right = times(*_names(below), str(bottom // common))
    if right == "1":
        return left
    return f"{atom(left)}//{atom(right)}"


def _constant(split: Sequence[str]) -> int:
    return math.prod(number for factor in split if (number := as_int(factor)) is not None)


def _names(split: Sequence[str]) -> list[str]:
    return [factor for factor in split if as_int(factor) is None]


def flat(iterators: Sequence[str], sizes: Sequence[str]) -> str:
    """The row-major position of an element: `i*(H*W) + j*W + k`. Axes of size 1 do not count."""
    terms = []
    for axis, (iterator, size) in enumerate(zip(iterators, sizes, strict=True)):
        if size != "1":
            terms.append(scaled(iterator, times(*sizes[axis + 1 :])))
    return plus(*terms) if terms else "0"


def scaled(iterator: str, factor: str) -> str:
    if as_int(iterator) is not None and as_int(factor) is not None:
        return times(iterator, factor)
    if factor == "1" or iterator == "0":
        return iterator
    return f"{atom(iterator)}*{atom(factor)}"


def unflat(position: str, sizes: Sequence[str]) -> list[str]:
    """The indices of the element at a row-major position of a tensor of these sizes."""
    found = []
    leading = True
    for axis, size in enumerate(sizes):
        if size == "1":
            found.append("0")
            continue
        at = quotient(position, times(*sizes[axis + 1 :]))
        found.append(at if leading else remainder(at, size))
        leading = False
    return found
