"""Library models by name (`AutoConfig.from_pretrained("gpt2")`). The network is never asked: a configuration comes
from a local folder, from the library's cache on this machine, or from the facts shipped beside this package. Weights
are never loaded: a model is built from its configuration, with random weights, on the device that is active."""

from __future__ import annotations

import copy
import importlib
import importlib.util
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

from . import configs
from .faults import Refused

SHIPPED = Path(__file__).parents[1] / "hub"
LIBRARY = "transformers"
_CONFIG = "config.json"
_LEAST_MAJOR = 5
_PLACES = {
    "folder": "configuration of a local folder",
    "cache": "configuration from the local Hugging Face cache",
    "shipped": "configuration shipped with solar-agent",
}
_WHERE = frozenset({
    "cache_dir", "force_download", "local_files_only", "proxies", "revision", "subfolder", "token", "use_auth_token",
    "resume_download", "trust_remote_code", "code_revision", "mirror", "_from_auto", "_from_pipeline", "_commit_hash",
})  # fmt: skip
_LOADING = frozenset({
    "state_dict", "from_tf", "from_flax", "low_cpu_mem_usage", "device_map", "max_memory", "offload_folder",
    "offload_state_dict", "offload_buffers", "use_safetensors", "weights_only", "variant", "ignore_mismatched_sizes",
    "output_loading_info", "key_mapping", "disable_mmap", "fusion_config", "adapter_kwargs", "tp_plan", "use_kernels",
    "generation_config",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Found:
    """A configuration as it is written down, and its every number, defaults of its class included."""

    name: str
    place: Literal["folder", "cache", "shipped"]
    text: str
    written: Mapping[str, Any]
    full: Mapping[str, Any]


@dataclass(slots=True)
class _State:
    """What the program that runs now has asked for, and which numbers it is to be given instead."""

    folder: Path = Path()
    changes: Mapping[str, int] = field(default_factory=dict)
    used: dict[str, Found] = field(default_factory=dict)
    weights: set[str] = field(default_factory=set)


_state = _State()


def turn(folder: Path, changes: Mapping[str, int]) -> None:
    """From now on: names of folders are relative to `folder`, `changes` ("config.gpt2.n_embd" -> number) are applied to
    configurations, and what was asked for is forgotten."""
    _state.folder = folder
    _state.changes = {label: value for label, value in changes.items() if label.startswith(configs.LABEL)}
    _state.used = {}
    _state.weights = set()


def used() -> Mapping[str, Found]:
    """The configurations asked for since `turn`, by the name used."""
    return dict(_state.used)


def notes() -> Iterator[str]:
    """One line for each configuration that was used."""
    for name, found in _state.used.items():
        weights = "; weights are random" if name in _state.weights else ""
        yield f'"{name}": {_PLACES[found.place]} (the hub was not asked){weights}'


def wanted(texts: Iterable[str]) -> bool:
    return any(LIBRARY in text for text in texts)


def before_import(libraries: frozenset[str]) -> None:
    """torchvision, which the library looks for, is kept out when nothing else can want it, or when it cannot be
    imported: the library does without it, but not with a broken one."""
    if "torchvision" in sys.modules or importlib.util.find_spec(LIBRARY) is None:
        return
    others = libraries - sys.stdlib_module_names - {"torch", LIBRARY, "numpy", "einops"}
    if others and importlib.util.find_spec("torchvision") is not None:
        try:
            importlib.import_module("torchvision")
        except (ImportError, OSError, RuntimeError, AttributeError):
            pass
        else:
            return
    sys.modules["torchvision"] = None  # type: ignore[assignment]


def install() -> None:
    """Put this module's `from_pretrained` in place of the library's. Does nothing where that is not installed."""
    if importlib.util.find_spec(LIBRARY) is None:
        return
    library = importlib.import_module(LIBRARY)
    if int(str(library.__version__).partition(".")[0]) < _LEAST_MAJOR:
        raise Refused(f"transformers {library.__version__} is too old: version {_LEAST_MAJOR} is needed", "bad_input")
    _alone()
    plain = importlib.import_module("transformers.configuration_utils").PreTrainedConfig
    auto = importlib.import_module("transformers.models.auto.configuration_auto").AutoConfig
    factory = importlib.import_module("transformers.models.auto.auto_factory")._BaseAutoModelClass
    model = importlib.import_module("transformers.modeling_utils").PreTrainedModel
    library.logging.set_verbosity_error()
    auto.from_pretrained = classmethod(_auto_config)
    plain.from_pretrained = classmethod(_plain_config)
    factory.from_pretrained = classmethod(_auto_model)
    model.from_pretrained = classmethod(_plain_model)
    model.warn_if_padding_and_no_attention_mask = _no_warning


def _alone() -> None:
    """Nothing is distributed here; told so, the library does not load torch's parts for it (1 s)."""
    for place in ("transformers.utils.import_utils", "transformers.utils"):
        importlib.import_module(place).is_torch_distributed_available = _not_here  # type: ignore[attr-defined]


def _not_here() -> bool:
    return False


def _no_warning(*_: object, **__: object) -> None:
    """The library reads input values to decide about a warning; nothing is computed from it."""


def _auto_config(cls: Any, /, pretrained_model_name_or_path: object, **kwargs: Any) -> Any:  # noqa: ANN401
    name = str(pretrained_model_name_or_path)
    where, rest = _split(kwargs, _WHERE)
    found = _find(name, where)
    return _made(_class_of(name, found.written), found, rest)


def _plain_config(cls: Any, /, pretrained_model_name_or_path: object, **kwargs: Any) -> Any:  # noqa: ANN401
    where, rest = _split(kwargs, _WHERE)
    return _made(cls, _find(str(pretrained_model_name_or_path), where), rest)


def _auto_model(cls: Any, /, pretrained_model_name_or_path: object, config: Any = None, **kwargs: Any) -> Any:  # noqa: ANN401
    name = str(pretrained_model_name_or_path)
    config, options = _config_for(partial(_auto_config, cls), name, config, kwargs)
    _state.weights.add(name)
    return cls.from_config(config, **options).eval()


def _plain_model(cls: Any, /, pretrained_model_name_or_path: object, config: Any = None, **kwargs: Any) -> Any:  # noqa: ANN401
    name = str(pretrained_model_name_or_path)
    config, options = _config_for(partial(_plain_config, cls.config_class), name, config, kwargs)
    _state.weights.add(name)
    return cls._from_config(config, **options).eval()


def _config_for(maker: Callable[..., Any], name: str, config: Any, kwargs: Mapping[str, Any]) -> tuple[Any, Any]:  # noqa: ANN401
    """The configuration to build with, a copy of the one given, and the options that are left for the model."""
    if kwargs.get("quantization_config") is not None or kwargs.get("load_in_8bit") or kwargs.get("load_in_4bit"):
        raise Refused(f'"{name}": weights are not loaded, so they cannot be quantised', "bad_input")
    if isinstance(config, str | Path):
        name, config = str(config), None
    kwargs = {key: value for key, value in kwargs.items() if key not in _LOADING}
    if kwargs.get("dtype", kwargs.get("torch_dtype")) in (None, "auto"):
        kwargs = {key: value for key, value in kwargs.items() if key not in ("dtype", "torch_dtype")}
    if config is None:
        config, kwargs = maker(name, return_unused_kwargs=True, **kwargs)
    else:
        config = copy.deepcopy(config)
    where, rest = _split(kwargs, _WHERE)
    return config, rest


def _split(kwargs: Mapping[str, Any], names: frozenset[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    inside = {key: value for key, value in kwargs.items() if key in names}
    return inside, {key: value for key, value in kwargs.items() if key not in names}


def _class_of(name: str, written: Mapping[str, Any]) -> Any:  # noqa: ANN401
    mapping = importlib.import_module("transformers.models.auto.configuration_auto").CONFIG_MAPPING
    kind = written.get("model_type")
    if "AutoConfig" in written.get("auto_map", {}):
        raise Refused(f'"{name}" needs code from the hub (trust_remote_code), which is not loaded', "bad_input")
    if kind not in mapping:
        raise Refused(f'"{name}": its configuration has model_type {kind!r}, unknown to transformers', "bad_input")
    return mapping[kind]


def _made(cls: Any, found: Found, kwargs: Mapping[str, Any]) -> Any:  # noqa: ANN401
    written = configs.changed(found.written, found.full, found.name, _state.changes)
    key = getattr(cls, "base_config_key", "")
    if key and key in written:
        written = written[key]
    return cls.from_dict(written, **{"name_or_path": found.name, **kwargs})


def _find(name: str, where: Mapping[str, Any]) -> Found:
    """Raises Refused when the configuration is nowhere on this machine."""
    if name not in _state.used:
        _state.used[name] = _looked_up(name, where)
    return _state.used[name]


def _looked_up(name: str, where: Mapping[str, Any]) -> Found:
    folder = _state.folder / name
    inner = str(where.get("subfolder") or "")
    for path in (folder if folder.is_file() else folder / inner / _CONFIG,):
        if path.is_file():
            return _read(name, "folder", path.read_text(encoding="utf-8"))
    cached = _cached(name, f"{inner}/{_CONFIG}" if inner else _CONFIG, where)
    if cached is not None:
        return _read(name, "cache", cached.read_text(encoding="utf-8"))
    if name in _shipped():
        return _read(name, "shipped", json.dumps(_shipped()[name], indent=2))
    raise Refused(
        f'"{name}": no configuration on this machine (no such folder, not in the Hugging Face cache, not shipped), and '
        f'the hub is not asked; run "hf download {name} {_CONFIG}" or name a folder that holds its {_CONFIG}',
        "bad_input",
    )


def _cached(name: str, file: str, where: Mapping[str, Any]) -> Path | None:
    if name.count("/") > 1 or name.startswith(("/", ".")):
        return None
    hub = importlib.import_module("huggingface_hub")
    path = hub.try_to_load_from_cache(name, file, cache_dir=where.get("cache_dir"), revision=where.get("revision"))
    return Path(path) if isinstance(path, str) else None


@cache
def _shipped() -> Mapping[str, Mapping[str, Any]]:
    """Facts by every name of a model."""
    read = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(SHIPPED.glob("*.json"))]
    return {name: item["config"] for item in read for name in item["names"]}


def _read(name: str, place: Literal["folder", "cache", "shipped"], text: str) -> Found:
    try:
        written = json.loads(text)
    except ValueError as error:
        raise Refused(f'"{name}": its {_CONFIG} is not JSON: {error}', "bad_input") from None
    if not isinstance(written, dict):
        raise Refused(f'"{name}": its {_CONFIG} holds no configuration', "bad_input")
    full: Mapping[str, Any] = written
    if "model_type" in written:
        full = _class_of(name, written).from_dict(copy.deepcopy(written)).to_dict()
    return Found(name, place, text, written, full)
