"""Elements picked by whole-number tensors, and written at such places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..model import Num, Op, Tensor
from ..writer import Writer
from .joining import cast, domain, read
from .layers import own_layer
from .registry import rule
from .texts import remainder, times, unflat
from .writes import whole

_VALUES = "a shape that depends on values"


def wrapped(text: str, size: str) -> str:
    """An index whose negative values count from the back."""
    return remainder(text, size)


@dataclass(frozen=True, slots=True)
class Places:
    """Elements of a tensor named by index tensors. `dims`, `sizes`, `iterators`: of the box of all of them;
    `at`: the tensor's indices there."""

    dims: tuple[Num, ...]
    sizes: tuple[str, ...]
    iterators: tuple[str, ...]
    at: tuple[str, ...]


def broadcast_dims(tensors: Sequence[Tensor]) -> tuple[Num, ...]:
    rank = max(tensor.rank for tensor in tensors)
    found = []
    for place in range(-rank, 0):
        dims = [tensor.dims[place] for tensor in tensors if tensor.rank >= -place]
        found.append(next((dim for dim in dims if not dim.is_one), dims[0]))
    return tuple(found)


def _indices(op: Op, source: Tensor) -> list[Tensor | None]:
    """One for each axis; None where all of it is meant."""
    given = op.args["indices"]
    if not isinstance(given, tuple) or not all(item is None or isinstance(item, Tensor) for item in given):
        raise op.fail("indices that are no tensors")
    found = [item if isinstance(item, Tensor) else None for item in given]
    return found + [None] * (source.rank - len(found))


def places(w: Writer, op: Op, source: Tensor, indices: Sequence[Tensor | None]) -> Places:
    """As numpy orders them: the axes of the indices stand where they are if they are neighbours, else in front."""
    tensors = [item for item in indices if item is not None]
    if any(item.is_bool or item.dtype == "u8" for item in tensors):
        raise op.fail(f"{_VALUES} (an index of bools)")
    axes = [axis for axis, item in enumerate(indices) if item is not None]
    rest = [axis for axis, item in enumerate(indices) if item is None]
    together = axes == list(range(axes[0], axes[-1] + 1))
    front = axes[0] if together else 0
    dims = broadcast_dims(tensors)
    given = w.sizes(source)
    all_dims = [source.dims[axis] for axis in rest]
    all_dims[front:front] = dims
    sizes = [given[axis] for axis in rest]
    sizes[front:front] = [w.extent(op, dim, tensors) for dim in dims]
    iterators = w.iterators(len(sizes), like=sizes)
    inner = iterators[front : front + len(dims)]
    outer = iter(iterators[:front] + iterators[front + len(dims) :])
    at = [next(outer) if item is None else wrapped(w.indices(item, dims, inner, op), given[axis])
          for axis, item in enumerate(indices)]  # fmt: skip
    return Places(tuple(all_dims), tuple(sizes), tuple(iterators), tuple(at))


@rule("aten.index.Tensor", "aten._unsafe_index.Tensor")
def index(w: Writer, op: Op) -> None:
    source = op.tensor("self")
    found = places(w, op, source, _indices(op, source))
    w.nest(op, tuple(zip(found.iterators, found.sizes, strict=True)), read(w, source, found.at))


@rule("aten.index_put", "aten._unsafe_index_put", "aten._index_put_impl")
def index_put(w: Writer, op: Op) -> None:
    source, values = op.tensor("self"), op.tensor("values")
    indices = _indices(op, source)
    masks = [item for item in indices if item is not None and item.is_bool]
    if masks:
        _masked(w, op, source, values)
        return
    found = places(w, op, source, indices)
    value = cast(w.indices(values, found.dims, found.iterators, op), values, source)
    adds = op.flag("accumulate")
    if adds and source.is_bool:
        raise op.fail("a sum of bools")
    name = whole(w, op, source)
    head = f"for {domain(found.iterators, found.sizes)}: " if found.iterators else ""
    w.line(f"{head}{name}[{', '.join(found.at)}] {'+=' if adds else '='} {value}")


def _masked(w: Writer, op: Op, source: Tensor, values: Tensor) -> None:
    """One mask over neighbouring axes: what is written may differ along the axes after it only."""
    given = op.args["indices"]
    assert isinstance(given, tuple)
    named = [(place, item) for place, item in enumerate(given) if isinstance(item, Tensor)]
    if len(named) != 1:
        raise op.fail(f"{_VALUES} (a mask among other indices)")
    place, mask = named[0]
    after = source.rank - place - mask.rank
    if values.rank > after and not all(dim.is_one for dim in values.dims[: values.rank - after]):
        raise op.fail(f"{_VALUES} (as many values as a mask has elements)")
    sizes = w.sizes(source)
    iterators = w.iterators(source.rank, like=sizes)
    condition = read(w, mask, iterators[place : place + mask.rank])
    old = read(w, source, iterators)
    tail = list(values.dims[max(values.rank - after, 0) :])
    at = ["0"] * (values.rank - len(tail))
    at += ["0" if dim.is_one else it for dim, it in zip(tail, iterators[source.rank - len(tail) :], strict=True)]
    new = cast(read(w, values, at), values, source)
    text = f"select({condition}, {f'{old} + {new}' if op.flag('accumulate') else new}, {old})"
    w.nest(op, tuple(zip(iterators, sizes, strict=True)), text)


@rule("aten.index_select")
def index_select(w: Writer, op: Op) -> None:
    source, index = op.tensor("self"), op.tensor("index")
    if source.rank == 0:
        raise op.fail("a tensor without axes")
    axis = op.axis("dim", source.rank)
    sizes = list(w.sizes(source))
    sizes[axis] = w.sizes(index)[0] if index.rank else "1"
    its = w.iterators(source.rank, like=sizes)
    at = [read(w, index, its[axis : axis + 1][: index.rank]) if place == axis else it for place, it in enumerate(its)]
    w.nest(op, tuple(zip(its, sizes, strict=True)), read(w, source, at))


@rule("aten.gather")
def gather(w: Writer, op: Op) -> None:
    source, index = op.tensor("self"), op.tensor("index")
    if source.rank == 0 or index.rank == 0:
        raise op.fail("a tensor without axes")
    axis = op.axis("dim", source.rank)
    sizes = w.sizes(index)
    its = w.iterators(source.rank, like=sizes)
    at = [read(w, index, its) if place == axis else it for place, it in enumerate(its)]
    w.nest(op, tuple(zip(its, sizes, strict=True)), read(w, source, at))


@rule("aten.take")
def take(w: Writer, op: Op) -> None:
    source, index = op.tensor("self"), op.tensor("index")
    given, sizes = w.sizes(source), w.sizes(index)
    its = w.iterators(index.rank, like=sizes)
    at = unflat(remainder(read(w, index, its), times(*given)), given)
    w.nest(op, tuple(zip(its, sizes, strict=True)), read(w, source, at))


@rule("aten.put")
def put(w: Writer, op: Op) -> None:
    base, index, source = op.tensor("self"), op.tensor("index"), op.tensor("source")
    if [dim.values for dim in index.dims] != [dim.values for dim in source.dims]:
        raise op.fail("values of another shape than the indices")
    given, sizes = w.sizes(base), w.sizes(index)
    its = w.iterators(index.rank, like=sizes)
    at = unflat(remainder(read(w, index, its), times(*given)), given)
    name = whole(w, op, base)
    head = f"for {domain(its, sizes)}: " if its else ""
    sign = "+=" if op.flag("accumulate") else "="
    w.line(f"{head}{name}[{', '.join(at)}] {sign} {cast(read(w, source, its), source, base)}")


@rule("aten.take_along_dim")
def take_along_dim(w: Writer, op: Op) -> None:
    source, index = op.tensor("self"), op.tensor("indices")
    sizes = w.extents_of(op, op.out.dims, (index, source))
    its = w.iterators(op.out.rank, like=sizes)
    outer = tuple(zip(its, sizes, strict=True))
    if op.args.get("dim") is None:
        position = read(w, index, unflat(its[0], w.sizes(index)))
        w.nest(op, outer, read(w, source, unflat(position, w.sizes(source))))
        return
    at = ["0" if dim.is_one else it for it, dim in zip(its, source.dims, strict=True)]
    at[op.axis("dim", source.rank)] = w.indices(index, op.out.dims, its, op)
    w.nest(op, outer, read(w, source, at))


@rule("aten.embedding")
def embedding(w: Writer, op: Op) -> None:
    weight, ids = op.tensor("weight"), op.tensor("indices")
    layer = own_layer(op, "torch.nn.modules.sparse.Embedding", weight=weight)
    if layer is None:
        w.define(op, f"embedding({w.of(ids)}, {w.of(weight)})", sizes=(*w.sizes(ids), w.sizes(weight)[1]))
    else:
        w.call(op, "Embedding", ids, name=layer)


@rule(
    "aten.masked_select", "aten.masked_scatter", "aten.nonzero", "aten.nonzero_static", "aten.argwhere", "aten._unique",
    "aten._unique2", "aten.unique_dim", "aten.unique_consecutive", "aten.bincount", "aten.where.default",
    "aten.tensor_split.tensor_indices_or_sections", "aten.narrow.Tensor", "aten.nonzero_numpy",
)  # fmt: skip
def by_values(_w: Writer, op: Op) -> None:
    raise op.fail(_VALUES)


@rule("aten._embedding_bag", "aten._embedding_bag_forward_only", "aten.histc")
def data_groups(_w: Writer, op: Op) -> None:
    raise op.fail("groups whose extents depend on values")
