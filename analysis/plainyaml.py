"""YAML as plain data: no aliases, no tags that make objects, and only so much nesting."""

from __future__ import annotations

from typing import Any

_DEEPEST = 40


class YamlError(ValueError):
    """A text that is not YAML, or more than plain data; one line."""


def read_yaml(text: str) -> Any:  # noqa: ANN401
    """Mappings, lists and scalars. Aliases are refused, since a few lines of them stand for more data than fits in
    memory. Raises YamlError."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    depth = 0
    try:
        for event in yaml.parse(text, Loader=loader):
            if isinstance(event, yaml.AliasEvent):
                raise YamlError(f"{_line(event)} has an alias (*{event.anchor}); write it out")
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > _DEEPEST:
                raise YamlError(f"{_line(event)} is nested too deeply")
        return yaml.load(text, Loader=loader)
    except yaml.YAMLError as error:
        raise YamlError(f"not YAML: {' '.join(str(error).split())}") from None
    except (ValueError, KeyError, AttributeError) as error:  # a scalar that is not of the type its tag or form says
        raise error if isinstance(error, YamlError) else YamlError(f"not YAML: {error}") from None


def _line(event: Any) -> str:  # noqa: ANN401
    return f"line {event.start_mark.line + 1}"
