"""Runs a program: its inputs are checked, its statements run in order, its outputs are collected."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from ..bindings import Scalar
from ..program import Branch, Const, Declare, Loop, Nest, Opaque, Output, Program, Scan, Source, Statement, View
from .access import Target, access_node
from .compile import make_context
from .domain import Piece, bounding_piece, with_digits
from .inputs import check_facts, check_ranges, load_externals
from .liveness import last_uses, made_by, needed_after
from .memory import Budget, Memory, Slot
from .nest import run_nest
from .nodes import Node, TooLong, materialised
from .opaque import run_opaque
from .rounding import cast
from .values import BOOL, NUMPY_TYPES, Array, Execution, Values, as_kind, as_scalar, problem_at

DEFAULT_LIMIT_BYTES = 8 << 30
_OPAQUE_BYTES = 16  # of an element: the widest type, complex128, is there before its halves are
_MOST_TURNS = 1_000_000


def execute(
    program: Program,
    values: Values,
    *,
    precision: Literal["promoted", "native"] = "promoted",
    keep: bool = False,
    limit_bytes: int = DEFAULT_LIMIT_BYTES,
    swayed: bool = False,
) -> Execution:
    """Runs the program on the given numbers; `swayed` takes decisions that are too close to call the other way.

    Raises IRError where the program is wrong for them."""
    with np.errstate(all="ignore"):
        memory = Memory(program.tensors, Budget(limit_bytes), swayed=swayed)
        load_externals(program, values, memory)
        check_ranges(program, memory)
        check_facts(program, memory)
        runner = Runner(memory, native=precision == "native", keep=keep)
        runner.run(program.body, {}, needed_after(program))
        outputs = tuple(runner.output(output) for output in program.outputs)
        tensors = {name: memory[name].data() for name in memory} if keep else {}
    return Execution(outputs, tensors)


class Runner:
    def __init__(self, memory: Memory, *, native: bool, keep: bool) -> None:
        self.memory, self.native, self.keep = memory, native, keep
        self.turns = 0

    def run(self, body: Sequence[Statement], outer: Mapping[str, int], needed: frozenset[str]) -> None:
        """Runs statements in order and drops tensors after their last use."""
        for statement, finished in zip(body, last_uses(body), strict=True):
            self.statement(statement, outer)
            if not self.keep:
                for name in finished - needed:
                    self.memory.drop(name)

    def statement(self, statement: Statement, outer: Mapping[str, int]) -> None:
        self.turns += 1
        if self.turns > _MOST_TURNS:
            message = f"more than {_MOST_TURNS:,} statements would be executed, rounds of scans included"
            raise problem_at(statement.source, message)
        match statement:
            case Declare():
                self.declare(statement)
            case Nest():
                self.nest(statement, outer)
            case View():
                self.view(statement, outer)
            case Opaque():
                self.opaque(statement)
            case Scan():
                self.scan(statement, outer)
            case Branch():
                self.branch(statement, outer)

    def nest(self, statement: Nest, outer: Mapping[str, int]) -> None:
        try:
            run_nest(statement, self.memory, outer, native=self.native)
        except TooLong as error:
            raise problem_at(statement.source, f"{error.elements:,} points are too many to execute") from None

    def declare(self, statement: Declare) -> None:
        memory, name = self.memory, statement.tensor
        match statement.init:
            case None:
                memory.declare(name, None)
            case Const(value, _):
                memory.declare(name, as_scalar(value, memory.tensors[name].dtype))
            case str() as other:
                memory.alias(name, other)
                slot = memory[name]
                if NUMPY_TYPES[slot.tensor.dtype] != slot.data().dtype:
                    memory.store(name, as_kind(slot.data(), slot.tensor.dtype), slot.written)

    def view(self, statement: View, outer: Mapping[str, int]) -> None:
        memory, read = self.memory, statement.read
        shape = memory.tensors[statement.tensor].shape
        piece = self._view_piece(statement.loops, statement, outer)
        if piece is None:
            memory.store(statement.tensor, np.zeros(shape, NUMPY_TYPES[memory.tensors[statement.tensor].dtype]))
            return
        ctx = make_context(piece, memory, statement.source, native=self.native)
        base = memory[read.tensor]
        fill = None if read.fill is None else as_scalar(read.fill.value, base.tensor.dtype)
        target = Target("read of", read.tensor, read.index)
        values = _spread(access_node(ctx, base.data(), base.tensor.dtype, target, fill), ctx.sizes, shape)
        presence = base.presence()
        written = None
        if presence is not None:
            always = None if fill is None else np.ones((), BOOL)
            seen = access_node(ctx, presence, "bool", target, always)
            written = np.array(_spread(seen, ctx.sizes, shape))
        base.owned = False
        memory.store(statement.tensor, values, written, owned=False)
        memory.settle(statement.tensor)

    def _view_piece(self, loops: tuple[Loop, ...], view: View, outer: Mapping[str, int]) -> Piece | None:
        piece = bounding_piece(loops, None, outer)
        return None if piece is None else with_digits(piece, view.read.index)

    def opaque(self, statement: Opaque) -> None:
        inputs = [self._complete(name, statement.source) for name in statement.inputs]
        for name in statement.outputs:
            elements = math.prod(self.memory.tensors[name].shape)
            self.memory.budget.demand(_OPAQUE_BYTES * elements, f"{statement.kind}()", statement.source)
        results = run_opaque(statement, inputs, swayed=self.memory.swayed)
        for name, values in zip(statement.outputs, results, strict=True):
            self.memory.store(name, as_kind(values, self.memory.tensors[name].dtype))

    def _complete(self, name: str, source: Source) -> Array:
        slot = self.memory[name]
        if (presence := slot.presence()) is not None and not presence.all():
            raise problem_at(source, f"{_first_missing(name, presence)} has not been written")
        return slot.data()

    def scan(self, statement: Scan, outer: Mapping[str, int]) -> None:
        memory = self.memory
        for carry in statement.carries:
            memory.alias(carry.inner, carry.init)
        self._prepare_emits(statement)
        local = made_by(statement.body)
        needed = frozenset([c.next for c in statement.carries] + [c.inner for c in statement.carries])
        needed |= {emit.inner for emit in statement.emits}
        plan = list(zip(statement.body, last_uses(statement.body), strict=True))
        steps = range(statement.trip)
        for step in reversed(steps) if statement.reverse else steps:
            self.run_local(plan, {**outer, statement.iterator: step}, needed, local)
            self._emit(statement, step)
            self._advance(statement)
            if not self.keep:
                for name in local:
                    memory.drop(name)
        for emit in statement.emits:
            memory.settle(emit.outer)
        for carry in statement.carries:
            memory.alias(carry.final, carry.inner)
            if not self.keep:
                memory.drop(carry.inner)

    def run_local(
        self,
        plan: Sequence[tuple[Statement, frozenset[str]]],
        outer: Mapping[str, int],
        needed: frozenset[str],
        local: frozenset[str],
    ) -> None:
        """Runs a body (statements, and what each touches last); only its own tensors are dropped."""
        for statement, finished in plan:
            self.statement(statement, outer)
            if not self.keep:
                for name in (finished & local) - needed:
                    self.memory.drop(name)

    def _prepare_emits(self, statement: Scan) -> None:
        for emit in statement.emits:
            self.memory.declare(emit.outer, None)
            self.memory.writable(emit.outer, statement.source)

    def _emit(self, statement: Scan, step: int) -> None:
        for emit in statement.emits:
            source, target = self.memory[emit.inner], self.memory[emit.outer]
            assert target.array is not None and target.written is not None
            target.array[step] = source.data()
            presence = source.presence()
            target.written[step] = True if presence is None else presence

    def _advance(self, statement: Scan) -> None:
        following = []
        for carry in statement.carries:
            slot = self.memory[carry.next]
            slot.owned = False
            following.append(Slot(self.memory.tensors[carry.inner], slot.fill, slot.array, slot.written))
        for slot in following:
            self.memory.set(slot)

    def branch(self, statement: Branch, outer: Mapping[str, int]) -> None:
        memory = self.memory
        taken = bool(self._complete(statement.condition, statement.source))
        body = statement.then if taken else statement.orelse
        results = [(a if taken else b, result) for a, b, result in statement.joins]
        plan = list(zip(body, last_uses(body), strict=True))
        self.run_local(plan, outer, frozenset(name for name, _ in results), made_by(body))
        for name, result in results:
            memory.alias(result, name)
        if not self.keep:
            for name in made_by(body) - {result for _, result in results}:
                memory.drop(name)

    def output(self, output: Output) -> Array | Scalar:
        if output.tensor is None:
            return output.value
        values = self._complete(output.tensor, output.source)
        if output.dtype != self.memory.tensors[output.tensor].dtype:
            values = cast(values, output.dtype, False)
        return np.ascontiguousarray(values).reshape(values.shape)


def _spread(node: Node, sizes: Sequence[int], shape: Sequence[int]) -> Array:
    values = node.whole() if node.bare else materialised(node)
    return np.broadcast_to(values, sizes).reshape(shape)


def _first_missing(name: str, presence: Array) -> str:
    place = np.unravel_index(int((~presence).argmax()), presence.shape)
    where = ", ".join(str(int(i)) for i in place)
    return f"element [{where}] of {name}" if where else name
