"""From live cells to operations: every subexpression over only its own iterators, equal ones once, products of three
or more factors pairwise in the cheapest order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from ..ir import indices
from ..ir.ops import IDENTITY
from ..ir.program import Apply, Cast, Const, Expr, Index, IndexValue, Nest, Read
from .cells import Cell
from .contraction import Operand, chain, is_prefix, pairwise, range_moves, transposed, work_of
from .demand import Demand
from .factors import Product, addends, factorise
from .flat import Flat, FlatNest, FlatOpaque, FlatStatement, Recur, Start
from .image import Image
from .keys import constraint_key, expr_key, index_key
from .operations import Kind, Operation, Traffic
from .region import Region, add_part, elements
from .scope import Scope, determined, occurring, reads_tensor
from .space import has_fetch


@dataclass(slots=True)
class Normaliser:
    """Operations in program order. `seen` holds what has been computed, `alias` tensors that equal an earlier one.

    `outputs`: elements that have to be written of tensors that leave the program; `stored`: what operations wrote."""

    flat: Flat
    demand: Demand
    outputs: Mapping[str, int]
    operations: list[Operation] = field(default_factory=list)
    seen: set[object] = field(default_factory=set)
    alias: dict[str, str] = field(default_factory=dict)
    values: dict[object, str] = field(default_factory=dict)
    writers: dict[str, int] = field(default_factory=dict)
    written: dict[str, Region] = field(default_factory=dict)
    stored: dict[str, int] = field(default_factory=dict)
    inexact: list[int] = field(default_factory=list)


def normalise(flat: Flat, demand: Demand, outputs: Mapping[str, int]) -> Normaliser:
    state = Normaliser(flat, demand, outputs)
    _count_writers(flat.body, state)
    _run(flat.body, state)
    _finish_outputs(state)
    return state


def _finish_outputs(state: Normaliser) -> None:
    """Output elements that no operation wrote: start values, and results that equal an earlier value, are copied."""
    sources = {item.tensor: item.source for item in state.flat.body if isinstance(item, Start)}
    for name, size in state.outputs.items():
        dtype = state.flat.tensors[name].dtype
        left = size - state.stored.get(name, 0)
        if left > 0:
            filled = isinstance(state.demand.starts.get(name), Const)
            item = Traffic(dtype, left)
            source = sources.get(name, state.flat.program.outputs[0].source)
            state.operations.append(Operation(kind="copy", label="fill" if filled else "copy", source=source,
                                              dtype=dtype, reads=() if filled else (item,), writes=(item,)))


def _count_writers(body: Sequence[FlatStatement], state: Normaliser) -> None:
    for statement in body:
        match statement:
            case FlatNest(nest):
                state.writers[nest.target] = state.writers.get(nest.target, 0) + 1
            case Recur(body=inner):
                _count_writers(inner, state)
            case _:
                pass


def _run(body: Sequence[FlatStatement], state: Normaliser) -> None:
    for statement in body:
        match statement:
            case FlatNest(free=False) if id(statement) in state.demand.cells:
                _Statement(statement, state).run()
            case FlatOpaque() if id(statement) in state.demand.live:
                _opaque(statement, state)
            case Recur(body=inner):
                _run(inner, state)
            case _:
                pass


def _opaque(statement: FlatOpaque, state: Normaliser) -> None:
    opaque = statement.opaque
    depth = max((state.flat.local.get(name, 0) for name in opaque.outputs), default=0)
    reads = tuple(_stored(name, statement.times, depth, state) for name in opaque.inputs)
    writes = tuple(_stored(name, statement.times, depth, state) for name in opaque.outputs)
    work = sum(item.elements for item in reads)
    for name in opaque.outputs:
        state.stored[name] = prod(state.flat.tensors[name].shape)
    sorting = opaque.kind in ("topk", "sort", "argsort")
    state.operations.append(Operation(
        kind="opaque", label=opaque.kind, source=opaque.source, dtype=reads[0].dtype,
        vector=0 if sorting else work, comparisons=work if sorting else 0, reads=reads, writes=writes,
    ))  # fmt: skip


def _stored(name: str, times: int, depth: int, state: Normaliser) -> Traffic:
    tensor = state.flat.tensors[name]
    size = 1
    for extent in tensor.shape:
        size *= extent
    return Traffic(tensor.dtype, size if state.flat.local.get(name, 0) == depth else size * times)


class _Statement:
    """Operations of one nest."""

    def __init__(self, flat: FlatNest, state: Normaliser) -> None:
        self.flat, self.nest, self.state = flat, flat.nest, state
        self.start = len(state.operations)
        self.target = state.flat.tensors[self.nest.target]
        self.result: Traffic | None = None
        self.owner: Scope | None = None
        self.done = 0

    def run(self) -> None:
        nest, state = self.nest, self.state
        cells = state.demand.cells[id(self.flat)]
        if not cells:
            return
        key = self._value_key(cells)
        if key is not None:
            earlier = state.values.setdefault(key, nest.target)
            if earlier != nest.target:
                state.alias[nest.target] = state.alias.get(earlier, earlier)
                return
        grouped: dict[Expr, list[Cell]] = {}
        for cell in cells:
            grouped.setdefault(cell.expr, []).append(cell)
        nominal: list[int] = []
        for expr, members in grouped.items():
            scope = Scope(tuple(cell.space for cell in members), self.flat.steps, state.flat.tensors,
                          state.flat.local, nest.source)
            before, self.done = len(state.operations), 0
            self._lower_group(scope, expr)
            state.stored[nest.target] = state.stored.get(nest.target, 0) + self.done
            nominal.append(sum(op.macs_nominal for op in state.operations[before:]))
            if not scope.exact:
                state.inexact.append(nest.source.line)
            if state.writers.get(nest.target, 0) > 1:
                self._note_written(scope)
        self._keep_largest_nominal(nominal)

    def _note_written(self, scope: Scope) -> None:
        region = self.state.written.get(self.nest.target, Region(self.target.shape))
        for part in scope.region(self.nest.at, self.target.shape).parts:
            region = add_part(region, Image(part))
        self.state.written[self.nest.target] = region

    def _keep_largest_nominal(self, nominal: Sequence[int]) -> None:
        """Cells of one nest share its nominal work: the guards that split them are ignored there."""
        if len([n for n in nominal if n]) < 2:
            return
        operations, left = self.state.operations, max(nominal)
        for position in range(self.start, len(operations)):
            item = operations[position]
            take = min(left, item.macs_nominal)
            left -= take
            operations[position] = _with_nominal(item, take)

    def _value_key(self, cells: Sequence[Cell]) -> object | None:
        """What a nest computes, free of names; None when its target is written in several places."""
        nest, state = self.nest, self.state
        if state.writers.get(nest.target) != 1 or len(cells) != 1 or self.flat.steps:
            return None
        (cell,) = cells
        order: dict[str, int] = {}
        at = tuple(index_key(index, order, state.alias) for index in nest.at)
        value = expr_key(cell.expr, order, state.alias)
        for name, _ in cell.space.sizes:
            order.setdefault(name, len(order))
        names = tuple(order)
        sizes = dict(cell.space.sizes)
        links = frozenset(constraint_key(c, order) for c in cell.space.constraints)
        return nest.combine, at, value, tuple(sizes[n] for n in names), links, self.target.shape, self.target.dtype

    # one group of cells with the same expression

    def _lower_group(self, scope: Scope, expr: Expr) -> None:
        combine = self.nest.combine
        if combine == "=":
            self._assign(scope, expr)
        elif combine == "+":
            self._sum(scope, expr)
        else:
            self._reduce(scope, expr)

    def _result(self, scope: Scope) -> Traffic:
        """Distinct elements of the target that are written."""
        if self.owner is scope and self.result is not None:
            return self.result
        self.owner = scope
        if any(has_fetch(index) for index in self.nest.at):
            size = min(scope.points(scope.sizes), elements(self.state.demand.region(self.nest.target)))
        else:
            size = elements(scope.region(self.nest.at, self.target.shape))
        self.result = Traffic(self.target.dtype, size)
        return self.result

    def _assign(self, scope: Scope, expr: Expr) -> None:
        result = self._result(scope)
        plain = _without_cast(expr)
        match plain:
            case Read():
                self._copy(scope, plain, result)
            case Const() | IndexValue():
                self._emit(kind="copy", label="fill", dtype=result.dtype, writes=(result,))
            case _:
                found = self.lower(scope, expr, result)
                if found.stored and found.stored[0].elements != result.elements:
                    self._emit(kind="copy", label="broadcast", dtype=result.dtype, reads=found.stored,
                               writes=(result,))

    def _copy(self, scope: Scope, read: Read, result: Traffic) -> None:
        """A copy that gives each element of the source at most once is a view and moves nothing."""
        source = scope.touched(read)
        indirect = any(has_fetch(index) for index in (*read.index, *self.nest.at))
        indirect = indirect or (self.nest.target in self.state.outputs and not self._handed_over(read, result))
        if source.elements == result.elements and source.dtype == result.dtype and not indirect:
            return
        label = "convert" if source.elements == result.elements and not indirect else "copy"
        self._emit(kind="copy", label=label, dtype=result.dtype,
                   reads=(source, *self._fetched(scope, (*read.index, *self.nest.at))), writes=(result,))

    def _handed_over(self, read: Read, result: Traffic) -> bool:
        """Whether an operation wrote the source only to be copied here: then it may as well write here."""
        left = self.state.stored.get(read.tensor, 0)
        if left < result.elements or read.tensor in self.state.outputs:
            return False
        self.state.stored[read.tensor] = left - result.elements
        self.done = result.elements
        return True

    def _fetched(self, scope: Scope, index: Iterable[Index]) -> tuple[Traffic, ...]:
        """Integer tensors that are read to find the place of an indirect access."""
        return tuple(scope.touched(read) for part in index for read in indices.index_reads(part))

    def _reduce(self, scope: Scope, expr: Expr) -> None:
        """max, min, product, any, all, argmax, argmin."""
        nest = self.nest
        operand = self.lower(scope, expr, None)
        work = self._combines(scope, operand)
        init = self.state.demand.starts.get(nest.target)
        if isinstance(init, str) or (isinstance(init, Const) and init.value != IDENTITY.get(nest.combine)):
            work += self._result(scope).elements
        comparing = nest.combine in ("argmax", "argmin")
        self._emit(kind="reduce", label=nest.combine, dtype=operand.dtype, vector=0 if comparing else work,
                   comparisons=work if comparing else 0, reads=operand.stored, writes=(self._result(scope),))

    def _combines(self, scope: Scope, operand: Operand) -> int:
        """Two-operand steps of a reduction of one term: n - 1 for n terms; linear for prefixes."""
        fixed = determined(scope, self.nest.at)
        if is_prefix(scope, operand.names, fixed):
            return scope.points(operand.names) - scope.points(operand.names & fixed)
        names = operand.names | (scope.coupled(operand.names) if operand.names else frozenset())
        if not any(has_fetch(index) for index in self.nest.at):
            outputs = scope.points(names & fixed)
            if not fixed >= _at_names(self.nest):
                outputs = self._result(scope).elements
            return max(scope.points(names) - outputs, 0)
        return scope.points(names | _at_names(self.nest))


    def _sum(self, scope: Scope, expr: Expr) -> None:
        fixed = determined(scope, self.nest.at)
        reduced = frozenset(scope.sizes) - fixed
        result = self._result(scope)
        if not occurring(expr) & reduced and scope.points(scope.sizes) == result.elements:
            self._assign(scope, expr)
        else:
            product = factorise(expr, reduced, self.state.flat.tensors)
            terms = addends(product, reduced, self.state.flat.tensors)
            for term in terms:
                self._term(scope, term, reduced, fixed, result)
                if term is not product:
                    self._scale(scope, term, result)
            if len(terms) > 1:
                self._emit(kind="map", label="add", dtype=result.dtype, vector=result.elements * (len(terms) - 1),
                           reads=(result,) * len(terms), writes=(result,))
            self._scale(scope, product, result)
        self._accumulate(scope, result)

    def _accumulate(self, scope: Scope, result: Traffic) -> None:
        """Adds to elements that had a value before: a start value, or what an earlier nest wrote there."""
        target = self.nest.target
        init = self.state.demand.starts.get(target)
        before = result.elements if isinstance(init, str) or (isinstance(init, Const) and init.value != 0) else 0
        if not before and self.state.writers.get(target, 0) > 1:
            before = self._overlap(scope)
        if before:
            stored = Traffic(result.dtype, before)
            self._emit(kind="map", label="accumulate", dtype=result.dtype, vector=before, reads=(stored, stored),
                       writes=(stored,))

    def _overlap(self, scope: Scope) -> int:
        """Elements that this nest and an earlier one both write."""
        shape = self.target.shape
        mine = scope.region(self.nest.at, shape)
        earlier = self.state.written.get(self.nest.target, Region(shape))
        both = Region(shape)
        for left in mine.parts:
            for right in earlier.parts:
                if elements(Region(shape, (left | right,))):
                    both = add_part(both, Image(left | right))
        return elements(both)

    def _term(
        self, scope: Scope, term: Product, reduced: frozenset[str], fixed: frozenset[str], result: Traffic
    ) -> None:
        own = term.factors
        names = frozenset(name for factor in own for name in occurring(factor))
        reading = [factor for factor in own if reads_tensor(factor)]
        if len(reading) >= 2 and names & reduced and not range_moves(scope, names, reduced):
            self._contract(scope, term, reduced, result)
            return
        operand = self._multiplied(scope, own, term.dtype)
        work = self._combines(scope, operand)
        if operand.names & reduced or work:
            self._emit(kind="reduce", label="+", dtype=operand.dtype, vector=work, reads=operand.stored,
                       writes=(result,))

    def _multiplied(self, scope: Scope, factors: Sequence[Expr], dtype: str) -> Operand:
        if not factors:
            return Operand(frozenset(), (), False, dtype)
        if len(factors) == 1:
            return self.lower(scope, factors[0], None)
        whole = factors[0]
        for factor in factors[1:]:
            whole = Apply("mul", (whole, factor), dtype)
        return self.lower(scope, whole, None)

    def _contract(self, scope: Scope, term: Product, reduced: frozenset[str], result: Traffic) -> None:
        """A product of factors summed over shared iterators, two at a time."""
        operands = [self.lower(scope, factor, None) for factor in term.factors]
        same = len(operands) == 2 and term.factors[0] == term.factors[1]
        for left, right, rest in pairwise(scope, operands, reduced):
            names = left.names | right.names
            kept = names - (reduced - frozenset(n for other in rest for n in other.names))
            work = scope.points(names)
            write = Traffic(term.dtype, scope.points(kept)) if rest else result
            reads = left.stored if same else left.stored + right.stored
            if left.reads and right.reads and kept != names:
                self._emit(kind="mac", label="mac", dtype=term.compute_dtype, macs=work,
                           macs_nominal=self._nominal(scope, names), reads=reads, writes=(write,))
            else:
                adds = work - scope.points(kept)
                self._emit(kind="map", label="mul", dtype=term.dtype, vector=work + adds, reads=reads, writes=(write,))

    def _nominal(self, scope: Scope, names: frozenset[str]) -> int:
        sizes = scope.sizes
        replaced = transposed(self.nest, self.state.flat.tensors, determined(scope, self.nest.at))
        total = 1
        for name in names:
            total *= replaced.get(name, sizes[name])
        return total

    def _scale(self, scope: Scope, product: Product, result: Traffic) -> None:
        """Factors that do not take part in the sum are applied to its result."""
        if product.numbers:
            self._emit(kind="map", label="mul", dtype=result.dtype, vector=result.elements, reads=(result,),
                       writes=(result,))
        for op, factor in product.outer:
            operand = self.lower(scope, factor, None)
            special = op == "div"
            self._emit(kind="map", label=op, dtype=result.dtype, vector=0 if special else result.elements,
                       special=result.elements if special else 0, reads=(result, *operand.stored), writes=(result,))

    # expressions

    def lower(self, scope: Scope, expr: Expr, result: Traffic | None) -> Operand:
        """Operations of an expression; `result` is where the outermost one writes (None: a value of its own)."""
        match expr:
            case Const():
                return Operand(frozenset(), (), False, expr.dtype)
            case IndexValue(index):
                fetched = self._fetched(scope, (index,))
                return Operand(indices.iterators(index), fetched, bool(fetched), "i64")
            case Read(tensor, index):
                stored = (scope.touched(expr), *self._fetched(scope, index))
                return Operand(occurring(expr), stored, True, self.state.flat.tensors[tensor].dtype)
            case Cast(arg, dtype):
                inner = self.lower(scope, arg, result)
                stored = inner.stored
                if stored and isinstance(_without_cast(arg), Apply):
                    stored = (Traffic(dtype, stored[0].elements),)
                return Operand(inner.names, stored, inner.reads, dtype)
            case Apply():
                return self._apply(scope, expr, result)

    def _apply(self, scope: Scope, expr: Apply, result: Traffic | None) -> Operand:
        names = occurring(expr)
        reading = reads_tensor(expr)
        if not names and not reading:
            return Operand(names, (), False, expr.dtype)
        size = scope.points(names)
        stored = Traffic(expr.dtype, size)
        if result is not None and result.elements == size:
            stored = result
        found = Operand(names, (stored,), reading, expr.dtype)
        key = self._key(scope, expr)
        if key in self.state.seen:
            return found
        self.state.seen.add(key)
        product = chain(expr)
        if len(product) > 2:
            self._product(scope, [self.lower(scope, factor, None) for factor in product], expr.dtype, stored)
            return found
        operands = [self.lower(scope, arg, None) for arg in dict.fromkeys(expr.args)]
        vector, special = work_of(expr)
        reads = tuple(item for operand in operands for item in operand.stored)
        self._emit(kind="map", label=expr.op, dtype=expr.dtype, vector=vector * size, special=special * size,
                   reads=reads, writes=(stored,))
        return found

    def _product(self, scope: Scope, operands: list[Operand], dtype: str, stored: Traffic) -> None:
        for left, right, rest in pairwise(scope, operands, frozenset()):
            names = left.names | right.names
            size = scope.points(names)
            self._emit(kind="map", label="mul", dtype=dtype, vector=size, reads=left.stored + right.stored,
                       writes=(Traffic(dtype, size) if rest else stored,))

    def _key(self, scope: Scope, expr: Expr) -> object:
        order: dict[str, int] = {}
        key = expr_key(expr, order, self.state.alias)
        names = tuple(order)
        sizes = scope.sizes
        region = scope.part(names) if any(space.constraints for space in scope.spaces) else None
        parts = None if region is None else frozenset(region.parts)
        return key, tuple(sizes[name] for name in names), parts

    def _emit(
        self, *, kind: Kind, label: str, dtype: str, macs: int = 0, macs_nominal: int = 0, vector: int = 0,
        special: int = 0, comparisons: int = 0, reads: tuple[Traffic, ...] = (), writes: tuple[Traffic, ...] = (),
    ) -> None:  # fmt: skip
        if self.result is not None and any(item is self.result for item in writes):
            self.done = self.result.elements
        self.state.operations.append(Operation(
            kind=kind, label=label, source=self.nest.source, dtype=dtype, macs=macs,
            macs_nominal=macs_nominal, vector=vector, special=special, comparisons=comparisons, reads=reads,
            writes=writes,
        ))  # fmt: skip


def _with_nominal(item: Operation, nominal: int) -> Operation:
    return replace(item, macs_nominal=nominal)


def _without_cast(expr: Expr) -> Expr:
    return _without_cast(expr.arg) if isinstance(expr, Cast) else expr


def _at_names(nest: Nest) -> frozenset[str]:
    return frozenset(name for index in nest.at for name in indices.iterators(index))
