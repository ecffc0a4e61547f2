"""Statements of one scope of the text (the program, a function, a loop body): names, sizes, declarations.

Rules say what a result is; the writer knows what everything is called. Tensors are referred to by `of`, their sizes by
`sizes`, numbers by `number`; results are made by `define`, `pointwise`, `nest`, `view`, `call`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from .model import Attributes, Num, Op, Symbol, Tensor, Untranslatable
from .names import ITERATORS, Names
from .numbers import atom, express, literal

Operand = Tensor | Num | str | int | float
LENGTH = "#len"
_TOKEN = re.compile(r"ATTR(\d+)X")


@dataclass(slots=True)
class Writer:
    """`header`: declarations of the function or program that the scope belongs to; `lines`: its statements.

    `symbols`: numbers with a name, over the samples of this scope, newest last. `hoisted`: of a function, numbers that
    it could not express and takes as arguments. `origins`: what each result was made by."""

    names: Names
    attributes: Attributes
    header: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    symbols: list[Symbol] = field(default_factory=list)
    known: dict[Tensor, str] = field(default_factory=dict)
    extents: dict[Tensor, tuple[str, ...]] = field(default_factory=dict)
    home: dict[str, str] = field(default_factory=dict)
    depth: int = 0
    hoisted: list[tuple[str, Num]] | None = None
    origins: dict[Tensor, Op] = field(default_factory=dict)

    def over(self, index: Sequence[int], extra: Sequence[Symbol]) -> Writer:
        """The same scope with its numbers over other samples (sample k there is sample index[k] here), and more of
        them."""
        moved = [Symbol(symbol.text, tuple(symbol.values[i] for i in index)) for symbol in self.symbols]
        attributes = self.attributes.over(index)
        return Writer(
            self.names, attributes, self.header, self.lines, [*moved, *extra], home=self.home, depth=self.depth
        )

    # -- lines ----------------------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """`head` with what is written inside, indented."""
        self.line(head)
        self.depth += 1
        yield
        self.depth -= 1

    # -- tensors --------------------------------------------------------------------------------------------------

    def of(self, tensor: Tensor) -> str:
        """The tensor's name; captured state is declared when it is first used."""
        if tensor not in self.known:
            if tensor.state is None:
                raise Untranslatable(f"a tensor ({tensor.hint or 'unnamed'}) is used before it is made")
            self.declare(tensor, "param", tensor.state)
        return self.known[tensor]

    def declare(self, tensor: Tensor, kind: str, path: str) -> None:
        """`param name = "path"[sizes]` (or `input`), with fresh names for sizes that are not known yet."""
        if kind == "input" and self.names.exact(path):
            name = path
        else:
            name = self.names.fresh(_last_names(path) if kind == "param" else path)
        sizes = self.bound(tensor, fresh_constants=kind == "input")
        wanted = f' = "{path}"' if name != path or kind == "param" else ""
        kinds = "" if tensor.is_float or kind == "param" else f" : {'bool' if tensor.is_bool else 'int'}"
        self.header.append(f"{kind} {name}{wanted}[{', '.join(sizes)}]{kinds}")
        self.name(tensor, name, sizes)

    def name(self, tensor: Tensor, name: str, sizes: Sequence[str] | None = None) -> None:
        """Say that `tensor` is called `name` (and what its sizes are called)."""
        self.known[tensor] = name
        if sizes is not None:
            self.extents[tensor] = tuple(sizes)

    def fresh(self, hint: str = "h") -> str:
        """A new name for a tensor or number."""
        return self.names.fresh(hint)

    def result(self, tensor: Tensor, op: Op | None = None) -> str:
        """A new name for a result, after its module or operator."""
        return self.names.fresh(tensor.hint or (hint_of(op) if op is not None else "h"))

    # -- sizes ----------------------------------------------------------------------------------------------------

    def sizes(self, tensor: Tensor) -> tuple[str, ...]:
        """Texts for the tensor's extents; names that are new are bound by a `shape` line."""
        if tensor not in self.extents:
            count = len(self.symbols)
            sizes = self.bound(tensor, fresh_constants=False)
            if len(self.symbols) > count:
                self.line(f"shape {self.of(tensor)}[{', '.join(sizes)}]")
            self.extents[tensor] = sizes
        return self.extents[tensor]

    def bound(self, tensor: Tensor, fresh_constants: bool = False) -> tuple[str, ...]:
        sizes = []
        for axis, dim in enumerate(tensor.dims):
            text = None if fresh_constants and dim.constant is not None else self._size(dim)
            if text is None:
                text = self.names.size(axis, tensor.rank)
                self.symbols.append(Symbol(text, dim.values))
            sizes.append(text)
        return tuple(sizes)

    def _size(self, dim: Num) -> str | None:
        constant = dim.constant
        if constant is not None:
            return literal(constant)
        return next((symbol.text for symbol in self.symbols if symbol.values == dim.values), None)

    def extents_of(self, op: Op, dims: Sequence[Num], like: Sequence[Tensor] = ()) -> tuple[str, ...]:
        """Texts for the extents of a tensor that is yet to be made, after those of `like` where they are equal."""
        return tuple(self.extent(op, dim, like) for dim in dims)

    def extent(self, op: Op, dim: Num, like: Sequence[Tensor] = ()) -> str:
        for tensor in like:
            for axis, other in enumerate(tensor.dims):
                if other.values == dim.values:
                    return self.sizes(tensor)[axis]
        return self.number(dim, op, like)

    # -- numbers --------------------------------------------------------------------------------------------------

    def number(self, number: Num, op: Op, near: Sequence[Tensor] = ()) -> str:
        """An expression for the number. Raises Untranslatable where none fits all samples."""
        constant = number.constant
        if constant is not None:
            return literal(constant)
        tensors = (*near, *(value for value in op.args.values() if isinstance(value, Tensor)))
        found = express(number, self._candidates(op.path, tensors))
        if found is None and self.hoisted is not None:
            found = self.names.fresh("number")
            self.hoisted.append((found, number))
            self.symbols.append(Symbol(found, number.values))
        if found is None:
            values = ", ".join(str(value) for value in number.values)
            raise op.fail(
                f"no expression in sizes and attributes was found for a number that is {values} at the sizes tried"
            )
        return _TOKEN.sub(lambda match: self._attribute(int(match[1])), found)

    def _candidates(self, path: str, near: Iterable[Tensor]) -> list[Symbol]:
        texts = {text for tensor in near if tensor in self.known for text in self.sizes(tensor)}
        first = [symbol for symbol in self.symbols if symbol.text in texts]
        rest = [symbol for symbol in reversed(self.symbols) if symbol.text not in texts]
        attributes = self.attributes.near(path)
        home = [symbol for is_near, symbol in attributes if is_near]
        far = [symbol for is_near, symbol in attributes if not is_near]
        return [*first, *home, *rest, *far]

    def _attribute(self, index: int) -> str:
        path = self.attributes.path(index)
        if path.endswith(LENGTH):
            return f"len({self._read(path.removesuffix(LENGTH))})"
        return self._read(path)

    def _read(self, path: str) -> str:
        """The name of an attribute of the original, declared when it is first read."""
        if path not in self.home:
            name = self.names.fresh(_last_names(path, 1))
            self.header.append(f'attr {name} = "{path}"')
            self.home[path] = name
        return self.home[path]

    # -- statements -----------------------------------------------------------------------------------------------

    def define(self, op: Op, text: str, tensor: Tensor | None = None, sizes: Sequence[str] | None = None) -> str:
        """`name = text` for a result (the first one unless given)."""
        target = tensor or op.out
        name = self.result(target, op)
        self.line(f"{name} = {text}")
        self.name(target, name, sizes)
        return name

    def call(self, op: Op, function: str, *tensors: Tensor, **options: object) -> str:
        """`name = function(a, b; option=…)` for a prelude function of one result. Options: texts, numbers, bools,
        Nums, lists of those; None is left out."""
        return self.define(op, self.called(op, function, *tensors, **options))

    def called(self, op: Op, function: str, *tensors: Tensor, **options: object) -> str:
        given = ", ".join(f"{key}={self.option(value, op)}" for key, value in options.items() if value is not None)
        return f"{function}({', '.join(self.of(t) for t in tensors)}{'; ' + given if given else ''})"

    def option(self, value: object, op: Op) -> str:
        match value:
            case bool():
                return "1" if value else "0"
            case Num():
                return self.number(value, op)
            case int() | float():
                return literal(value)
            case str():
                return value
            case tuple() | list():
                return f"[{', '.join(self.option(item, op) for item in value)}]"
            case _:
                raise op.fail(f"no text for the option {value!r}")

    def alias(self, op: Op, source: Tensor, tensor: Tensor | None = None) -> None:
        """The result is `source` under another name: nothing is written."""
        self.name(tensor or op.out, self.of(source), self.extents.get(source))

    def iterators(self, count: int, *, avoid: Iterable[str] = (), like: Sequence[str] = ()) -> tuple[str, ...]:
        """Free names for `count` iterators, after the sizes that they run through where those have names."""
        taken = set(avoid)
        found: list[str] = []
        for index in range(count):
            size = like[index] if index < len(like) else ""
            first = size[:1].lower() if size[:1].isalpha() else ""
            name = next(n for n in (first, *ITERATORS) if n and n not in taken and not self.names.has(n))
            taken.add(name)
            found.append(name)
        return tuple(found)

    def indices(self, tensor: Tensor, dims: Sequence[Num], iterators: Sequence[str], op: Op) -> str:
        """`x[i, 0, j]`: reading `tensor` broadcast to `dims` at `iterators`."""
        if tensor.rank == 0:
            return self.of(tensor)
        start = len(dims) - tensor.rank
        texts = []
        for axis, dim in enumerate(tensor.dims):
            wanted = dims[start + axis]
            if dim.values == wanted.values:
                texts.append(iterators[start + axis])
            elif dim.is_one:
                texts.append("0")
            else:
                raise op.fail("operands whose sizes are broadcast at some sizes and equal at others")
        return f"{self.of(tensor)}[{', '.join(texts)}]"

    def scalar(self, operand: Operand, op: Op) -> str:
        """A number as an operand of an expression."""
        match operand:
            case Num():
                return atom(self.number(operand, op))
            case str():
                return operand
            case bool() | int() | float():
                return atom(literal(operand))
            case _:
                raise op.fail("a tensor where a number is expected")

    def pointwise(self, op: Op, form: str, *operands: Operand, tensor: Tensor | None = None) -> str:
        """A result computed element by element: `form` with {0}, {1}, … for the operands, which are broadcast to the
        result's shape. Whole-tensor form where all have that shape, else a nest."""
        target = tensor or op.out
        tensors = [operand for operand in operands if isinstance(operand, Tensor)]
        numbers = {i: self.scalar(o, op) for i, o in enumerate(operands) if not isinstance(o, Tensor)}
        shape = [dim.values for dim in target.dims]
        full = [t for t in tensors if [dim.values for dim in t.dims] == shape]
        rest = [t for t in tensors if t not in full]
        if full and not [t for t in rest if t.rank]:
            texts = [numbers.get(i) or self.of(o) for i, o in enumerate(operands)]  # type: ignore[arg-type]
            return self.define(op, form.format(*texts), target, self.extents.get(full[0]))
        sizes = self.extents_of(op, target.dims, tensors)
        its = self.iterators(target.rank, like=sizes)
        texts = [
            self.indices(operand, target.dims, its, op) if isinstance(operand, Tensor) else numbers[i]
            for i, operand in enumerate(operands)
        ]
        return self.nest(op, tuple(zip(its, sizes, strict=True)), form.format(*texts), tensor=target)

    def nest(
        self,
        op: Op,
        outer: Sequence[tuple[str, str]],
        value: str,
        *,
        tensor: Tensor | None = None,
        reduced: Sequence[tuple[str, str]] = (),
        operator: str = "=",
        where: str = "",
    ) -> str:
        """`for outer, reduced [where …]: name[outer] operator value`: iterators with their extents.

        Without iterators (rank 0) the statement stands alone, as `name[] = value`."""
        target = tensor or op.out
        name = self.result(target, op)
        domain = ", ".join(f"{iterator}<{extent}" for iterator, extent in (*outer, *reduced))
        left = f"{name}[{', '.join(iterator for iterator, _ in outer)}]"
        head = f"for {domain}{' where ' + where if where else ''}: " if domain else ""
        self.line(f"{head}{left} {operator} {value}" if domain else f"{name} = {value}")
        self.name(target, name, [extent for _, extent in outer])
        return name

    def view(
        self,
        op: Op,
        source: Tensor,
        index: Callable[[tuple[str, ...]], Sequence[str]],
        sizes: Sequence[str],
        tensor: Tensor | None = None,
    ) -> str:
        """`view name[i<…] = source[index(i)]`: another arrangement of the same elements."""
        target = tensor or op.out
        its = self.iterators(len(sizes), like=sizes)
        name = self.result(target, op)
        head = ", ".join(f"{iterator}<{size}" for iterator, size in zip(its, sizes, strict=True))
        self.line(f"view {name}[{head}] = {self.of(source)}[{', '.join(index(its))}]")
        self.name(target, name, sizes)
        return name

    def tensor(self, op: Op, sizes: Sequence[str], *, start: str | None = None, tensor: Tensor | None = None) -> str:
        """`tensor name[sizes] = start`: a declared result, to be written by nests that the rule adds with `line`."""
        target = tensor or op.out
        name = self.result(target, op)
        self.line(f"tensor {name}[{', '.join(sizes)}]{'' if start is None else ' = ' + start}")
        self.name(target, name, sizes)
        return name


def hint_of(op: Op) -> str:
    """A name after the layer that the operator is, else after the operator."""
    if op.module is not None:
        return _last_names(op.module.path)
    return op.name.split(".")[1].strip("_")


def _last_names(path: str, count: int = 2) -> str:
    """features.0.weight -> features_0_weight, cut to what tells it apart."""
    parts = [part for part in re.split(r"\W+", re.sub(r"\{[^}]*\}", "", path)) if part]
    words = [index for index, part in enumerate(parts) if not part.isdigit()]
    start = words[-count] if len(words) >= count else 0
    return "_".join(parts[start:]) or "h"
