"""Matrix products in all their forms."""

from __future__ import annotations

from ..model import Num, Op, Tensor
from ..writer import Writer
from .products import Factor, Labels, contract, contraction, partial
from .registry import rule
from .walks import bracket

LINEAR = "torch.nn.modules.linear.Linear"
BILINEAR = "torch.nn.modules.linear.Bilinear"


def of_module(op: Op, cls: str, **parts: Tensor | None) -> str | None:
    """The path of the library layer that the operator is, if the tensors are that layer's own entries."""
    module = op.module
    if module is None or module.cls != cls:
        return None
    own = all(tensor is None or tensor.state == f"{module.path}.{name}" for name, tensor in parts.items())
    return module.path if own and module.path else None


@rule("aten.linear")
def linear(w: Writer, op: Op) -> None:
    x, weight, bias = op.tensor("input"), op.tensor("weight"), op.maybe("bias")
    path = of_module(op, LINEAR, weight=weight, bias=bias)
    if path is not None and weight.rank == 2 and x.rank:
        w.define(op, f'Linear({w.of(x)}; name="{path}")', sizes=_linear_sizes(w, x, weight))
        return
    if weight.rank == 1 or not weight.is_float or (bias is not None and bias.rank > 1):
        _linear_nest(w, op, x, weight, bias)
        return
    text = f"linear({w.of(x)}, {w.of(weight)})"
    if bias is not None and bias.rank == 1 and bias.dims[0].values == weight.dims[0].values:
        text = f"add_bias({text}, {w.of(bias)})"
    elif bias is not None:
        raise op.fail("a bias that is broadcast")
    w.define(op, text, sizes=_linear_sizes(w, x, weight))


def _linear_sizes(w: Writer, x: Tensor, weight: Tensor) -> tuple[str, ...] | None:
    """Where they are named already; a layer's own weight is not declared for them."""
    if x not in w.extents or weight not in w.extents:
        return None
    return (*w.sizes(x)[:-1], w.sizes(weight)[0])


def _linear_nest(w: Writer, op: Op, x: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    if bias is not None and [dim.values for dim in bias.dims] not in ([], [op.out.dims[-1].values]):
        raise op.fail("a bias that is broadcast")
    batch = _letters(x.rank - 1)
    out: Labels = (*batch, "o") if weight.rank == 2 else batch
    found = contraction(w, op, [Factor(x, (*batch, "k")), Factor(weight, (*out[len(batch) :], "k"))], out)
    text = found.text if bias is None else f"{found.text} + {w.of(bias)}{bracket([found.outer[-1][0]] * bias.rank)}"
    w.nest(op, found.outer, text)


def _letters(count: int) -> Labels:
    return tuple(f"batch{index}" for index in range(count))


def matmul_labels(left: int, right: int) -> tuple[Labels, Labels, Labels]:
    """Labels of torch.matmul's operands with these ranks, and of its result."""
    batch = _letters(max(left, right) - 2)
    rows: Labels = ("m",) if left > 1 else ()
    columns: Labels = ("n",) if right > 1 else ()
    a = (*batch[len(batch) - max(left - 2, 0) :], *rows, "k")
    b = (*batch[len(batch) - max(right - 2, 0) :], "k", *columns)
    return a, b, (*batch, *rows, *columns)


@rule("aten.matmul", "aten.mm.default", "aten.bmm.default", "aten.mv", "aten.dot", "aten.vdot", "aten.linalg_matmul")
def matmul(w: Writer, op: Op) -> None:
    a, b = (value for value in op.args.values() if isinstance(value, Tensor))
    if a.is_float and a.dtype == b.dtype and (a.rank >= 2 and b.rank == 2 or _same_batch(a, b)):
        sizes = (*w.sizes(a)[:-1], w.sizes(b)[-1])
        w.define(op, f"{'mm' if b.rank == 2 else 'matmul'}({w.of(a)}, {w.of(b)})", sizes=sizes)
        return
    left, right, out = matmul_labels(a.rank, b.rank)
    contract(w, op, [Factor(a, left), Factor(b, right)], out)


def _same_batch(a: Tensor, b: Tensor) -> bool:
    return a.rank == b.rank > 2 and [d.values for d in a.dims[:-2]] == [d.values for d in b.dims[:-2]]


# -- with something added ---------------------------------------------------------------------------------------------


def _times(w: Writer, op: Op, number: Num, text: str) -> str:
    return text if number.is_one else f"{w.scalar(number, op)} * {text}"


def _added(w: Writer, op: Op, factors: list[Factor], out: Labels) -> None:
    """beta * self + alpha * contraction; with beta = 0 `self` is not read."""
    found = contraction(w, op, factors, out)
    text = _times(w, op, op.num("alpha"), found.text)
    beta, base = op.num("beta"), op.tensor("self")
    if beta.constant != 0:
        iterators = [iterator for iterator, _ in found.outer]
        text = f"{_times(w, op, beta, w.indices(base, found.dims, iterators, op))} + {text}"
    w.nest(op, found.outer, text)


@rule("aten.addmm.default")
def addmm(w: Writer, op: Op) -> None:
    _added(w, op, [Factor(op.tensor("mat1"), ("m", "k")), Factor(op.tensor("mat2"), ("k", "n"))], ("m", "n"))


@rule("aten.addmv")
def addmv(w: Writer, op: Op) -> None:
    _added(w, op, [Factor(op.tensor("mat"), ("m", "k")), Factor(op.tensor("vec"), ("k",))], ("m",))


@rule("aten.addr")
def addr(w: Writer, op: Op) -> None:
    _added(w, op, [Factor(op.tensor("vec1"), ("m",)), Factor(op.tensor("vec2"), ("n",))], ("m", "n"))


@rule("aten.baddbmm.default")
def baddbmm(w: Writer, op: Op) -> None:
    factors = [Factor(op.tensor("batch1"), ("b", "m", "k")), Factor(op.tensor("batch2"), ("b", "k", "n"))]
    _added(w, op, factors, ("b", "m", "n"))


@rule("aten.addbmm")
def addbmm(w: Writer, op: Op) -> None:
    factors = [Factor(op.tensor("batch1"), ("b", "m", "k")), Factor(op.tensor("batch2"), ("b", "k", "n"))]
    _added(w, op, factors, ("m", "n"))


# -- vectors and tensors ----------------------------------------------------------------------------------------------


@rule("aten.outer", "aten.ger")
def outer(w: Writer, op: Op) -> None:
    a, b = op.tensor("self"), op.tensor("vec2")
    if a.dtype != b.dtype:
        raise op.fail("operands of these types")
    sizes = (*w.sizes(a), *w.sizes(b))
    i, j = w.iterators(2, like=sizes)
    w.nest(op, ((i, sizes[0]), (j, sizes[1])), f"{w.of(a)}[{i}] * {w.of(b)}[{j}]")


@rule("aten.inner")
def inner(w: Writer, op: Op) -> None:
    a, b = op.tensor("self"), op.tensor("other")
    if not a.rank or not b.rank:
        w.pointwise(op, "{0} * {1}", a, b)
        return
    left = tuple(f"a{axis}" for axis in range(a.rank - 1))
    right = tuple(f"b{axis}" for axis in range(b.rank - 1))
    contract(w, op, [Factor(a, (*left, "k")), Factor(b, (*right, "k"))], (*left, *right))


@rule("aten.linalg_vecdot")
def vecdot(w: Writer, op: Op) -> None:
    a, b = op.tensor("x"), op.tensor("y")
    rank = max(a.rank, b.rank)
    dim = op.fixed("dim")
    labels = tuple(f"axis{axis}" for axis in range(rank))
    summed = labels[dim]
    factors = [Factor(t, labels[rank - t.rank :]) for t in (a, b)]
    contract(w, op, factors, tuple(label for label in labels if label != summed))


@rule("aten.tensordot")
def tensordot(w: Writer, op: Op) -> None:
    a, b = op.tensor("self"), op.tensor("other")
    left = [op.settled(number, "dims") % a.rank for number in op.nums("dims_self")]
    right = [op.settled(number, "dims") % b.rank for number in op.nums("dims_other")]
    first = {axis: f"k{index}" for index, axis in enumerate(left)}
    second = {axis: f"k{index}" for index, axis in enumerate(right)}
    a_labels = tuple(first.get(axis, f"a{axis}") for axis in range(a.rank))
    b_labels = tuple(second.get(axis, f"b{axis}") for axis in range(b.rank))
    out = tuple(label for label in (*a_labels, *b_labels) if not label.startswith("k"))
    contract(w, op, [Factor(a, a_labels), Factor(b, b_labels)], out)


@rule("aten.kron")
def kron(w: Writer, op: Op) -> None:
    a, b = op.tensor("self"), op.tensor("other")
    rank = max(a.rank, b.rank)
    small, big = (("1",) * (rank - t.rank) + w.sizes(t) for t in (b, a))
    sizes = tuple(n if m == "1" else m if n == "1" else f"{m}*{n}" for m, n in zip(big, small, strict=True))
    its = w.iterators(rank, like=sizes)
    left = [_quotient(it, n, m) for it, n, m in zip(its, small, big, strict=True)][rank - a.rank :]
    right = [_remainder(it, n, m) for it, n, m in zip(its, small, big, strict=True)][rank - b.rank :]
    text = f"{w.of(a)}{bracket(left)} * {w.of(b)}{bracket(right)}"
    w.nest(op, tuple(zip(its, sizes, strict=True)), text)


def _quotient(iterator: str, inner_size: str, outer_size: str) -> str:
    return "0" if outer_size == "1" else iterator if inner_size == "1" else f"{iterator} // {inner_size}"


def _remainder(iterator: str, inner_size: str, outer_size: str) -> str:
    return "0" if inner_size == "1" else iterator if outer_size == "1" else f"{iterator} % {inner_size}"


@rule("aten.trace")
def trace(w: Writer, op: Op) -> None:
    x = op.tensor("self")
    rows, columns = w.sizes(x)
    (i,) = w.iterators(1)
    square = x.dims[0].values == x.dims[1].values
    extent = rows if square else f"min({rows}, {columns})"
    w.nest(op, (), f"sum({i}<{extent}: {w.of(x)}[{i}, {i}])")


@rule("aten.cross", "aten.linalg_cross")
def cross(w: Writer, op: Op) -> None:
    a, b = op.tensor("self"), op.tensor("other")
    if op.args.get("dim") is None:
        dim = next(axis for axis, size in enumerate(op.out.dims) if size.constant == 3)
    else:
        dim = op.axis("dim", op.out.rank)
    sizes = w.extents_of(op, op.out.dims, [a, b])
    its = w.iterators(op.out.rank, like=sizes)

    def read(tensor: Tensor, step: int) -> str:
        at = [*its]
        at[dim] = f"({its[dim]} + {step}) % 3"
        return w.indices(tensor, op.out.dims, at, op)

    text = f"{read(a, 1)} * {read(b, 2)} - {read(a, 2)} * {read(b, 1)}"
    w.nest(op, tuple(zip(its, sizes, strict=True)), text)


# -- chains -----------------------------------------------------------------------------------------------------------


@rule("aten.linalg_matrix_power", "aten.matrix_power")
def matrix_power(w: Writer, op: Op) -> None:
    """Squares and products as torch makes them: n = 3 is (x x) x, else by binary digits from the lowest."""
    x = op.tensor("self")
    n = op.fixed("n")
    if n < 1 or x.rank < 2:
        raise op.fail(f"the power {n}")
    labels = matmul_labels(x.rank, x.rank)
    if n == 1:
        w.alias(op, x)
        return
    whole, square = None, x
    while n > 1 or whole is not None:
        if n % 2:
            whole = square if whole is None else _multiplied(w, op, whole, square, labels, last=n == 1)
        n //= 2
        if not n:
            return
        last = n == 1 and whole is None
        square = _multiplied(w, op, square, square, labels, last=last)
        if last:
            return


def _multiplied(
    w: Writer, op: Op, a: Tensor, b: Tensor, labels: tuple[Labels, Labels, Labels], *, last: bool
) -> Tensor:
    factors = [Factor(a, labels[0]), Factor(b, labels[1])]
    if last:
        contract(w, op, factors, labels[2])
        return op.out
    return partial(w, op, factors, labels[2], "power").tensor


@rule("aten.linalg_multi_dot", "aten.chain_matmul")
def multi_dot(w: Writer, op: Op) -> None:
    """In the order of fewest products, as torch does; it is found for the first sample, and right for all."""
    given = op.tensors("tensors" if "tensors" in op.args else "matrices")
    labels: list[Labels] = [(f"d{index}", f"d{index + 1}") for index in range(len(given))]
    if given[0].rank == 1:
        labels[0] = labels[0][1:]
    if given[-1].rank == 1:
        labels[-1] = labels[-1][:1]
    factors = [Factor(tensor, found) for tensor, found in zip(given, labels, strict=True)]
    out = (*labels[0][: given[0].rank - 1], *labels[-1][1:])
    if len(factors) == 1:
        w.alias(op, given[0])
        return
    sizes = [int(dim.values[0]) for dim in (*(t.dims[0] for t in given), given[-1].dims[-1])]
    if given[0].rank == 1:
        sizes[0] = 1
        sizes[1] = int(given[0].dims[0].values[0])
    split = _splits(sizes)

    def product(first: int, last: int) -> Factor:
        if first == last:
            return factors[first]
        left, right = _halves(first, last)
        keep = tuple(
            label for label in (*left.labels, *right.labels) if label not in set(left.labels) & set(right.labels)
        )
        return partial(w, op, [left, right], keep, "chain")

    def _halves(first: int, last: int) -> tuple[Factor, Factor]:
        middle = split[first, last]
        return product(first, middle), product(middle + 1, last)

    contract(w, op, _halves(0, len(factors) - 1), out)


def _splits(sizes: list[int]) -> dict[tuple[int, int], int]:
    """After which matrix each stretch of the chain is best cut; sizes[i] x sizes[i + 1] are matrix i's."""
    count = len(sizes) - 1
    cost = {(i, i): 0 for i in range(count)}
    split = {}
    for width in range(1, count):
        for first in range(count - width):
            last = first + width
            costs = [
                (cost[first, k] + cost[k + 1, last] + sizes[first] * sizes[k + 1] * sizes[last + 1], k)
                for k in range(first, last)
            ]
            cost[first, last], split[first, last] = min(costs)
    return split


@rule("aten.bilinear")
def bilinear(w: Writer, op: Op) -> None:
    a, b, weight, bias = op.tensor("input1"), op.tensor("input2"), op.tensor("weight"), op.maybe("bias")
    path = of_module(op, BILINEAR, weight=weight, bias=bias)
    if path is not None:
        w.define(op, f'Bilinear({w.of(a)}, {w.of(b)}; name="{path}")')
        return
    text = f"bilinear({w.of(a)}, {w.of(b)}, {w.of(weight)})"
    w.define(op, text if bias is None else f"add_bias({text}, {w.of(bias)})")
