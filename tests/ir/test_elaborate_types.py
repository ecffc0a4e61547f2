"""Element types: results of expressions as PyTorch 2.13 gives them (facts), and the types of tensors a text makes."""

from __future__ import annotations

import pytest
from elaborating import built, dtype, problems, result_type
from solar_agent.ir.program import Apply, Cast, Const, Nest, Read

# name to storage type; each stands for a tensor of 4 elements and, with a 0 behind its name, for one of rank 0
NAMES = {"b": "bool", "u8": "u8", "i8": "i8", "i32": "i32", "i64": "i64", "f16": "f16", "bf": "bf16", "f32": "f32",
         "f64": "f64"}  # fmt: skip
GIVEN = {name: f"{kind}[4]" for name, kind in NAMES.items()} | {f"{name}0": f"{kind}[]" for name, kind in NAMES.items()}
HEAD = "".join(f"input {name}[{'T' if kind.endswith('[4]') else ''}]\n" for name, kind in GIVEN.items())

# expression on whole tensors, and the dtype of the same expression in torch
FACTS = """
f32 + 1                     f32
i64 + 1                     i64
i64 + 1.5                   f32
i32 * 2.0                   f32
b + 1                       i64
b * 1.0                     f32
bf + 1.0                    bf16
bf * f160                   bf16
bf * f320                   bf16
bf * f32                    f32
bf + f16                    f32
i8 + u8                     i16
i8 + i640                   i8
i8 * i64                    i64
f16 * f640                  f16
i64 * f640                  f64
i64 / i64                   f32
i64 / 2                     f32
b / b                       f32
bf / i64                    bf16
i64 // 2                    i64
i64 % 2.0                   f32
i64 ** 2                    i64
i64 ** 0.5                  f32
bf ** 2                     bf16
-i8                         i8
exp(i64)                    f32
exp(bf)                     bf16
sqrt(b)                     f32
abs(i8)                     i8
floor(i64)                  i64
sign(bf)                    bf16
bf > 0                      bool
i64 == f32                  bool
b and i64 > 0               bool
not i64                     bool
select(b, 1, 0)             i64
select(b, 1.0, 0)           f32
select(b, 1.0, 0.0) * bf    f32
select(b, bf, 0)            bf16
select(b, bf, -inf)         bf16
select(b, i64, 0.5)         f32
select(b, f16, f32)         f32
max(bf, 0)                  bf16
max(i64, 0)                 i64
max(bf, f32)                f32
(i640 * 1.5) * bf           bf16
(i640 + f160) * f32         f32
f640 + 1                    f64
f320 * f640                 f64
i320 + i640                 i64
i80 + 1                     i8
b0 + 1                      i64
bf0 * f32                   f32
f32 * 1 + bf                f32
bf + 2 * f640               bf16
i32 * 1.5 + bf              f32
bf * (1.0 / 3)              bf16
f16 - i64 * (1 / 3)         f32
sum(t<T: i8[t])             i64
sum(t<T: b[t])              i64
sum(t<T: bf[t])             bf16
prod(t<T: i32[t])           i64
max(t<T: i8[t])             i8
any(t<T: i8[t] > 0)         bool
all(t<T: b[t])              bool
bf * sum(t<T: f32[t])       bf16
i8 + sum(t<T: i8[t])        i8
bf / sum(t<T: i64[t])       bf16
bf16(f32)                   bf16
bf16(f32) * 2.5             bf16
f32(bf) + bf                f32
i8(f32) + 1                 i8
int(f32)                    i64
float(i64) * bf             f32
f64(1) * bf                 bf16
bool(f32)                   bool
"""
ROWS = [tuple(row.rsplit(maxsplit=1)) for row in FACTS.strip().splitlines()]


@pytest.mark.parametrize(("expression", "expected"), [(expression.strip(), expected) for expression, expected in ROWS])
def test_result_types_are_those_of_torch(expression: str, expected: str) -> None:
    assert result_type(built(f"{HEAD}y = {expression}\noutput y\n", GIVEN)) == expected


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("for t<T: y[t] = i8[t]", "i8"),
        ("for t<T: y[t] = 1", "i64"),
        ("for t<T: y[t] = 0.5", "f32"),
        ("for t<T: y[t] = t", "i64"),
        ("for t<T: y[t] = t * 0.5", "f32"),
        ("for t<T: y[t] = bf[t] * t", "bf16"),
        ("for t<T: y[t] = t < 2", "bool"),
        ("for t<T: y[] += i8[t]", "i64"),
        ("for t<T: y[] *= b[t]", "i64"),
        ("for t<T: y[] += bf[t]", "bf16"),
        ("for t<T: y[] max= i8[t]", "i8"),
        ("for t<T: y[] or= i8[t] > 0", "bool"),
        ("for t<T: y[] argmax= bf[t]", "i64"),
        ("tensor y[T]\nfor t<T: y[t] = bf[t]", "bf16"),
        ("tensor y[T] = 0\nfor t<T: y[t] = bf[t]", "bf16"),
        ("tensor y[T] = -inf\nfor t<T: y[t] = i64[t]", "f32"),
        ("tensor y[T] = 0\nfor t<T: y[t] = i32[t]", "i32"),
        ("tensor y[T] = 0\nfor t<T: y[i64[t]] += i32[t]", "i64"),
        ("tensor y[T] = 0\nfor t<T: y[i64[t]] += bf[t]", "bf16"),
        ("tensor y[T] = 0\ny[0] = 1\nfor t<2: y[t + 1] = f16[t]", "f16"),
        ("tensor y[T] = False\nfor t<T: y[t] or= b[t]", "bool"),
        ("tensor y[T] = bf\nfor t<T: y[t] += f32[t]", "bf16"),
        ("tensor y[T] : bf16 = 0\nfor t<T: y[t] = f32[t]", "bf16"),
        ("tensor y[T] : int = 0\nfor t<T: y[t] = i8[t]", "i64"),
        ("tensor y[T] : float\nfor t<T: y[t] = i8[t]", "f32"),
        ("tensor y[T] = 0", "f32"),
        ("tensor y[T] = True", "bool"),
        ("tensor y[T]", "f32"),
        ("tensor z[T] = 0\ny = z + bf", "f32"),
        ("view y[t<T] = bf[T - 1 - t]", "bf16"),
        ("y = bf", "bf16"),
        ("y = 3", "i64"),
        ("y = 0.5", "f32"),
        ("y = True", "bool"),
    ],
)
def test_types_of_tensors(statement: str, expected: str) -> None:
    assert result_type(built(f"{HEAD}{statement}\noutput y\n", GIVEN)) == expected


def test_an_output_may_say_its_type() -> None:
    program = built(f"{HEAD}output f32 : bf16\noutput f32 : int\noutput i8\noutput 3 : i32\n", GIVEN)
    assert [output.dtype for output in program.outputs] == ["bf16", "i64", "i8", "i32"]


def test_every_node_of_an_expression_has_its_type() -> None:
    program = built(f"{HEAD}for t<T: y[t] = select(i8[t] > 2, bf16(f32[t]), 0) + t*1.5\noutput y\n", GIVEN)
    (nest,) = (statement for statement in program.body if isinstance(statement, Nest))
    match nest.value:
        case Apply(
            "add", (Apply("select", (Apply("gt", _, compared), Cast(Read(), cast), zero), chosen), right), total
        ):
            assert (compared, cast, chosen, total) == ("bool", "bf16", "bf16", "bf16")
            assert zero == Const(0, "i64")
            assert isinstance(right, Apply) and right.dtype == "f32"
        case _:
            raise AssertionError(nest.value)


def test_a_guarded_read_holds_its_fill_in_its_own_type() -> None:
    program = built(f"{HEAD}for t<T: y[t] = (i8[t - 1] else 2.0) + (bf[t - 1] else -inf)\noutput y\n", GIVEN)
    (nest,) = (statement for statement in program.body if isinstance(statement, Nest))
    assert isinstance(nest.value, Apply)
    fills = [arg.fill for arg in nest.value.args if isinstance(arg, Read)]
    assert fills == [Const(2.0, "i8"), Const(float("-inf"), "bf16")]


def test_a_target_of_an_unknown_type_is_a_fault() -> None:
    (problem,) = problems(f"{HEAD}for t<T: y[t] = b17(f32[t])\noutput b\n", GIVEN)
    assert problem.message.startswith("unknown function b17()")
    assert dtype(built(f"{HEAD}y = e4m3(f32)\noutput y\n", GIVEN), "y") == "e4m3"
