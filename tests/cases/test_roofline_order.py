"""F21: bounds keep their order, from a problem too small for a launch to one too large to be run.

Tools mix up sums and maxima, round small problems away, and allocate large ones."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from solar_agent.agent.units import seconds
from solar_agent.analysis.arch import Arch, load_arch
from solar_agent.analysis.bounds import Bounds, bounds
from solar_agent.analysis.count import count
from solar_agent.ir.load import load
from solar_agent.ir.program import Program
from solar_agent.verifier.types import Limits

from .lab import F32, PROGRAMS, Case, changed, opened

TEXT = """program exp_product
input x[M, K]
param w = "weight"[K, N]
for m<M, k<K: e[m, k] = exp(x[m, k])
for m<M, n<N, k<K: y[m, n] += e[m, k] * w[k, n]
output y
"""
HUGE = 32_768
OPERATIONS_PER_S, BYTES_PER_S = 1e12, 1e11
MATRIX = HUGE**2 * F32  # 4 GiB each: x, the weight and the result
MEMORY = 6 << 30  # of address space; Python and torch take most of one GiB of it

DEVICE = """
name: {name}
matrix_flops_per_s: {{tf32: {{value: {flops}, source: toy device}}}}
vector_flops_per_s: {{f32: {{value: 1.0e+12, source: toy device}}}}
special_ops_per_s: {{value: 1.0e+12, source: toy device}}
dram_bytes_per_s: {{value: 1.0e+11, source: toy device}}
dram_bytes: {{value: 1.0e+12, source: toy device}}
l2_bytes: {{value: 1.0e+6, source: toy device}}
shared_bytes: {{value: 1.0e+6, source: toy device}}
register_bytes: {{value: 1.0e+6, source: toy device}}
"""


@pytest.fixture(scope="module")
def archs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Arch]:
    """A: 1e12 multiply-adds a second, B: 1e14; both 1e12 operations and 1e11 bytes a second."""
    folder = tmp_path_factory.mktemp("devices")
    made = {}
    for name, macs_per_s in (("A", 1e12), ("B", 1e14)):
        path = folder / f"{name}.yaml"
        path.write_text(DEVICE.format(name=name, flops=f"{2 * macs_per_s:.1e}"), encoding="utf-8")
        made[name] = load_arch(str(path))
    return made


@pytest.fixture(scope="module")
def huge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Case]:
    """The program at 32,768 x 32,768, in a process that could not hold two of its matrices."""
    source = (PROGRAMS / "exp_matmul.py").read_text(encoding="utf-8")
    path: Path = tmp_path_factory.mktemp("huge") / "exp_matmul_huge.py"
    path.write_text(changed(source, "WIDTH = 1024", f"WIDTH = {HUGE}"), encoding="utf-8")
    with opened(path, limits=Limits(memory_bytes=MEMORY)) as found:
        yield found


def sized(case: Case, width: int) -> Program:
    """The text at another width: what the same program has there."""
    known = case.description.bindings
    square = (width, width)
    return load(TEXT, replace(
        known,
        inputs={"x": replace(known.inputs["x"], shape=square)},
        state={"weight": replace(known.state["weight"], shape=square)},
    ))  # fmt: skip


def us(seconds: float) -> float:
    return seconds * 1e6


def test_unfused_adds_up_maxima_and_fused_takes_the_maximum_of_sums(huge: Case, archs: dict[str, Arch]) -> None:
    found = bounds(sized(huge, 1024), archs["A"])
    exp_s = 2 * 1024**2 * F32 / BYTES_PER_S  # 8,388,608 bytes against 2**20 operations
    product_s = 1024**3 / 1e12  # 2**30 multiply-adds against 12,582,912 bytes: 125.829 us
    assert us(exp_s) == pytest.approx(83.886, abs=5e-4)
    assert us(product_s) == pytest.approx(1073.742, abs=5e-4)
    assert found.unfused_s == pytest.approx(exp_s + product_s, rel=1e-12)
    assert us(found.unfused_s) == pytest.approx(1157.628, abs=5e-4)
    assert us(found.fused_s) == pytest.approx(1073.742, abs=5e-4)
    assert found.binding == "matrix units"


def test_fast_multiply_adds_leave_the_traffic(huge: Case, archs: dict[str, Arch]) -> None:
    found = bounds(sized(huge, 1024), archs["B"])
    assert us(found.unfused_s) == pytest.approx(209.715, abs=1e-3)  # 83.886 + 125.829
    assert us(found.fused_s) == pytest.approx(3 * 1024**2 * F32 / BYTES_PER_S * 1e6) == pytest.approx(125.829, abs=5e-4)
    assert found.fused_s < found.unfused_s
    assert found.binding == "DRAM bandwidth"


def test_a_problem_below_a_launch_is_not_rounded_away(huge: Case, archs: dict[str, Arch]) -> None:
    program = sized(huge, 4)
    found = bounds(program, archs["A"])
    assert count(program).fused_bytes == 3 * 4 * 4 * F32 == 192
    assert found.fused_s == pytest.approx(1.92e-9, rel=1e-12)
    assert found.binding == "DRAM bandwidth"  # 64 multiply-adds take 0.064 ns
    assert seconds(found.fused_s) == "1.92 ns"  # with its unit
    assert any("below launch overhead" in note for note in found.notes)
    assert not any("below launch overhead" in note for note in bounds(sized(huge, 1024), archs["A"]).notes)


def test_a_huge_problem_is_verified_at_small_sizes(huge: Case) -> None:
    certificate = huge.accepted(TEXT)
    (leaf,) = certificate.leaves
    assert leaf.shape == (HUGE, HUGE)
    assert all(max(shape) < 100 for size in certificate.sizes for shape in size.inputs.values())


def test_nothing_of_its_size_is_allocated(huge: Case, archs: dict[str, Arch]) -> None:
    """Not in the child process, whose address space is less than the two matrices it would need, nor here."""
    assert 2 * MATRIX > MEMORY
    assert huge.description.bindings.inputs["x"].shape == (HUGE, HUGE)
    tracemalloc.start()
    try:
        program = huge.program(TEXT)
        found, work = bounds(program, archs["A"]), count(program)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 16 << 20
    assert work.macs == HUGE**3
    assert work.fused_bytes == 3 * MATRIX
    assert found.fused_s == pytest.approx(HUGE**3 / 1e12)


@pytest.mark.parametrize("width", [1, 4, 64, 1024, HUGE])
@pytest.mark.parametrize("device", ["A", "B"])
def test_fused_never_exceeds_unfused(huge: Case, archs: dict[str, Arch], device: str, width: int) -> None:
    found = bounds(sized(huge, width), archs[device])
    assert 0 < found.fused_s <= found.unfused_s


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("w[k, n]", "w[n, k]", id="weight-transposed"),
        pytest.param("exp(x[m, k])", "exp(x[k, m])", id="input-transposed"),
        pytest.param("e[m, k] * w", "x[m, k] * w", id="no-exponential"),
    ],
)
def test_wrong_texts_are_noticed(huge: Case, old: str, new: str) -> None:
    huge.rejected(changed(TEXT, old, new), "written by line 5: for m<M, n<N, k<K: y[m, n]")


def ordered(found: Bounds) -> bool:
    assert found.cache_aware_s is not None and found.certified_s is not None
    return found.fused_s <= found.certified_s <= found.cache_aware_s


@pytest.mark.xfail(strict=True, raises=AssertionError, reason="no bound with a cache (Orojenesis) is computed yet")
@pytest.mark.parametrize("width", [1024, HUGE])
def test_the_bound_with_a_cache_lies_between(huge: Case, archs: dict[str, Arch], width: int) -> None:
    assert ordered(bounds(sized(huge, width), archs["B"]))
