"""Declarations: what names are bound to, what is checked, and how it is said when it does not fit."""

from __future__ import annotations

import math

import pytest
from elaborating import bound, built, dtype, lines, problems, result, result_type, shape
from solar_agent.ir.bindings import Bindings, Constant, TensorType
from solar_agent.ir.elaborate import elaborate
from solar_agent.ir.errors import IRError
from solar_agent.ir.parse import parse
from solar_agent.ir.program import External, Output

X = {"x": "4 3"}


def value(expression: str, attrs: dict[str, Constant] | None = None, state: dict[str, str] | None = None) -> Constant:
    """Value of a `let`, with B = 4 and C = 3."""
    program = built(f"input x[B, C]\nlet a = {expression}\noutput a\n", X, state, (), attrs)
    return program.outputs[0].value


def fault(expression: str, attrs: dict[str, Constant] | None = None) -> str:
    (problem,) = problems(f"input x[B, C]\nlet a = {expression}\noutput x\n", X, None, (), attrs)
    assert problem.line == 2 and problem.column >= 9
    return problem.message


def message(text: str, **given: object) -> str:
    (problem,) = problems(text, **given)  # type: ignore[arg-type]
    return problem.message


# inputs and params


def test_sizes_are_bound_where_they_first_stand_and_checked_afterwards() -> None:
    program = built('input x[B, C]\nparam w = "fc.weight"[O, C]\noutput w\n', X, {"fc.weight": "5 3"})
    assert program.sizes == {"B": 4, "C": 3, "O": 5}
    assert program.tensors["x"].external == External("input", "x")
    assert program.tensors["w"].external == External("state", "fc.weight")
    said = message('input x[B, C]\nparam w = "fc.weight"[O, C]\noutput w\n', inputs=X, state={"fc.weight": "5 7"})
    assert said == 'param w = "fc.weight" has shape [5, 7]: axis 1 is 7, expected C = 3'


@pytest.mark.parametrize(
    ("shape_", "said"),
    [
        ("[B, 4]", "input x has shape [4, 3]: axis 1 is 3, expected 4"),
        ("[B, B]", "axis 1 is 3, expected B = 4"),
        ("[B, B // 2]", "axis 1 is 3, expected B // 2 = 2"),
        ("[B]", "input x has 2 axes [4, 3], but [B] has 1"),
        ("[B, C, 1]", "input x has 2 axes [4, 3], but [B, C, 1] has 3"),
        ("", "input x has 2 axes [4, 3], but [] has 0"),
        ("[B, 1.5]", "a size must be an integer, but is 1.5"),
        ('[B, "s"]', "a size must be an integer, but is 's'"),
    ],
)
def test_what_is_checked_in_a_shape(shape_: str, said: str) -> None:
    assert said in message(f"input x{shape_}\noutput x\n", inputs=X)


def test_an_expression_may_use_sizes_to_its_right() -> None:
    program = built("input x[C + 1, C]\noutput x\n", X)
    assert program.sizes == {"C": 3}


def test_lets_and_attrs_count_as_bound() -> None:
    program = built('let B = 4\nattr C = "arg.c"\ninput x[B, C]\noutput x\n', X, None, (), {"arg.c": 3})
    assert program.sizes == {"B": 4, "C": 3}
    assert "expected B = 5" in message("let B = 5\ninput x[B, C]\noutput x\n", inputs=X)


def test_rank_zero_is_written_with_or_without_brackets() -> None:
    for text in ("input s\noutput s\n", "input s[]\noutput s\n"):
        assert shape(built(text, {"s": "f64[]"}), "s") == ()


def test_an_input_of_any_name_and_a_mapping_path() -> None:
    program = built('input x = "batch/ids"[B]\noutput x\n', {"batch/ids": "i64[4]"})
    assert program.tensors["x"].external == External("input", "batch/ids")


def test_element_types_are_inherited_or_checked() -> None:
    given = {"x": "bf16[2]", "i": "i32[2]", "m": "bool[2]"}
    for written in ("input x[B]\ninput i[B]\ninput m[B]\n", "input x[B] : float\ninput i[B] : int\ninput m[B] : bool\n",
                    "input x[B] : bf16\ninput i[B] : i32\ninput m[B] : bool\n"):  # fmt: skip
        program = built(written + "output x, i, m\n", given)
        assert [output.dtype for output in program.outputs] == ["bf16", "i32", "bool"]
    assert message("input x[B] : int\noutput x\n", inputs=given) == "x is bf16, not int"
    assert message("input i[B] : i64\noutput i\n", inputs=given) == "i is i32, not i64"
    assert "unknown element type f33; there are float, int, bool" in message(
        "input x[B] : f33\noutput x\n", inputs=given
    )


def test_ranges_may_use_what_is_bound_later() -> None:
    text = 'input ids[T] : int in 0..V\ninput k[T] : int in 1..3 unique\nparam e = "e"[V, D]\noutput e\n'
    program = built(text, {"ids": "i64[6]", "k": "i64[6]"}, {"e": "9 2"})
    assert [(r.tensor, r.low, r.high, r.unique) for r in program.ranges] == [("ids", 0, 9, False), ("k", 1, 3, True)]
    unbounded = built("input ids[T] : int unique\noutput ids\n", {"ids": "i64[6]"})
    assert [(r.low, r.high, r.unique) for r in unbounded.ranges] == [(None, None, True)]


def test_ranges_are_for_integers() -> None:
    assert message("input x[B, C] in 0..4\noutput x\n", inputs=X) == (
        "only an integer input has a range or is unique, x is f32"
    )
    said = message("input i[B] in 4..4\noutput i\n", inputs={"i": "i64[2]"})
    assert said == "the range 4..4 of i is empty"


def test_paths_hold_compile_time_values() -> None:
    text = 'input x[B, C]\nlet i = 1\nparam w = "blocks.{i + 1}.w"[C]\noutput w\n'
    program = built(text, X, {"blocks.2.w": "3"})
    assert program.tensors["w"].external == External("state", "blocks.2.w")
    (problem,) = problems('input x[B, C]\nparam w = "blocks.{j}.w"[C]\noutput x\n', X)
    assert (problem.line, problem.column, problem.message) == (2, 1, "j is not defined here")


def test_tied_names_keep_their_storage_and_one_key_is_one_tensor() -> None:
    tied = TensorType((3,), "f32", None, "block", 0)
    text = 'param a = "a"[D]\nparam b = "b"[D]\nparam c = "a"[D]\noutput a, b, c\n'
    program = elaborate(parse(text), Bindings(state={"a": tied, "b": tied}))
    assert {name: tensor.external and tensor.external.storage for name, tensor in program.tensors.items()} == {
        "a": "block",
        "b": "block",
    }
    assert [output.tensor for output in program.outputs] == ["a", "b", "a"]


def test_strides_and_offsets_of_views_are_kept() -> None:
    program = elaborate(
        parse("input x[B, C]\noutput x\n"), Bindings(inputs={"x": TensorType((4, 3), "f32", (1, 4), "m", 2)})
    )
    assert program.tensors["x"].external == External("input", "x", (1, 4), "m", 2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("input y[B]\noutput y\n", "'y' is not in the captured program; there is 'x'"),
        (
            'param w = "fc.wieght"[O]\noutput w\n',
            "'fc.wieght' is not in the captured program; did you mean 'fc.weight'?",
        ),
        (
            'attr s = "self.strid"\noutput s\n',
            "'self.strid' is not in the captured program; did you mean 'self.stride'?",
        ),
        ('attr s = "stride"\noutput s\n', 'a path starts with "arg.", "const." or "self."'),
        ('attr w = "self.fc.weight"\noutput w\n', "'self.fc.weight' is a tensor: write param name = 'fc.weight'[…]"),
        ('attr x = "arg.x"\noutput x\n', "'arg.x' is a tensor: write input x[…]"),
        ("input k[B]\noutput k\n", "'k' is no tensor: write attr k = 'arg.k'"),
        ('param s = "stride"[]\noutput s\n', "'stride' is no tensor: write attr s = 'self.stride'"),
    ],
)
def test_what_is_said_about_a_path_that_is_not_there(text: str, said: str) -> None:
    attrs = {"self.stride": 2, "arg.k": 3}
    assert said in message(text, inputs=X, state={"fc.weight": "5 3"}, attrs=attrs)


def test_tensor_literals_and_module_constants_are_params() -> None:
    program = built('param k = "made.0"[3, 3]\nparam t = "const.TABLE"[N]\noutput k, t\n', None,
                    {"made.0": "3 3", "const.TABLE": "i64[7]"})  # fmt: skip
    assert program.sizes == {"N": 7}


# attrs

ATTRS: dict[str, Constant] = {
    "arg.k": 3, "arg.none": None, "self.conv.stride": (2, 1), "self.conv.stride.0": 2, "self.conv.stride.1": 1,
    "self.pool.size": 5, "self.mode": "zeros", "const.EPS": 1e-5, "self.flag": True, "self.blocks.0.training": False,
    "self.blocks.1.training": False, "self.blocks.training": False,
}  # fmt: skip


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ('"arg.k"', 3),
        ('"self.conv.stride.1"', 1),
        ('"self.conv.stride"', (2, 1)),
        ('"self.pool.size.0"', 5),
        ('"self.pool.size.7"', 5),
        ('"const.EPS"', 1e-5),
        ('"self.flag"', True),
        ('"self.mode"', "zeros"),
        ('"arg.none"', None),
        ('"arg.none" or 4', 4),
        ('"arg.missing" or 4', 4),
        ('"arg.k" or 4', 3),
        ('"arg.missing" or B + 1', 5),
        ('"arg.missing" or "zeros"', "zeros"),
        ('"arg.none" or 0 or 7', 7),
    ],
)
def test_attributes(written: str, expected: Constant) -> None:
    program = built(f"input x[B, C]\nattr a = {written}\noutput x\n", X, None, (), ATTRS)
    assert program.sizes["a"] == expected and type(program.sizes["a"]) is type(expected)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('has("fc.bias")', True),
        ('has("fc.weight")', False),
        ('has("fc")', True),
        ('has("self.fc")', True),
        ('has("f")', False),
        ('has("self.mode")', True),
        ('has("arg.none")', False),
        ('has("arg.missing")', False),
        ('has("arg.x")', True),
        ('has("x")', True),
        ('has("self.conv.stride.1")', True),
        ('is_none("arg.none")', True),
        ('is_none("arg.k")', False),
        ('is_none("arg.x")', False),
        ('is_none("self.fc")', False),
        ('len("self.conv.stride")', 2),
        ('len("self.blocks")', 2),
        ("len([1, 2, 3])", 3),
    ],
)
def test_questions_about_the_captured_program(expression: str, expected: Constant) -> None:
    assert value(expression, ATTRS, {"fc.bias": "3"}) == expected


def test_is_none_of_an_unknown_path_is_a_fault() -> None:
    assert "'arg.kk' is not in the captured program; did you mean 'arg.k'" in fault('is_none("arg.kk")', ATTRS)
    assert "len() needs a list or a tuple, but this is 3" in fault('len("arg.k")', ATTRS)
    assert "'self.none' is not in the captured program" in fault('len("self.none")', ATTRS)
    assert 'has() takes one path in quotes, as in has("conv.bias")' in fault("has(B)", ATTRS)


def test_items_of_tuples_and_of_plain_numbers() -> None:
    text = 'input x[B, C]\nattr t = "self.conv.stride"\nattr n = "arg.k"\nlet a = [t[0], t[-1], n[0], n[1]]\noutput x\n'
    assert built(text, X, None, (), ATTRS).sizes["a"] == (2, 1, 3, 3)
    text = 'input x[B, C]\nattr t = "self.conv.stride"\nlet a = t[2]\noutput x\n'
    assert message(text, inputs=X, attrs=ATTRS) == "t has no item 2: it is (2, 1)"


# lets


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("B + C*2 - 1", 9),
        ("7 // 2", 3),
        ("-7 // 2", -4),
        ("-7 % 4", 1),
        ("7 / 2", 3.5),
        ("2**3**2", 512),
        ("2**-1", 0.5),
        ("-2**2", -4),
        ("not B == 4", False),
        ("1 < C < B <= 4 != 5", True),
        ("B == 4 and C", 3),
        ("0 or C", 3),
        ("1 if C > B else 2", 2),
        ("1 if C > 9 else 2 if C > 8 else 3", 3),
        ("max(B, C, 9)", 9),
        ("min(B, C)", 3),
        ("select(B > C, 1, 2)", 1),
        ("sqrt(B)", 2.0),
        ("rsqrt(B)", 0.5),
        ("exp(0) + log(1) + log1p(0) + expm1(0)", 1.0),
        ("sigmoid(0) + tanh(0) + erf(0) + sin(0) + cos(0)", 1.5),
        ("pow(2, 3)", 8),
        ("abs(-3)", 3),
        ("floor(2.7)", 2),
        ("ceil(2.2)", 3),
        ("round(2.5)", 2),
        ("sign(-0.5)", -1),
        ("int(-2.7)", -2),
        ("float(B)", 4.0),
        ("i8(300)", 44),
        ("u8(-1)", 255),
        ("bool(B)", True),
        ("f32(2)", 2.0),
        ("inf", math.inf),
        ("2*pi", 2 * math.pi),
        ("True", True),
        ("true and not false", True),
        ("None", None),
        ('"a{B}b{C + 1}"', "a4b4"),
        ("sum(i<B: i)", 6),
        ("sum(i<B where i % 2 == 1: i)", 4),
        ("prod(i<B, j<i: i)", 108),
        ("max(i<C: i*i)", 4),
        ("min(i<0: i)", math.inf),
        ("any(i<C: i == 2)", True),
        ("all(i<C: i < 2)", False),
        ("rank(x) + numel(x)", 14),
    ],
)
def test_compile_time_values(expression: str, expected: Constant) -> None:
    found = value(expression)
    assert found == expected and type(found) is type(expected)


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("1 / (B - 4)", "division by zero: 1 / 0"),
        ("1 // 0", "division by zero: 1 // 0"),
        ("1 % 0", "division by zero: 1 % 0"),
        ("0**-1", "division by zero: 0 ** -1"),
        ("(-8)**0.5", "the result is not a real number"),
        ("10**500", "too large"),
        ("(10**60)**60", "too large"),
        ("2.0**5000", "too large"),
        ("log(0)", "log(0): math domain error"),
        ("exp(1000)", "exp(1000): "),
        ("int(inf)", "int(inf): "),
        ("max(3)", "max() with 1 arguments is not a compile-time function"),
        ("foo(3)", "foo() with 1 arguments is not a compile-time function"),
        ("x", "x is a tensor; a compile-time value is expected here"),
        ("x[0, 0]", "x is a tensor; a compile-time value is expected here"),
        ("(x[0, 0] else 1)", "a compile-time value is expected here"),
        ('"s" + 1', "a number is expected, but this is 's'"),
        ('"s" < 1', "'s' < 1 cannot be compared"),
        ("-[1]", "a number is expected, but this is (1,)"),
        ("Bat", "Bat is not defined here"),
        ("bf16(0.1)", "write the rounding where the number is used"),
        ('"{[B, C]}" + 1', "a number is expected, but this is '(4, 3)'"),
        ("mean(i<3: i)", "mean(i<N: …) is not a reduction"),
        ("sum(B<3: B)", "B already means something here"),
        ("numel(B)", "numel() takes the name of a tensor"),
    ],
)
def test_faults_of_compile_time_values(expression: str, said: str) -> None:
    assert said in fault(expression)


def test_a_let_may_be_given_anew_and_a_size_may_not() -> None:
    assert built("input x[B, C]\nlet n = B\nlet n = n*2\noutput n\n", X).outputs[0].value == 8
    assert message("input x[B, C]\nlet B = 4\noutput x\n", inputs=X) == (
        "B is already a size or repeat variable, 4; this needs another name"
    )


# tensors, shapes, views


def test_declared_tensors() -> None:
    text = """\
input x[B, C]
tensor a[B, C + 1]
tensor b[B] = -inf
tensor c[B] : i8 = B + 1
tensor d[B, C] = x
tensor e[] = 0.5
tensor g[B, C] : bf16 = x
tensor h[B] = e
for n<B, m<C + 1: a[n, m] = 1.0
output a, b, c, d, e, g, h
"""
    program = built(text, X)
    assert lines(program) == [
        "tensor a[4, 4] : f32",
        "tensor b[4] : f32 = -inf",
        "tensor c[4] : i8 = 5",
        "tensor d[4, 3] : f32 = x",
        "tensor e[] : f32 = 0.5",
        "tensor g[4, 3] : bf16",
        "for i0<4, i1<3: g[i0, i1] = x[i0, i1]",
        "tensor h[4] : f32",
        "for i0<4: h[i0] = e[]",
        "for n<4, m<4: a[n, m] = 1.0",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tensor y[B - 5]", "y has a negative size -1"),
        ("tensor y[B / 3]", "a size of y must be an integer, but is 1.3333333333333333"),
        ("tensor y[N]", "N is not defined here"),
        ("tensor y[...]", "'...' has no sizes here"),
        ("tensor y[B] = x", "y is [4], but its start value is [4, 3]"),
        ("tensor y[B] : i8 = 0.5", "y is i8 and cannot hold 0.5"),
        ("tensor y[B] : i64 = inf", "y is i64 and cannot hold inf"),
        ('tensor y[B] = "s"', "a number is expected, but this is 's'"),
        ("tensor B[3]", "B is a size or repeat variable, 4; a tensor needs another name"),
        ("tensor y[B] : q8", "unknown element type q8"),
    ],
)
def test_faults_of_declared_tensors(text: str, said: str) -> None:
    assert said in message(f"input x[B, C]\n{text}\noutput x\n", inputs=X)


def test_a_shape_statement_binds_and_checks() -> None:
    text = "input x[B, C]\nfor n<B, m<C + 2: h[n, m] = 1.0\nshape h[B, P]\nshape h[4, C + 2]\noutput h\n"
    assert built(text, X).sizes["P"] == 5
    said = message("input x[B, C]\nshape x[C, B]\noutput x\n", inputs=X)
    assert said == "x has shape [4, 3]: axis 0 is 4, expected C = 3"
    assert "y is not defined here" in message("input x[B, C]\nshape y[B]\noutput x\n", inputs=X)


def test_views_are_index_maps_and_make_no_work() -> None:
    text = """\
input x[B, C]
view t[j<C, i<B] = x[i, j]
view f[n<B*C] = x[n // C, n % C]
view s[i<B - 1] = x[i + 1, 0]
output t, f, s
"""
    program = built(text, X)
    assert lines(program) == [
        "view t[j<3, i<4] = x[i, j]",
        "view f[n<12] = x[n//3, n%3]",
        "view s[i<3] = x[i + 1, 0]",
    ]
    assert [shape(program, name) for name in "tfs"] == [(3, 4), (12,), (3,)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("view v[i<B] = x[i, 0] + 1", "a view is one read of a tensor"),
        ("view v[i<B] = (x[i - 1, 0] else 0)", "a view is one read of a tensor"),
        ("view v[i<B, j<i] = x[i, j]", "the extents of a view are compile-time values"),
        ("view v[i<B] = x[k[i], 0]", "a view's index cannot read a tensor; write a nest"),
        ("view v[i<B] = x[i]", "x has 2 axes [4, 3], but 1 index is given"),
        ("view v[B<B] = x[0, 0]", "B is a size or compile-time value; an iterator needs another name"),
    ],
)
def test_faults_of_views(text: str, said: str) -> None:
    given = {"x": "4 3", "k": "i64[4]"}
    assert said in message(f"input x[B, C]\ninput k[B]\n{text}\noutput x\n", inputs=given)


# draws


def test_draws_come_in_order_and_stacked() -> None:
    text = "draw h[B, D]\ndraw z = 1..3 [D]\ndraw u = 3..3+1 [D]\ndraw last[]\noutput h, z, u, last\n"
    program = built(text, None, None, ("4 3", "3", "3", "3", "f64[]"))
    assert [(shape(program, name), program.tensors[name].external) for name in ("h", "z", "u", "last")] == [
        ((4, 3), External("draw", "0")),
        ((2, 3), External("draw", "1", count=2)),
        ((1, 3), External("draw", "3", count=1)),
        ((), External("draw", "4")),
    ]
    assert dtype(program, "last") == "f64"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("draw a[M]\ndraw b[N]\ndraw c[O]\n", "the program draws 2 random tensors, so there is no draw 2"),
        ("draw a = 0..3 [B]\n", "the program draws 2 random tensors, so there is no draw 2"),
        ("draw a = 1..1 [B]\n", "the range of draws 1..1 is empty"),
        ("draw a = 0..2 [B]\n", "draws of different shapes cannot be stacked: [4], [5]"),
        ("draw a[3]\n", "draw a has shape [4]: axis 0 is 4, expected 3"),
        ("draw a[B] : int\n", "a is f32, not int"),
    ],
)
def test_faults_of_draws(text: str, said: str) -> None:
    assert said in message(f"{text}output a\n", draws=("4", "5"))


def test_draws_of_a_function_go_on_in_the_order_of_its_calls() -> None:
    text = "input x[B, C]\ndef f(a[...]):\n    draw z[N]\n    return z\np = f(x)\nq = f(x)\noutput p, q\n"
    program = built(text, X, None, ("4", "5"))
    assert [shape(program, result(program, at)) for at in (0, 1)] == [(4,), (5,)]


# requirements and facts


def test_a_requirement_that_fails_shows_its_text_and_values() -> None:
    (problem,) = problems("input x[B, C]\nrequire B % C == 0 and C > 1\noutput x\n", X)
    assert problem.message == "not met at these sizes: B % C == 0 and C > 1, where B = 4, C = 3"
    assert (problem.line, problem.text) == (2, "require B % C == 0 and C > 1")
    assert built("input x[B, C]\nrequire B > C\noutput x\n", X).outputs


def test_facts_run_over_the_axes_that_their_names_index() -> None:
    text = 'param m = "mask"[1, T, T]\nlet k = 1\nfact m[0, i, j] == (j <= i + k)\noutput m\n'
    program = built(text, None, {"mask": "bool[1, 5, 5]"})
    (fact,) = program.facts
    assert fact.tensor == "m"
    assert [(loop.name, loop.extent.const) for loop in fact.loops] == [("i", 5), ("j", 5)]
    assert fact.source.line == 3


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("1 == 1", "a fact is a claim about the elements of captured state"),
        ("x[i, j] == 0", "a fact is a claim about the elements of captured state"),
        ("m[i, j] + 1", "a fact is a comparison"),
        ("m[i, j] == sum(k<3: m[k, 0])", "a fact is a comparison without reductions"),
    ],
)
def test_what_is_no_fact(claim: str, said: str) -> None:
    text = f'input x[B, C]\nparam m = "m"[3, 3]\nfact {claim}\noutput x\n'
    assert said in message(text, inputs=X, state={"m": "3 3"})


# outputs


def test_outputs_of_every_form() -> None:
    text = """\
input x[B, C]
param rm = "bn.mean"[C]
(v, i) = topk(x; k=2)
output x
output v : f64 unordered along 1 with i
output i indexes x along -1 giving v
output state "bn.mean" = rm
output input "x" = x
output B + 1
output x + 1, B > 1
"""
    program = built(text, X, {"bn.mean": "3"})
    plain = [(o.kind, o.name, o.tensor, o.value, o.dtype) for o in program.outputs]
    assert plain == [
        ("result", "x", "x", None, "f32"),
        ("result", "v", "topk_values", None, "f64"),
        ("result", "i", "topk_indices", None, "i64"),
        ("state", "bn.mean", "rm", None, "f32"),
        ("input", "x", "x", None, "f32"),
        ("result", "", None, 5, ""),
        ("result", "output", "output", None, "f32"),
        ("result", "", None, True, ""),
    ]
    assert program.outputs[1].unordered == (1, ("topk_indices",))
    assert program.outputs[2].indexes == ("x", 1, "topk_values")
    assert [output.source.line for output in program.outputs] == [4, 5, 6, 7, 8, 9, 10, 10]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("output y", "y is not defined here"),
        ("output ([1, 2] if B else 3)", "an output is a tensor or one number, but this is (1, 2)"),
        ("output x : f9", "unknown element type f9"),
        ("output x unordered along 2", "there is no axis 2: the tensor has 2"),
        ("output x unordered along 0 with z", "z is not defined here"),
        ('output state "bn.men" = x', "'bn.men' is not in the captured program; did you mean 'bn.mean'?"),
        ('output state "bn.mean" = x', "'bn.mean' has shape [3], but this is [4, 3]"),
        ('output input "xx" = x', "'xx' is not in the captured program; did you mean 'x'"),
        ("output x indexes x along 0 giving x", "an index result holds integers, but this is f32"),
    ],
)
def test_faults_of_outputs(text: str, said: str) -> None:
    assert said in message(f"input x[B, C]\n{text}\n", inputs=X, state={"bn.mean": "3"})


def test_an_output_holds_what_its_tensor_was_when_it_was_declared() -> None:
    text = "input x[B, C]\ntensor y[B] = 0\noutput y\ny[0] = 1\noutput y\n"
    program = built(text, X)
    assert [output.tensor for output in program.outputs] == ["y", "y.2"]
    assert lines(program)[1] == "tensor y.2[4] : f32 = y"


def test_a_text_without_output_is_a_fault() -> None:
    with pytest.raises(IRError, match="the text declares no output"):
        elaborate(parse("input x[B, C]\n"), bound(X))


def test_an_output_is_of_the_type_that_it_is_given() -> None:
    program = built("input x[B, C]\noutput x : f16\n", X)
    assert result_type(program) == "f16"
    assert program.outputs[0] == Output("result", "x", "x", None, "f16", program.outputs[0].source)
