"""Strict reading of JSON into frozen dataclasses: a missing, unknown or mistyped field is an error that names it."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")


class DecodeError(ValueError):
    """The data does not have the form that was expected; the message starts with the place."""


def decode(cls: type[T], data: object, where: str = "") -> T:
    """Builds the dataclass `cls` from plain JSON data. Raises DecodeError."""
    place = where or cls.__name__
    if not isinstance(data, dict):
        raise DecodeError(f"{place}: expected an object, got {_kind(data)}")
    hints = get_type_hints(cls)
    names = [field.name for field in fields(cast(Any, cls))]
    _check_names(set(names), set(data), place)
    return cls(**{name: _value(hints[name], data[name], f"{place}.{name}") for name in names})


def _check_names(expected: set[str], found: set[str], place: str) -> None:
    if missing := sorted(expected - found):
        raise DecodeError(f"{place}: missing {', '.join(missing)}")
    if unknown := sorted(found - expected):
        raise DecodeError(f"{place}: unknown {', '.join(unknown)}")


def _value(hint: Any, data: object, place: str) -> object:  # noqa: ANN401 (type hints have no common type)
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal:
        return _literal(args, data, place)
    if origin in (Union, types.UnionType):
        return _union(args, data, place)
    if origin is tuple:
        return _items(args, data, place)
    if origin is Mapping:
        if not isinstance(data, dict):
            raise DecodeError(f"{place}: expected an object, got {_kind(data)}")
        return {str(key): _value(args[1], item, f"{place}.{key}") for key, item in data.items()}
    if is_dataclass(hint):
        return decode(cast(type[Any], hint), data, place)
    return _plain(hint, data, place)


def _literal(allowed: tuple[object, ...], data: object, place: str) -> object:
    if data not in allowed or isinstance(data, bool) != any(isinstance(item, bool) for item in allowed):
        raise DecodeError(f"{place}: expected one of {', '.join(map(repr, allowed))}, got {data!r:.60}")
    return data


def _union(options: tuple[Any, ...], data: object, place: str) -> object:
    if data is None and type(None) in options:
        return None
    kept = [option for option in options if option is not type(None)]
    return _value(kept[0], data, place)


def _items(args: tuple[Any, ...], data: object, place: str) -> tuple[object, ...]:
    if not isinstance(data, list):
        raise DecodeError(f"{place}: expected a list, got {_kind(data)}")
    return tuple(_value(args[0], item, f"{place}.{position}") for position, item in enumerate(data))


def _plain(hint: type, data: object, place: str) -> object:
    if hint is float and type(data) is int:
        return float(data)
    if type(data) is not hint:
        raise DecodeError(f"{place}: expected {hint.__name__}, got {_kind(data)}")
    return data


def _kind(data: object) -> str:
    return "null" if data is None else type(data).__name__
