"""einsum_graph.yaml: SOLAR's layers, and under `solar_agent` the text and bindings they were lifted from.

The layers cannot say guards, triangles and strides; with the text the file is analysed as exactly as the program."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .faults import UsageFault

if TYPE_CHECKING:
    from ..ir.bindings import Bindings
    from ..ir.program import Program

FORMAT = 1
SECTION = "solar_agent"


@dataclass(frozen=True, slots=True)
class Lifted:
    """What a graph was made from. `verdict` is that of the text when it was lifted."""

    verdict: str
    text: str
    bindings: Bindings


def graph_text(program: Program, lifted: Lifted) -> str:
    from ..analysis.graph import lift
    from ..analysis.plainyaml import read_yaml
    from ..verifier.codec import bindings_to_plain

    layers = lift(program).to_yaml()
    origin = {
        "format": FORMAT,
        "layers_sha256": _sha256(read_yaml(layers)["layers"]),
        "verdict": lifted.verdict,
        "bindings": json.dumps(bindings_to_plain(lifted.bindings), separators=(",", ":")),
        "text": lifted.text,
    }
    return layers + _section(origin)


def read_graph(path: Path, content: str) -> Lifted:
    """Raises UsageFault when the file is no graph, was not written by `lift`, or was changed since."""
    from ..analysis.plainyaml import YamlError, read_yaml
    from ..verifier.codec import bindings_from_plain

    try:
        graph = read_yaml(content)
    except YamlError as error:
        raise UsageFault(f"{path}: {error}; mend it, or lift again") from None
    if not isinstance(graph, dict) or not isinstance(graph.get("layers"), dict):
        raise UsageFault(f"{path} holds no `layers`; give an einsum_graph.yaml that `solar-agent lift` has written")
    origin = graph.get(SECTION)
    if not isinstance(origin, dict) or origin.get("format") != FORMAT:
        raise UsageFault(
            f"{path} does not say what it was lifted from (no `{SECTION}` of format {FORMAT}); "
            "lift the program with this version"
        )
    seen = _sha256(graph["layers"])
    if seen is None or origin.get("layers_sha256") != seen:
        raise UsageFault(f"the layers of {path} were changed after they were lifted; lift the program again")
    try:
        bindings = bindings_from_plain(json.loads(origin["bindings"]))
        return Lifted(str(origin["verdict"]), str(origin["text"]), bindings)
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise UsageFault(f"`{SECTION}` in {path} is damaged ({error}); lift the program again") from None


def _section(origin: Mapping[str, object]) -> str:
    """The text as a block, the rest as plain lines."""
    import yaml

    class Blocks(yaml.SafeDumper):
        pass

    def block(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)

    Blocks.add_representer(str, block)
    return yaml.dump({SECTION: dict(origin)}, Dumper=Blocks, sort_keys=False, allow_unicode=True, width=1 << 20)


def _sha256(layers: object) -> str | None:
    """None for what JSON cannot say, which no lifted graph holds."""
    try:
        return hashlib.sha256(json.dumps(layers, sort_keys=True).encode()).hexdigest()
    except (TypeError, ValueError):
        return None
