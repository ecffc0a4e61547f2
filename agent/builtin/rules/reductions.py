"""Sums, products, extremes, any and all, variances: some axes become one element."""

from __future__ import annotations

from ..model import Op, Tensor
from ..writer import Writer
from .registry import rule
from .walks import Walk, cast, read_as, reduced_dims, temporary, walk


def axes_of(op: Op, rank: int) -> tuple[int, ...]:
    """Axes that are reduced: `dim` may be absent, None, a number, or a list (empty: all)."""
    return tuple(dict.fromkeys(op.axes("dim", max(rank, 1)))) if rank else ()


def keeps(op: Op) -> bool:
    return bool(op.args.get("keepdim", False))


def over(w: Writer, op: Op, tensor: Tensor | None = None) -> Walk:
    x = tensor or op.tensor("self")
    return walk(w, x, axes_of(op, x.rank), keeps(op))


def _element(w: Writer, op: Op, at: Walk) -> str:
    """The operand's element, in the result's type where that is a wider float (dtype=)."""
    x = op.tensor("self")
    return read_as(w, x, at.at, op.out.dtype)


@rule("aten.sum", "aten.prod")
def total(w: Writer, op: Op) -> None:
    x = op.tensor("self")
    at = over(w, op)
    if op.out.is_float or not at.reduced:
        text = at.fold(op.name.split(".")[1], _element(w, op, at))
    else:
        whole = cast(at.read(w.of(x)), x.dtype, "i64") if x.is_float else at.read(w.of(x))
        text = cast(at.fold(op.name.split(".")[1], whole), "i64", op.out.dtype)
    w.nest(op, at.outer, text)


@rule("aten.mean")
def mean(w: Writer, op: Op) -> None:
    at = over(w, op)
    w.nest(op, at.outer, f"{at.fold('sum', _element(w, op, at))} / ({at.count})" if at.reduced else _element(w, op, at))


@rule("aten.nansum")
def nansum(w: Writer, op: Op) -> None:
    at = over(w, op)
    element = _element(w, op, at)
    if op.tensor("self").is_float:
        element = f"select({element} == {element}, {element}, 0)"
    w.nest(op, at.outer, at.fold("sum", element))


@rule("aten.nanmean")
def nanmean(w: Writer, op: Op) -> None:
    at = over(w, op)
    element = _element(w, op, at)
    count = at.fold("sum", f"select({element} == {element}, 1.0, 0.0)")
    text = f"{at.fold('sum', f'select({element} == {element}, {element}, 0)')} / {count}"
    w.nest(op, at.outer, cast(f"({text})", "?", op.out.dtype))


@rule("aten.count_nonzero")
def count_nonzero(w: Writer, op: Op) -> None:
    x = op.tensor("self")
    at = over(w, op)
    w.nest(op, at.outer, at.fold("sum", f"int({at.read(w.of(x))} != 0)"))


@rule("aten.amax", "aten.max.default", "aten.amin", "aten.min.default")
def extreme(w: Writer, op: Op) -> None:
    at = over(w, op)
    w.nest(op, at.outer, at.fold(op.name.split(".")[1][-3:], at.read(w.of(op.tensor("self")))))


@rule("aten.aminmax")
def aminmax(w: Writer, op: Op) -> None:
    at = over(w, op)
    for function, result in zip(("min", "max"), op.results, strict=True):
        assert result is not None
        w.nest(op, at.outer, at.fold(function, at.read(w.of(op.tensor("self")))), tensor=result)


@rule("aten.max.other", "aten.min.other")
def larger(w: Writer, op: Op) -> None:
    w.pointwise(op, f"{op.name.split('.')[1]}({{0}}, {{1}})", op.tensor("self"), op.tensor("other"))


@rule("aten.max.dim", "aten.min.dim")
def extreme_along(w: Writer, op: Op) -> None:
    x = op.tensor("self")
    values, indices = op.results
    assert values is not None and indices is not None
    function = op.name.split(".")[1]
    at = over(w, op)
    element = at.read(w.of(x))
    values.hint = values.hint or function
    w.nest(op, at.outer, at.fold(function, element), tensor=values)
    _positions(w, op, at, element, function, indices)


def _positions(w: Writer, op: Op, at: Walk, element: str, function: str, indices: Tensor) -> None:
    indices.hint = indices.hint or f"arg{function}"
    if at.reduced:
        w.nest(op, at.outer, element, tensor=indices, reduced=at.reduced, operator=f"arg{function}=")
    else:
        w.nest(op, at.outer, "i64(0)", tensor=indices)


@rule("aten.argmax", "aten.argmin")
def position(w: Writer, op: Op) -> None:
    x = op.tensor("self")
    function = op.name.split(".")[1][-3:]
    if op.args.get("dim") is None and x.rank > 1:
        _position_of_all(w, op, x, function)
        return
    at = over(w, op)
    _positions(w, op, at, at.read(w.of(x)), function, op.out)


def _position_of_all(w: Writer, op: Op, x: Tensor, function: str) -> None:
    """Over the flattened operand."""
    at = walk(w, x, range(x.rank), keeps(op))
    flat = temporary((x.dims[0],), x.dtype, "flat")
    w.view(op, x, lambda its: unflattened(its[0], at.sizes), [at.count], flat)
    (k,) = w.iterators(1, avoid=[iterator for iterator, _ in at.outer])
    op.out.hint = op.out.hint or f"arg{function}"
    w.nest(op, at.outer, f"{w.of(flat)}[{k}]", reduced=((k, at.count),), operator=f"arg{function}=")


def unflattened(index: str, sizes: tuple[str, ...]) -> list[str]:
    """Row-major indices of the flat `index`."""
    texts = []
    for axis, size in enumerate(sizes):
        later = "*".join(sizes[axis + 1 :])
        inner = f"{index} // ({later})" if len(sizes) - axis > 2 else f"{index} // {later}" if later else index
        texts.append(f"{inner} % {size}" if axis else inner)
    return texts


@rule("aten.all.default", "aten.all.dim", "aten.all.dims", "aten.any.default", "aten.any.dim", "aten.any.dims")
def all_or_any(w: Writer, op: Op) -> None:
    x = op.tensor("self")
    if op.out.dtype != "bool":
        raise op.fail("of uint8, which gives no bool")
    if op.name.endswith(".dims") and op.args.get("dim") == ():
        at = walk(w, x, ())
    else:
        at = over(w, op)
    element = at.read(w.of(x)) if x.is_bool else f"{at.read(w.of(x))} != 0"
    w.nest(op, at.outer, at.fold(op.name.split(".")[1], element))


# -- variances ---------------------------------------------------------------------------------------------------------


@rule("aten.var", "aten.std", "aten.var_mean", "aten.std_mean")
def variance(w: Writer, op: Op) -> None:
    x = op.tensor("self")
    axes = axes_of(op, x.rank)
    at = walk(w, x, axes, keeps(op))
    dtype = op.out.dtype
    with_mean = op.name.split(".")[1].endswith("_mean")
    average = op.results[1] if with_mean else temporary(reduced_dims(x, axes, keeps(op)), dtype, "mean")
    assert average is not None
    average.hint = average.hint or "mean"
    element = at.read(w.of(x))
    w.nest(op, at.outer, f"{at.fold('sum', element)} / ({at.count})", tensor=average)
    spread = at.fold("sum", f"({element} - {w.of(average)}{at.inside})**2")
    text = f"{spread} / ({_degrees(w, op, at)})"
    w.nest(op, at.outer, f"sqrt({text})" if op.name.split(".")[1].startswith("std") else text)


def _degrees(w: Writer, op: Op, at: Walk) -> str:
    if "correction" in op.args:
        correction = "1" if op.args["correction"] is None else w.number(op.num("correction"), op)
    else:
        correction = "1" if op.flag("unbiased") else "0"
    return at.count if correction == "0" else f"{at.count} - {correction}"
