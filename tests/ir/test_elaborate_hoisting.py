"""Inline reductions in triangles and under conditions give what the text says, point by point."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest
from solar_agent.ir.bindings import Bindings, TensorType
from solar_agent.ir.execute import Values, execute
from solar_agent.ir.load import load

OUTER = ("i", "j", "k")
Point = dict[str, int]


@dataclass
class Case:
    """A random nest with one inline reduction. Expressions are Python's and the language's at once."""

    rng: random.Random
    extents: list[str] = field(default_factory=list)
    where: str = "1 == 1"
    own_extent: str = "2"
    own_where: str = "1 == 1"
    reads: list[tuple[str, str]] = field(default_factory=list)

    def linear(self, names: tuple[str, ...]) -> str:
        used = [name for name in names if self.rng.random() < 0.6]
        terms = [f"{self.rng.choice([-1, 1, 1, 2])}*{name}" for name in used]
        return " + ".join([*terms, str(self.rng.randint(-1, 3))])

    def extent(self, names: tuple[str, ...]) -> str:
        found = self.linear(names)
        return found if any(name in found for name in names) else "2"

    def condition(self, names: tuple[str, ...]) -> str:
        parts = [
            f"{self.linear(names)} {self.rng.choice(['<', '<=', '>', '!=', '=='])} {self.linear(names)}"
            for _ in range(self.rng.randint(1, 2))
        ]
        return self.rng.choice([" and ", " or "]).join(parts)

    def build(self) -> None:
        count = self.rng.randint(1, 3)
        for at in range(count):
            self.extents.append(str(self.rng.randint(1, 4)) if at == 0 else self.extent(OUTER[:at]))
        names = OUTER[:count]
        if self.rng.random() < 0.7:
            self.where = self.condition(names)
        self.own_extent = self.rng.choice(["2", "3", self.extent(names)])
        if self.rng.random() < 0.4:
            self.own_where = self.condition((*names, "r"))
        self.reads = [(name, self.linear((*names, "r"))) for name in ("a", "b")[: self.rng.randint(1, 2)]]

    def points(self) -> Iterator[Point]:
        yield from (point for point in self._outer({}, 0) if eval(self.where, {}, point))

    def _outer(self, point: Point, depth: int) -> Iterator[Point]:
        if depth == len(self.extents):
            yield point
            return
        for value in range(eval(self.extents[depth], {}, point)):
            yield from self._outer({**point, OUTER[depth]: value}, depth + 1)

    def inside(self, point: Point) -> Iterator[Point]:
        for r in range(eval(self.own_extent, {}, point)):
            inner = {**point, "r": r}
            if eval(self.own_where, {}, inner):
                yield inner

    def shifted(self) -> dict[str, int]:
        """Moves every index so that the tensors are exactly as large as what is read; their sizes."""
        sizes: dict[str, int] = {}
        for at, (name, index) in enumerate(self.reads):
            values = [eval(index, {}, inner) for point in self.points() for inner in self.inside(point)] or [0]
            self.reads[at] = (name, f"{index} + {-min(values)}")
            sizes[name] = max(values) - min(values) + 1
        return sizes

    def text(self, sizes: dict[str, int], shape: tuple[int, ...]) -> str:
        heads = ", ".join(f"{name}<{extent}" for name, extent in zip(OUTER, self.extents, strict=False))
        body = " * ".join(f"{name}[{index}]" for name, index in self.reads)
        inputs = "\n".join(f"input {name}[{size}]" for name, size in sizes.items())
        target = f"y[{', '.join(OUTER[: len(self.extents)])}]"
        reduction = f"sum(r<{self.own_extent} where {self.own_where}: {body})"
        return (
            f"{inputs}\ntensor y[{', '.join(map(str, shape))}] = -7\n"
            f"for {heads} where {self.where}: {target} = {reduction} * 2 + {reduction}\noutput y\n"
        )

    def expected(self, arrays: dict[str, np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
        result = np.full(shape, -7.0)
        for point in self.points():
            products = (
                np.prod([arrays[name][eval(index, {}, inner)] for name, index in self.reads])
                for inner in self.inside(point)
            )
            result[tuple(point.values())] = 3 * sum(products)
        return result


@pytest.mark.parametrize("seed", range(5))
def test_reductions_mean_what_they_say(seed: int) -> None:
    rng = random.Random(seed)
    checked = 0
    while checked < 40:
        case = Case(rng)
        case.build()
        points = list(case.points())
        if not points:
            continue
        sizes = case.shifted()
        shape = tuple(max(point[name] for point in points) + 1 for name in OUTER[: len(case.extents)])
        text = case.text(sizes, shape)
        program = load(text, Bindings({name: TensorType((size,), "f32") for name, size in sizes.items()}))
        arrays = {name: np.array([rng.randint(-4, 4) for _ in range(size)], float) for name, size in sizes.items()}
        (found,) = execute(program, Values(inputs=arrays, state={}, draws=())).outputs
        np.testing.assert_array_equal(found, case.expected(arrays, shape), err_msg=text)
        checked += 1
