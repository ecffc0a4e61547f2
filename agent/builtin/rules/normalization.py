"""Normalisation: over trailing axes, over channels and groups, of weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..model import Op, Tensor
from ..writer import Writer
from .matmul import of_module
from .registry import rule
from .walks import Walk, bracket, cast, reduced_dims, temporary, walk

_LAYER = "torch.nn.modules.normalization"
_EPSILON = {"f64": "2.220446049250313e-16"}  # of the type that torch computes in; otherwise that of float32
_EPSILON_SINGLE = "1.1920928955078125e-07"
_MOST_AXES = 3


def _promoted(op: Op, text: str, *tensors: Tensor | None) -> str:
    """`text` in the result's storage type where one of the tensors has another."""
    want = op.out.dtype
    same = all(tensor is None or tensor.dtype == want for tensor in tensors)
    return text if same else f"{want}({text})"


# -- over trailing axes -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Trailing:
    """A walk over a tensor whose trailing axes are normalised: index of the whole, and of the trailing axes alone."""

    at: Walk
    full: tuple[tuple[str, str], ...]
    trailing: tuple[str, ...]


def _trailing(w: Writer, op: Op, x: Tensor) -> _Trailing:
    count = len(op.nums("normalized_shape"))
    at = walk(w, x, range(x.rank - count, x.rank))
    return _Trailing(at, (*at.outer, *at.reduced), at.at[x.rank - count :])


def _scaled(w: Writer, text: str, weight: Tensor | None, bias: Tensor | None, at: Sequence[str]) -> str:
    if weight is not None:
        text = f"{text} * {w.of(weight)}{bracket(at)}"
    if bias is not None:
        text = f"{text} + {w.of(bias)}{bracket(at)}"
    return text


@rule("aten.layer_norm", "aten.native_layer_norm")
def layer_norm(w: Writer, op: Op) -> None:
    x, weight, bias = op.tensor("input"), op.maybe("weight"), op.maybe("bias")
    count = len(op.nums("normalized_shape"))
    path = of_module(op, f"{_LAYER}.LayerNorm", weight=weight, bias=bias)
    if path is not None and count <= _MOST_AXES and _one_type(op, x, weight, bias):
        w.define(op, f'LayerNorm({w.of(x)}; name="{path}")', sizes=w.extents.get(x))
        return
    if count == 1 and len(op.results) == 1 and (weight is None) == (bias is None) and _one_type(op, x, weight, bias):
        given = [tensor for tensor in (x, weight, bias) if tensor is not None]
        w.call(op, "layer_norm" if weight is not None else "layer_norm_plain", *given, eps=op.num("eps"))
        return
    _layer_norm_nests(w, op, x, weight, bias)


def _one_type(op: Op, *tensors: Tensor | None) -> bool:
    return all(tensor is None or tensor.dtype == op.out.dtype for tensor in tensors)


def _layer_norm_nests(w: Writer, op: Op, x: Tensor, weight: Tensor | None, bias: Tensor | None) -> None:
    parts = _trailing(w, op, x)
    at = parts.at
    axes = range(len(at.outer), x.rank)
    statistics = _statistics(op, x, axes)
    mean, scale = statistics
    element = at.read(w.of(x))
    w.nest(op, at.outer, f"{at.fold('sum', element)} / ({at.count})", tensor=mean)
    centre = f"({element} - {w.of(mean)}{at.inside})"
    text = f"rsqrt({at.fold('sum', f'{centre}**2')} / ({at.count}) + {w.scalar(op.num('eps'), op)})"
    w.nest(op, at.outer, text, tensor=scale)
    whole = _scaled(w, f"{centre} * {w.of(scale)}{at.inside}", weight, bias, parts.trailing)
    w.nest(op, parts.full, _promoted(op, whole, x, weight, bias))
    for result, value in zip(op.results[1:], statistics, strict=False):
        if result is not None:
            _kept(w, op, value, result)


def _statistics(op: Op, x: Tensor, axes: Sequence[int]) -> tuple[Tensor, Tensor]:
    dims = reduced_dims(x, axes)
    return temporary(dims, x.dtype, "mean"), temporary(dims, x.dtype, "scale")


def _kept(w: Writer, op: Op, value: Tensor, result: Tensor) -> None:
    """A statistic as a further result, with axes of extent 1 where it was reduced."""
    sizes = (*w.sizes(value), *("1",) * (result.rank - value.rank))
    w.view(op, value, lambda its: its[: value.rank], sizes, result)


@rule("aten.rms_norm", "aten._fused_rms_norm")
def rms_norm(w: Writer, op: Op) -> None:
    x, weight = op.tensor("input"), op.maybe("weight")
    if any(result is not None for result in op.results[1:]):
        raise op.fail("with the scale as a result")
    path = of_module(op, f"{_LAYER}.RMSNorm", weight=weight)
    plain = len(op.nums("normalized_shape")) == 1 and _one_type(op, x, weight) and x.dtype not in _EPSILON
    if path is not None and plain:
        w.define(op, f'RMSNorm({w.of(x)}; name="{path}")', sizes=w.extents.get(x))
        return
    parts = _trailing(w, op, x)
    at = parts.at
    scale = temporary(reduced_dims(x, range(len(at.outer), x.rank)), x.dtype, "scale")
    element = at.read(w.of(x))
    w.nest(
        op, at.outer, f"rsqrt({at.fold('sum', f'{element}**2')} / ({at.count}) + {_epsilon(w, op, x)})", tensor=scale
    )
    whole = _scaled(w, f"{element} * {w.of(scale)}{at.inside}", weight, None, parts.trailing)
    w.nest(op, parts.full, _promoted(op, whole, x, weight))


def _epsilon(w: Writer, op: Op, x: Tensor) -> str:
    if op.args.get("eps") is not None:
        return w.scalar(op.num("eps"), op)
    return _EPSILON.get(x.dtype, _EPSILON_SINGLE)


# -- over channels and groups -----------------------------------------------------------------------------------------

_BATCH_NORMS = {2: "1d", 3: "1d", 4: "2d", 5: "3d"}


@rule("aten.batch_norm.default")
def batch_norm(w: Writer, op: Op) -> None:
    _batch_norm(w, op, training=op.flag("training"))


def _batch_norm(w: Writer, op: Op, *, training: bool) -> None:
    x, weight, bias = op.tensor("input"), op.maybe("weight"), op.maybe("bias")
    mean, variance = op.maybe("running_mean"), op.maybe("running_var")
    if not training:
        if mean is None or variance is None:
            raise op.fail("without statistics, but not in training mode")
        if not _batch_norm_layer(w, op, x, weight, bias, mean, variance):
            _normalised(w, op, x, weight, bias, mean, variance)
        return
    if not 2 <= x.rank <= 5:
        raise op.fail(f"of rank {x.rank} in training mode")
    own_mean, own_variance = (temporary((x.dims[1],), x.dtype, hint) for hint in ("mean", "variance"))
    for tensor in (own_mean, own_variance):
        w.name(tensor, w.result(tensor), (w.sizes(x)[1],))
    w.line(f"({w.of(own_mean)}, {w.of(own_variance)}) = batch_stats({w.of(x)})")
    _normalised(w, op, x, weight, bias, own_mean, own_variance)
    count = f"(numel({w.of(x)}) // {w.sizes(x)[1]})"
    values = (w.of(own_mean), f"{w.of(own_variance)} * ({count} / ({count} - 1))")
    _updated(w, op, values, (mean, variance))


def _batch_norm_layer(
    w: Writer, op: Op, x: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor, variance: Tensor
) -> bool:
    if op.module is not None and op.module.training:
        return False  # the prelude's layer would take the batch's own statistics
    cls = f"BatchNorm{_BATCH_NORMS.get(x.rank, '')}"
    own = {"weight": weight, "bias": bias, "running_mean": mean, "running_var": variance}
    path = of_module(op, f"torch.nn.modules.batchnorm.{cls}", **own)
    if path is None or not _one_type(op, x, weight, bias, mean, variance):
        return False
    w.define(op, f'{cls}({w.of(x)}; name="{path}")', sizes=w.extents.get(x))
    return True


def _normalised(
    w: Writer, op: Op, x: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor, variance: Tensor
) -> None:
    if weight is not None and bias is not None and _one_type(op, x, weight, bias, mean, variance):
        w.call(op, "batch_norm", x, mean, variance, weight, bias, eps=op.num("eps"))
        return
    at = walk(w, x, ())
    channel = at.at[1:2]
    eps = w.scalar(op.num("eps"), op)
    text = f"({at.read(w.of(x))} - {w.of(mean)}{bracket(channel)}) * rsqrt({w.of(variance)}{bracket(channel)} + {eps})"
    w.nest(op, at.outer, _promoted(op, _scaled(w, text, weight, bias, channel), x, weight, bias, mean, variance))


def _updated(w: Writer, op: Op, values: Sequence[str], statistics: Sequence[Tensor | None]) -> None:
    """What training mode leaves in the running statistics: results after the first."""
    momentum = op.num("momentum")
    results = op.results[1:]
    for result, value, old in zip(results, values, statistics, strict=False):
        if result is None or old is None:
            continue
        new = w.scalar(momentum, op)
        text = f"(1 - {new}) * {w.of(old)} + {new} * {value}"
        result.hint = result.hint or "running"
        w.define(op, cast(text, op.tensor("input").dtype, result.dtype), result, w.extents.get(old))


@rule("aten.native_batch_norm", "aten._native_batch_norm_legit_no_training")
def native_batch_norm(w: Writer, op: Op) -> None:
    """With running statistics; what it saves is empty then."""
    if op.args.get("training", False):
        raise op.fail("the inner form of batch_norm in training mode")
    _batch_norm(w, op, training=False)


@rule("aten.group_norm")
def group_norm(w: Writer, op: Op) -> None:
    x, weight, bias = op.tensor("input"), op.maybe("weight"), op.maybe("bias")
    _need_channels(op, x)
    path = of_module(op, f"{_LAYER}.GroupNorm", weight=weight, bias=bias)
    if path is not None and _one_type(op, x, weight, bias):
        w.define(op, f'GroupNorm({w.of(x)}; name="{path}")', sizes=w.extents.get(x))
        return
    _grouped(w, op, x, weight, bias, w.option(op.num("num_groups"), op))


def _need_channels(op: Op, x: Tensor) -> None:
    if not 2 <= x.rank <= 5:
        raise op.fail(f"of rank {x.rank}")


def _grouped(w: Writer, op: Op, x: Tensor, weight: Tensor | None, bias: Tensor | None, groups: str) -> None:
    if weight is not None and bias is not None and _one_type(op, x, weight, bias):
        w.call(op, "group_norm", x, weight, bias, num_groups=groups, eps=op.num("eps"))
        return
    sizes = w.sizes(x)
    names = [w.fresh("mean"), w.fresh("scale")]
    w.line(f"({', '.join(names)}) = _group_moments({w.of(x)}; groups={groups}, eps={w.scalar(op.num('eps'), op)})")
    at = walk(w, x, ())
    channel = at.at[1]
    group = channel if groups == sizes[1] else f"{channel} // ({sizes[1]} // {groups})"
    text = f"({at.read(w.of(x))} - {names[0]}[{at.at[0]}, {group}]) * {names[1]}[{at.at[0]}, {group}]"
    w.nest(op, at.outer, _promoted(op, _scaled(w, text, weight, bias, [channel]), x, weight, bias))


@rule("aten.native_group_norm")
def native_group_norm(w: Writer, op: Op) -> None:
    raise op.fail("the inner form of group_norm")


@rule("aten.instance_norm")
def instance_norm(w: Writer, op: Op) -> None:
    x, weight, bias = op.tensor("input"), op.maybe("weight"), op.maybe("bias")
    if not op.flag("use_input_stats"):
        _batch_norm(w, op, training=False)
        return
    _need_channels(op, x)
    layer = f"InstanceNorm{x.rank - 2}d"
    path = of_module(op, f"torch.nn.modules.instancenorm.{layer}", weight=weight, bias=bias)
    tracked = op.maybe("running_mean") is not None
    if path is not None and not tracked and _one_type(op, x, weight, bias):
        w.define(op, f'{layer}({w.of(x)}; name="{path}")', sizes=w.extents.get(x))
    elif weight is None and bias is None and _one_type(op, x):
        w.call(op, "instance_norm", x, eps=op.num("eps"))
    else:
        _grouped(w, op, x, weight, bias, w.sizes(x)[1])
    if tracked:
        _instance_statistics(w, op, x)


def _instance_statistics(w: Writer, op: Op, x: Tensor) -> None:
    """Running statistics take the average over the batch of each sample's own, the variance with n - 1."""
    at = walk(w, x, range(2, x.rank))
    mean = temporary(x.dims[:2], x.dtype, "mean")
    element = at.read(w.of(x))
    w.nest(op, at.outer, f"{at.fold('sum', element)} / ({at.count})", tensor=mean)
    (n, batch), channel = at.outer
    values = []
    centred = f"({element} - {w.of(mean)}{at.inside})**2"
    spread = temporary(x.dims[:2], x.dtype, "variance")
    w.nest(op, at.outer, f"{at.fold('sum', centred)} / ({at.count} - 1)", tensor=spread)
    for value in (mean, spread):
        average = temporary(x.dims[1:2], x.dtype, f"{value.hint}_over_batch")
        w.nest(op, (channel,), f"sum({n}<{batch}: {w.of(value)}{at.inside}) / {batch}", tensor=average)
        values.append(w.of(average))
    _updated(w, op, values, (op.maybe("running_mean"), op.maybe("running_var")))


# -- of weights -------------------------------------------------------------------------------------------------------


@rule("aten._weight_norm", "aten.norm_except_dim")
def weight_norm(w: Writer, op: Op) -> None:
    """v * (g / norm of v over all axes but one); dim = -1 is over all axes."""
    v = op.tensor("v")
    dim = op.fixed("dim")
    axes = tuple(axis for axis in range(v.rank) if axis != dim)
    if "pow" in op.args and op.fixed("pow") != 2:
        raise op.fail("another power than 2")
    at = walk(w, v, axes, keepdim=dim != -1)
    length = f"sqrt({at.fold('sum', f'{at.read(w.of(v))}**2')})"
    if "g" not in op.args:
        w.nest(op, at.outer, length)
        return
    g = op.tensor("g")
    scale = temporary(g.dims, v.dtype, "scale")
    sizes = w.sizes(g)
    if g.rank != len(at.outer):
        raise op.fail("g of another shape than the norm")
    w.nest(
        op,
        tuple((it, size) for (it, _), size in zip(at.outer, sizes, strict=True)),
        f"{w.of(g)}{at.inside} / {length}",
        tensor=scale,
    )
    full = walk(w, v, ())
    place = [it if axis == dim else "0" for axis, it in enumerate(full.at)] if g.rank else []
    w.nest(op, full.outer, f"{full.read(w.of(v))} * {w.of(scale)}{bracket(place)}")


@rule("aten.renorm")
def renorm(w: Writer, op: Op) -> None:
    """Slices along `dim` whose norm is above maxnorm are scaled down to it."""
    x = op.tensor("self")
    dim = op.axis("dim", x.rank)
    p = op.num("p").constant
    if p is None or p <= 0:
        raise op.fail("this p")
    at = walk(w, x, [axis for axis in range(x.rank) if axis != dim])
    element = at.read(w.of(x))
    powers = {1: f"abs({element})", 2: f"{element}**2"}
    total = at.fold("sum", powers.get(int(p) if p == int(p) else 0, f"abs({element})**{p}"))
    length = temporary((x.dims[dim],), x.dtype, "length")
    w.nest(op, at.outer, total if p == 1 else f"sqrt({total})" if p == 2 else f"({total})**(1 / {p})", tensor=length)
    norm = f"{w.of(length)}{at.inside}"
    most = w.scalar(op.num("maxnorm"), op)
    full = tuple(zip(at.at, at.sizes, strict=True))
    w.nest(op, full, f"{element} * select({norm} > {most}, {most} / ({norm} + 1e-7), 1)")
