"""The one JSON document of every command that looks at a program. What is not there is null, never 0."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from .findings import Findings, line_count, nest_count
from .state import TranslatorInfo

if TYPE_CHECKING:
    from ..verifier.types import Description

Json: TypeAlias = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
COUNTS = (
    "macs",
    "macs_nominal",
    "flops",
    "vector_ops",
    "special_ops",
    "unfused_bytes",
    "fused_bytes",
    "input_bytes",
    "weight_bytes",
    "output_bytes",
)
BOUNDS = ("unfused_s", "fused_s", "cache_aware_s", "certified_s", "algebraic_s", "binding", "precision")


def document(found: Findings) -> dict[str, Json]:
    analysis = found.analysis
    return {
        "source": _source(found.description),
        "verdict": found.verdict,
        "translator": _translator(found.translator),
        "ir": _text(found),
        "certificate": json.loads(found.certificate.to_json()) if found.certificate else None,
        "counts": _fields(analysis.counts, COUNTS) if analysis else None,
        "bounds": {name: _fields(bound, BOUNDS) for name, bound in analysis.bounds.items()} if analysis else None,
        "warnings": _warnings(found),
    }


def dumps(value: Mapping[str, Json]) -> str:
    return json.dumps(_finite(dict(value)), indent=2, allow_nan=False)


def _source(description: Description | None) -> Json:
    if description is None:
        return None
    return {
        "path": description.path,
        "entry": description.entry,
        "kind": description.kind,
        "framework": description.framework,
        "framework_version": description.framework_version,
        "mode": description.mode,
        "sha256": description.source_sha256,
    }


def _translator(info: TranslatorInfo | None) -> Json:
    if info is None:
        return None
    return {
        "name": info.name,
        "model": info.model,
        "attempts": info.attempts,
        "input_tokens": info.usage.input_tokens,
        "output_tokens": info.usage.output_tokens,
        "why": info.why or None,
    }


def _text(found: Findings) -> Json:
    if found.text is None:
        return None
    return {
        "path": str(found.text_path) if found.text_path else None,
        "nests": nest_count(found.program.body) if found.program else None,
        "lines": line_count(found.text),
    }


def _warnings(found: Findings) -> Json:
    analysis = found.analysis
    notes = [*found.warnings, *([found.message] if found.message else [])]
    if analysis is not None:
        notes += analysis.counts.notes
        notes += [f"{name}: {note}" for name, bound in analysis.bounds.items() for note in bound.notes]
    return list(dict.fromkeys(notes))


def _fields(value: object, names: tuple[str, ...]) -> dict[str, Json]:
    return {name: getattr(value, name, None) for name in names}


def _finite(value: Json) -> Json:
    """Not-a-number and infinities are no JSON: null."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {key: _finite(part) for key, part in value.items()}
        case list():
            return [_finite(part) for part in value]
        case _:
            return value
