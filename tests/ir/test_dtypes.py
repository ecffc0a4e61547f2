"""Storage types: sizes, ranges, and the result types of PyTorch 2.13 written down as facts."""

from __future__ import annotations

import itertools

import pytest
from solar_agent.ir.dtypes import (
    DTYPES,
    RANK0,
    STRONG,
    WEAK,
    Typed,
    bytes_of,
    floating,
    integer_range,
    kind,
    promote,
    summed,
)

NAMES = ["bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"]

# torch.result_type(tensor with axes of the row's type, tensor with axes of the column's type), columns as NAMES
BOTH_WITH_AXES = """
bool  bool  u8    i8    i16   i32   i64   f16   bf16  f32   f64
u8    u8    u8    i16   i16   i32   i64   f16   bf16  f32   f64
i8    i8    i16   i8    i16   i32   i64   f16   bf16  f32   f64
i16   i16   i16   i16   i16   i32   i64   f16   bf16  f32   f64
i32   i32   i32   i32   i32   i32   i64   f16   bf16  f32   f64
i64   i64   i64   i64   i64   i64   i64   f16   bf16  f32   f64
f16   f16   f16   f16   f16   f16   f16   f16   f32   f32   f64
bf16  bf16  bf16  bf16  bf16  bf16  bf16  f32   bf16  f32   f64
f32   f32   f32   f32   f32   f32   f32   f32   f32   f32   f64
f64   f64   f64   f64   f64   f64   f64   f64   f64   f64   f64
"""

# the row with axes, the column of rank 0
SECOND_OF_RANK_ZERO = """
bool  bool  u8    i8    i16   i32   i64   f16   bf16  f32   f64
u8    u8    u8    u8    u8    u8    u8    f16   bf16  f32   f64
i8    i8    i8    i8    i8    i8    i8    f16   bf16  f32   f64
i16   i16   i16   i16   i16   i16   i16   f16   bf16  f32   f64
i32   i32   i32   i32   i32   i32   i32   f16   bf16  f32   f64
i64   i64   i64   i64   i64   i64   i64   f16   bf16  f32   f64
f16   f16   f16   f16   f16   f16   f16   f16   f16   f16   f16
bf16  bf16  bf16  bf16  bf16  bf16  bf16  bf16  bf16  bf16  bf16
f32   f32   f32   f32   f32   f32   f32   f32   f32   f32   f32
f64   f64   f64   f64   f64   f64   f64   f64   f64   f64   f64
"""

# the row a tensor, with axes or of rank 0; the column a Python bool, int, float
WITH_A_LITERAL = """
bool  bool  i64   f32
u8    u8    u8    f32
i8    i8    i8    f32
i16   i16   i16   f32
i32   i32   i32   f32
i64   i64   i64   f32
f16   f16   f16   f16
bf16  bf16  bf16  bf16
f32   f32   f32   f32
f64   f64   f64   f64
"""
LITERALS = ["bool", "i64", "f32"]


def facts(table: str, columns: list[str]) -> list[tuple[str, str, str]]:
    rows = [line.split() for line in table.strip().splitlines()]
    return [(row[0], column, result) for row in rows for column, result in zip(columns, row[1:], strict=True)]


@pytest.mark.parametrize(
    ("table", "columns", "left", "right"),
    [
        (BOTH_WITH_AXES, NAMES, STRONG, STRONG),
        (BOTH_WITH_AXES, NAMES, RANK0, RANK0),
        (SECOND_OF_RANK_ZERO, NAMES, STRONG, RANK0),
        (WITH_A_LITERAL, LITERALS, STRONG, WEAK),
        (WITH_A_LITERAL, LITERALS, RANK0, WEAK),
    ],
)
def test_promotion_is_that_of_torch(table: str, columns: list[str], left: int, right: int) -> None:
    for a, b, result in facts(table, columns):
        expected = Typed(result, max(left, right))
        assert promote(Typed(a, left), Typed(b, right)) == expected, (a, b)
        assert promote(Typed(b, right), Typed(a, left)) == expected, (b, a)


def test_three_operands_of_three_levels() -> None:
    # torch: (tensor(2, i64) * 1.5) * ones(3, bf16) is bf16, and ones(3, i32) * tensor(2., f64) is f64
    rank0 = promote(Typed("i64", RANK0), Typed("f32", WEAK))
    assert rank0 == Typed("f32", RANK0)
    assert promote(rank0, Typed("bf16")) == Typed("bf16")
    assert promote(Typed("i32"), Typed("f64", RANK0)) == Typed("f64")


def test_complex_results_keep_the_wider_half() -> None:
    assert promote(Typed("f64"), Typed("c64")) == Typed("c128")
    assert promote(Typed("f32"), Typed("c64")) == Typed("c64")
    assert promote(Typed("i64"), Typed("c64")) == Typed("c64")
    assert promote(Typed("c64"), Typed("c128")) == Typed("c128")


def test_floating_functions_make_floats_of_ints_and_bools() -> None:
    # torch.exp(ones(2, dtype=...)).dtype
    results = {"bool": "f32", "u8": "f32", "i64": "f32", "f16": "f16", "bf16": "bf16", "f32": "f32", "f64": "f64"}
    assert {name: floating(Typed(name)).name for name in results} == results
    assert floating(Typed("i64", WEAK)).level == WEAK


def test_sums_of_ints_and_bools_are_i64() -> None:
    # torch.sum(ones(2, dtype=...)).dtype
    results = {"bool": "i64", "u8": "i64", "i8": "i64", "i32": "i64", "i64": "i64", "f16": "f16", "bf16": "bf16"}
    assert {name: summed(Typed(name)).name for name in results} == results


def test_promotion_is_symmetric_and_keeps_what_it_has() -> None:
    for a, b in itertools.product(NAMES, NAMES):
        for left, right in itertools.product((WEAK, RANK0, STRONG), repeat=2):
            one, other = Typed(a, left), Typed(b, right)
            result = promote(one, other)
            assert result == promote(other, one)
            assert result.level == max(left, right)
            assert promote(one, one) == one


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("i8", -128, 127),
        ("u8", 0, 255),
        ("i16", -32768, 32767),
        ("i32", -(2**31), 2**31 - 1),
        ("i64", -(2**63), 2**63 - 1),
        ("u64", 0, 2**64 - 1),
        ("i4", -8, 7),
        ("u4", 0, 15),
    ],
)
def test_integer_ranges(name: str, low: int, high: int) -> None:
    assert integer_range(name) == (low, high)


def test_bytes_of_packed_types_are_rounded_up() -> None:
    assert bytes_of("f32", 3) == 12
    assert bytes_of("bool", 3) == 3
    assert bytes_of("e2m1", 3) == 2
    assert bytes_of("i4", 0) == 0
    assert bytes_of("c64", 2) == 16


def test_kinds() -> None:
    assert {kind(name) for name in DTYPES} == {"bool", "int", "float", "complex"}
    assert [kind(name) for name in ("bool", "u4", "e4m3", "bf16", "c128")] == [
        "bool",
        "int",
        "float",
        "float",
        "complex",
    ]
