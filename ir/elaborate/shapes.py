"""Shapes: binding the sizes that a declaration names, checking those that are known."""

from __future__ import annotations

from .. import syntax as s
from .constants import evaluate, integer
from .scope import Builder, Frame, Known, TensorRef


def bind_shape(
    builder: Builder, frame: Frame, exprs: tuple[s.Expr, ...], actual: tuple[int, ...], what: str, pos: s.Pos
) -> None:
    """Binds lone names that the frame does not have yet to the actual sizes; checks every other entry."""
    entries = _expand(builder, frame, exprs, actual, what, pos)
    for axis, (expr, size) in enumerate(entries):
        if isinstance(expr, s.Name) and expr.name not in frame.names:
            frame.names[expr.name] = Known(size)
            continue
        if isinstance(expr, s.Name) and isinstance(frame.names[expr.name], TensorRef):
            builder.fail(f"{expr.name} is a tensor; the size needs another name", expr.pos)
        expected = integer(builder, frame, expr, "a size")
        if expected != size:
            shown = expr.name if isinstance(expr, s.Name) else "this"
            builder.fail(f"{what} has shape {list(actual)}: axis {axis} is {size}, but {shown} is {expected}", pos)


def _expand(
    builder: Builder, frame: Frame, exprs: tuple[s.Expr, ...], actual: tuple[int, ...], what: str, pos: s.Pos
) -> list[tuple[s.Expr, int]]:
    """Pairs shape entries with actual sizes, `...` taking the axes that are left over."""
    spreads = [axis for axis, expr in enumerate(exprs) if isinstance(expr, s.Spread)]
    if not spreads:
        if len(exprs) != len(actual):
            builder.fail(f"{what} has {len(actual)} axes {list(actual)}, but the text gives {len(exprs)}", pos)
        return list(zip(exprs, actual, strict=True))
    if len(spreads) > 1 or len(actual) < len(exprs) - 1:
        builder.fail(f"{what} has shape {list(actual)}, which does not fit the shape in the text", pos)
    first, behind = spreads[0], len(exprs) - 1 - spreads[0]
    sizes = actual[first : len(actual) - behind]
    if frame.spread is not None and frame.spread != sizes:
        builder.fail(f"{what}: '...' is {list(sizes)} here but was {list(frame.spread)}", pos)
    frame.spread = sizes
    pairs = list(zip(exprs[:first], actual[:first], strict=True))
    return pairs + list(zip(exprs[first + 1 :], actual[len(actual) - behind :], strict=True))


def sizes(builder: Builder, frame: Frame, exprs: tuple[s.Expr, ...], what: str) -> tuple[int, ...]:
    """The sizes of a tensor that the text declares."""
    found: list[int] = []
    for expr in exprs:
        if isinstance(expr, s.Spread):
            if frame.spread is None:
                builder.fail("'...' has no sizes here", expr.pos)
            found += frame.spread
            continue
        size = integer(builder, frame, expr, f"a size of {what}")
        if size < 0:
            builder.fail(f"{what} has a negative size {size}", expr.pos)
        found.append(size)
    return tuple(found)


def constant_or_none(builder: Builder, frame: Frame, expr: s.Expr | None) -> int | None:
    if expr is None:
        return None
    value = evaluate(builder, frame, expr)
    return integer(builder, frame, expr, "a bound") if value is not None else None
