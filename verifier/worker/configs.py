"""The numbers of a library model's configuration: what they say, and the configuration with other numbers."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

LABEL = "config."
Role = Literal["vocab", "layers", "heads", "head", "feed", "width", "length", "other"]
Path: TypeAlias = tuple[str, ...]
_ROLES: tuple[tuple[Role, re.Pattern[str]], ...] = (
    ("other", re.compile(r"(^|_)(ids?|id2label|label2id|labels|beams|seed|version|buckets|hashes)$|dropout")),
    ("vocab", re.compile(r"vocab")),
    ("layers", re.compile(r"layers?$|^depth$")),
    ("heads", re.compile(r"heads?$")),
    ("head", re.compile(r"head_(dim|size)$|^d_kv$|^kv_channels$")),
    ("feed", re.compile(r"intermediate|ffn|feed_forward_size|inner|^d_ff$|mlp")),
    ("width", re.compile(r"hidden_size$|^d_model$|embd$|embedding_size$|_dim$|_dims$|^dim$|^hidden_dim$|embds_dim$")),
    ("length", re.compile(r"pos|ctx|length|window|block_size|chunk_size|context|image_size|patch_size|seq")),
)


@dataclass(frozen=True, slots=True)
class Number:
    """One number of a configuration. `path`: keys and list positions that lead to it; `owner`: those of its dict."""

    label: str
    path: Path
    value: int
    role: Role

    @property
    def name(self) -> str:
        return next((part for part in reversed(self.path) if not part.isdigit()), "")

    @property
    def owner(self) -> Path:
        steps = list(self.path)
        while steps and steps[-1].isdigit():
            steps.pop()
        return tuple(steps[:-1])


def numbers(name: str, full: Mapping[str, Any]) -> Iterator[Number]:
    """Every positive whole number of a configuration, those in lists and inner configurations included."""
    for path, value in _flat(full, ()):
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            last = next((part for part in reversed(path) if not part.isdigit()), "")
            label = f"{LABEL}{name}.{'.'.join(path)}"
            yield Number(label, path, value, _role(last))


def _flat(item: Any, path: Path) -> Iterator[tuple[Path, Any]]:  # noqa: ANN401
    if isinstance(item, Mapping):
        for key, value in item.items():
            yield from _flat(value, (*path, str(key)))
    elif isinstance(item, list | tuple):
        for index, value in enumerate(item):
            yield from _flat(value, (*path, str(index)))
    else:
        yield path, item


def _role(name: str) -> Role:
    return next((role for role, pattern in _ROLES if pattern.search(name)), "other")


# -- changing a configuration ------------------------------------------------------------------------------------------


def changed(
    written: Mapping[str, Any], full: Mapping[str, Any], name: str, changes: Mapping[str, int]
) -> dict[str, Any]:
    """A copy of `written` with other numbers; lists of one entry per layer follow the number of layers."""
    made = copy.deepcopy(dict(written))
    for number in numbers(name, full):
        if number.label in changes:
            _put(made, full, number.path, changes[number.label])
            if number.role == "layers":
                _follow(_at(made, number.owner), number.value, changes[number.label])
    return made


def _at(item: Any, path: Path) -> Any:  # noqa: ANN401
    for part in path:
        item = item[int(part)] if isinstance(item, list) else item[part]
    return item


def _put(made: dict[str, Any], full: Mapping[str, Any], path: Path, value: int) -> None:
    """A part that is not written down is taken from `full` first."""
    here: Any = made
    for depth, part in enumerate(path[:-1]):
        if isinstance(here, dict) and part not in here:
            here[part] = copy.deepcopy(_plain(_at(full, path[: depth + 1])))
        here = here[int(part)] if isinstance(here, list) else here[part]
    if isinstance(here, list):
        here[int(path[-1])] = value
    else:
        here[path[-1]] = value


def _plain(item: Any) -> Any:  # noqa: ANN401
    return list(item) if isinstance(item, tuple) else item


def _follow(holder: dict[str, Any], before: int, after: int) -> None:
    for key, item in holder.items():
        if not isinstance(item, list) or not item:
            continue
        if len(item) == before and all(isinstance(part, str) for part in item):
            period = _period(item)
            holder[key] = [item[index % period] for index in range(after)]
        elif _pattern_layers(item) == before:
            holder[key] = [[part, count * after // before] for part, count in item]


def _period(items: Sequence[object]) -> int:
    """The shortest whole pattern that `items` repeats."""
    whole = (size for size in range(1, len(items) + 1) if len(items) % size == 0)
    return next(size for size in whole if list(items) == [*items[:size]] * (len(items) // size))


def _pattern_layers(item: list[Any]) -> int:
    """Layers of a list of [pattern, times]; 0 when it is none."""
    total = 0
    for part in item:
        match part:
            case [list() | tuple() as pattern, int(times)]:
                total += len(pattern) * times
            case _:
                return 0
    return total


def step(full: Mapping[str, Any], owner: Path, layers: int) -> int:
    """What the number of layers has to be a multiple of."""
    steps = [1]
    for item in _at(full, owner).values():
        if isinstance(item, list | tuple) and item:
            if len(item) == layers and all(isinstance(part, str) for part in item):
                steps.append(_period(item))
            elif _pattern_layers(list(item)) == layers:
                steps.append(layers // min(part[1] for part in item))
    return max(steps)
