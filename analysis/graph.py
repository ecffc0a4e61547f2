"""Einsum graph of a program: each live statement as an extended einsum over canonical ranks, in SOLAR's YAML layout."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from ..ir import indices
from ..ir.program import (
    Apply,
    Branch,
    Cast,
    Declare,
    Expr,
    Loop,
    Nest,
    Opaque,
    Program,
    Read,
    Scan,
    Source,
    Statement,
    Tensor,
    View,
)
from .chains import dependencies, nest_reads
from .factors import factorise
from .flat import Flat, FlatNest, FlatOpaque, FlatStatement, Recur, flatten
from .hoist import hoist
from .ranks import Ranks, axis_node, join_nest, loop_node, projection
from .space import space_of

if TYPE_CHECKING:
    from ..ir.execute import Execution, Values

CARRY = "%carry"
_REDUCTIONS = {"=": "none", "+": "add", "*": "mul"}


@dataclass(frozen=True, slots=True)
class Slot:
    """An operand or a result: unique tensor name, its role (input, weight, output), shape and storage type."""

    name: str
    role: str
    shape: tuple[int, ...]
    dtype: str
    ranks: str


@dataclass(frozen=True, slots=True)
class Layer:
    """`nest` is the statement with its whole domain (guards, `where`, triangles, time iterators of scans first).

    `equation` shows ranks and windows; `sizes` gives the size of every rank in it."""

    id: str
    type: str
    equation: str
    elementwise_op: str
    reduction_op: str
    is_real_einsum: bool
    is_einsum_supportable: bool
    inputs: tuple[Slot, ...]
    outputs: tuple[Slot, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]
    nest: Nest | None = None
    source: Source | None = None
    sizes: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class EinsumGraph:
    """Layers in dataflow order. `program` holds exactly the statements that the layers were made from."""

    name: str
    layers: tuple[Layer, ...]
    program: Program

    def to_yaml(self) -> str:
        import yaml

        class Plain(yaml.SafeDumper):
            def ignore_aliases(self, data: object) -> bool:
                return True

        document = {"model_name": self.name, "layers": {layer.id: _fields(layer) for layer in self.layers}}
        return yaml.dump(document, Dumper=Plain, sort_keys=False, width=120, allow_unicode=True)


def _fields(layer: Layer) -> dict[str, object]:
    fields: dict[str, object] = {
        "type": layer.type,
        "einsum_equation": layer.equation,
        "elementwise_op": layer.elementwise_op,
        "reduction_op": layer.reduction_op,
        "is_real_einsum": layer.is_real_einsum,
        "is_einsum_supportable": layer.is_einsum_supportable,
        "tensor_names": _slots(layer, "name"),
        "tensor_types": _slots(layer, "role"),
        "tensor_shapes": _slots(layer, "shape"),
        "tensor_dtypes": _slots(layer, "dtype"),
        "connections": {"inputs": list(layer.before), "outputs": list(layer.after)},
    }
    if layer.sizes:
        fields["rank_sizes"] = dict(layer.sizes)
    if layer.source is not None:
        fields["source"] = {"line": layer.source.line, "text": layer.source.text.strip()}
    return fields


def _slots(layer: Layer, what: str) -> dict[str, list[object]]:
    def values(slots: Iterable[Slot]) -> list[object]:
        return [list(slot.shape) if what == "shape" else getattr(slot, what) for slot in slots]

    return {"inputs": values(layer.inputs), "outputs": values(layer.outputs)}


def run_graph(graph: EinsumGraph, values: Values) -> Execution:
    """The numbers that the graph's statements give."""
    from ..ir.execute import execute

    return execute(graph.program, values)


def lift(program: Program) -> EinsumGraph:
    """The graph of what the outputs need; the same program always gives the same graph."""
    separated = hoist(program)
    flat = flatten(separated)
    needed = _needed(separated)
    builder = _Builder(flat, needed)
    builder.run()
    return EinsumGraph(program.name, builder.finish(), _kept(separated, needed))


def _needed(program: Program) -> frozenset[str]:
    """Tensors that some output depends on, in both arms of run-time choices."""
    sources: dict[str, set[str]] = {}
    for target, reads in dependencies(program.body):
        sources.setdefault(target, set()).update(reads)
    found: set[str] = set()
    open_ends = [output.tensor for output in program.outputs if output.tensor is not None]
    while open_ends:
        tensor = open_ends.pop()
        if tensor not in found:
            found.add(tensor)
            open_ends.extend(sources.get(tensor, ()))
    return frozenset(found)


# what is kept


def _kept(program: Program, needed: frozenset[str]) -> Program:
    body = tuple(_live_statements(program.body, needed))
    return Program(program.name, program.tensors, body, program.outputs, program.ranges, program.facts,
                   program.decisions, program.sizes)


def _live_statements(body: Sequence[Statement], needed: frozenset[str]) -> Iterator[Statement]:
    for statement in body:
        match statement:
            case Declare(tensor) | Nest(target=tensor) | View(tensor=tensor):
                if tensor in needed:
                    yield statement
            case Opaque(outputs=outputs):
                if needed & set(outputs):
                    yield statement
            case Scan() | Branch():
                yield statement


# layers

_Draft: TypeAlias = tuple[str, FlatNest | FlatOpaque]


@dataclass(slots=True)
class _Builder:
    flat: Flat
    needed: frozenset[str]
    ranks: Ranks = field(default_factory=Ranks)
    drafts: list[_Draft] = field(default_factory=list)
    writers: dict[str, list[str]] = field(default_factory=dict)
    starts: dict[str, str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    def run(self) -> None:
        for statement in _live(self.flat.body, self.needed, self.flat):
            targets = (
                (statement.nest.target,) if isinstance(statement, FlatNest) else statement.opaque.outputs
            )
            layer = self._fresh(f"{self.flat.program.name}.{targets[0]}")
            self.drafts.append((layer, statement))
            for target in targets:
                self.writers.setdefault(target, []).append(layer)
            if isinstance(statement, FlatNest):
                join_nest(self.ranks, layer, statement.nest, self.flat.tensors)

    def _fresh(self, name: str) -> str:
        number, found = 1, name
        while found in self.taken:
            number += 1
            found = f"{name}_{number}"
        self.taken.add(found)
        return found

    def finish(self) -> tuple[Layer, ...]:
        for name, tensor in self.flat.tensors.items():
            if tensor.external is not None and tensor.external.kind != "state" and name in self.needed:
                self.starts[name] = self._fresh("start")
        layers = [self._layer(layer, statement) for layer, statement in self.drafts]
        followers: dict[str, list[str]] = {}
        for layer in layers:
            for before in layer.before:
                followers.setdefault(before, []).append(layer.id)
        starts = [self._start(name, layer, followers) for name, layer in self.starts.items()]
        linked = [_with_after(layer, tuple(followers.get(layer.id, ()))) for layer in layers]
        return (*starts, *linked)

    def _start(self, name: str, layer: str, followers: dict[str, list[str]]) -> Layer:
        slot = self._slot(name, "output", "".join(self._axes(name)))
        return Layer(layer, "start", f"->{slot.ranks}", "none", "none", False, False, (), (slot,), (),
                     tuple(followers.get(layer, ())))

    def _axes(self, tensor: str) -> list[str]:
        shape = self.flat.tensors[tensor].shape
        return [self.ranks.name(self.ranks.add(axis_node(tensor, k), size)) for k, size in enumerate(shape)]

    def _slot(self, tensor: str, role: str, ranks: str) -> Slot:
        info = self.flat.tensors[tensor]
        return Slot(self._tensor_name(tensor), role, info.shape, info.dtype, ranks)

    def _tensor_name(self, tensor: str) -> str:
        info: Tensor = self.flat.tensors[tensor]
        if info.external is not None and info.external.kind == "state":
            return info.external.key
        if tensor in self.starts:
            return f"{self.starts[tensor]}.Output"
        writers = self.writers.get(tensor)
        return f"{writers[0]}.Output" if writers else tensor

    def _role(self, tensor: str) -> str:
        external = self.flat.tensors[tensor].external
        return "weight" if external is not None and external.kind == "state" else "input"

    def _before(self, tensors: Iterable[str], layer: str) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for tensor in tensors:
            for writer in [self.starts[tensor]] if tensor in self.starts else self.writers.get(tensor, []):
                if writer != layer:
                    found[writer] = None
        return tuple(found)

    def _layer(self, layer: str, statement: FlatNest | FlatOpaque) -> Layer:
        if isinstance(statement, FlatOpaque):
            return self._opaque(layer, statement.opaque)
        nest = statement.nest
        reads = nest_reads(nest)
        inputs = tuple(
            self._slot(read.tensor, self._role(read.tensor), self._projected(layer, read)) for read in reads
        )
        output = self._slot(nest.target, "output", self._projected(layer, Read(nest.target, nest.at)))
        equation = f"{','.join(slot.ranks for slot in inputs)}->{output.ranks}"
        real = self._is_contraction(nest)
        return Layer(
            layer, _type(nest, statement.free, real), equation, _pointwise(nest.value, real),
            _REDUCTIONS.get(nest.combine, nest.combine), real, True, inputs, (output,),
            self._before((read.tensor for read in reads), layer), (), nest, nest.source,
            tuple(dict.fromkeys(self._loop_sizes(layer, nest))),
        )  # fmt: skip

    def _projected(self, layer: str, read: Read) -> str:
        return "".join(
            projection(self.ranks, layer, read.tensor, k, index) for k, index in enumerate(read.index)
        )

    def _loop_sizes(self, layer: str, nest: Nest) -> Iterator[tuple[str, int]]:
        for name, _ in space_of(nest.loops, nest.where).sizes:
            node = loop_node(layer, name)
            yield self.ranks.name(node), self.ranks.size(node)

    def _is_contraction(self, nest: Nest) -> bool:
        if nest.combine != "+":
            return False
        fixed = {name for index in nest.at for name in indices.iterators(index)}
        reduced = frozenset(loop.name for loop in nest.loops) - fixed
        product = factorise(nest.value, reduced, self.flat.tensors)
        reading = [factor for factor in product.factors if next(indices.reads(factor), None) is not None]
        return len(reading) >= 2 and bool(reduced)

    def _opaque(self, layer: str, opaque: Opaque) -> Layer:
        inputs = tuple(self._slot(name, self._role(name), "".join(self._axes(name))) for name in opaque.inputs)
        outputs = tuple(self._slot(name, "output", "".join(self._axes(name))) for name in opaque.outputs)
        equation = f"{','.join(slot.ranks for slot in inputs)}->{outputs[0].ranks}"
        return Layer(layer, opaque.kind, equation, opaque.kind, "none", False, False, inputs, outputs,
                     self._before(opaque.inputs, layer), (), None, opaque.source)


def _with_after(layer: Layer, after: tuple[str, ...]) -> Layer:
    return replace(layer, after=after)


def _carried(inner: str, init: str, scan: Recur, flat: Flat) -> FlatNest:
    """What a scan hands from step to step, shown as its start value at every step."""
    shape, depth = flat.tensors[inner].shape, flat.local.get(inner, 0)
    loops = tuple(Loop(f"{CARRY}{k}", indices.constant(size)) for k, size in enumerate(shape))
    at = tuple(indices.iterator(loop.name) for loop in loops)
    origin = at[: flat.local.get(init, 0)] + at[depth:]
    return FlatNest(Nest(loops, None, inner, at, "=", Read(init, origin), scan.source), (), free=True)


def _live(body: Sequence[FlatStatement], needed: frozenset[str], flat: Flat) -> Iterator[FlatNest | FlatOpaque]:
    for statement in body:
        match statement:
            case FlatNest(nest) if nest.target in needed:
                yield statement
            case FlatOpaque(opaque) if needed & set(opaque.outputs):
                yield statement
            case Recur():
                yield from (_carried(carry[0], carry[2], statement, flat) for carry in statement.carries
                            if carry[0] in needed)
                yield from _live(statement.body, needed, flat)
            case _:
                pass


def _type(nest: Nest, free: bool, real: bool) -> str:
    if real:
        return "conv" if any(len(list(indices.iterators(index))) > 1 for read in indices.reads(nest.value)
                             for index in read.index) else "matmul"
    if nest.loops and nest.loops[0].name.startswith(CARRY):
        return "carry"
    if nest.combine == "=":
        return "view" if free or isinstance(nest.value, Read) else "elementwise"
    return "reduce"


def _pointwise(expr: Expr, real: bool) -> str:
    """The one operator of an expression, or all of them in the order of evaluation joined by a dot."""
    if real:
        return "mul"
    found = list(_operators(expr))
    return ".".join(found) if found else "copy"


def _operators(expr: Expr) -> Iterator[str]:
    match expr:
        case Apply(op, args, _):
            for arg in args:
                yield from _operators(arg)
            yield op
        case Cast(arg, _):
            yield from _operators(arg)
        case _:
            return
