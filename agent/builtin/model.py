"""What rules work on: all recordings of a program as one, every number a vector over the samples.

A sample is one recording, one call of a repeated function in it, or one step of a loop. Where the recordings agree a
number is constant; where they differ an expression in sizes, attributes and loop indices has to be found for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ...ir.bindings import Scalar
from ...verifier.traced import DType


class Untranslatable(Exception):
    """No rule, or no expression for a number: "model.py:12: aten.foo.default: why"."""


@dataclass(frozen=True, slots=True)
class Num:
    """A number in every sample."""

    values: tuple[int | float, ...]

    @property
    def constant(self) -> int | float | None:
        """The value when all samples have the same one (and type), else None."""
        first = self.values[0]
        none = first != first  # NaN, which equals nothing
        same = all((value == first or none and value != value) and type(value) is type(first) for value in self.values)
        return first if same else None

    @property
    def is_one(self) -> bool:
        return all(value == 1 for value in self.values)


@dataclass(eq=False, slots=True)
class Tensor:
    """A value. `dims` in elements; `state`: its path ("conv1.weight", within a function "{name}.conv1.weight"),
    `argument`: forward()'s name for it, `draw`: it is drawn by forward()."""

    dims: tuple[Num, ...]
    dtype: str
    state: str | None = None
    argument: str | None = None
    hint: str = ""

    @property
    def rank(self) -> int:
        return len(self.dims)

    @property
    def is_float(self) -> bool:
        return self.dtype.startswith(("f", "bf", "e4", "e5"))

    @property
    def is_bool(self) -> bool:
        return self.dtype == "bool"

    @property
    def is_int(self) -> bool:
        return not self.is_float and not self.is_bool


Arg: TypeAlias = "Tensor | Num | Scalar | DType | tuple[Arg, ...]"


@dataclass(frozen=True, slots=True)
class Module:
    """The library layer whose forward is exactly this one operator: `cls` its full class name, `path` as text.
    `training`: the program is in training mode, by which the prelude's layers go; the layer itself might not be."""

    path: str
    cls: str
    training: bool = False


@dataclass(eq=False, slots=True)
class Op:
    """One operator. Tensors among `args` are pure values: in-place operators have become their functional forms.

    Every int and float argument is a Num (bools are plain bools); absent ones are None. `results`: one for each
    result, None where it is no tensor. `module`: see Module; `path`: of the module it stands in, as text."""

    name: str
    args: Mapping[str, Arg]
    results: tuple[Tensor | None, ...]
    where: str
    path: str = ""
    module: Module | None = None
    draws: tuple[int, ...] = ()

    @property
    def out(self) -> Tensor:
        result = self.results[0]
        assert result is not None
        return result

    def fail(self, why: str) -> Untranslatable:
        return Untranslatable(f"{self.where}: {self.name}: {why}")

    # -- arguments, checked ---------------------------------------------------------------------------------------

    def tensor(self, name: str) -> Tensor:
        value = self.args.get(name)
        if not isinstance(value, Tensor):
            raise self.fail(f"argument {name} is no tensor")
        return value

    def maybe(self, name: str) -> Tensor | None:
        return None if self.args.get(name) is None else self.tensor(name)

    def tensors(self, name: str) -> tuple[Tensor, ...]:
        value = self.args.get(name)
        if not isinstance(value, tuple):
            raise self.fail(f"argument {name} is no list of tensors")
        found = tuple(item for item in value if isinstance(item, Tensor))
        if len(found) != len(value):
            raise self.fail(f"argument {name} is no list of tensors")
        return found

    def num(self, name: str) -> Num:
        value = self.args.get(name)
        if not isinstance(value, Num):
            raise self.fail(f"argument {name} is no number")
        return value

    def nums(self, name: str) -> tuple[Num, ...]:
        """A list of numbers; a lone number is a list of one; None is the empty list."""
        value = self.args.get(name)
        if value is None:
            return ()
        if isinstance(value, Num):
            return (value,)
        if not isinstance(value, tuple):
            raise self.fail(f"argument {name} is no list of numbers")
        found = tuple(item for item in value if isinstance(item, Num))
        if len(found) != len(value):
            raise self.fail(f"argument {name} is no list of numbers")
        return found

    def flag(self, name: str) -> bool:
        value = self.args.get(name)
        if not isinstance(value, bool):
            raise self.fail(f"argument {name} is no bool")
        return value

    def text(self, name: str) -> str:
        value = self.args.get(name)
        if not isinstance(value, str):
            raise self.fail(f"argument {name} is no string")
        return value

    def fixed(self, name: str) -> int:
        """An integer that belongs to the structure (an axis, a reduction code): one value in all samples."""
        return self.settled(self.num(name), name)

    def settled(self, number: Num, name: str) -> int:
        value = number.constant
        if not isinstance(value, int):
            raise self.fail(f"{name} differs between sizes: {list(number.values)}")
        return value

    def axis(self, name: str, rank: int) -> int:
        """An axis counted from the front."""
        value = self.fixed(name)
        return value + rank if value < 0 else value

    def axes(self, name: str, rank: int) -> tuple[int, ...]:
        """Axes counted from the front, as given; all of them for None or an empty list."""
        given = self.nums(name)
        found = tuple(self.settled(number, name) for number in given)
        return tuple(axis + rank if axis < 0 else axis for axis in found) or tuple(range(rank))


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name in the text that stands for a number."""

    text: str
    values: tuple[int | float, ...]


@dataclass(slots=True)
class Attributes:
    """Numbers of the original that a text may read, by path ("self.heads", in a function "self.{name}.heads").

    In expressions they stand as tokens ATTR12X until one is chosen and declared."""

    paths: tuple[str, ...] = ()
    symbols: tuple[Symbol, ...] = ()

    @staticmethod
    def made(numbers: Mapping[str, tuple[int | float, ...]]) -> Attributes:
        """Only those that differ between samples: a constant is written as it is."""
        varied = {path: values for path, values in numbers.items() if len(set(values)) > 1}
        paths = tuple(sorted(varied, key=lambda path: (path.count("."), len(path))))
        return Attributes(paths, tuple(Symbol(f"ATTR{i}X", varied[path]) for i, path in enumerate(paths)))

    def path(self, index: int) -> str:
        return self.paths[index]

    def near(self, path: str) -> list[tuple[bool, Symbol]]:
        """All symbols, each with whether it belongs to the module at `path` itself."""
        home = f"self.{path}." if path else "self."
        return [
            (text.startswith(home) and "." not in text[len(home) :], symbol)
            for text, symbol in zip(self.paths, self.symbols, strict=True)
        ]

    def over(self, index: Sequence[int]) -> Attributes:
        """The same over other samples: sample k there is sample index[k] here."""
        moved = tuple(Symbol(s.text, tuple(s.values[i] for i in index)) for s in self.symbols)
        return Attributes(self.paths, moved)
