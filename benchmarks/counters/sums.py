"""Whole-number arithmetic as text: sums, differences, products and powers of numbers and names."""

from __future__ import annotations

import ast
from collections.abc import Mapping

MOST_POWER = 64


def value(text: str, names: Mapping[str, int] | None = None) -> int:
    """Raises KeyError for an unknown name, ValueError for anything that is not such arithmetic."""
    return _value(ast.parse(text, mode="eval").body, names or {})


def _value(node: ast.expr, names: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(int() as number) if not isinstance(number, bool):
            return number
        case ast.Name(name):
            return names[name]
        case ast.BinOp(left, operator, right):
            return _applied(operator, _value(left, names), _value(right, names))
        case ast.UnaryOp(ast.USub(), operand):
            return -_value(operand, names)
        case _:
            raise ValueError(ast.dump(node))


def _applied(operator: ast.operator, left: int, right: int) -> int:
    match operator:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.FloorDiv() if left % right == 0:
            return left // right
        case _:
            raise ValueError(f"{type(operator).__name__} of {left} and {right}")


def joined(texts: Mapping[str, int]) -> str:
    """Texts with how often each comes, as one sum."""
    parts = [
        f"{times}*({text})" if times > 1 and ("+" in text or "-" in text) else f"{times}*{text}" if times > 1 else text
        for text, times in texts.items()
    ]
    return " + ".join(parts)
