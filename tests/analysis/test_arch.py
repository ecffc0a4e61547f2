"""Device files: sourced numbers, peaks that follow from clocks and units, clear errors."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from solar_agent.analysis.arch import (
    ArchError,
    list_archs,
    load_arch,
    matrix_rate,
    parse_arch,
    read_config,
    vector_rate,
)

NAMES = list_archs()


def raw(name: str) -> dict:
    return yaml.safe_load(read_config(name))


def test_the_six_devices_are_there() -> None:
    assert {"H100_PCIe", "H100_SXM", "A100_80GB", "A6000", "B200", "Jetson_Thor"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_number_has_a_source(name: str) -> None:
    data = raw(name)
    entries = [entry for part in ("matrix_flops_per_s", "vector_flops_per_s") for entry in data[part].values()]
    entries += [data[part] for part in ("special_ops_per_s", "dram_bytes_per_s", "dram_bytes", "l2_bytes",
                                        "shared_bytes", "register_bytes")]
    assert all(len(entry["source"]) > 10 and float(entry["value"]) > 0 for entry in entries)
    assert data["name"] == name


@pytest.mark.parametrize("name", NAMES)
def test_peaks_are_clock_times_units(name: str) -> None:
    data = raw(name)
    units = data["units"]
    for part, clock in (("matrix", "matrix_clock_hz"), ("vector", "vector_clock_hz")):
        per_clock = units[f"{part}_flops_per_clock_per_sm"]
        assert per_clock
        for dtype, operations in per_clock.items():
            computed = units["sm_count"] * operations * units[clock]
            assert data[f"{part}_flops_per_s"][dtype]["value"] == pytest.approx(computed, rel=0.015), (part, dtype)
    special = units["sm_count"] * units["special_ops_per_clock_per_sm"] * units["vector_clock_hz"]
    assert data["special_ops_per_s"]["value"] == pytest.approx(special, rel=1e-3)


@pytest.mark.parametrize(
    ("name", "dtype", "teraflops"),
    [("H100_PCIe", "bf16", 756), ("H100_SXM", "bf16", 989), ("A6000", "f16", 154.8), ("Jetson_Thor", "f16", 258.5),
     ("A100_80GB", "bf16", 312), ("B200", "bf16", 2250), ("A100_80GB", "f32", 156)],
)
def test_dense_rates_are_flops_not_multiply_adds(name: str, dtype: str, teraflops: float) -> None:
    found = matrix_rate(load_arch(name), dtype)
    assert found is not None
    assert found[1] == pytest.approx(teraflops * 1e12, rel=2e-3)


def test_a_type_without_a_unit_runs_in_one_that_holds_it() -> None:
    assert matrix_rate(load_arch("A100_80GB"), "e4m3") == ("bf16", 312e12)
    assert matrix_rate(load_arch("H100_PCIe"), "e2m1") == ("f8", 1512.8e12)
    assert matrix_rate(load_arch("A6000"), "f64") is None
    assert matrix_rate(load_arch("A6000"), "i64") is None
    assert vector_rate(load_arch("H100_PCIe"), "i64") == ("i32", 25.6e12)
    assert vector_rate(load_arch("H100_PCIe"), "bool")[0] == "i32"


def test_names_ignore_case_and_unknown_ones_list_what_there_is() -> None:
    assert load_arch("h100_pcie").name == "H100_PCIe"
    with pytest.raises(ArchError, match=r"unknown device 'TPU'.*A100_80GB, A6000, B200.*\.yaml"):
        load_arch("TPU")


def test_own_file_by_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(read_config("B200").replace("name: B200", "name: mine"))
    assert load_arch(str(path)).name == "mine"
    with pytest.raises(ArchError, match="no such file"):
        load_arch(str(tmp_path / "other.yaml"))


@pytest.mark.parametrize(
    ("text", "message"),
    [("a: [1", "not YAML"), ("- 1", "expected a mapping"), ("name: x", "matrix_flops_per_s: Field required"),
     ("{}", "Field required")],
)
def test_malformed_files_say_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(ArchError, match=f"bad.yaml: {message}|bad.yaml: .*{message}"):
        parse_arch(text, "bad.yaml")


def test_a_number_without_source_or_with_a_wrong_field_is_refused() -> None:
    data = raw("A6000")
    del data["dram_bytes_per_s"]["source"]
    with pytest.raises(ArchError, match=r"dram_bytes_per_s\.source"):
        parse_arch(yaml.safe_dump(data), "a.yaml")
    data = raw("A6000") | {"flops": 3}
    with pytest.raises(ArchError, match="flops: Extra inputs"):
        parse_arch(yaml.safe_dump(data), "a.yaml")
    data = raw("A6000")
    data["l2_bytes"]["value"] = -1
    with pytest.raises(ArchError, match=r"l2_bytes\.value"):
        parse_arch(yaml.safe_dump(data), "a.yaml")


def test_solar_layout_is_read_as_multiply_adds_a_clock() -> None:
    text = "\n".join([
        "name: Toy", "SRAM_capacity: 1000", "SRAM_byte_per_cycle: 1", "DRAM_capacity: 5000",
        "DRAM_byte_per_cycle: 100", "freq_GHz: 2", "MAC_per_cycle_fp32_sm: 10", "MAC_per_cycle_bf16_tc: 40",
        "MAC_per_cycle_nvfp4_tc: 160",
    ])
    arch = parse_arch(text, "toy.yaml")
    assert arch.dram_bytes_per_s.per_s == 200e9  # 100 bytes a clock at 2 GHz
    assert arch.vector_flops_per_s["f32"].per_s == 2 * 10 * 2e9  # two FLOPs a multiply-add
    assert matrix_rate(arch, "bf16") == ("bf16", 2 * 40 * 2e9)
    assert matrix_rate(arch, "e2m1") == ("f4", 2 * 160 * 2e9)
    assert matrix_rate(arch, "f32") is None


FOREIGN = (
    "name: X\nfreq_GHz: 1\nDRAM_byte_per_cycle: 10\nMAC_per_cycle_fp32_sm: 1\n"
    "DRAM_capacity: 1\nSRAM_capacity: 1\n"
)


@pytest.mark.parametrize("value", ["fast", "null", "0", "-5", ".inf", ".nan", "[1]"])
def test_a_rate_in_solar_layout_is_a_number_above_zero(value: str) -> None:
    with pytest.raises(ArchError, match="MAC_per_cycle_bf16_tc: expected a number above 0"):
        parse_arch(f"{FOREIGN}MAC_per_cycle_bf16_tc: {value}\n", "x.yaml")


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(b"\xff\xfe\0")
    with pytest.raises(ArchError, match=r"not UTF-8 text \(byte 0\)"):
        load_arch(str(path))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: &a [x, x]\nb: [*a, *a]\n", r"line 2 has an alias \(\*a\)"),
        ("a: &a {b: *a}\n", "line 1 has an alias"),
        ("a: " + "[" * 100 + "]" * 100, "line 1 is nested too deeply"),
        ("a: 2020-99-99\n", "not YAML: month must be in 1..12"),
        ("a: !!python/object/apply:os.getpid []\n", "not YAML: could not determine a constructor"),
    ],
)
def test_yaml_is_plain_data(text: str, said: str) -> None:
    with pytest.raises(ArchError, match=said):
        parse_arch(text, "x.yaml")
