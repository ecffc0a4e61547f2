"""Loop nests, expressions, inline reductions and statements on whole tensors."""

from __future__ import annotations

import pytest
from elaborating import built, dtype, lines, problems, result, shape
from solar_agent.ir.program import Nest, Source

GIVEN = {"x": "4 3", "i": "i64[4]", "m": "bool[4]", "c": "i8[4, 3]", "s": "f32[]", "h": "3"}
HEAD = "input x[T, D]\ninput i[T]\ninput m[T]\ninput c[T, D]\ninput s[]\ninput h[D]\n"
HEAD_LINES = HEAD.count("\n")


def body(text: str, given: dict[str, str] | None = None) -> list[str]:
    return lines(built(f"{HEAD}{text}\noutput x\n", given or GIVEN))


def message(text: str) -> str:
    (problem,) = problems(f"{HEAD}{text}\noutput x\n", GIVEN)
    assert problem.line > HEAD_LINES and problem.column >= 1
    return problem.message


# domains


def test_a_nest_makes_its_target_with_the_extents_of_its_iterators() -> None:
    assert body("for t<T, d<D: y[d, t] = x[t, d]") == [
        "tensor y[3, 4] : f32",
        "for t<4, d<3: y[d, t] = x[t, d]",
    ]


def test_extents_are_affine_in_iterators_to_their_left_and_shapes_bounding_boxes() -> None:
    assert body("for t<T, j<t+1, k<2*j: y[t, j, k] = x[t, 0]") == [
        "tensor y[4, 4, 6] : f32",
        "for t<4, j<t + 1, k<2*j: y[t, j, k] = x[t, 0]",
    ]
    assert body("for t<T, j<T-1-t: y[t, j] = x[t, 0]")[0] == "tensor y[4, 3] : f32"


def test_a_reduction_into_a_new_target_starts_from_the_identity() -> None:
    assert body("for t<T, d<D: a[t] += x[t, d]") == ["tensor a[4] : f32 = 0", "for t<4, d<3: a[t] += x[t, d]"]
    assert body("for t<T, d<D: a[] *= x[t, d]") == ["tensor a[] : f32 = 1", "for t<4, d<3: a[] *= x[t, d]"]
    assert body("for t<T, d<D: a[t] max= x[t, d]")[0] == "tensor a[4] : f32 = -inf"
    assert body("for t<T, d<D: a[t] min= x[t, d]")[0] == "tensor a[4] : f32 = inf"
    assert body("for t<T, d<D: a[t] max= c[t, d]")[0] == "tensor a[4] : i8 = -128"
    assert body("for t<T, d<D: a[t] min= c[t, d]")[0] == "tensor a[4] : i8 = 127"
    assert body("for t<T: a max= m[t]")[0] == "tensor a[] : bool = False"
    assert body("for t<T: a min= m[t]")[0] == "tensor a[] : bool = True"
    assert body("for t<T: a and= m[t]") == ["tensor a[] : bool = True", "for t<4: a[] and= m[t]"]
    assert body("for t<T: a or= m[t]")[0] == "tensor a[] : bool = False"
    assert body("for t<T, d<D: a[t] argmax= x[t, d]") == ["tensor a[4] : i64", "for t<4, d<3: a[t] argmax= x[t, d]"]
    assert body("for t<T, d<D: a[t] argmin= x[t, d]")[0] == "tensor a[4] : i64"


def test_a_declared_target_keeps_its_value_and_takes_any_index() -> None:
    text = (
        "tensor y[T + 1, D*2] = 1\nfor t<T, d<D: y[t + 1, 2*d] = x[t, d]\nfor t<T: y[i[t], 0] += x[t, 0]\ny[0, 1] = 5"
    )
    assert body(text) == [
        "tensor y[5, 6] : f32 = 1",
        "for t<4, d<3: y[t + 1, 2*d] = x[t, d]",
        "for t<4: y[i[t], 0] += x[t, 0]",
        "y[0, 1] = 5",
    ]


def test_a_block_is_nests_in_sequence_over_the_same_iterators() -> None:
    text = "for t<T, d<D where t > d:\n    a[t, d] = x[t, d]*2\n    b[t] += a[t, d]\n    for j<2: e[t, d, j] = a[t, d]"
    assert body(text) == [
        "tensor a[4, 3] : f32",
        "for t<4, d<3 where -d + t > 0: a[t, d] = (x[t, d] * 2)",
        "tensor b[4] : f32 = 0",
        "for t<4, d<3 where -d + t > 0: b[t] += a[t, d]",
        "tensor e[4, 3, 2] : f32",
        "for t<4, d<3, j<2 where -d + t > 0: e[t, d, j] = a[t, d]",
    ]


def test_iterators_of_inner_loops_do_not_reach_the_next_statement() -> None:
    text = "for t<T:\n    for d<D: a[t, d] = x[t, d]\n    for d<2: b[t, d] = x[t, d]"
    assert body(text)[3] == "for t<4, d<2: b[t, d] = x[t, d]"


@pytest.mark.parametrize(
    ("written", "condition"),
    [
        ("t < d", "-d + t < 0"),
        ("t < d or t == 2", "-d + t < 0 or t - 2 == 0"),
        ("not (t < d or t == 2)", "-d + t >= 0 and t - 2 != 0"),
        ("0 < t <= 2", "-t < 0 and t - 2 <= 0"),
        ("(t + d) % 2 == 0 and t // 2 != d", "(d + t)%2 == 0 and -d + t//2 != 0"),
        ("t != d and t >= 0 and D == 3", "-d + t != 0"),
        ("t < d if D == 3 else t > d", "-d + t < 0"),
        ("t < T", ""),
        ("t < T or t == d", ""),
        ("1 == 1", ""),
        ("t > 9", "0 != 0"),
        ("t == d and D == 4", "0 != 0"),
    ],
)
def test_conditions(written: str, condition: str) -> None:
    where = f" where {condition}" if condition else ""
    assert body(f"for t<T, d<D where {written}: y[t, d] = x[t, d]")[1] == f"for t<4, d<3{where}: y[t, d] = x[t, d]"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("for t<T, t<D: y[t] = x[t, 0]", "t is already an iterator here"),
        ("for T<3: y[T] = x[T, 0]", "T is a size or compile-time value; an iterator needs another name"),
        ("for t<-1: y[t] = x[t, 0]", "the extent of t is -1; an extent cannot be negative"),
        ("for t<1.5: y[t] = x[t, 0]", "an index must be an integer, but this is 1.5"),
        ("for t<T, j<t*t: y[t, j] = x[t, 0]", "an index may multiply an iterator only by a compile-time integer"),
        ("for t<T, j<i[t]: y[t, j] = x[t, 0]", "the extent of j depends on a tensor's values"),
        ("for j<t, t<T: y[t, j] = x[t, 0]", "t is not defined here"),
        ("for t<T where x[t, 0] > 0: y[t] = x[t, 0]", "a 'where' cannot depend on a tensor's values; use select"),
        ("for t<T where i[t] + t > 0: y[t] = x[t, 0]", "a 'where' cannot depend on a tensor's values; use select"),
        ("for t<T where t: y[t] = x[t, 0]", "a 'where' is made of comparisons of index expressions"),
        ("for t<T, ...: y[t] = x[t, 0]", "'...' has no sizes here"),
        ("for t<T:\n    let a = 3", "a nest holds assignments only"),
        ("for t<T: y[t + 1] = x[t, 0]", "declare y first (tensor y[…]): its index is not a list of distinct iterators"),
        ("for t<T: y[t, t] = x[t, 0]", "declare y first"),
        ("for t<T: y[0] += x[t, 0]", "declare y first"),
        ("for t<T: T[t] = x[t, 0]", "T is a size or repeat variable, 4; a tensor needs another name"),
        ("for t<T: t[t] = x[t, 0]", "t is an iterator here; a tensor needs another name"),
        ("tensor y[T]\nfor t<T, d<D: y[t, d] = x[t, d]", "y has 1 axes [4], but 2 indices are given"),
        ("for t<T: y[t] argmax= x[t, 0]", "argmax= and argmin= reduce exactly one iterator, here: none"),
        ("for t<T, d<D: y argmin= x[t, d]", "argmax= and argmin= reduce exactly one iterator, here: t, d"),
    ],
)
def test_faults_of_domains_and_targets(text: str, said: str) -> None:
    assert said in message(text)


# indices and reads


@pytest.mark.parametrize(
    ("written", "index"),
    [
        ("2*t + d - 1", "d + 2*t - 1"),
        ("t - (d - t)", "-d + 2*t"),
        ("(4*t + d) // 4", "t"),
        ("(4*t + d) % 4", "d"),
        ("t // 4", "0"),
        ("(t + d) // 2", "(d + t)//2"),
        ("-t % 4", "(3*t)%4"),
        ("t // 2 // 2", "0"),
        ("T - 1 - t", "-t + 3"),
        ("int(2.0) + t", "t + 2"),
        ("i[t] + 1", "i[t] + 1"),
        ("i[i[t]]", "i[i[t]]"),
        ("(i[t - 1] else 0)", "i[t - 1]"),
        ("2*i[t] + d", "d + 2*i[t]"),
        ("t if D == 3 else d", "t"),
        ("max(T, 2) - 1", "3"),
    ],
)
def test_indices(written: str, index: str) -> None:
    assert body(f"for t<T, d<3: y[t, d] = x[{written}, d]")[1] == f"for t<4, d<3: y[t, d] = x[{index}, d]"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("x[t*d, d]", "an index may multiply an iterator only by a compile-time integer"),
        ("x[t // d, d]", "an index may use // only by a positive compile-time integer"),
        ("x[t % 0, d]", "an index may use % only by a positive compile-time integer"),
        ("x[t // -2, d]", "an index may use // only by a positive compile-time integer"),
        ("x[max(t, 0), d]", "an index is made of iterators, compile-time integers"),
        ("x[t / 2, d]", "an index is made of iterators, compile-time integers"),
        ("x[0.5, d]", "an index must be an integer, but this is 0.5"),
        ("x[h[d], d]", "h is f32; an index must be an integer"),
        ("x[s, d]", "s is f32; an index must be an integer"),
        ("x[h, d]", "h has shape [3]; as an index it needs one of its own"),
        ("x[t]", "x has 2 axes [4, 3], but 1 index is given"),
        ("x[t, d, 0]", "x has 2 axes [4, 3], but 3 indices are given"),
        ("x[..., d]", "'...' needs '...' among the iterators"),
        ("x", "x has shape [4, 3]; here it needs an index, as in x[…]"),
        ("t[d]", "t is an iterator here, it cannot be indexed"),
        ("T[t]", "T is the compile-time value 4, not a tensor"),
        ("pi[t]", "pi is the compile-time value 3.14"),
        ("zz[t]", "zz is not defined here"),
        ("xx[t, d]", "xx is not defined here"),
        ("(s else 0)", "(… else v) guards one read"),
        ("(x[t, d] + 1 else 0)", "(… else v) guards one read"),
        ("(x[t, d] else t)", "the value after else of a guarded read must be known at compile time"),
        ('(x[t, d] else "s")', "the value after else must be a number, but this is 's'"),
        ("(c[t, d] else 0.5)", "c is i8 and cannot hold 0.5"),
        ("(c[t, d] else -inf)", "c is i8 and cannot hold -inf"),
    ],
)
def test_faults_of_indices_and_reads(written: str, said: str) -> None:
    assert said in message(f"for t<T, d<D: y[t, d] = {written}")


def test_a_guarded_read_gives_a_constant_outside() -> None:
    reads = "(x[t - 1, d + 1] else far) + (c[t - 1, d] else 2.0) + (x[i[t], d] else 1/2)"
    text = f"let far = -inf\nfor t<T, d<D: y[t, d] = {reads}"
    assert body(text)[1] == (
        "for t<4, d<3: y[t, d] = (((x[t - 1, d + 1] else -inf) + (c[t - 1, d] else 2.0)) + (x[i[t], d] else 0.5))"
    )


def test_iterators_hide_tensors_of_their_name() -> None:
    assert body("for h<D: y[h] = x[0, h]")[1] == "for h<3: y[h] = x[0, h]"
    assert message("for h<D: y[h] = h[h]") == "h is an iterator here, it cannot be indexed"


# expressions


@pytest.mark.parametrize(
    ("written", "expression"),
    [
        ("x[t, d] - h[d]*2 / s", "(x[t, d] - ((h[d] * 2) / s[]))"),
        ("x[t, d]**2", "(x[t, d] ** 2)"),
        ("-x[t, d] // 2 % 3", "((neg(x[t, d]) // 2) % 3)"),
        ("x[t, d] > 0 and not m[t] or c[t, d] == 1", "(((x[t, d] > 0) and not(m[t])) or (c[t, d] == 1))"),
        ("0 < x[t, d] <= h[d]", "((0 < x[t, d]) and (x[t, d] <= h[d]))"),
        ("select(m[t], x[t, d], -inf)", "select(m[t], x[t, d], -inf)"),
        ("max(x[t, d], h[d], 0)", "max(max(x[t, d], h[d]), 0)"),
        ("x[t, d] if D == 3 else h[d]", "x[t, d]"),
        ("t*2 + d // 2 - 1", "<d//2 + 2*t - 1>"),
        ("-t", "<-t>"),
        ("t * 0.5", "(<t> * 0.5)"),
        ("t*d", "(<t> * <d>)"),
        ("t / 2", "(<t> / 2)"),
        ("T*2 + D", "11"),
        ("sqrt(T)", "2.0"),
        ("pi*x[t, d]", "(3.141592653589793 * x[t, d])"),
        (
            "bf16(x[t, d]) + i8(t) + int(x[t, d]) + float(i[t])",
            "(((bf16(x[t, d]) + i8(<t>)) + i64(x[t, d])) + f32(i[t]))",
        ),
        ("e4m3(0.1)", "e4m3(0.1)"),
        ("pow(x[t, d], 3)", "(x[t, d] ** 3)"),
        ("erf(exp(log(sin(cos(tanh(x[t, d]))))))", "erf(exp(log(sin(cos(tanh(x[t, d]))))))"),
        ("sign(floor(ceil(round(abs(x[t, d])))))", "sign(floor(ceil(round(abs(x[t, d])))))"),
        ("sigmoid(rsqrt(sqrt(expm1(log1p(x[t, d])))))", "sigmoid(rsqrt(sqrt(expm1(log1p(x[t, d])))))"),
        ("s + 1", "(s[] + 1)"),
        ("s[] + 1", "(s[] + 1)"),
        ("x[i[t], d]", "x[i[t], d]"),
    ],
)
def test_expressions(written: str, expression: str) -> None:
    assert body(f"for t<T, d<D: y[t, d] = {written}")[-1] == f"for t<4, d<3: y[t, d] = {expression}"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("max(x[t, d])", "max(x) of one value: write max(a, b), or a reduction max(i<N: x[i])"),
        ("sum(x[t, d])", "sum() of one value: a reduction names its iterators, as in sum(i<N: x[i])"),
        ("expp(x[t, d])", "unknown function expp(); did you mean exp"),
        ("exp(x[t, d], 1)", "exp() takes 1 argument, not 2"),
        ("select(m[t], 1)", "select() takes 3 arguments, not 2"),
        ("bf16()", "bf16() takes 1 argument, not 0"),
        ("exp(x[t, d]; k=1)", "exp() works element by element and has no options"),
        ("softmax(x)", "softmax() is a function of whole tensors; call it in a statement of its own"),
        ("x[t, d] if m[t] else 0", "'a if c else b' needs a compile-time c; use select(c, a, b)"),
        ('x[t, d] + "s"', "a number is expected, but this is 's'"),
        ("[x[t, d], 1]", "this cannot stand in an expression"),
        ("add(x[t, d], 1)", "unknown function add()"),
    ],
)
def test_faults_of_expressions(written: str, said: str) -> None:
    assert said in message(f"for t<T, d<D: y[t, d] = {written}")


# inline reductions


def test_a_reduction_becomes_a_nest_over_the_iterators_that_occur_in_it() -> None:
    assert body("for t<T, d<D: y[t, d] = x[t, d] / sum(k<D: exp(x[t, k]))") == [
        "tensor y~[4] : f32 = 0",
        "for t<4, k<3: y~[t] += exp(x[t, k])",
        "tensor y[4, 3] : f32",
        "for t<4, d<3: y[t, d] = (x[t, d] / y~[t])",
    ]


def test_a_reduction_that_is_the_whole_right_side_is_the_nest() -> None:
    assert body("for t<T, u<T: y[u, t] = sum(d<D: x[t, d] * x[u, d])") == [
        "tensor y[4, 4] : f32 = 0",
        "for t<4, u<4, d<3: y[u, t] += (x[t, d] * x[u, d])",
    ]
    assert body("y = max(t<T where t > 1: x[t, 0])") == [
        "tensor y[] : f32 = -inf",
        "for t<4 where t - 1 > 0: y[] max= x[t, 0]",
    ]


def test_a_reduction_is_no_nest_of_its_own_only_where_all_is_written() -> None:
    # under a condition and in a triangle some elements of y stay unwritten, and `u` does not occur
    assert len(body("for t<T where t > 1: y[t] = sum(d<D: x[t, d])")) == 4
    assert len(body("for t<T, j<t: y[t, j] = sum(d<D: x[t, d] * x[j, d])")) == 4
    assert len(body("for t<T, u<2: y[t, u] = sum(d<D: x[t, d])")) == 4
    assert len(body("tensor y[T]\nfor t<T: y[t] = sum(d<D: x[t, d])")) == 4
    assert len(body("for t<T: y[t] = bf16(sum(d<D: x[t, d]))")) == 4


def test_equal_reductions_of_a_statement_are_made_once() -> None:
    text = "for t<T, d<D: y[t, d] = sum(k<D: x[t, k]) * sum(k<D: x[t, k]) + sum(k<D: x[t, k]**2)"
    assert [line for line in body(text) if line.startswith("for t<4, k<3")] == [
        "for t<4, k<3: y~[t] += x[t, k]",
        "for t<4, k<3: y~.2[t] += (x[t, k] ** 2)",
    ]


def test_reductions_of_every_kind_and_several_iterators() -> None:
    text = ("for t<T: y[t] = sum(d<D: x[t, d]) + prod(d<D: x[t, d]) + max(d<D, e<2: x[t, d]) + min(d<D: x[t, d])\n"
            "for t<T: z[t] = any(d<D: x[t, d] > 0) and all(d<D: m[d])")  # fmt: skip
    assert [line for line in body(text) if "~" in line and line.startswith("for")] == [
        "for t<4, d<3: y~[t] += x[t, d]",
        "for t<4, d<3: y~.2[t] *= x[t, d]",
        "for t<4, d<3, e<2: y~.3[t] max= x[t, d]",
        "for t<4, d<3: y~.4[t] min= x[t, d]",
        "for t<4: y[t] = (((y~[t] + y~.2[t]) + y~.3[t]) + y~.4[t])",
        "for t<4, d<3: z~[t] or= (x[t, d] > 0)",
        "for d<3: z~.2[] and= m[d]",
        "for t<4: z[t] = (z~[t] and z~.2[])",
    ]


def test_nested_reductions() -> None:
    text = "for t<T: y[t] = sum(u<T: x[u, 0] * max(d<D where d >= u: x[u, d]) * x[t, 0])"
    assert body(text) == [
        "tensor y~[4] : f32 = -inf",
        "for u<4, d<3 where d - u >= 0: y~[u] max= x[u, d]",
        "tensor y[4] : f32 = 0",
        "for t<4, u<4: y[t] += ((x[u, 0] * y~[u]) * x[t, 0])",
    ]


def test_a_triangle_is_widened_where_its_outer_iterator_does_not_occur() -> None:
    assert body("for t<T, j<t+1: y[t, j] = x[t, 0] * sum(d<D: x[j, d])")[:2] == [
        "tensor y~[4] : f32 = 0",
        "for j<4, d<3: y~[j] += x[j, d]",
    ]
    assert body("for t<T, j<t+1: y[t, j] = 2 * sum(d<D: x[t, d] * x[j, d])")[:2] == [
        "tensor y~[4, 4] : f32 = 0",
        "for t<4, j<t + 1, d<3: y~[t, j] += (x[t, d] * x[j, d])",
    ]


def test_conditions_go_with_the_iterators_that_they_are_about() -> None:
    text = "for t<T, u<T where t > 1 and u > 2 and t != u: y[t, u] = x[u, 0] + sum(d<D where d != t: x[t, d])"
    assert body(text)[1] == "for t<4, d<3 where t - 1 > 0 and d - t != 0: y~[t] += x[t, d]"


def test_an_iterator_stays_where_the_reduction_would_leave_the_tensor_without_it() -> None:
    # x has 4 rows: rows from 4 on are only kept out by the condition that names u too
    text = "for u<9, t<9 where t + u < 4: y[u, t] = 2 * sum(d<D: x[t, d])"
    assert body(text)[1] == "for u<9, t<9, d<3 where t + u - 4 < 0: y~[u, t] += x[t, d]"
    guarded = "for u<9, t<9 where t + u < 4: y[u, t] = 2 * sum(d<D: (x[t, d] else 0))"
    assert body(guarded)[1] == "for t<9, d<3: y~[t] += (x[t, d] else 0)"


def test_an_iterator_stays_where_the_reduction_would_read_what_is_not_written() -> None:
    text = ("for t<T, j<T where j <= t: p[t, j] = x[t, 0]\n"
            "for u<2, t<T, j<T where j <= t and u <= j: y[u, t, j] = 2 * sum(k<1: p[t, j])")  # fmt: skip
    assert body(text)[3] == "for u<2, t<4, j<4, k<1 where j - t <= 0 and -j + u <= 0: y~[u, t, j] += p[t, j]"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("mean(d<D: x[t, d])", "mean(i<N: …) is not a reduction; there are sum, prod, max, min, any, all"),
        ("sum(t<D: x[t, 0])", "t is already an iterator here"),
        ("sum(D<3: x[t, D])", "D is a size or compile-time value; an iterator needs another name"),
        ("sum(d<D where x[t, d] > 0: 1)", "a 'where' cannot depend on a tensor's values"),
        ("sum(..., d<D: x[t, d])", "'...' has no sizes here"),
        ("argmax(d<D: x[t, d])", "argmax(i<N: …) is not a reduction"),
    ],
)
def test_faults_of_reductions(written: str, said: str) -> None:
    assert said in message(f"for t<T: y[t] = {written}")


# whole tensors


def test_pointwise_work_on_equal_shapes_and_scalars() -> None:
    assert body("y = max(x*s - 1, 0) + x / T") == [
        "tensor y[4, 3] : f32",
        "for i0<4, i1<3: y[i0, i1] = (max(((x[i0, i1] * s[]) - 1), 0) + (x[i0, i1] / 4))",
    ]
    assert body("y = s + 1") == ["tensor y[] : f32", "y[] = (s[] + 1)"]
    assert body("y = 3") == ["tensor y[] : i64", "y[] = 3"]
    assert body("y = m and not m") == ["tensor y[4] : bool", "for i0<4: y[i0] = (m[i0] and not(m[i0]))"]


def test_an_alias_is_no_statement() -> None:
    program = built(f"{HEAD}y = x\nz = (y)\nw = z if T == 4 else s\noutput w\n", GIVEN)
    assert lines(program) == [] and result(program) == "x"


def test_calls_stand_anywhere_in_an_expression() -> None:
    text = "y = exp(x) - relu(relu(x) + 1) * 2"
    assert body(text) == [
        "tensor result[4, 3] : f32",
        "for i0<4, i1<3: result[i0, i1] = max(x[i0, i1], 0)",
        "tensor x.2[4, 3] : f32",
        "for i0<4, i1<3: x.2[i0, i1] = (result[i0, i1] + 1)",
        "tensor result.2[4, 3] : f32",
        "for i0<4, i1<3: result.2[i0, i1] = max(x.2[i0, i1], 0)",
        "tensor y[4, 3] : f32",
        "for i0<4, i1<3: y[i0, i1] = (exp(x[i0, i1]) - (result.2[i0, i1] * 2))",
    ]


def test_reductions_and_single_elements_inside() -> None:
    assert body("y = x - max(t<T, d<D: x[t, d]) + h[0]") == [
        "tensor y~[] : f32 = -inf",
        "for t<4, d<3: y~[] max= x[t, d]",
        "tensor y[4, 3] : f32",
        "for i0<4, i1<3: y[i0, i1] = ((x[i0, i1] - y~[]) + h[0])",
    ]


def test_the_iterators_of_a_statement_clash_with_no_name_of_the_text() -> None:
    text = "let i0 = 7\ny = x * i0 + sum(i1<D: h[i1])"
    assert body(text) == [
        "tensor y~[] : f32 = 0",
        "for i1_<3: y~[] += h[i1_]",
        "tensor y[4, 3] : f32",
        "for i0<4, i1<3: y[i0, i1] = ((x[i0, i1] * 7) + y~[])",
    ]
    assert message("y = x * i0") == "i0 is not defined here"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("y = x + h", "needs equal shapes or scalars, but here are x [4, 3], h [3]; write the nest with iterators"),
        ("y = relu(x) * h", "but here are relu() [4, 3], h [3]"),
        ("y = max(x)", "max(x) of one value"),
        ("y = x[0]", "x has 2 axes [4, 3], but 1 index is given"),
        ('y = "s"', "a number is expected, but this is 's'"),
        ("y = sofmax(x)", "unknown function sofmax(); did you mean softmax"),
        ("y += x", "a reduction needs iterators: for i<N: y[] += x[i]"),
        ("s += x", "a reduction needs iterators: write s = s + …, or for i<N: s[] += x[i]"),
        ("y[] = x", "y[] has no axes, but the right side has shape [4, 3]"),
        ("T = x", "T is a size or repeat variable, 4; a tensor needs another name"),
        ("(a, b) = x", "(a, b) = … needs a call with several results"),
        ("(a, b) = relu(x)", "relu() gives 1 result, not 2"),
        ("a = topk(x; k=1)", "topk() gives 2 results: write (a, b) = topk(…)"),
    ],
)
def test_faults_of_whole_tensor_statements(text: str, said: str) -> None:
    assert said in message(text)


# names


def test_rebinding_makes_a_new_tensor_of_any_shape_and_reads_the_old_one() -> None:
    text = "y = x + 1\ny = y * 2\nfor d<D: y[d] = y[0, d]\nfor d<D: y[d] = y[d] + 1"
    program = built(f"{HEAD}{text}\noutput y\n", GIVEN)
    assert [line for line in lines(program) if line.startswith("for")] == [
        "for i0<4, i1<3: y[i0, i1] = (x[i0, i1] + 1)",
        "for i0<4, i1<3: y.2[i0, i1] = (y[i0, i1] * 2)",
        "for d<3: y.3[d] = y.2[0, d]",
        "for d<3: y.4[d] = (y.3[d] + 1)",
    ]
    assert shape(program, result(program)) == (3,)


def test_inputs_and_params_may_be_rebound() -> None:
    program = built(f"{HEAD}x = x + 1\noutput x\n", GIVEN)
    assert result(program) == "x.2" and program.tensors["x"].external is not None


def test_a_declared_tensor_that_others_hold_is_copied_before_it_is_written() -> None:
    text = "tensor y[T] = 0\nz = y\ny[0] = 1\nview v[t<T] = y[T - 1 - t]\ny[1] = 2\ny[2] = 3"
    program = built(f"{HEAD}{text}\noutput z, v, y\n", GIVEN)
    assert lines(program) == [
        "tensor y[4] : f32 = 0",
        "tensor y.2[4] : f32 = y",
        "y.2[0] = 1",
        "view v[t<4] = y.2[-t + 3]",
        "tensor y.3[4] : f32 = y.2",
        "y.3[1] = 2",
        "y.3[2] = 3",
    ]
    assert [output.tensor for output in program.outputs] == ["y", "v", "y.3"]


def test_a_declared_tensor_that_only_a_call_has_seen_is_written_in_place() -> None:
    text = "tensor y[T] = 0\ny[0] = 1\nz = relu(y)\ny[1] = 2"
    assert [line for line in body(text) if line.startswith("tensor y")] == ["tensor y[4] : f32 = 0"]


def test_rebinding_a_declared_tensor_ends_its_declaration() -> None:
    assert message("tensor y[T] = 0\ny = y + 1\ny[0] = 2").startswith("declare y first")


def test_a_statement_knows_where_it_came_from() -> None:
    program = built(f"{HEAD}for t<T:\n    y[t] = x[t, 0]\noutput y\n", GIVEN)
    nest = program.body[-1]
    assert isinstance(nest, Nest)
    assert nest.source == Source(HEAD_LINES + 2, 5, "y[t] = x[t, 0]")


def test_element_types_of_targets() -> None:
    program = built(f"{HEAD}for t<T: y[t] = t\nfor t<T: z[t] = m[t]\noutput y, z\n", GIVEN)
    assert (dtype(program, "y"), dtype(program, "z")) == ("i64", "bool")
