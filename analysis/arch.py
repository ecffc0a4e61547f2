"""Devices: peak rates, bandwidths and capacities, each with its source. One file a device in `arch_configs/`.

A FLOP is half a multiply-add: rates of matrix units are FLOP/s of dense operands, never multiply-adds and never
with sparsity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

# where a device has no unit for a type, the next faster type that holds its values
MATRIX_FALLBACK: Mapping[str, tuple[str, ...]] = {
    "f32": ("tf32",), "tf32": ("f32",), "bf16": ("f16", "tf32"), "f16": ("bf16", "tf32"),
    "e4m3": ("f8", "bf16", "f16", "tf32"), "e5m2": ("f8", "bf16", "f16", "tf32"), "e8m0": ("f8", "bf16", "f16"),
    "e2m1": ("f4", "f8", "bf16", "f16"), "i8": ("bf16", "f16"), "u8": ("i8", "bf16", "f16"),
    "i4": ("i8", "bf16", "f16"), "u4": ("i4", "i8", "bf16", "f16"), "f64": (),
}  # fmt: skip
# types that matrix units run under another name
MATRIX_NAME: Mapping[str, str] = {
    "f32": "tf32", "e4m3": "f8", "e5m2": "f8", "e8m0": "f8", "e2m1": "f4", "u8": "i8", "u4": "i4",
}  # fmt: skip


class ArchError(Exception):
    """An unknown device, or a file that does not describe one."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Operations or bytes per second, and where the number comes from."""

    per_s: float
    source: str


@dataclass(frozen=True, slots=True)
class Arch:
    """`matrix_flops_per_s` and `vector_flops_per_s` by type (two FLOPs a multiply-add); special functions an op each.

    `on_chip_bytes` is L2, shared memory and registers together."""

    name: str
    matrix_flops_per_s: Mapping[str, Rate]
    vector_flops_per_s: Mapping[str, Rate]
    special_ops_per_s: Rate
    dram_bytes_per_s: Rate
    dram_bytes: float
    l2_bytes: float
    shared_bytes: float
    register_bytes: float

    @property
    def on_chip_bytes(self) -> float:
        return self.l2_bytes + self.shared_bytes + self.register_bytes


def _models() -> tuple[type[BaseModel], type[BaseModel]]:
    """The schemas of our files and of SOLAR's; built on first use, since pydantic is slow to import."""
    from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt

    class Sourced(BaseModel):
        model_config = ConfigDict(extra="forbid")
        value: PositiveFloat
        source: str = Field(min_length=8)

    class Units(BaseModel):
        """What peaks follow from: clock times units times operations a clock."""

        model_config = ConfigDict(extra="forbid")
        sm_count: PositiveInt
        matrix_clock_hz: PositiveFloat
        vector_clock_hz: PositiveFloat
        matrix_flops_per_clock_per_sm: dict[str, PositiveInt]
        vector_flops_per_clock_per_sm: dict[str, PositiveInt]
        special_ops_per_clock_per_sm: PositiveInt
        source: str = Field(min_length=8)

    class Device(BaseModel):
        model_config = ConfigDict(extra="forbid")
        name: str = Field(pattern=r"^[A-Za-z0-9_]+$")
        units: Units | None = None
        matrix_flops_per_s: dict[str, Sourced]
        vector_flops_per_s: dict[str, Sourced] = Field(min_length=1)
        special_ops_per_s: Sourced
        dram_bytes_per_s: Sourced
        dram_bytes: Sourced
        l2_bytes: Sourced
        shared_bytes: Sourced
        register_bytes: Sourced

    class Foreign(BaseModel):
        """SOLAR's layout: multiply-adds and bytes a clock."""

        model_config = ConfigDict(extra="allow")
        name: str
        freq_GHz: PositiveFloat
        DRAM_byte_per_cycle: PositiveFloat
        MAC_per_cycle_fp32_sm: PositiveFloat
        DRAM_capacity: PositiveFloat
        SRAM_capacity: PositiveFloat

    return Device, Foreign


def list_archs() -> tuple[str, ...]:
    """Names of the devices that come with the package."""
    from .. import arch_configs

    return tuple(sorted(entry.name.removesuffix(".yaml") for entry in files(arch_configs).iterdir()
                        if entry.name.endswith(".yaml")))


def load_arch(name_or_path: str) -> Arch:
    """A device by name (case does not matter), or from a YAML file. Raises ArchError."""
    path = Path(name_or_path)
    if path.suffix in (".yaml", ".yml"):
        if not path.is_file():
            raise ArchError(f"no such file: {name_or_path}")
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise ArchError(f"{name_or_path} is not UTF-8 text (byte {error.start})") from None
        return parse_arch(text, str(path))
    known = {name.lower(): name for name in list_archs()}
    found = known.get(name_or_path.lower())
    if found is None:
        raise ArchError(f"unknown device {name_or_path!r}; there are {', '.join(sorted(known.values()))}; "
                        "a device of your own is a path to a .yaml file")
    return parse_arch(read_config(found), f"{found}.yaml")


def read_config(name: str) -> str:
    from .. import arch_configs

    return (files(arch_configs) / f"{name}.yaml").read_text(encoding="utf-8")


def parse_arch(text: str, origin: str) -> Arch:
    """A device from the text of its file."""
    from pydantic import ValidationError

    from .plainyaml import YamlError, read_yaml

    try:
        data = read_yaml(text)
    except YamlError as error:
        raise ArchError(f"{origin}: {error}") from None
    if not isinstance(data, dict):
        raise ArchError(f"{origin}: expected a mapping of fields, found {type(data).__name__}")
    device, foreign = _models()
    theirs = "freq_GHz" in data
    try:
        (foreign if theirs else device).model_validate(data)
    except ValidationError as error:
        raise ArchError(f"{origin}: {_first_problem(error)}") from error
    if not theirs:
        return _from_own(data)
    for key in _SOLAR_RATES:
        if key in data and not _is_positive(data[key]):
            raise ArchError(f"{origin}: {key}: expected a number above 0, found {data[key]!r:.40}")
    return _from_solar(data, origin)


def _is_positive(value: object) -> bool:
    try:
        return 0 < float(str(value)) < float("inf")
    except ValueError:
        return False


def _first_problem(error: ValidationError) -> str:
    first = error.errors()[0]
    more = f" ({error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}{more}"


def _rate(entry: Mapping[str, Any]) -> Rate:
    return Rate(float(entry["value"]), str(entry["source"]))


def _from_own(data: Mapping[str, Any]) -> Arch:
    return Arch(
        name=data["name"],
        matrix_flops_per_s={name: _rate(entry) for name, entry in data["matrix_flops_per_s"].items()},
        vector_flops_per_s={name: _rate(entry) for name, entry in data["vector_flops_per_s"].items()},
        special_ops_per_s=_rate(data["special_ops_per_s"]),
        dram_bytes_per_s=_rate(data["dram_bytes_per_s"]),
        dram_bytes=float(data["dram_bytes"]["value"]),
        l2_bytes=float(data["l2_bytes"]["value"]),
        shared_bytes=float(data["shared_bytes"]["value"]),
        register_bytes=float(data["register_bytes"]["value"]),
    )


_SOLAR_TYPES = {
    "tf32": "tf32", "fp16": "f16", "bf16": "bf16", "fp8": "f8", "nvfp4": "f4", "fp4": "f4", "int8": "i8", "fp64": "f64",
}
_SOLAR_RATES = {f"MAC_per_cycle_{theirs}_tc": ours for theirs, ours in _SOLAR_TYPES.items()}


def _from_solar(data: Mapping[str, Any], origin: str) -> Arch:
    """A file in SOLAR's layout, taken at its word: its rates are multiply-adds a clock.

    It tells nothing of special functions; they are given the float32 vector rate."""
    clock_hz = float(data["freq_GHz"]) * 1e9
    matrix = {
        ours: Rate(2 * float(data[key]) * clock_hz, f"{origin}: 2 x {key} x freq_GHz")
        for key, ours in _SOLAR_RATES.items()
        if key in data
    }
    key = "MAC_per_cycle_fp32_sm"
    vector = Rate(2 * float(data[key]) * clock_hz, f"{origin}: 2 x {key} x freq_GHz")
    return Arch(
        name=str(data["name"]),
        matrix_flops_per_s=matrix,
        vector_flops_per_s={"f32": vector},
        special_ops_per_s=Rate(vector.per_s / 2, f"{origin}: not given, one a multiply-add of float32"),
        dram_bytes_per_s=Rate(float(data["DRAM_byte_per_cycle"]) * clock_hz, f"{origin}: DRAM_byte_per_cycle"),
        dram_bytes=float(data["DRAM_capacity"]),
        l2_bytes=float(data["SRAM_capacity"]),
        shared_bytes=0.0,
        register_bytes=0.0,
    )


def matrix_rate(arch: Arch, dtype: str) -> tuple[str, float] | None:
    """(type, FLOP/s) of the unit that multiplies matrices of a type; None: the device has none that holds it."""
    name = MATRIX_NAME.get(dtype, dtype)
    for candidate in (name, *MATRIX_FALLBACK.get(dtype, ())):
        rate = arch.matrix_flops_per_s.get(candidate)
        if rate is not None:
            return candidate, rate.per_s
    return None


def vector_rate(arch: Arch, dtype: str) -> tuple[str, float]:
    """(type, FLOP/s) of the vector units for a type; types without a rate run as float16, float32 or int32."""
    integer = dtype in ("bool", "i4", "u4", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")
    narrow = dtype in ("e4m3", "e5m2", "e8m0", "e2m1")
    for candidate in (dtype, *(("f16",) if narrow else ()), "i32" if integer else "f32", "f32"):
        rate = arch.vector_flops_per_s.get(candidate)
        if rate is not None:
            return candidate, rate.per_s
    first = next(iter(arch.vector_flops_per_s))
    return first, arch.vector_flops_per_s[first].per_s
