"""Values gathered into a tensor at places that whole-number tensors name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..model import Arg, Op, Tensor
from ..writer import Writer
from .joining import cast, domain, number_for, read
from .registry import rule
from .texts import remainder
from .writes import whole

_COMBINE = {
    "add": "+=", "sum": "+=", "mean": "+=", "multiply": "*=", "prod": "*=", "amax": "max=", "amin": "min=",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Target:
    """Where the values go: iterators and extents of the nest, and the indices into the result there."""

    iterators: tuple[str, ...]
    sizes: tuple[str, ...]
    at: tuple[str, ...]

    @property
    def head(self) -> str:
        return f"for {domain(self.iterators, self.sizes)}: " if self.iterators else ""

    def line(self, name: str, operator: str, value: str) -> str:
        return f"{self.head}{name}[{', '.join(self.at)}] {operator} {value}"


def elementwise(w: Writer, op: Op, base: Tensor, index: Tensor) -> Target:
    """scatter: one place for every element of `index`."""
    if base.rank == 0 or index.rank == 0:
        raise op.fail("a tensor without axes")
    axis = op.axis("dim", base.rank)
    sizes = w.sizes(index)
    its = w.iterators(index.rank, like=sizes)
    at = [read(w, index, its) if place == axis else it for place, it in enumerate(its)]
    return Target(its, sizes, tuple(at))


def along(w: Writer, op: Op, base: Tensor, index: Tensor, wraps: bool = False) -> Target:
    """index_add and the like: one place along an axis, all of the others."""
    if base.rank == 0:
        raise op.fail("a tensor without axes")
    axis = op.axis("dim", base.rank)
    sizes = list(w.sizes(base))
    size, sizes[axis] = sizes[axis], w.sizes(index)[0] if index.rank else "1"
    its = w.iterators(base.rank, like=sizes)
    place = read(w, index, its[axis : axis + 1][: index.rank])
    at = list(its)
    at[axis] = remainder(place, size) if wraps else place
    return Target(its, tuple(sizes), tuple(at))


def _value(w: Writer, op: Op, value: Arg, base: Tensor, its: Sequence[str]) -> str:
    if isinstance(value, Tensor):
        return cast(read(w, value, its[: value.rank]), value, base)
    return number_for(w, op, value, base)


@rule("aten.scatter.src")
def scatter(w: Writer, op: Op) -> None:
    _scatter(w, op, op.tensor("src"), "=")


@rule("aten.scatter.value")
def scatter_value(w: Writer, op: Op) -> None:
    _scatter(w, op, op.args["value"], "=")


@rule("aten.scatter_add")
def scatter_add(w: Writer, op: Op) -> None:
    _scatter(w, op, op.tensor("src"), "+=")


@rule("aten.scatter.reduce")
def scatter_and_reduce(w: Writer, op: Op) -> None:
    _scatter(w, op, op.tensor("src"), _COMBINE[op.text("reduce")])


@rule("aten.scatter.value_reduce")
def scatter_value_and_reduce(w: Writer, op: Op) -> None:
    _scatter(w, op, op.args["value"], _COMBINE[op.text("reduce")])


def _scatter(w: Writer, op: Op, value: Arg, operator: str) -> None:
    base = op.tensor("self")
    target = elementwise(w, op, base, op.tensor("index"))
    _combined(w, op, target, _value(w, op, value, base, target.iterators), operator)


def _combined(w: Writer, op: Op, target: Target, value: str, operator: str) -> None:
    base = op.tensor("self")
    if base.is_bool and operator != "=":
        raise op.fail("a reduction of bools")
    w.line(target.line(whole(w, op, base), operator, value))


@rule("aten.index_copy")
def index_copy(w: Writer, op: Op) -> None:
    base = op.tensor("self")
    target = along(w, op, base, op.tensor("index"))
    _combined(w, op, target, _value(w, op, op.tensor("source"), base, target.iterators), "=")


@rule("aten.index_fill")
def index_fill(w: Writer, op: Op) -> None:
    base = op.tensor("self")
    target = along(w, op, base, op.tensor("index"), wraps=True)
    _combined(w, op, target, _value(w, op, op.args["value"], base, target.iterators), "=")


@rule("aten.index_add")
def index_add(w: Writer, op: Op) -> None:
    base = op.tensor("self")
    target = along(w, op, base, op.tensor("index"))
    value = _value(w, op, op.tensor("source"), base, target.iterators)
    alpha = op.num("alpha")
    factor = "" if alpha.is_one else f"{w.scalar(alpha, op)} * "
    _combined(w, op, target, factor + value, "+=")


@rule("aten.scatter_reduce")
def scatter_reduce(w: Writer, op: Op) -> None:
    base = op.tensor("self")
    _reduced(w, op, elementwise(w, op, base, op.tensor("index")), op.tensor("src"))


@rule("aten.index_reduce")
def index_reduce(w: Writer, op: Op) -> None:
    base = op.tensor("self")
    _reduced(w, op, along(w, op, base, op.tensor("index")), op.tensor("source"))


def _reduced(w: Writer, op: Op, target: Target, source: Tensor) -> None:
    """sum, prod, mean, amax, amin; without `include_self` elements that are hit start afresh."""
    base, how = op.tensor("self"), op.text("reduce")
    if base.is_bool or (how == "mean" and not base.is_float):
        raise op.fail(f"{how} of {base.dtype}")
    value = _value(w, op, source, base, target.iterators)
    includes = op.flag("include_self")
    hits = _hits(w, base, target) if how == "mean" or not includes else ""
    start = w.of(base) if includes else _afresh(w, op, base, hits, _COMBINE[how])
    sizes = w.sizes(base)
    name = w.fresh("scattered") if how == "mean" else w.result(op.out, op)
    w.line(f"tensor {name}[{', '.join(sizes)}] = {start}")
    w.line(target.line(name, _COMBINE[how], value))
    if how != "mean":
        w.name(op.out, name, sizes)
        return
    count = f"({hits} + 1)" if includes else f"max({hits}, 1)"
    w.define(op, f"{name} / {count}", sizes=sizes)


def _hits(w: Writer, base: Tensor, target: Target) -> str:
    """How many values go to each element."""
    name = w.fresh("hits")
    w.line(f"tensor {name}[{', '.join(w.sizes(base))}] : i64 = 0")
    w.line(target.line(name, "+=", "1"))
    return name


def _afresh(w: Writer, op: Op, base: Tensor, hits: str, operator: str) -> str:
    neutral = {"+=": "0", "*=": "1"}.get(operator)
    if neutral is None and not base.is_float:
        raise op.fail("the extremes of whole numbers without those that were there")
    name = w.fresh("start")
    w.line(f"{name} = select({hits} > 0, {neutral or ('-inf' if operator == 'max=' else 'inf')}, {w.of(base)})")
    return name
