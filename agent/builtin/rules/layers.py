"""What rules for layers over images share: options per axis, images without a batch axis, a module's own weights."""

from __future__ import annotations

from ..model import Num, Op, Tensor
from ..writer import Writer


def own_layer(op: Op, cls: str, **weights: Tensor | None) -> str | None:
    """The layer's path as an option, if the operator is the whole forward of a `cls` with its own `weights`."""
    module = op.module
    if module is None or module.cls != cls or not module.path:
        return None
    own = all(weight is None or weight.state == f"{module.path}.{name}" for name, weight in weights.items())
    return f'"{module.path}"' if own else None


def per_axis(op: Op, name: str, count: int, default: int | None = None) -> object:
    """A number for each axis, one number where they agree, None for the default (or an empty list)."""
    numbers = op.nums(name)
    if not numbers:
        return None
    if len(numbers) not in (1, count):
        raise op.fail(f"{len(numbers)} numbers for {name} of {count} axes")
    if default is not None and all(number.constant == default for number in numbers):
        return None
    return numbers[0] if all(number.values == numbers[0].values for number in numbers) else numbers


def batched(w: Writer, op: Op, x: Tensor, spatial: int) -> Tensor:
    """`x` with a batch axis of 1 where it has none."""
    if x.rank == spatial + 2:
        return x
    if x.rank != spatial + 1:
        raise op.fail(f"an operand of {x.rank} axes")
    image = _with_batch(x)
    w.view(op, x, lambda its: its[1:], ("1", *w.sizes(x)), image)
    return image


def unbatched(w: Writer, op: Op, text: str, x: Tensor, spatial: int, result: Tensor | None = None) -> None:
    """The result is `text`, without its batch axis where `x` has none."""
    target = result or op.out
    if x.rank == spatial + 2:
        w.define(op, text, target)
        return
    image = _with_batch(target)
    w.define(op, text, image)
    w.view(op, image, lambda its: ("0", *its), w.sizes(image)[1:], target)


def _with_batch(tensor: Tensor) -> Tensor:
    one = Num(tuple(1 for _ in tensor.dims[0].values))
    return Tensor((one, *tensor.dims), tensor.dtype)
