"""Borders around a tensor: constant, reflected, repeated, circular."""

from __future__ import annotations

from collections.abc import Sequence

from ..model import Num, Op, Tensor
from ..numbers import literal
from ..writer import Writer
from .joining import domain, read
from .registry import rule
from .texts import minus, plus, remainder
from .views import View, show


def _sides(op: Op, source: Tensor, name: str) -> dict[int, tuple[Num, Num]]:
    """Axis -> elements before and after; the list names the last axis first."""
    given = op.nums(name)
    if len(given) % 2 or len(given) > 2 * source.rank:
        raise op.fail("a list of paddings of odd length")
    pairs = zip(given[::2], given[1::2], strict=True)
    return {source.rank - 1 - place: pair for place, pair in enumerate(pairs) if any(map(_counts, pair))}


def _counts(number: Num) -> bool:
    return any(value != 0 for value in number.values)


def _sizes(w: Writer, op: Op, source: Tensor, texts: dict[int, tuple[str, str]]) -> list[str]:
    sizes = list(w.sizes(source))
    for axis, (before, after) in texts.items():
        constant = op.out.dims[axis].constant
        sizes[axis] = str(constant) if constant is not None else plus(sizes[axis], before, after)
    return sizes


def padded(w: Writer, op: Op, name: str, mode: str, value: Num | None) -> None:
    source = op.tensor("self")
    sides = _sides(op, source, name)
    texts = {axis: (w.number(a, op), w.number(b, op)) for axis, (a, b) in sides.items()}
    if not sides:
        w.alias(op, source)
    elif mode == "constant":
        _constant(w, op, source, sides, texts, value)
    elif any(min(number.values) < 0 for pair in sides.values() for number in pair):
        raise op.fail("negative padding other than of constants")
    elif mode == "circular":
        given = w.sizes(source)
        show(w, op, source, View(tuple(_sizes(w, op, source, texts)), lambda its: [
            remainder(minus(it, texts[axis][0]), given[axis]) if axis in texts else it for axis, it in enumerate(its)
        ]))  # fmt: skip
    elif mode in ("reflect", "replicate"):
        _mirrored(w, op, source, texts, mode)
    else:
        raise op.fail(f"padding mode {mode}")


def _moved(its: Sequence[str], texts: dict[int, tuple[str, str]]) -> list[str]:
    return [minus(it, texts[axis][0]) if axis in texts else it for axis, it in enumerate(its)]


def _constant(
    w: Writer, op: Op, source: Tensor, sides: dict[int, tuple[Num, Num]], texts: dict[int, tuple[str, str]],
    value: Num | None,
) -> None:  # fmt: skip
    sizes = _sizes(w, op, source, texts)
    if all(max(number.values) <= 0 for pair in sides.values() for number in pair):
        show(w, op, source, View(tuple(sizes), lambda its: _moved(its, texts)))
        return
    its = w.iterators(len(sizes), like=sizes)
    fill = _fill(w, op, source, value)
    w.nest(op, tuple(zip(its, sizes, strict=True)), f"({read(w, source, _moved(its, texts))} else {fill})")


def _fill(w: Writer, op: Op, source: Tensor, value: Num | None) -> str:
    constant = 0 if value is None else value.constant
    if constant is None:
        assert value is not None
        return w.number(value, op)
    if source.is_float:
        return literal(float(constant)) if abs(constant) != float("inf") else literal(constant)
    if constant != int(constant):
        raise op.fail("a fraction as padding of whole numbers")
    return literal(bool(constant)) if source.is_bool else literal(int(constant))


def _mirrored(w: Writer, op: Op, source: Tensor, texts: dict[int, tuple[str, str]], mode: str) -> None:
    last = [source.rank - 1 - place for place in range(source.rank)]
    count = max(place for place, axis in enumerate(last) if axis in texts) + 1
    if count > 3:
        raise op.fail(f"{mode} padding of the last {count} axes")
    pads = [text for axis in last[:count] for text in texts.get(axis, ("0", "0"))]
    call = w.called(op, "pad", source, pad=pads, mode=f'"{mode}"')
    w.define(op, call, sizes=tuple(_sizes(w, op, source, texts)))


@rule("aten.pad")
def pad(w: Writer, op: Op) -> None:
    padded(w, op, "pad", op.text("mode"), op.num("value") if op.args.get("value") is not None else None)


@rule("aten.constant_pad_nd")
def constant_pad(w: Writer, op: Op) -> None:
    value = op.args.get("value")
    padded(w, op, "pad", "constant", value if isinstance(value, Num) else None)


@rule("aten.reflection_pad1d", "aten.reflection_pad2d", "aten.reflection_pad3d")
def reflection_pad(w: Writer, op: Op) -> None:
    padded(w, op, "padding", "reflect", None)


@rule("aten.replication_pad1d", "aten.replication_pad2d", "aten.replication_pad3d")
def replication_pad(w: Writer, op: Op) -> None:
    padded(w, op, "padding", "replicate", None)


@rule("aten._pad_circular")
def circular_pad(w: Writer, op: Op) -> None:
    padded(w, op, "pad", "circular", None)


__all__ = ["domain", "padded"]
