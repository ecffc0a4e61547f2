"""From a vector of numbers to an expression that has these values in all samples.

Sources in order: a constant; a size or loop index by its name; an attribute; a product, quotient, sum or difference
of two of them or with a constant; of three. For floats also roots, reciprocals and logarithms of such expressions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import TypeAlias

from .model import Num, Symbol

Values = tuple[int | float, ...]
_CLOSE = 4e-16
_SMALL = 64


def literal(value: float) -> str:
    """A number as a text writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if math.isnan(value):
        return "(inf - inf)"
    text = repr(value)
    mantissa, _, exponent = text.partition("e")
    if "." not in mantissa:
        mantissa += ".0"
    return f"{mantissa}e{int(exponent)}" if exponent else mantissa


def atom(text: str) -> str:
    """`text` fit to stand next to an operator."""
    return text if text.replace("_", "").replace(".", "").isalnum() or _is_call(text) else f"({text})"


def _is_call(text: str) -> bool:
    """A call or parenthesis that spans the whole text."""
    head, bracket, _ = text.partition("(")
    if not bracket or not text.endswith(")") or not (head == "" or head.replace("_", "").isalnum()):
        return False
    depth = 0
    for position, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and letter == ")" and position < len(text) - 1:
            return False
    return True


def express(number: Num, symbols: Sequence[Symbol]) -> str | None:
    """An expression in `symbols` (best first) for `number`; None when there is none."""
    constant = number.constant
    if constant is not None:
        return literal(constant)
    varied = _distinct(symbols)
    if all(isinstance(value, int) for value in number.values):
        return _integer(number.values, varied, (*_PLAIN, *_COSTLY))
    return _float(number.values, symbols, varied)


def _distinct(symbols: Iterable[Symbol]) -> list[Symbol]:
    """The best symbol for each vector of integers that are not all the same."""
    found: dict[Values, Symbol] = {}
    for symbol in symbols:
        if len(set(symbol.values)) > 1 and all(isinstance(value, int) for value in symbol.values):
            found.setdefault(symbol.values, symbol)
    return list(found.values())


def _integer(wanted: Values, varied: Sequence[Symbol], finders: Sequence[_Finder]) -> str | None:
    for finder in finders:
        found = finder(wanted, varied)
        if found is not None:
            return found
    return None


def _same(wanted: Values, symbols: Iterable[Symbol]) -> str | None:
    return next((symbol.text for symbol in symbols if symbol.values == wanted), None)


def _with_constant(wanted: Values, symbols: Iterable[Symbol]) -> str | None:
    """k*s, s//k, s%k, s + k, s - k, k - s, (s + k)//2."""
    for symbol in symbols:
        for text in _scaled(wanted, symbol):
            return text
    for symbol in symbols:
        for text in _left_over(wanted, symbol):
            return text
    for symbol in symbols:
        for text in _moved(wanted, symbol):
            return text
    return None


def _scaled(wanted: Values, symbol: Symbol) -> Iterator[str]:
    values = symbol.values
    if 0 in values:
        return
    factor = wanted[0] // values[0]
    if factor and all(w == factor * v for w, v in zip(wanted, values, strict=True)):
        yield f"{factor}*{atom(symbol.text)}" if factor != -1 else f"-{atom(symbol.text)}"
    if wanted[0]:
        for divisor in {values[0] // wanted[0], values[0] // wanted[0] - 1, 2, 3, 4, 8, 16}:
            if divisor > 1 and all(w == v // divisor for w, v in zip(wanted, values, strict=True)):
                yield f"{atom(symbol.text)}//{divisor}"
                return


def _left_over(wanted: Values, symbol: Symbol) -> Iterator[str]:
    for divisor in (2, 3, 4, 8, 16):
        for form, sign in (("{}%{}", 1), ("(-{})%{}", -1)):
            if all(w == sign * v % divisor for w, v in zip(wanted, symbol.values, strict=True)):
                yield form.format(atom(symbol.text), divisor)


def _moved(wanted: Values, symbol: Symbol) -> Iterator[str]:
    shift = wanted[0] - symbol.values[0]
    if shift and all(w == v + shift for w, v in zip(wanted, symbol.values, strict=True)):
        yield f"{symbol.text} + {shift}" if shift > 0 else f"{symbol.text} - {-shift}"
    total = wanted[0] + symbol.values[0]
    if all(w == total - v for w, v in zip(wanted, symbol.values, strict=True)):
        yield f"{total} - {atom(symbol.text)}"
    for divisor in (2, 3, 4):
        for up in (1, -1, 2, 3):
            if all(w == (v + up) // divisor for w, v in zip(wanted, symbol.values, strict=True)):
                yield f"({symbol.text} {'+' if up > 0 else '-'} {abs(up)})//{divisor}"
    twice = wanted[0] - 2 * symbol.values[0]
    if all(w == 2 * v + twice for w, v in zip(wanted, symbol.values, strict=True)):
        yield f"2*{atom(symbol.text)} {'+' if twice > 0 else '-'} {abs(twice)}"


_OPERATIONS: tuple[tuple[str, Callable[[int, int], int | None]], ...] = (
    ("*", lambda a, b: a * b),
    ("//", lambda a, b: a // b if b > 0 and a % b == 0 else None),
    ("-", lambda a, b: a - b),
    ("+", lambda a, b: a + b),
)


def _pairs(symbols: Sequence[Symbol]) -> Iterator[Symbol]:
    """All s op t, near ones first."""
    for last in range(len(symbols)):
        for first in range(last + 1):
            for left, right in {(first, last): None, (last, first): None}:
                yield from _combined(symbols[left], symbols[right], same=left == right)


def _combined(left: Symbol, right: Symbol, same: bool) -> Iterator[Symbol]:
    for operator, compute in _OPERATIONS:
        if same and operator in ("//", "-", "+"):
            continue
        values = tuple(compute(int(a), int(b)) for a, b in zip(left.values, right.values, strict=True))
        if None not in values:
            spaced = f" {operator} " if operator in "+-" else operator
            yield Symbol(f"{atom(left.text)}{spaced}{atom(right.text)}", values)  # type: ignore[arg-type]


def _of_two(wanted: Values, symbols: Sequence[Symbol]) -> str | None:
    return next((pair.text for pair in _pairs(symbols[:_SMALL]) if pair.values == wanted), None)


def _two_and_constant(wanted: Values, symbols: Sequence[Symbol]) -> str | None:
    for pair in _pairs(symbols[:24]):
        for text in _scaled(wanted, pair):
            return text
        shift = wanted[0] - pair.values[0]
        if all(w == v + shift for w, v in zip(wanted, pair.values, strict=True)):
            return f"{pair.text} + {shift}" if shift > 0 else f"{pair.text} - {-shift}"
    return None


_ROUNDED: tuple[tuple[str, Callable[[int, int], int]], ...] = (
    ("{}//{}", lambda a, b: a // b),
    ("{}%{}", lambda a, b: a % b),
    ("(-{})%{}", lambda a, b: -a % b),
    ("-(-{}//{})", lambda a, b: -(-a // b)),
    ("{0} + (-{0})%{1}", lambda a, b: a + -a % b),
)


def _of_parts(wanted: Values, symbols: Sequence[Symbol]) -> str | None:
    """What is left of a division, rounded quotients, and sizes filled up to a multiple."""
    few = [symbol for symbol in symbols[:24] if min(symbol.values) > 0]
    for top, bottom in product(few, few):
        if top is not bottom:
            for form, compute in _ROUNDED:
                pairs = zip(wanted, top.values, bottom.values, strict=True)
                if all(w == compute(int(a), int(b)) for w, a, b in pairs):
                    return form.format(atom(top.text), atom(bottom.text))
    return None


def _of_three(wanted: Values, symbols: Sequence[Symbol]) -> str | None:
    few = symbols[:14]
    for pair in _pairs(few):
        for third in few:
            for whole in (*_combined(pair, third, same=False), *_combined(third, pair, same=False)):
                if whole.values == wanted:
                    return whole.text
    return None


_Finder: TypeAlias = "Callable[[Values, Sequence[Symbol]], str | None]"
_PLAIN: tuple[_Finder, ...] = (_same, _with_constant, _of_two)
_COSTLY: tuple[_Finder, ...] = (_of_parts, _two_and_constant, _of_three)
# how a float is written with an integer expression, and both ways between the two
_Number: TypeAlias = "Callable[[float], float]"
_FORMS: tuple[tuple[str, _Number, _Number], ...] = (
    ("{}", float, float),
    ("1.0 / {}", lambda x: 1.0 / x, lambda w: 1.0 / w if w else 0.0),
    ("1.0 / sqrt({})", lambda x: 1.0 / math.sqrt(x), lambda w: 1.0 / (w * w) if w > 0 else 0.0),
    ("sqrt({})", math.sqrt, lambda w: w * w if w > 0 else 0.0),
    ("-1.0 / {}", lambda x: -1.0 / x, lambda w: -1.0 / w if w else 0.0),
    ("2.0 / {}", lambda x: 2.0 / x, lambda w: 2.0 / w if w else 0.0),
    ("1.0 / sqrt(sqrt({}))", lambda x: 1.0 / math.sqrt(math.sqrt(x)), lambda w: 1.0 / w**4 if w > 0 else 0.0),
)
_LARGEST = 2**53


def _float(wanted: Values, symbols: Sequence[Symbol], varied: Sequence[Symbol]) -> str | None:
    same = next((symbol.text for symbol in symbols if _close(wanted, symbol.values)), None)
    if same is not None:
        return same
    if not all(abs(value) < _LARGEST for value in wanted):
        return None
    for finders in (_PLAIN, _COSTLY):
        for form, function, inverse in _FORMS:
            found = _through(wanted, varied, function, inverse, finders)
            if found is not None:
                return form.format(found if form == "{}" or "({})" in form else atom(found))
    return _quotient(wanted, varied) or _multiple(wanted, varied)


def _multiple(wanted: Values, varied: Sequence[Symbol]) -> str | None:
    """c * a and c / a, with a c of few digits."""
    for symbol in varied[:_SMALL]:
        if 0 in symbol.values:
            continue
        factor = float(f"{wanted[0] / symbol.values[0]:.12g}")
        if factor and _close(wanted, tuple(factor * value for value in symbol.values)):
            return f"{literal(factor)} * {atom(symbol.text)}"
        above = float(f"{wanted[0] * symbol.values[0]:.12g}")
        if above and _close(wanted, tuple(above / value for value in symbol.values)):
            return f"{literal(above)} / {atom(symbol.text)}"
    return None


def _quotient(wanted: Values, varied: Sequence[Symbol]) -> str | None:
    """a / b, of two symbols."""
    for below in varied[:_SMALL]:
        if min(below.values) <= 0:
            continue
        for above in varied[:_SMALL]:
            if _close(wanted, tuple(a / b for a, b in zip(above.values, below.values, strict=True))):
                return f"{atom(above.text)} / {atom(below.text)}"
    return None


def _through(
    wanted: Values, varied: Sequence[Symbol], function: _Number, inverse: _Number, finders: Sequence[_Finder]
) -> str | None:
    """The integers that `function` makes these numbers of, as an expression."""
    inner = [inverse(value) for value in wanted]
    if not all(abs(value) < _LARGEST for value in inner):
        return None
    whole = tuple(round(value) for value in inner)
    if function is not float and min(whole) <= 0:
        return None
    return _integer(whole, varied, finders) if _close(wanted, tuple(function(value) for value in whole)) else None


def _close(wanted: Values, values: Values) -> bool:
    return all(abs(w - v) <= _CLOSE * max(abs(w), abs(v)) for w, v in zip(wanted, values, strict=True))
