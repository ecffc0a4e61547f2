"""Recordings as plain JSON values, and back: lists of lists, since there are thousands of operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..ir.bindings import Scalar
from .codec import bindings_from_plain, bindings_to_plain
from .traced import Argument, Call, DType, Operator, Ref, Result, Traced, Value

_TUPLE, _REF, _DTYPE = 0, 1, 2


def traced_to_plain(traced: Traced) -> dict[str, Any]:
    kinds = _Table()
    places = _Table()
    operators = [
        [
            kinds.index((item.name, tuple(item.arguments), item.mutates)),
            item.call,
            places.index(item.where),
            item.results,
            [_argument_to_plain(value) for value in item.arguments.values()],
        ]
        for item in traced.operators
    ]
    return {
        "values": [[item.shape, item.dtype, item.storage, item.contiguous] for item in traced.values],
        "calls": [[item.path, item.cls, item.parent] for item in traced.calls],
        "kinds": kinds.items,
        "places": places.items,
        "operators": operators,
        "inputs": dict(traced.inputs),
        "state": dict(traced.state),
        "results": [[item.path, item.value, item.plain] for item in traced.results],
        "bindings": bindings_to_plain(traced.bindings),
        "draws": list(traced.draws.items()),
        "final_state": dict(traced.final_state),
        "drawn": list(traced.drawn.items()),
        "loose_draws": traced.loose_draws,
        "literals": dict(traced.literals),
    }


class _Table:
    """Each item once, by number."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self._numbers: dict[Any, int] = {}

    def index(self, item: Any) -> int:  # noqa: ANN401
        number = self._numbers.get(item)
        if number is None:
            number = self._numbers[item] = len(self.items)
            self.items.append(item)
        return number


def _argument_to_plain(value: Argument) -> Scalar | list[Any]:
    match value:
        case Ref():
            return [_REF, value.value]
        case DType():
            return [_DTYPE, value.name]
        case tuple():
            return [_TUPLE, *(_argument_to_plain(item) for item in value)]
        case _:
            return value


def _argument_from_plain(plain: Any) -> Argument:  # noqa: ANN401
    match plain:
        case [0, *items]:
            return tuple(_argument_from_plain(item) for item in items)
        case [1, value]:
            return Ref(value)
        case [2, name]:
            return DType(name)
        case None | bool() | int() | float() | str():
            return plain
        case _:
            raise ValueError(f"not an argument: {plain!r:.80}")


def traced_from_plain(plain: Mapping[str, Any]) -> Traced:
    kinds = [(name, tuple(names), tuple(mutates)) for name, names, mutates in plain["kinds"]]
    return Traced(
        values=tuple(Value(tuple(shape), *rest) for shape, *rest in plain["values"]),
        calls=tuple(Call(*item) for item in plain["calls"]),
        operators=tuple(_operator(item, kinds, plain["places"]) for item in plain["operators"]),
        inputs=dict(plain["inputs"]),
        state=dict(plain["state"]),
        results=tuple(Result(*item) for item in plain["results"]),
        bindings=bindings_from_plain(plain["bindings"]),
        draws=dict(plain["draws"]),
        final_state=dict(plain["final_state"]),
        drawn={operator: tuple(made) for operator, made in plain["drawn"]},
        loose_draws=tuple(plain["loose_draws"]),
        literals=dict(plain["literals"]),
    )


def _operator(
    plain: Sequence[Any], kinds: Sequence[tuple[str, tuple[str, ...], tuple[str, ...]]], places: Sequence[str]
) -> Operator:
    kind, call, place, results, values = plain
    name, names, mutates = kinds[kind]
    arguments = {key: _argument_from_plain(value) for key, value in zip(names, values, strict=True)}
    return Operator(name, arguments, tuple(results), mutates, call, places[place])
