"""The whole text: recordings at several sizes in, declarations, functions, statements and outputs out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath

from ...verifier.traced import Traced
from ...verifier.types import Reference, Unrecordable
from .blocks import blocks_of
from .emit import Emitter, Scope
from .facts import with_facts
from .functions import Functions
from .loops import FEWEST, MANY, varying
from .model import Attributes, Tensor, Untranslatable
from .names import Names
from .numbers import literal
from .ssa import Flat, flattened
from .structure import Look, Readers, Region, Roller, difference, readers_of, tree, without_unneeded
from .subscripts import subscripted
from .writer import LENGTH, Writer


def translate(reference: Reference) -> str:
    """The program as Affine Loop IR, from recordings at its full size and at the verifier's small ones.

    Raises Untranslatable ("model.py:12: aten.foo.default: why") where there is no rule, no expression for a number, or
    operators that depend on data; the verifier's ReferenceFailed where the program does not run without memory."""
    changes = [{}, *(dict(assignment.changes) for assignment in reference.assignments())]
    try:
        recordings = [reference.trace(change) for change in changes]
    except Unrecordable as error:
        raise Untranslatable(str(error)) from None
    text = text_of(recordings, PurePath(reference.describe().path).stem)
    return with_facts(text, reference, recordings[0])


def text_of(recordings: Sequence[Traced], name: str) -> str:
    """One text for recordings of one program at several sizes, the full size first."""
    without: set[object] = set()
    while True:
        roots, readers = _trees_of(recordings)
        functions = Functions(roots, readers, without)
        try:
            return _written(roots, readers, functions, name)
        except Untranslatable:
            shared = next((f for f in functions.all() if f.writing and not f.repeated), None)
            if shared is None:
                raise
            without.add(shared.regions[0].key)


def _trees_of(recordings: Sequence[Traced]) -> tuple[list[Region], list[Readers]]:
    """As trees that are alike, perhaps only after slices that keep everything at some sizes are seen as slices, or
    with what the last turn of a loop makes for a next one, or with layers that change their state in a `repeat`."""
    plain, sliced = Look(MANY), map(subscripted, recordings)
    try:
        return _trees(recordings, plain)
    except Untranslatable as error:
        others = ((recordings, Look(MANY, whole=True)), (sliced, plain), (recordings, Look(MANY, stateful=True)))
        for given, look in others:
            try:
                return _trees(list(given), look)
            except Untranslatable:
                pass
        raise error from None


def _trees(recordings: Sequence[Traced], look: Look) -> tuple[list[Region], list[Readers]]:
    """The recordings as trees that are alike. Where they are not, a loop may have had a single turn in some, or there
    are more layers in a sequence at some sizes."""
    roots, readers = _rolled(recordings, look)
    if not _alike(roots):
        look = replace(look, hints=varying(_rolled(recordings, replace(look, fewest=FEWEST))[0]))
        roots, readers = _rolled(recordings, look)
    if not _alike(roots):
        found, _ = _rolled(recordings, replace(look, blocks=()))
        blocks = list(dict.fromkeys(block for root in found for block in blocks_of(root)))
        roots, readers = _rolled(recordings, replace(look, blocks=blocks))
    for other in roots[1:]:
        if other.key != roots[0].key:
            raise Untranslatable(difference(roots[0], other))
    return roots, readers


def _alike(roots: Sequence[Region]) -> bool:
    return all(root.key == roots[0].key for root in roots)


def _rolled(recordings: Sequence[Traced], look: Look) -> tuple[list[Region], list[Readers]]:
    roots, readers = [], []
    numbers = frozenset.intersection(*(frozenset(recording.literals.values()) for recording in recordings))
    for recording in recordings:
        flat = flattened(recording, numbers, look.whole)
        flat.loose = look.blocks is not None
        root = tree(flat)
        readers.append(readers_of(root))
        Roller(readers[-1], look).finish(root)
        if look.whole:
            without_unneeded(root)
        roots.append(root)
    return roots, readers


def _written(roots: Sequence[Region], readers: Sequence[Readers], functions: Functions, name: str) -> str:
    numbers = [_numbers(root.flat) for root in roots]
    by_flat = {id(root.flat): found for root, found in zip(roots, numbers, strict=True)}
    emitter = Emitter(functions, by_flat, {id(r.flat): found for r, found in zip(roots, readers, strict=True)})
    shared = [path for path in numbers[0] if all(path in other for other in numbers)]
    attributes = Attributes.made({path: tuple(found[path] for found in numbers) for path in shared})
    writer = Writer(Names(), attributes)
    scope = Scope(writer, roots, {}, named=False, top=True)
    inputs = _inputs(scope)
    scope.slots = {position: inputs[value] for position, value in enumerate(roots[0].uses)}
    emitter.items(scope, [root.items for root in roots])
    outputs = [*_results(scope, inputs), *_changes(scope, inputs, emitter.stated)]
    title = re.sub(r"\W+", "_", name).strip("_").lower() or "program"
    title = title if title[0].isalpha() else f"p{title}"
    parts = [f"program {title}", *writer.header, *emitter.texts, *writer.lines, *outputs]
    return "\n".join(parts) + "\n"


def _numbers(flat: Flat) -> Mapping[str, int | float]:
    """Plain numbers of the original, by path; lengths of its lists as path#len."""
    attrs = flat.traced.bindings.attrs
    numbers = {p: v for p, v in attrs.items() if isinstance(v, int | float) and not isinstance(v, bool)}
    return {**numbers, **{f"{p}{LENGTH}": len(v) for p, v in attrs.items() if isinstance(v, tuple)}}


def _inputs(scope: Scope) -> dict[int, Tensor]:
    """forward()'s tensors that are read, declared; by their value in the first sample."""
    flats = scope.flats
    used = {*scope.regions[0].uses, *(value for _, value, _ in flats[0].results if value is not None)}
    found: dict[int, Tensor] = {}
    for path, value in flats[0].inputs.items():
        if value in used and value not in found:
            tensor = scope.tensor(tuple(flat.inputs[path] for flat in flats))
            scope.writer.declare(tensor, "input", path)
            found[value] = tensor
    unknown = [value for value in scope.regions[0].uses if value not in found]
    if unknown:
        raise Untranslatable(f"a tensor of shape {list(flats[0].kinds[unknown[0]].shape)} has no name")
    return found


def _results(scope: Scope, inputs: Mapping[int, Tensor]) -> list[str]:
    lines = []
    for leaves in zip(*(flat.results for flat in scope.flats), strict=True):
        _, value, plain = leaves[0]
        if value is not None:
            lines.append(f"output {_name(scope, tuple(leaf[1] for leaf in leaves), inputs)}")
        elif plain is not None:
            lines.append(f"output {_plain(scope, [leaf[2] for leaf in leaves])}")
    return lines


def _plain(scope: Scope, values: Sequence[object]) -> str:
    from .model import Num, Op

    first = values[0]
    if isinstance(first, bool | str) or not isinstance(first, int | float):
        if any(value != first for value in values):
            raise Untranslatable("a result that is no tensor differs between sizes")
        return f'"{first}"' if isinstance(first, str) else literal(bool(first))
    return scope.writer.number(Num(tuple(values)), Op("result", {}, (), "forward()"))  # type: ignore[arg-type]


def _changes(scope: Scope, inputs: Mapping[int, Tensor], stated: set[int]) -> list[str]:
    """`stated`: what has been put out already, by id."""
    lines = []
    left = [[item for item in flat.changed if id(item) not in stated] for flat in scope.flats]
    if any([item.name for item in items] != [item.name for item in left[0]] for items in left):
        raise Untranslatable("other state is changed at other sizes")
    for items in zip(*left, strict=True):
        name = _name(scope, tuple(item.value for item in items), inputs)
        lines.append(f'output {items[0].kind} "{items[0].name}" = {name}')
    return lines


def _name(scope: Scope, values: tuple[int, ...], inputs: Mapping[int, Tensor]) -> str:
    if values[0] in scope.made:
        return scope.writer.of(scope.made[values[0]])
    if values[0] in inputs:
        return scope.writer.of(inputs[values[0]])
    return scope.writer.of(scope.resolve(values))
