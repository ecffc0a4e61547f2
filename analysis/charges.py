"""Compulsory traffic: distinct elements of memory that come from outside or go there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..ir import indices
from ..ir.program import External, Index
from .aliases import copies, is_unchanged_input, output_region, resolve
from .demand import Demand
from .image import axis, box_of, image
from .region import Region, add_part, add_region, elements


@dataclass(frozen=True, slots=True)
class Charge:
    """`elements` of one block of memory, read or written once. `indirect`: depends on the indices' values."""

    kind: Literal["input", "weight", "output"]
    name: str
    dtype: str
    elements: int
    indirect: bool = False
    covered: bool = False


def reads(demand: Demand) -> list[Charge]:
    """One charge for each block of external memory that is touched; draws cost nothing."""
    blocks: dict[str, list[str]] = {}
    touched = [*demand.regions, *demand.indirect, *demand.claimed]
    for name in dict.fromkeys(touched):
        external = demand.flat.tensors[name].external
        if external is not None and external.kind != "draw":
            blocks.setdefault(_block(external), []).append(name)
    return [_charge(names, demand) for names in blocks.values()]


def _block(external: External) -> str:
    return external.storage or f"{external.kind}:{external.key}"


def _charge(names: Sequence[str], demand: Demand) -> Charge:
    tensors = [demand.flat.tensors[name] for name in names]
    regions = [_touched(name, demand) for name in names]
    direct = _distinct(list(zip(names, regions, strict=True)), demand)
    indirect = max((size for name in names for size in demand.indirect.get(name, [])), default=0)
    first = tensors[0].external
    assert first is not None
    kinds = {tensor.external.kind for tensor in tensors if tensor.external is not None}
    return Charge(
        "input" if "input" in kinds else "weight", first.key, tensors[0].dtype, max(direct, indirect),
        indirect > direct, any(name in demand.claimed and not demand.region(name).parts for name in names),
    )  # fmt: skip


def _touched(name: str, demand: Demand) -> Region:
    region = demand.region(name)
    return add_region(region, demand.claimed[name]) if name in demand.claimed else region


def _strides(shape: Sequence[int], external: External) -> tuple[int, ...]:
    if external.strides is not None:
        return external.strides
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def _distinct(views: list[tuple[str, Region]], demand: Demand) -> int:
    """Distinct memory elements under several views of one block."""
    views = [(name, region) for name, region in views if region.parts]
    if not views:
        return 0
    layouts = {_layout(name, demand) for name, _ in views}
    strides, shape, _ = next(iter(layouts))
    if len(layouts) == 1 and _no_overlap(strides, shape):
        union = Region(views[0][1].shape)
        for _, region in views:
            union = add_region(union, region)
        return elements(_without_axes(union, [k for k, stride in enumerate(strides) if not stride]))
    return _by_address(views, demand)


def _layout(name: str, demand: Demand) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    tensor = demand.flat.tensors[name]
    assert tensor.external is not None
    return _strides(tensor.shape, tensor.external), tensor.shape, tensor.external.offset


def _no_overlap(strides: Sequence[int], shape: Sequence[int]) -> bool:
    """Whether different indices (along axes with a stride) are different addresses."""
    span = 0
    for stride, size in sorted((s, n) for s, n in zip(strides, shape, strict=True) if s and n > 1):
        if stride <= span:
            return False
        span += stride * (size - 1)
    return True


def _without_axes(region: Region, dropped: Sequence[int]) -> Region:
    if not dropped:
        return region
    kept = [k for k in range(len(region.shape)) if k not in dropped]
    index = tuple(indices.iterator(axis(k)) for k in kept)
    shape = tuple(region.shape[k] for k in kept)
    found = Region(shape)
    for part in region.parts:
        found = add_part(found, image(box_of(region.shape, part), index, shape))
    return found


def _by_address(views: list[tuple[str, Region]], demand: Demand) -> int:
    """Union as a set of addresses; where that cannot be told, the largest view alone (a lower bound)."""
    reach = 1
    for name, _ in views:
        strides, shape, offset = _layout(name, demand)
        reach = max(reach, offset + 1 + sum(s * (n - 1) for s, n in zip(strides, shape, strict=True)))
    union = Region((reach,))
    single = 0
    for name, region in views:
        strides, shape, offset = _layout(name, demand)
        terms = {indices.iterator(axis(k)).terms[0][0]: stride for k, stride in enumerate(strides)}
        address: Index = indices.of_terms(terms, offset)
        own = Region((reach,))
        for part in region.parts:
            own = add_part(own, image(box_of(shape, part), (address,), (reach,)))
        union = add_region(union, own)
        single = max(single, elements(own) if own.exact else elements(region) if _no_overlap(strides, shape) else 0)
    return elements(union) if union.exact else single


def writes(demand: Demand) -> list[Charge]:
    """One charge for each buffer that outputs lie in; an output that is an input unchanged costs nothing."""
    buffers, names = _buffers(demand)
    return [Charge("output", names[key], key[1], elements(region)) for key, region in buffers.items()]


def output_buffers(demand: Demand) -> dict[str, int]:
    """Tensors whose memory leaves the program, and how many of their elements."""
    return {tensor: elements(region) for (tensor, _), region in _buffers(demand)[0].items()}


Buffers = dict[tuple[str, str], Region]


def _buffers(demand: Demand) -> tuple[Buffers, dict[tuple[str, str], str]]:
    """Written region by (tensor, storage type), and the name of the first output that lies there."""
    flat = demand.flat
    known = copies(flat)
    buffers: Buffers = {}
    names: dict[tuple[str, str], str] = {}
    for position, output in enumerate(flat.program.outputs):
        if output.tensor is None or is_unchanged_input(output, known, flat):
            continue
        base, region = resolve(output.tensor, output_region(output, flat), known, flat)
        key = (base, output.dtype)
        buffers[key] = add_region(buffers.get(key, Region(flat.tensors[base].shape)), region)
        names.setdefault(key, output.name or str(position))
    return buffers, names
