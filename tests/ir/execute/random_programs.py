"""Random small programs: guards, triangles, conditions, // and %, indirect reads, all combining operators."""

from __future__ import annotations

import numpy as np
from solar_agent.ir import indices as ix
from solar_agent.ir.dtypes import kind
from solar_agent.ir.execute.values import NUMPY_TYPES
from solar_agent.ir.program import (
    AllOf,
    AnyOf,
    Apply,
    Carry,
    Cast,
    Compare,
    Const,
    Declare,
    Emit,
    External,
    Fetch,
    Index,
    IndexValue,
    Loop,
    Nest,
    Output,
    Program,
    Read,
    Scan,
    Source,
    Tensor,
    View,
)

SOURCE = Source(1, 1, "nest")
SPECIAL = [np.nan, np.inf, -np.inf]
FLOAT_OPS = ["add", "sub", "mul", "min", "max"]
COMBINES = ["=", "=", "+", "+", "+", "+", "*", "max", "min", "argmax", "argmin"]


class Maker:
    """Draws one program; `pick(n)` gives a number in 0..n-1."""

    def __init__(self, pick):
        self.pick = pick
        self.tensors = {}
        self.arrays = {}

    def one_of(self, options):
        return options[self.pick(len(options))]

    def chance(self, percent):
        return self.pick(100) < percent

    def external(self, name, shape, dtype):
        self.tensors[name] = Tensor(name, shape, dtype, External("input", name))
        size = int(np.prod(shape))
        if kind(dtype) == "float":
            numbers = [float(self.pick(9) - 4) for _ in range(size)]
            if self.special:
                numbers = [self.one_of(SPECIAL) if self.chance(8) else value for value in numbers]
            self.arrays[name] = np.array(numbers, np.float64).reshape(shape)
        elif kind(dtype) == "bool":
            self.arrays[name] = np.array([self.pick(2) == 1 for _ in range(size)], bool).reshape(shape)
        else:
            numbers = np.array([self.pick(200) - 100 for _ in range(size)], np.int64)
            self.arrays[name] = numbers.astype(NUMPY_TYPES[dtype]).reshape(shape)

    def program(self):
        self.special = self.chance(25)
        for name in ("a", "b", "c"):
            rank = self.pick(4) if name == "c" else 1 + self.pick(3)
            shape = tuple(1 + self.pick(5) for _ in range(rank))
            dtype = self.one_of(["f32", "f32", "f32", "f32", "i8", "i32", "bool"]) if name != "a" else "f32"
            self.external(name, shape, dtype)
        self.tensors["ids"] = Tensor("ids", (4,), "i64", External("input", "ids"))
        self.arrays["ids"] = np.array([self.pick(3) for _ in range(4)], np.int64)
        body, outputs = [], []
        for number in range(1 + self.pick(2)):
            name = f"t{number}"
            if self.chance(20):
                body.append(self.view(f"v{number}"))
            body += self.scan(name) if self.chance(20) else self.statements(name)
            outputs.append(Output("result", name, name, None, self.tensors[name].dtype, SOURCE))
        return Program("t", dict(self.tensors), tuple(body), tuple(outputs))

    def view(self, name):
        self.outer, self.name = {}, name
        loops = tuple(Loop("ijk"[n], ix.constant(1 + self.pick(4))) for n in range(1 + self.pick(3)))
        self.ranges = {loop.name: (0, loop.extent.const - 1) for loop in loops}
        read, dtype = self.read(self.one_of(["a", "b", "c"]))
        self.tensors[name] = Tensor(name, tuple(loop.extent.const for loop in loops), dtype)
        return View(name, loops, read, SOURCE)

    def scan(self, name):
        """Steps that each work out a tensor with the help of the one before, and hand both out."""
        trip = 1 + self.pick(3)
        self.outer = {"t": (0, trip - 1)}
        inner = f"{name}in"
        body = self.statements(inner, self.outer)
        kept = self.tensors[inner]
        self.outer = {}
        start, carried, final = f"{name}start", f"{name}carry", f"{name}final"
        for made in (start, carried, final, f"{name}next"):
            self.tensors[made] = Tensor(made, kept.shape, kept.dtype)
        loops = tuple(Loop("ijkl"[axis], ix.constant(size)) for axis, size in enumerate(kept.shape))
        at = tuple(ix.iterator(loop.name) for loop in loops)
        op = "or" if kept.dtype == "bool" else "sub"
        value = Apply(op, (Read(inner, at), Read(carried, at)), kept.dtype)
        body += [Declare(f"{name}next", None, SOURCE), Nest(loops, None, f"{name}next", at, "=", value, SOURCE)]
        self.tensors[name] = Tensor(name, (trip, *kept.shape), kept.dtype)
        carry = Carry(carried, start, self.one_of([f"{name}next", f"{name}next", carried]), final)
        emit = Emit(self.one_of([f"{name}next", inner, carried]), name)
        return [
            Declare(start, Const(1, kept.dtype), SOURCE),
            Scan("t", trip, self.chance(40), (carry,), (emit,), tuple(body), SOURCE),
        ]

    def statements(self, name, outer=None):
        self.outer, self.name = outer or {}, name
        self.combine = self.one_of(COMBINES)
        loops = self.loops()
        value, dtype = self.value(2)
        if self.combine in ("argmax", "argmin"):
            dtype = "i64"
        at, shape, loops = self.target(loops)
        where = self.condition() if self.chance(35) else None
        self.tensors[name] = Tensor(name, shape, dtype)
        start = {"=": None, "+": 0, "*": 1, "max": -np.inf, "min": np.inf, "argmax": None, "argmin": None}[self.combine]
        if self.chance(25):
            start = 3
        elif self.chance(5):
            start = None
        init = None if start is None else Const(start, dtype)
        nest = Nest(loops, where, name, at, self.combine, value, SOURCE)
        result = [Declare(name, init, SOURCE), nest]
        if self.chance(15):
            result.append(nest)
        return result

    def loops(self):
        count = 1 + self.pick(4)
        loops, self.ranges = [], dict(self.outer)
        for number in range(count):
            name = "ijkl"[number]
            extent = ix.constant(1 + self.pick(5))
            if loops and self.chance(30):
                other = self.one_of(loops).name
                high = self.ranges[other][1]
                extent = self.one_of(
                    [
                        ix.add(ix.iterator(other), ix.constant(1)),
                        ix.iterator(other),
                        ix.subtract(ix.constant(high + 1), ix.iterator(other)),
                        ix.add(ix.scale(ix.iterator(other), 2), ix.constant(1)),
                    ]
                )
            low, high = ix.interval(extent, self.ranges)
            self.ranges[name] = (0, max(high - 1, 0))
            loops.append(Loop(name, extent))
        return tuple(loops)

    def target(self, loops):
        names = [loop.name for loop in loops]
        kept = [name for name in names if self.chance(55)]
        if self.combine in ("argmax", "argmin"):
            kept = names[:-1]
        if self.combine == "=" and self.chance(90):
            kept = names
        if self.chance(20):
            kept = kept[::-1]
        at = [ix.iterator(name) for name in kept]
        if self.combine not in ("argmax", "argmin") and self.chance(25):
            at = [self.index() for _ in range(1 + self.pick(2))]
        shape = []
        for place, index in enumerate(at):
            low, high = ix.interval(index, self.ranges) or (0, 2)
            if self.chance(85):
                at[place] = index = ix.add(index, ix.constant(-min(low, 0)))
                high -= min(low, 0)
            shape.append(max(high + 1 + (self.pick(3) if self.chance(20) else 0), 1))
        return tuple(at), tuple(shape), loops

    def affine(self):
        index = ix.constant(self.pick(4) - 1)
        for _ in range(1 + self.pick(2)):
            name = self.one_of(list(self.ranges))
            index = ix.add(index, ix.scale(ix.iterator(name), self.one_of([1, 1, 1, 2, -1, 3])))
        return index

    def index(self):
        kinds = self.pick(12)
        if kinds < 5:
            return ix.iterator(self.one_of(list(self.ranges)))
        if kinds < 9:
            return self.affine()
        if kinds == 9:
            return ix.floor_div(self.affine(), 2 + self.pick(3))
        if kinds == 10:
            return ix.add(ix.modulo(self.affine(), 2 + self.pick(3)), ix.iterator(self.one_of(list(self.ranges))))
        inner = ix.modulo(self.affine(), 4)
        return Index(((Fetch(Read("ids", (inner,))), 1 + self.pick(2)),))

    def condition(self):
        parts = [self.compare() for _ in range(1 + self.pick(2))]
        if len(parts) == 1:
            return parts[0]
        return AllOf(tuple(parts)) if self.chance(70) else AnyOf(tuple(parts))

    def compare(self):
        index = self.affine()
        if self.chance(35):
            index = ix.add(ix.modulo(index, 2 + self.pick(2)), ix.constant(-self.pick(2)))
            return Compare(index, self.one_of(["==", "==", "!="]))
        return Compare(index, self.one_of(["<", "<=", ">", ">=", "==", "!="]))

    def read(self, tensor):
        shape = self.tensors[tensor].shape
        index = [self.index() for _ in shape]
        if self.chance(85):
            index = [self.fitted(part, size) for part, size in zip(index, shape, strict=True)]
        dtype = self.tensors[tensor].dtype
        fill = Const(self.one_of([0, 0, 1]), dtype) if self.chance(40) else None
        return Read(tensor, tuple(index), fill), dtype

    def fitted(self, index, size):
        """The index, or a simple one that surely is in bounds."""
        found = ix.interval(index, self.ranges)
        if found is not None and found[0] >= 0 and found[1] < size:
            return index
        names = [name for name, (_, high) in self.ranges.items() if high < size]
        return ix.iterator(self.one_of(names)) if names else ix.constant(self.pick(size))

    def value(self, depth):
        kinds = self.pick(10)
        if depth == 0 or kinds < 3:
            return self.leaf()
        left, left_type = self.value(depth - 1)
        right, right_type = self.value(depth - 1)
        if kinds == 3:
            test = Apply(self.one_of(["lt", "ge", "eq"]), (left, right), "bool")
            return Apply("select", (test, left, Const(2, left_type)), left_type), left_type
        if kinds == 4:
            return Cast(left, "f32"), "f32"
        dtype = left_type if left_type == right_type else "f32"
        if dtype == "bool":
            return Apply(self.one_of(["and", "or"]), (left, right), "bool"), "bool"
        op = "mul" if kinds > 6 else self.one_of(FLOAT_OPS)
        return Apply(op, (left, right), dtype), dtype

    def leaf(self):
        kinds = self.pick(10)
        if kinds == 0:
            return Const(self.pick(5) - 2, "f32"), "f32"
        if kinds == 1:
            return IndexValue(self.index_without_data()), "i64"
        existing = [name for name in ("a", "b", "c", "t0", "v0", "v1") if name in self.tensors and name != self.name]
        return self.read(self.one_of(existing))

    def index_without_data(self):
        while True:
            index = self.index()
            if not any(True for _ in ix.index_reads(index)):
                return index
