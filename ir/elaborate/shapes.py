"""Shapes: binding the sizes that a declaration names, checking those that are known."""

from __future__ import annotations

from collections.abc import Sequence

from .. import syntax as s
from ..show import show_expr
from .constants import integer
from .scope import Builder, Frame, Known, TensorRef

Shaped = tuple[tuple[s.Expr, ...], tuple[int, ...], str]


def bind_shape(
    builder: Builder, frame: Frame, exprs: tuple[s.Expr, ...], actual: tuple[int, ...], what: str, pos: s.Pos
) -> None:
    """Binds lone names that the frame does not have yet to the actual sizes; checks every other entry."""
    bind_shapes(builder, frame, [(exprs, actual, what)], pos)


def bind_shapes(builder: Builder, frame: Frame, shaped: Sequence[Shaped], pos: s.Pos) -> None:
    """Binds and checks several shapes (written, actual, whose) at once: an expression may use sizes to its right."""
    checked: list[tuple[s.Expr, int, int, Shaped]] = []
    for one in shaped:
        for axis, expr in _expand(builder, frame, *one, pos):
            size = one[1][axis]
            if not isinstance(expr, s.Name) or expr.name in frame.names:
                checked.append((expr, size, axis, one))
            elif expr.name in frame.iterators:
                builder.fail(f"{expr.name} is an iterator here; the size needs another name", expr.pos)
            else:
                frame.names[expr.name] = Known(size, fixed=True)
    for expr, size, axis, (_, actual, what) in checked:
        if isinstance(expr, s.Name) and isinstance(frame.names[expr.name], TensorRef):
            builder.fail(f"{expr.name} is a tensor; the size needs another name", expr.pos)
        expected = integer(builder, frame, expr, "a size")
        if expected != size:
            shown = show_expr(expr) if isinstance(expr, s.Number) else f"{show_expr(expr)} = {expected}"
            builder.fail(f"{what} has shape {list(actual)}: axis {axis} is {size}, expected {shown}", pos)


def _expand(
    builder: Builder, frame: Frame, exprs: tuple[s.Expr, ...], actual: tuple[int, ...], what: str, pos: s.Pos
) -> list[tuple[int, s.Expr]]:
    """The shape's entries with the axes that they stand for; `...` takes the axes that are left over."""
    spreads = [axis for axis, expr in enumerate(exprs) if isinstance(expr, s.Spread)]
    shown = f"[{', '.join(show_expr(expr) for expr in exprs)}]"
    if not spreads:
        if len(exprs) != len(actual):
            builder.fail(f"{what} has {len(actual)} axes {list(actual)}, but {shown} has {len(exprs)}", pos)
        return list(enumerate(exprs))
    if len(spreads) > 1 or len(actual) < len(exprs) - 1:
        builder.fail(f"{what} has shape {list(actual)}, which does not fit {shown}", pos)
    first, behind = spreads[0], len(exprs) - 1 - spreads[0]
    sizes = actual[first : len(actual) - behind]
    if frame.spread is not None and frame.spread != sizes:
        before = f"'...' is {list(sizes)} here, but {list(frame.spread)} before"
        builder.fail(f"{what} has shape {list(actual)}: {before}", pos)
    frame.spread = sizes
    last = range(len(actual) - behind, len(actual))
    return list(enumerate(exprs[:first])) + list(zip(last, exprs[first + 1 :], strict=True))


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
