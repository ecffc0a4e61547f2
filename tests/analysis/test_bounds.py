"""Bounds on toy devices with exact numbers, their order, precision and notes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from analysis_texts import program, tensor
from solar_agent.analysis import bounds as module
from solar_agent.analysis.arch import Arch, Rate, list_archs, load_arch
from solar_agent.analysis.bounds import BoundOrderError, bounds
from solar_agent.analysis.count import count
from solar_agent.analysis.precision import PrecisionError, parse_precision
from solar_agent.analysis.work import Work
from solar_agent.ir.program import Program

ROOFLINE = """
input x[N, I]
param w = "w"[I, O]
e = exp(x)
for n<N, o<O, i<I: g[n,o] += e[n,i]*w[i,o]
output g
"""


def toy(macs_per_s: float) -> Arch:
    """1e12 operations/s, 1e11 B/s, and multiply-adds as asked; two FLOPs a multiply-add."""

    def rate(value: float) -> Rate:
        return Rate(value, "toy")

    return Arch("toy", {"tf32": rate(2 * macs_per_s)}, {"f32": rate(1e12)}, rate(1e12), rate(1e11), 1e12, 1e6, 0, 0)


def roofline(size: int) -> Program:
    return program(ROOFLINE, {"x": tensor(size, size)}, {"w": tensor(size, size)})


def test_unfused_is_a_sum_of_maxima_and_fused_a_maximum_of_sums() -> None:
    found = bounds(roofline(1024), toy(1e12))
    exp_s = 2 * 1024 * 1024 * 4 / 1e11  # reads and writes 8,388,608 bytes: 83.886 us
    matmul_s = 1024**3 / 1e12  # 1,073.742 us, more than its 125.829 us of traffic
    assert found.unfused_s == pytest.approx(exp_s + matmul_s, rel=1e-12)
    assert found.unfused_s * 1e6 == pytest.approx(1157.628, abs=5e-4)
    assert found.fused_s * 1e6 == pytest.approx(1073.742, abs=5e-4)
    assert found.binding == "matrix units"


def test_fast_matrix_units_leave_the_traffic() -> None:
    found = bounds(roofline(1024), toy(1e14))
    assert found.unfused_s * 1e6 == pytest.approx(83.886 + 125.829, abs=1e-3)  # 209.715
    assert found.fused_s * 1e6 == pytest.approx(125.829, abs=5e-4)
    assert found.binding == "DRAM bandwidth"


def test_tiny_problems_are_not_rounded_to_zero_and_are_flagged() -> None:
    found = bounds(roofline(4), toy(1e12))
    assert found.fused_s == pytest.approx(192 / 1e11, rel=1e-12)  # 192 B: 1.92 ns
    assert any("below launch overhead" in note for note in found.notes)
    assert not any("below launch overhead" in note for note in bounds(roofline(1024), toy(1e12)).notes)


def test_full_size_needs_no_memory() -> None:
    found = bounds(roofline(32_768), toy(1e14))
    assert found.fused_s == pytest.approx(32_768**3 / 1e14)


@pytest.mark.parametrize("name", list_archs())
@pytest.mark.parametrize("precision", [None, "bf16", "fp8", "bf16:f32", "tf32", "ieee"])
def test_fused_never_exceeds_unfused(name: str, precision: str | None) -> None:
    found = bounds(roofline(512), load_arch(name), precision)
    assert 0 < found.fused_s <= found.unfused_s


def test_a_broken_order_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    work = module.analyse(roofline(64))
    idle = tuple(replace(op, macs=0, reads=(), writes=()) for op in work.operations)
    faulty: Work = replace(work, operations=idle)
    monkeypatch.setattr(module, "analyse", lambda program: faulty)
    with pytest.raises(BoundOrderError, match="exceeds unfused"):
        bounds(roofline(64), toy(1e14))


def test_float32_products_run_in_tf32_and_the_assumption_says_so() -> None:
    arch = load_arch("H100_PCIe")
    default = bounds(roofline(4096), arch)
    assert default.fused_s == pytest.approx(2 * 4096**3 / 378.2e12)
    assert any("TF32" in line for line in default.assumptions)
    strict = bounds(roofline(4096), arch, "ieee")
    assert strict.fused_s == pytest.approx(2 * 4096**3 / 51.2e12)
    assert strict.binding == "vector units"
    half = bounds(roofline(4096), arch, "bf16")
    assert half.fused_s == pytest.approx(2 * 4096**3 / 756.4e12)
    assert any("storage in bf16" in line for line in half.assumptions)


def test_storage_and_compute_are_overridden_apart() -> None:
    arch = toy(1e20)
    full, half = bounds(roofline(256), arch, "f32"), bounds(roofline(256), arch, "f32:bf16")
    assert half.fused_s == pytest.approx(full.fused_s / 2)
    alone = bounds(roofline(256), arch, "bf16:")
    assert alone.fused_s == full.fused_s  # storage stays float32
    assert any("arithmetic in bf16, storage in the program's own types" in line for line in alone.assumptions)
    ints = program("input i[N] : i64\nfor n<N: y[n] = i[n] + 1\noutput y\n", {"i": tensor(1000, dtype="i64")})
    assert bounds(ints, arch, "bf16").fused_s == bounds(ints, arch).fused_s  # only floats change


def test_fallbacks_are_noted() -> None:
    found = bounds(roofline(512), load_arch("A100_80GB"), "e4m3")
    assert "A100_80GB has no matrix unit for e4m3: bf16 is charged instead" in found.notes
    assert not any("has no matrix unit" in note for note in bounds(roofline(512), load_arch("H100_PCIe"), "fp8").notes)
    ints = """
input a[N, K] : i64
input b[K, M] : i64
for n<N, m<M, k<K: y[n,m] += a[n,k]*b[k,m]
output y
"""
    shapes = {"a": tensor(64, 64, dtype="i64"), "b": tensor(64, 64, dtype="i64")}
    notes = bounds(program(ints, shapes), load_arch("H100_PCIe")).notes
    assert any("no matrix unit for i64: its vector units are charged" in note for note in notes)


def test_special_functions_share_both_units() -> None:
    text = "input x[N]\nfor n<N: y[n] = exp(exp(exp(exp(x[n]))))\noutput y\n"
    arch = replace(toy(1e12), dram_bytes_per_s=Rate(1e15, "toy"))
    found = bounds(program(text, {"x": tensor(1_000_000)}), arch)
    assert found.fused_s == pytest.approx(4e6 / (1e12 + 1e12))
    assert found.binding == "special functions"


def test_later_bounds_are_none_and_precision_is_named() -> None:
    found = bounds(roofline(64), toy(1e12))
    assert (found.cache_aware_s, found.certified_s, found.algebraic_s) == (None, None, None)
    assert found.precision == "as written"
    assert bounds(roofline(64), toy(1e12), "bf16").precision == "bf16"
    with pytest.raises(PrecisionError, match="unknown precision 'f33'"):
        parse_precision("f33")


def test_rows_add_up() -> None:
    found = bounds(roofline(1024), toy(1e12))
    assert [row.line for row in found.per_statement] == [5, 6]
    assert sum(row.unfused_s for row in found.per_statement) == pytest.approx(found.unfused_s)
    assert found.per_statement[0].memory_s == pytest.approx(83.88608e-6)


ORDERED = {
    "the same value twice": "input x[N]\nfor n<N: y[n] = exp(x[n])\nfor n<N: z[n] = exp(x[n])\noutput y\noutput z\n",
    "concatenation": """
input x[N]
tensor y[2*N] = 0
for n<N: y[n] = x[n]
output y
""",
    "start value only": "input x[N]\ntensor y[N] = 1.5\noutput y\n",
    "carry as it comes": """
input x[N, D]
for d<D: z[d] = x[0,d] * 2
scan t<N carry h = z:
    for d<D: hn[d] = h[d] + x[t,d]
    next h = hn
    emit ys = h
output ys
""",
    "swapped carries": """
input x[D]
input y[D]
scan t<5 carry a = x, b = y:
    next a = b
    next b = a
output a
output b
""",
    "broadcast view": "input x[N, D]\nfor n<N: m[n] += x[n,0]\nview y[n<N, i<7] = m[n]\noutput y\n",
    "broadcast copy": "input x[N, D]\nfor n<N, i<7: y[n,i] = x[n,0]\noutput y\n",
    "constant": "input x[N, D]\nfor n<N: y[n] = 0 * x[n,0]\noutput y\n",
    "indices": "input x[N, D]\nfor n<N, d<D: y[n,d] = n + d\noutput y\n",
    "converted": "input x[N, D]\nfor n<N, d<D: y[n,d] = bf16(x[n,d])\noutput y\noutput x\n",
}


@pytest.mark.parametrize("name", ORDERED)
def test_compulsory_traffic_is_part_of_the_unfused_one(name: str) -> None:
    shapes = {"x": tensor(5, 4) if "N, D" in ORDERED[name] else tensor(5), "y": tensor(5)}
    used = {key: value for key, value in shapes.items() if f"input {key}[" in ORDERED[name]}
    found = program(ORDERED[name], used)
    counts = count(found)
    assert counts.fused_bytes <= counts.unfused_bytes
    result = bounds(found, load_arch("A6000"))
    assert result.fused_s <= result.unfused_s
