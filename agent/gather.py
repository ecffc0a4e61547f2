"""What a model has to see of a program, within a budget: what is left out is named, never silently dropped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..ir.bindings import Constant, TensorType

if TYPE_CHECKING:
    from ..verifier.types import Description, Leaf

CHARACTERS_PER_TOKEN = 4
SOURCE_TOKENS = 24_000
STATE_TOKENS = 6_000
ATTRIBUTE_TOKENS = 4_000
LONGEST_VALUE_CHARACTERS = 200
# Attributes of library modules that their weights' shapes, the mode or nothing at all depends on.
IMPLIED = frozenset({  # fmt: skip
    "in_channels", "out_channels", "in_features", "out_features", "num_features", "num_embeddings", "embedding_dim",
    "transposed", "inplace", "affine", "track_running_stats", "momentum", "training", "sparse", "scale_grad_by_freq",
    "return_indices",
})
NUMBERS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Facts:
    """The program section of a prompt, line by line."""

    entry: str
    kind: str
    framework: str
    mode: str
    default_dtype: str
    signature: str
    sources: tuple[tuple[str, str], ...]
    inputs: tuple[str, ...]
    state: tuple[str, ...]
    attributes: tuple[str, ...]
    draws: tuple[str, ...]
    results: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    tool: bool = False
    worked_examples: bool = True


def gathered(description: Description, *, tool: bool = False, worked_examples: bool = True) -> Facts:
    bindings = description.bindings
    sources, source_notes = _within_sources(description.sources)
    state, state_notes = _within(grouped(_typed(bindings.state)), STATE_TOKENS, "state entries")
    attributes, attribute_notes = _within(_attribute_lines(bindings.attrs, sources), ATTRIBUTE_TOKENS, "attributes")
    return Facts(
        entry=description.entry,
        kind=description.kind,
        framework=description.framework,
        mode=description.mode,
        default_dtype=description.default_dtype,
        signature=description.signature,
        sources=sources,
        inputs=tuple(_input_lines(description)),
        state=state,
        attributes=attributes,
        draws=tuple(f"{number}: {shown(kind)}" for number, kind in enumerate(bindings.draws)),
        results=tuple(_result_line(leaf) for leaf in description.leaves or ()),
        warnings=(*source_notes, *state_notes, *attribute_notes),
        tool=tool,
        worked_examples=worked_examples,
    )


def shown(kind: TensorType) -> str:
    """`[64, 3] f32`; strided layouts do not matter to a translation."""
    return f"[{', '.join(map(str, kind.shape))}] {kind.dtype}"


def grouped(lines: Iterable[tuple[str, str]]) -> list[str]:
    """`a.0.w: T`, `a.1.w: T` become `a.{0..1}.w: T`: names that differ only in numbers and say the same."""
    groups: dict[tuple[str, str], list[tuple[int, ...]]] = {}
    for name, says in lines:
        pattern = NUMBERS.sub("#", name)
        groups.setdefault((pattern, says), []).append(tuple(int(number) for number in NUMBERS.findall(name)))
    return [
        f"{_filled(pattern, slots)}: {says}"
        for (pattern, says), found in groups.items()
        for slots in _boxes(list(dict.fromkeys(found)))
    ]


def _boxes(points: list[tuple[int, ...]]) -> list[tuple[tuple[int, ...], ...]]:
    """Splits points into full products of per-position sets."""
    if not points[0]:
        return [()]
    sets = tuple(tuple(sorted({point[axis] for point in points})) for axis in range(len(points[0])))
    volume = 1
    for values in sets:
        volume *= len(values)
    if volume == len(points):
        return [sets]
    tails: dict[tuple[tuple[tuple[int, ...], ...], ...], list[int]] = {}
    for head in sets[0]:
        rest = tuple(_boxes([point[1:] for point in points if point[0] == head]))
        tails.setdefault(rest, []).append(head)
    return [(tuple(heads), *box) for rest, heads in tails.items() for box in rest]


def _filled(pattern: str, slots: tuple[tuple[int, ...], ...]) -> str:
    pieces = pattern.split("#")
    return pieces[0] + "".join(_span(values) + piece for values, piece in zip(slots, pieces[1:], strict=True))


def _span(values: tuple[int, ...]) -> str:
    if len(values) == 1:
        return str(values[0])
    if len(values) > 2 and values == tuple(range(values[0], values[-1] + 1)):
        return f"{{{values[0]}..{values[-1]}}}"
    return f"{{{','.join(map(str, values))}}}"


def _typed(state: Mapping[str, TensorType]) -> list[tuple[str, str]]:
    """Entries with their types; an alias of an earlier one says so."""
    first: dict[tuple[str, int, tuple[int, ...]], str] = {}
    lines = []
    for name, kind in state.items():
        says = shown(kind)
        if kind.storage is not None:
            owner = first.setdefault((kind.storage, kind.offset, kind.shape), name)
            if owner != name:
                says = f"{says}, the same tensor as {owner}"
        lines.append((name, says))
    return lines


def _attribute_lines(attrs: Mapping[str, Constant], sources: tuple[tuple[str, str], ...]) -> list[str]:
    """Arguments and constants first, then attributes whose name stands in the source, then the others."""
    words = set(re.findall(r"\w+", "\n".join(text for _, text in sources)))

    def rank(path: str) -> int:
        if not path.startswith("self."):
            return 0
        return 1 if path.rsplit(".", 1)[-1] in words and path.count(".") <= 2 else 2

    whole = [path for path in attrs if not _is_item(path, attrs)]
    told = [path for path in whole if rank(path) < 2 or path.rpartition(".")[2] not in IMPLIED]
    lines = grouped((path, _value(attrs[path])) for path in sorted(told, key=rank))
    if len(told) < len(whole):
        lines.append("(those that shapes imply, such as in_channels of a convolution, are not listed; they exist)")
    return lines


def _is_item(path: str, attrs: Mapping[str, Constant]) -> bool:
    """Items of a list or tuple that is listed whole."""
    parent, _, last = path.rpartition(".")
    return last.isdigit() and isinstance(attrs.get(parent), tuple)


def _value(value: Constant) -> str:
    text = repr(value)
    if len(text) > LONGEST_VALUE_CHARACTERS:
        return f"{text[:LONGEST_VALUE_CHARACTERS]}… ({len(text)} characters)"
    return text


def _input_lines(description: Description) -> Iterable[str]:
    for name, kind in description.bindings.inputs.items():
        domain = description.domains.get(name)
        made = ""
        if domain is not None:
            low, high = domain.low, domain.high
            spread = f" from {_bound(low)} to {_bound(high)}" if low is not None and high is not None else ""
            made = f", made by {domain.factory}{spread}"
        yield f"{name}: {shown(kind)}{made}"


def _bound(value: float | int) -> str:
    return str(value) if isinstance(value, int) else f"{value:.3g}"


def _result_line(leaf: Leaf) -> str:
    where = f"{leaf.kind} {leaf.path}".strip() if leaf.kind != "result" else leaf.path or "the result"
    if leaf.shape is None:
        return f"{where}: a plain {leaf.dtype}"
    return f"{where}: [{', '.join(map(str, leaf.shape))}] {leaf.dtype}"


def _within(lines: list[str], tokens: int, what: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    kept: list[str] = []
    spent = 0
    for line in lines:
        spent += len(line) + 1
        if spent > tokens * CHARACTERS_PER_TOKEN:
            left = len(lines) - len(kept)
            note = f"{left} more lines of {what} are not shown; they can be used all the same"
            return (*kept, f"({note})"), (f"prompt: {left} lines of {what} left out to stay within {tokens} tokens",)
        kept.append(line)
    return tuple(kept), ()


def _within_sources(sources: Mapping[str, str]) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """The entry file always whole, further files while they fit."""
    kept: list[tuple[str, str]] = []
    left: list[str] = []
    spent = 0
    for name, text in sources.items():
        spent += len(text)
        if kept and spent > SOURCE_TOKENS * CHARACTERS_PER_TOKEN:
            left.append(name)
            spent -= len(text)
        else:
            kept.append((name, text.strip("\n")))
    notes = (f"prompt: sources left out to stay within {SOURCE_TOKENS} tokens: {', '.join(left)}",) if left else ()
    return tuple(kept), notes
