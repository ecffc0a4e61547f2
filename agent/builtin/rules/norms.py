"""Norms and distances."""

from __future__ import annotations

from collections.abc import Sequence

from ..model import Num, Op, Tensor
from ..numbers import atom, literal
from ..writer import Writer
from .losses import broadcast, one_type
from .reductions import axes_of, keeps
from .registry import rule
from .walks import Walk, read_as, temporary, walk


def power_of(op: Op, name: str, default: float = 2.0) -> float:
    """The order of a norm: it decides what is computed, so it is one value in all samples."""
    if op.args.get(name) is None:
        return default
    value = op.num(name).constant
    if value is None:
        raise op.fail(f"{name} differs between sizes")
    return float(value)


def norm_text(at: Walk, element: str, p: float) -> str:
    """(sum of |element|^p)^(1/p), with its limits at 0 and infinity."""
    size = f"abs({element})"
    if p == 2:
        return f"sqrt({at.fold('sum', f'{atom(element)}**2')})"
    if p == 1:
        return at.fold("sum", size)
    if p in (float("inf"), float("-inf")):
        return at.fold("max" if p > 0 else "min", size)
    if p == 0:
        return at.fold("sum", f"select({element} != 0, 1.0, 0.0)")
    return f"({at.fold('sum', f'{size}**{_exponent(p)}')})**(1 / {_exponent(p)})"


def _exponent(p: float) -> str:
    return atom(literal(int(p) if p == int(p) else p))


def _norm(w: Writer, op: Op, x: Tensor, axes: Sequence[int], keepdim: bool, p: float) -> None:
    at = walk(w, x, axes, keepdim)
    text = norm_text(at, read_as(w, x, at.at, op.out.dtype), p)
    w.nest(op, at.outer, f"{op.out.dtype}({text})" if p == 0 and op.out.dtype != "f32" else text)


@rule("aten.linalg_vector_norm", "aten.norm")
def vector_norm(w: Writer, op: Op) -> None:
    x = op.tensor("self")
    p = power_of(op, "ord" if "ord" in op.args else "p")
    _norm(w, op, x, axes_of(op, x.rank), keeps(op), p)


@rule("aten.linalg_norm.default")
def linalg_norm(w: Writer, op: Op) -> None:
    """Without an order the norm of the flattened operand; else of vectors or matrices, by the number of axes."""
    x = op.tensor("self")
    if op.args.get("ord") is None:
        _norm(w, op, x, axes_of(op, x.rank), keeps(op), 2.0)
        return
    axes = axes_of(op, x.rank)
    if len(axes) == 1:
        _norm(w, op, x, axes, keeps(op), power_of(op, "ord"))
    else:
        _matrix_norm(w, op, x, axes)


@rule("aten.linalg_matrix_norm.default")
def matrix_norm(w: Writer, op: Op) -> None:
    x = op.tensor("self")
    _matrix_norm(w, op, x, axes_of(op, x.rank))


def _matrix_norm(w: Writer, op: Op, x: Tensor, axes: Sequence[int]) -> None:
    """Orders 1 and inf: the largest (smallest, if negative) sum of a column or row."""
    p = power_of(op, "ord")
    if len(axes) != 2 or abs(p) not in (1.0, float("inf")):
        raise op.fail(f"the matrix norm of order {p}")
    summed, compared = axes if abs(p) == 1 else (axes[1], axes[0])
    at = walk(w, x, [summed], keepdim=True)
    totals = temporary([_one(d) if a == summed else d for a, d in enumerate(x.dims)], op.out.dtype, "totals")
    w.nest(op, at.outer, at.fold("sum", f"abs({read_as(w, x, at.at, op.out.dtype)})"), tensor=totals)
    over = walk(w, totals, [summed, compared], keeps(op))
    w.nest(op, over.outer, over.fold("max" if p > 0 else "min", over.read(w.of(totals))))


def _one(dim: Num) -> Num:
    return Num((1,) * len(dim.values))


@rule("aten.linalg_norm.ord_str", "aten.linalg_matrix_norm.str_ord", "aten.frobenius_norm.dim")
def frobenius(w: Writer, op: Op) -> None:
    x = op.tensor("self")
    if op.args.get("ord", "fro") != "fro":
        raise op.fail(f"the norm {op.args['ord']}")
    _norm(w, op, x, axes_of(op, x.rank), keeps(op), 2.0)


@rule("aten.nuclear_norm")
def nuclear(w: Writer, op: Op) -> None:
    raise op.fail("singular values")


# -- distances --------------------------------------------------------------------------------------------------------


@rule("aten.dist")
def dist(w: Writer, op: Op) -> None:
    a, b = op.tensor("self"), op.tensor("other")
    one_type(op, a, b)
    difference = _difference(w, op, a, b, "{0} - {1}")
    _norm(w, op, difference, range(difference.rank), False, power_of(op, "p"))


def _difference(w: Writer, op: Op, a: Tensor, b: Tensor, form: str, *numbers: Num) -> Tensor:
    target = temporary(broadcast(op, [a, b]), op.out.dtype, "difference")
    w.pointwise(op, form, a, b, *numbers, tensor=target)
    return target


@rule("aten.pairwise_distance")
def pairwise_distance(w: Writer, op: Op) -> None:
    a, b, eps = op.tensor("x1"), op.tensor("x2"), op.num("eps")
    one_type(op, a, b)
    difference = _difference(w, op, a, b, "{0} - {1} + {2}", eps)
    _norm(w, op, difference, [difference.rank - 1], keeps(op), power_of(op, "p"))


@rule("aten.cosine_similarity")
def cosine_similarity(w: Writer, op: Op) -> None:
    """Dot product over the product of the norms, each at least eps."""
    a, b = op.tensor("x1"), op.tensor("x2")
    one_type(op, a, b)
    dim = op.axis("dim", op.out.rank + 1)
    same = [d.values for d in a.dims] == [d.values for d in b.dims]
    if same and dim in (0, 1, 2, 3, a.rank - 1):
        eps = None if op.num("eps").constant == 1e-8 else op.num("eps")
        w.call(op, "cosine_similarity", a, b, dim=-1 if dim == a.rank - 1 else None if dim == 1 else dim, eps=eps)
        return
    product = temporary(broadcast(op, [a, b]), op.out.dtype, "product")
    w.pointwise(op, "{0} * {1}", a, b, tensor=product)
    lengths = [_length(w, op, tensor, dim - (product.rank - tensor.rank)) for tensor in (a, b)]
    at = walk(w, product, [dim])
    full = [d for axis, d in enumerate(product.dims) if axis != dim]
    its = [it for it, _ in at.outer]
    divisor = " * ".join(w.indices(length, full, its, op) for length in lengths)
    w.nest(op, at.outer, f"{at.fold('sum', at.read(w.of(product)))} / ({divisor})")


def _length(w: Writer, op: Op, x: Tensor, dim: int) -> Tensor:
    if dim < 0 or x.dims[dim].is_one:
        raise op.fail("operands broadcast along the axis itself")
    target = temporary([d for axis, d in enumerate(x.dims) if axis != dim], x.dtype, "length")
    at = walk(w, x, [dim])
    text = f"max({norm_text(at, at.read(w.of(x)), 2.0)}, {w.scalar(op.num('eps'), op)})"
    w.nest(op, at.outer, text, tensor=target)
    return target


@rule("aten.cdist")
def cdist(w: Writer, op: Op) -> None:
    """Distances between all rows. Euclidean ones between many rows come from a matrix product, as torch takes them:
    with few rows (at the first sample's sizes), or when told so, from the differences."""
    a, b = op.tensor("x1"), op.tensor("x2")
    one_type(op, a, b)
    batch = op.out.rank - 2
    sizes = (*w.extents_of(op, op.out.dims[:batch], [a, b]), w.sizes(a)[-2], w.sizes(b)[-2], w.sizes(a)[-1])
    *lead, i, j, d = w.iterators(len(sizes), like=sizes)
    loops = tuple(zip((*lead, i, j, d), sizes, strict=True))
    left = w.indices(a, (*op.out.dims[:batch], a.dims[-2], a.dims[-1]), (*lead, i, d), op)
    right = w.indices(b, (*op.out.dims[:batch], b.dims[-2], b.dims[-1]), (*lead, j, d), op)
    p = power_of(op, "p")
    if p == 2 and _by_product(op, a, b):
        inside = f"sum({d}<{sizes[-1]}: {{}})"
        squares = f"{inside.format(left + '**2')} + {inside.format(right + '**2')}"
        text = f"sqrt(max({squares} - 2 * {inside.format(f'{left} * {right}')}, 0))"
        w.nest(op, loops[:-1], f"select({i} == {j}, 0.0, {text})" if a is b else text)
        return
    at = Walk(loops[:-1], loops[-1:], (), sizes)
    w.nest(op, at.outer, norm_text(at, f"{left} - {right}", p))


_MANY_ROWS = 25
_ALWAYS, _NEVER = 1, 2


def _by_product(op: Op, a: Tensor, b: Tensor) -> bool:
    mode = 0 if op.args.get("compute_mode") is None else op.fixed("compute_mode")
    return mode == _ALWAYS or (mode != _NEVER and max(a.dims[-2].values[0], b.dims[-2].values[0]) > _MANY_ROWS)


@rule("aten.pdist", "aten._pdist_forward")
def pdist(w: Writer, op: Op) -> None:
    """Between each row and the later ones: row i's distances stand after those of the rows before it."""
    x = op.tensor("self")
    rows, columns = w.sizes(x)
    i, d, j = w.iterators(3, like=(rows, columns))
    place = w.fresh("place")
    w.line(f"for {i}<{rows}, {j}<{rows}: {place}[{i}, {j}] = {i} * (2*{rows} - {i} - 1) // 2 + {j} - {i} - 1")
    name = w.tensor(op, (f"{rows}*({rows} - 1) // 2",))
    at = Walk((), ((d, columns),), (), ())
    text = norm_text(at, f"{w.of(x)}[{i}, {d}] - {w.of(x)}[{j}, {d}]", power_of(op, "p"))
    w.line(f"for {i}<{rows}, {j}<{rows} where {j} > {i}: {name}[{place}[{i}, {j}]] = {text}")
