"""Tensors made from numbers, and triangles."""

from __future__ import annotations

from ....ir.dtypes import kind
from ..model import Num, Op, Tensor
from ..numbers import atom, literal
from ..writer import Writer
from .pointwise import constant, filled, operand, refuse_complex
from .registry import rule


def _like(op: Op) -> tuple[Tensor, ...]:
    given = op.args.get("self")
    return (given,) if isinstance(given, Tensor) else ()


def _filling(names: tuple[str, ...], number: int) -> None:
    @rule(*(f"aten.{name}" for name in names))
    def write(w: Writer, op: Op) -> None:
        filled(w, op, constant(w, op, Num((number,)), op.out.dtype), _like(op))


_filling(("zeros", "zeros_like", "new_zeros", "_efficientzerotensor"), 0)
_filling(("ones", "ones_like", "new_ones"), 1)


@rule("aten.full", "aten.full_like", "aten.new_full")
def full(w: Writer, op: Op) -> None:
    value = operand(op, "fill_value")
    if isinstance(value, Tensor):
        raise op.fail("a tensor as fill_value")
    filled(w, op, constant(w, op, value, op.out.dtype), _like(op))


@rule("aten.scalar_tensor")
def scalar_tensor(w: Writer, op: Op) -> None:
    value = operand(op, "s")
    if isinstance(value, Tensor):
        raise op.fail("a tensor as number")
    filled(w, op, constant(w, op, value, op.out.dtype))


@rule(
    "aten.empty", "aten.empty_like", "aten.new_empty", "aten.empty_strided", "aten.new_empty_strided",
    "aten.empty_permuted",
)  # fmt: skip
def empty(w: Writer, op: Op) -> None:
    """Without a start value: reading what was never written is an error."""
    filled(w, op, None, _like(op))


# -- from indices -----------------------------------------------------------------------------------------------------


def _indexed(w: Writer, op: Op, text: str, natural: str, its: tuple[str, ...], sizes: tuple[str, ...]) -> None:
    """`for …: name[…] = text`, in the result's storage type."""
    refuse_complex(op, op.out)
    w.nest(op, tuple(zip(its, sizes, strict=True)), text if natural == op.out.dtype else f"{op.out.dtype}({text})")


@rule("aten.arange", "aten.range")
def arange(w: Writer, op: Op) -> None:
    start = op.num("start") if "start" in op.args else Num((0,))
    step = op.num("step") if "step" in op.args else Num((1,))
    (size,) = w.extents_of(op, op.out.dims)
    (i,) = w.iterators(1, like=(size,))
    floats = any(isinstance(value, float) for number in (start, step) for value in number.values)
    steps = i if step.constant == 1 else f"{_shown(w, op, step)}*{i}"
    text = steps if start.constant == 0 else f"{_shown(w, op, start)} + {steps}"
    _indexed(w, op, text, "f32" if floats and "." in text else "i64", (i,), (size,))


def _shown(w: Writer, op: Op, number: Num) -> str:
    if number.constant is None and any(isinstance(value, float) for value in number.values):
        return f"(1.0 * {atom(w.number(number, op))})"
    return w.scalar(number, op)


@rule("aten.linspace")
def linspace(w: Writer, op: Op) -> None:
    text, size, i = _evenly(w, op)
    _indexed(w, op, text, "f32", (i,), (size,))


@rule("aten.logspace")
def logspace(w: Writer, op: Op) -> None:
    text, size, i = _evenly(w, op)
    _indexed(w, op, f"{_shown(w, op, op.num('base'))} ** ({text})", "f32", (i,), (size,))


def _evenly(w: Writer, op: Op) -> tuple[str, str, str]:
    """Value at iterator i, the size and i."""
    if kind(op.out.dtype) != "float":
        raise op.fail(f"of type {op.out.dtype}")
    start, end = op.num("start"), op.num("end")
    (size,) = w.extents_of(op, op.out.dims)
    (i,) = w.iterators(1, like=(size,))
    steps = op.out.dims[0]
    if any(count < 2 for count in steps.values):
        between = f"max({size} - 1, 1)"
    else:
        between = f"({size} - 1)" if steps.constant is None else str(int(steps.constant) - 1)
    if start.constant is not None and end.constant is not None:
        reach = literal(float(end.constant - start.constant))
    else:
        reach = f"1.0 * ({w.scalar(end, op)} - {w.scalar(start, op)})"
    slope = f"{reach} / {between} * {i}"
    return slope if start.constant == 0 else f"{w.number(start, op)} + {slope}", size, i


_WINDOWS: dict[str, tuple[float, ...]] = {
    "hann_window": (0.5, -0.5), "hamming_window": (0.54, -0.46), "blackman_window": (0.42, -0.5, 0.08),
}  # fmt: skip


def _window(name: str, weights: tuple[float, ...]) -> None:
    @rule(f"aten.{name}")
    def write(w: Writer, op: Op) -> None:
        """A sum of cosines over one period."""
        (size,) = w.extents_of(op, op.out.dims)
        (i,) = w.iterators(1, like=(size,))
        if op.name.rpartition(".")[2] not in ("default", "periodic") or any(n < 2 for n in op.out.dims[0].values):
            raise op.fail("of one element, or with weights of its own")
        period = atom(size) if op.args.get("periodic", True) is True else f"({size} - 1)"
        parts = [f"{weight} * cos(2.0 * pi * {k} * {i} / {period})" for k, weight in enumerate(weights) if k]
        _indexed(w, op, " + ".join([str(weights[0]), *parts]), "f32", (i,), (size,))


for _name, _weights in _WINDOWS.items():
    _window(_name, _weights)


@rule("aten.eye")
def eye(w: Writer, op: Op) -> None:
    sizes = w.extents_of(op, op.out.dims)
    i, j = w.iterators(2)
    _indexed(w, op, f"{i} == {j}", "bool", (i, j), sizes)


@rule("aten.one_hot")
def one_hot(w: Writer, op: Op) -> None:
    given = op.tensor("self")
    sizes = w.extents_of(op, op.out.dims, (given,))
    its = w.iterators(given.rank + 1, like=sizes)
    read = f"{w.of(given)}[{', '.join(its[:-1])}]" if given.rank else w.of(given)
    _indexed(w, op, f"{read} == {its[-1]}", "bool", its, sizes)


# -- triangles --------------------------------------------------------------------------------------------------------


@rule("aten.tril")
def tril(w: Writer, op: Op) -> None:
    _triangle(w, op, "<=")


@rule("aten.triu")
def triu(w: Writer, op: Op) -> None:
    _triangle(w, op, ">=")


def _triangle(w: Writer, op: Op, sign: str) -> None:
    """Zeros, with the triangle copied: the rest is not read."""
    given = op.tensor("self")
    sizes = w.sizes(given)
    its = w.iterators(given.rank, like=sizes)
    name = filled(w, op, constant(w, op, Num((0,)), op.out.dtype), (given,))
    row, column = its[-2:]
    where = f"{column} {sign} {_moved(w, op, row, op.num('diagonal'))}"
    domain = ", ".join(f"{iterator}<{size}" for iterator, size in zip(its, sizes, strict=True))
    at = ", ".join(its)
    w.line(f"for {domain} where {where}: {name}[{at}] = {w.of(given)}[{at}]")


def _moved(w: Writer, op: Op, iterator: str, number: Num) -> str:
    constant_ = number.constant
    if constant_ is None:
        return f"{iterator} + {w.scalar(number, op)}"
    shift = int(constant_)
    return iterator if shift == 0 else f"{iterator} + {shift}" if shift > 0 else f"{iterator} - {-shift}"


@rule("aten.tril_indices")
def tril_indices(w: Writer, op: Op) -> None:
    _triangle_indices(w, op, lower=True)


@rule("aten.triu_indices")
def triu_indices(w: Writer, op: Op) -> None:
    _triangle_indices(w, op, lower=False)


def _triangle_indices(w: Writer, op: Op, *, lower: bool) -> None:
    """Rows and columns of a square's triangle, row by row. Number k of it lies in row (sqrt(8*k + 1) - 1) // 2."""
    side, offset = op.num("row"), op.fixed("offset")
    strict = -1 if lower else 1
    if op.num("col").values != side.values or offset not in (0, strict):
        raise op.fail("of other than a square's triangle, with or without its diagonal")
    n = w.scalar(side, op)
    inside = n if offset == 0 else f"({n} - 1)"
    name = w.result(op.out, op)
    count = f"{inside}*({inside} + 1)//2"
    (k,) = w.iterators(1)
    dtype = op.out.dtype
    row = w.fresh("row")
    at = k if lower else f"({count} - 1 - {k})"
    w.line(f"for {k}<{count}: {row}[{k}] = {dtype}(floor((sqrt(8.0*{at} + 1) - 1) / 2))")
    first, second = f"{row}[{k}]", f"{at} - {row}[{k}]*({row}[{k}] + 1)//2"
    if not lower:
        first, second = f"{inside} - 1 - {first}", f"{inside} - 1 - ({second})"
    first, second = (
        (f"{first} + 1", second) if lower and offset else (first, f"{second} + {offset}" if offset else second)
    )
    w.line(f"tensor {name}[2, {count}] : {dtype}")
    w.line(f"for {k}<{count}: {name}[0, {k}] = {dtype}({first})")
    w.line(f"for {k}<{count}: {name}[1, {k}] = {dtype}({second})")
    w.name(op.out, name)
