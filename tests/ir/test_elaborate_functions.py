"""Functions: what their bodies see, how arguments are bound and checked, rank polymorphism, opaque primitives."""

from __future__ import annotations

import pytest
from elaborating import built, lines, problems, result, shape
from solar_agent.ir.bindings import Constant
from solar_agent.ir.program import Nest, Opaque

GIVEN = {"x": "4 3", "h": "3"}
HEAD = "input x[T, D]\ninput h[D]\n"


def body(text: str, attrs: dict[str, Constant] | None = None, state: dict[str, str] | None = None) -> list[str]:
    return lines(built(f"{HEAD}{text}\noutput x\n", GIVEN, state, (), attrs))


def message(text: str) -> str:
    (problem,) = problems(f"{HEAD}{text}\noutput x\n", GIVEN)
    return problem.message


def test_a_body_is_closed() -> None:
    def_ = "def f(a[A, B]):\n    for i<A, j<B: y[i, j] = a[i, j] * {}\n    return y\n"
    assert message(def_.format("T") + "y = f(x)") == "T is not defined here"
    assert message(def_.format("h[0]") + "y = f(x)") == "h is not defined here"
    assert message(def_.format("x[0, 0]") + "y = f(x)") == "x is not defined here"


def test_a_body_sees_top_level_lets_and_attrs_and_captured_state() -> None:
    text = """\
let k = 5
attr e = "self.eps"
def f(a[B]):
    param w = "w"[B]
    for i<B: y[i] = w[i]*k + e
    return y
y = f(h)"""
    assert body(text, {"self.eps": 0.5}, {"w": "3"})[-1] == "for i<3: y[i] = ((w[i] * 5) + 0.5)"


def test_a_let_of_a_body_stays_in_it() -> None:
    text = "def f(a[B]):\n    let k = 5\n    return a*k\ny = f(h)\nlet z = k"
    assert message(text) == "k is not defined here"


def test_a_let_inside_a_repeat_or_a_taken_if_is_top_level_too() -> None:
    text = "if T == 4: let k = 5\nrepeat r in 0..2: let m = r\ndef f(a[B]): return a*k + m\ny = f(h)"
    assert body(text)[-1] == "for i0<3: result[i0] = ((h[i0] * 5) + 1)"
    assert message("repeat r in 0..2: y = f(h)\ndef f(a[B]): return a*r") == "r is not defined here"


def test_a_lone_name_in_a_shape_is_fresh() -> None:
    text = "let D2 = 99\ndef f(a[T, D2]):\n    let z = D2\n    return a*z\ny = f(x)\nz = f(f(x))"
    assert body(text)[1] == "for i0<4, i1<3: result[i0, i1] = (x[i0, i1] * 3)"


def test_a_name_set_by_the_functions_own_arguments_lets_and_shapes_is_checked() -> None:
    assert message("def f(a[N, M], b[M]): return a\ny = f(x, h)\nz = f(x, x)") == (
        "f(): argument b has 2 axes [4, 3], but [M] has 1"
    )
    assert message("def f(a[N, M], b[N]): return a\ny = f(x, h)") == (
        "f(): argument b has shape [3]: axis 0 is 3, expected N = 4"
    )
    assert message("def f(a[N, M]):\n    let P = 7\n    shape a[N, P]\n    return a\ny = f(x)") == (
        "a has shape [4, 3]: axis 1 is 3, expected P = 7"
    )


def test_expressions_in_shapes_may_use_sizes_of_later_arguments() -> None:
    assert body("def f(a[G + 1, M], b[G]): return a*G\ny = f(x, h)")[-1].endswith("(x[i0, i1] * 3)")
    assert "axis 0 is 4, expected 2 * G = 6" in message("def f(a[2*G, M], b[G]): return a\ny = f(x, h)")


def test_an_argument_without_brackets_takes_any_shape() -> None:
    assert len(body("def f(a): return a + 1\ny = f(x)\nz = f(h)")) == 4


def test_options_have_defaults_that_may_use_sizes_and_earlier_options() -> None:
    text = "def f(a[N]; k, m=k + N, s=m*2):\n    return a*m + s\ny = f(h; k=1)\nz = f(h; s=0, k=2)"
    assert [line for line in body(text) if line.startswith("for")] == [
        "for i0<3: result[i0] = ((h[i0] * 4) + 8)",
        "for i0<3: result.2[i0] = ((h[i0] * 5) + 0)",
    ]


def test_options_hold_any_compile_time_value() -> None:
    text = """\
def f(a[N]; mode="x", sizes=[1, 2], flag=None):
    require mode == "y" and len(sizes) == 3 and flag == None
    return a
"""
    assert body(text + 'let mode = "y"\ny = f(h; mode, sizes=[1, 2, 3])') == []


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("f(x)", "f() takes 2 tensors (a, b) before ';', but 1 is given"),
        ("f(x, h, h; k=1)", "f() takes 2 tensors (a, b) before ';', but 3 are given"),
        ("f(x, h)", "f() needs k=… after ';'"),
        ("f(x, h; k=1, j=2)", "f() has no option j; its options: k, m"),
        ("f(x, h; k=1, k=2)", "k is given twice"),
        ("f(h, h; k=1)", "f(): argument a has 1 axes [3], but [N, M] has 2"),
        ("f(x, h; k=h)", "h is a tensor; a compile-time value is expected here"),
        ("f(zz, h; k=1)", "zz is not defined here"),
        ("g(x)", "unknown function g()"),
        ("conv2dd(x)", "unknown function conv2dd(); did you mean conv2d"),
    ],
)
def test_faults_of_calls(call: str, said: str) -> None:
    assert said in message(f"def f(a[N, M], b[M]; k, m=1): return a\ny = {call}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def f(a[N]): return a\ndef f(a[N]): return a", "f is defined twice"),
        ("if T == 4:\n    def f(a[N]): return a", "a def stands at top level, not inside of a block"),
        ("def f(a[N], a[M]): return a", "f() has two arguments called a"),
        ("def f(a[N]; k, k): return a", "f() has two arguments called k"),
        ("def f(a[N]; a=1): return a", "f() has two arguments called a"),
        ("def f(a[N]; N=1): return a\ny = f(h)", "N means two things in f()"),
        ("def f(N[N]): return N\ny = f(h)", "N means two things in f()"),
        ("def f(a[N]): return f(a)\ny = f(h)", "f() calls itself; recursion is not supported"),
        ("def f(a[N]): return g(a)\ndef g(a[N]): return f(a)\ny = f(h)", "calls itself; recursion is not supported"),
        ("def f(a[N]): let k = 1\ny = f(h)", "f() ends without a return"),
        ("def f(a[N]):\n    if N == 9: return a\ny = f(h)", "f() ends without a return"),
        ("def f(a[N]):\n    output a\n    return a\ny = f(h)", "outputs are declared at top level"),
        ("return x", "return stands in a function; at top level write output"),
    ],
)
def test_faults_of_definitions(text: str, said: str) -> None:
    assert said in message(text)


def test_several_results() -> None:
    text = "def f(a[N]): return a, a + 1\n(p, q) = f(h)\nr, s = f(q)\ndef g(a[N]): return f(a)\n(t, u) = g(h)"
    program = built(f"{HEAD}{text}\noutput p, q, r, s, t, u\n", GIVEN)
    assert [output.tensor for output in program.outputs] == [
        "h", "result1", "result1", "result1.2", "h", "result1.3",
    ]  # fmt: skip
    assert message("def f(a[N]): return a, a\n(p, q, r) = f(h)") == "f() gives 2 results, not 3"
    assert message("def f(a[N]): return a, a\np = f(h)") == "f() gives 2 results: write (a, b) = f(…)"


def test_calls_nest_and_take_expressions() -> None:
    text = "def f(a[N]; k): return a*k\ny = f(f(h + 1; k=2) - f(h; k=3); k=4)"
    assert [line for line in body(text) if line.startswith("for")] == [
        "for i0<3: a[i0] = (h[i0] + 1)",
        "for i0<3: result[i0] = (a[i0] * 2)",
        "for i0<3: result.2[i0] = (h[i0] * 3)",
        "for i0<3: a.2[i0] = (result[i0] - result.2[i0])",
        "for i0<3: result.3[i0] = (a.2[i0] * 4)",
    ]


def test_a_number_as_a_tensor_argument_is_of_rank_zero() -> None:
    text = "def f(a[N], s[]): return a*s\ny = f(h, 3)"
    assert body(text)[-1] == "for i0<3: result[i0] = (h[i0] * s[])"


def test_an_early_return_ends_the_body() -> None:
    text = """\
def f(a[N]; k):
    if k == 0: return a
    repeat i in 0..3:
        if i == k: return a*i
    return undefined
"""
    assert body(text + "y = f(h; k=0)") == []
    assert body(text + "y = f(h; k=2)") == ["tensor result[3] : f32", "for i0<3: result[i0] = (h[i0] * 2)"]
    assert message(text + "y = f(h; k=7)") == "undefined is not defined here"


def test_defs_may_stand_behind_their_calls_and_are_read_when_called() -> None:
    assert len(body("y = f(h)\ndef f(a[N]): return a + 1")) == 2
    assert body("def never(a[N]): return undefined") == []


# rank polymorphism


def test_all_spreads_of_a_def_stand_for_the_same_sizes() -> None:
    text = "def f(a[..., D], g[D], c[...]):\n    for ..., d<D: y[..., d] = a[..., d]*g[d] + c[...]\n    return y\n"
    rank2 = built(f"{HEAD}{text}for t<T: s[t] = x[t, 0]\ny = f(x, h, s)\noutput y\n", GIVEN)
    assert lines(rank2)[-1] == "for _0<4, d<3: y[_0, d] = ((x[_0, d] * h[d]) + s[_0])"
    rank1 = built(f"{HEAD}{text}y = f(h, h, 2)\noutput y\n", GIVEN)
    assert lines(rank1)[-1] == "for d<3: y[d] = ((h[d] * h[d]) + c[])"
    rank3 = built(f"{HEAD}{text}input u[2, 5, 3]\ninput v[2, 5]\ny = f(u, h, v)\noutput y\n",
                  {**GIVEN, "u": "2 5 3", "v": "2 5"})  # fmt: skip
    assert lines(rank3)[-1] == "for _0<2, _1<5, d<3: y[_0, _1, d] = ((u[_0, _1, d] * h[d]) + v[_0, _1])"
    assert shape(rank3, result(rank3)) == (2, 5, 3)
    said = message(text + "y = f(x, h, h)")
    assert said == "f(): argument c has shape [3]: '...' is [3] here, but [4] before"


def test_spreads_in_the_middle_and_in_declared_shapes() -> None:
    text = """\
def f(a[N, ..., D]):
    tensor y[..., N*D]
    for n<N, ..., d<D: y[..., n*D + d] = a[n, ..., d]
    return y
"""
    rank3 = built(f"{HEAD}{text}input u[2, 5, 3]\ny = f(u)\noutput y\n", {**GIVEN, "u": "2 5 3"})
    assert lines(rank3)[-1] == "for n<2, _0<5, d<3: y[_0, d + 3*n] = u[n, _0, d]"
    assert body(text + "y = f(x)")[-1] == "for n<4, d<3: y[d + 3*n] = x[n, d]"


def test_spreads_in_reductions_views_and_whole_tensor_form() -> None:
    total = "def f(a[...]):\n    return sum(...: a[...])\ny = f(x)\nz = f(2)"
    assert body(total) == [
        "tensor result[] : f32 = 0",
        "for _0<4, _1<3: result[] += x[_0, _1]",
        "tensor a[] : i64",
        "a[] = 2",
        "tensor result.2[] : i64 = 0",
        "result.2[] += a[]",
    ]
    view = "def f(a[..., M, N]):\n    view y[..., j<N, i<M] = a[..., i, j]\n    return y\ny = f(x)"
    assert body(view) == ["view y[j<3, i<4] = x[i, j]"]
    assert len(body("def f(a[...]): return a + 1\ny = f(x)\nz = f(h)")) == 4


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "def f(a[..., D, E, F]): return a\ny = f(x)",
            "f(): argument a has shape [4, 3], which does not fit [..., D, E, F]",
        ),
        ("def f(a[..., D, ...]): return a\ny = f(x)", "which does not fit [..., D, ...]"),
        ("def f(a[...]):\n    for ..., ...: y[...] = a[...]\n    return y\ny = f(x)", "'...' stands twice"),
        ("def f(a[...]):\n    for i<2: y[i] = a[...]\n    return y\ny = f(x)", "'...' needs '...' among the iterators"),
        ("def f(a[N]):\n    for ...: y[...] = a[0]\n    return y\ny = f(h)", "'...' has no sizes here"),
        ("def f(a[...]): return sum(d<2: a[...])\ny = f(x)", "'...' needs '...' among the iterators"),
    ],
)
def test_faults_of_spreads(text: str, said: str) -> None:
    assert said in message(text)


# the prelude


def test_a_def_of_the_text_hides_the_preludes() -> None:
    own = "def relu(a[...]): return a*7\n"
    assert body(own + "y = relu(h)")[-1] == "for i0<3: result[i0] = (h[i0] * 7)"


def test_functions_of_the_prelude_do_not_see_the_texts() -> None:
    # softmax of the prelude uses exp and max
    plain = body("y = softmax(x)")
    own = "def exp(a[...]): return a*7\ndef max(a[...]): return a\ndef _softmax(a[...]): return a\nlet D2 = 1\n"
    assert body(own + "y = softmax(x)") == plain


def test_a_fault_inside_the_prelude_is_told_at_the_call() -> None:
    (problem,) = problems(f"{HEAD}y = linear(x,\n  h)\noutput y\n", GIVEN)
    assert (problem.line, problem.column, problem.text) == (3, 5, "y = linear(x,")
    assert problem.message.startswith("linear(): argument")
    assert problem.trail[0] == "linear() at line 3"


def test_statements_of_the_prelude_come_from_the_call_and_say_so() -> None:
    program = built(f"{HEAD}repeat i in 0..1:\n    y = softmax(x; dim=-1)\noutput y\n", GIVEN)
    nest = next(statement for statement in program.body if isinstance(statement, Nest))
    assert (nest.source.line, nest.source.text, nest.source.unit) == (4, "y = softmax(x; dim=-1)", "softmax")
    assert nest.source.trail[:2] == ("i = 0", "softmax(dim=-1) at line 4")


# opaque primitives


def test_opaque_primitives() -> None:
    text = """\
(v, i) = topk(x; k=2)
(w, j) = sort(x; descending=1)
o = argsort(x)
(re, im) = fft(x, x)
(rr, ri) = ifft(re, im)
(p, q) = rfft(x)
(p6, q6) = rfft(x; n=6)
output v, i, w, j, o, re, im, rr, p, q, p6
"""
    program = built(HEAD + text, GIVEN)
    assert [(shape(program, result(program, at)), program.outputs[at].dtype) for at in range(11)] == [
        ((4, 2), "f32"), ((4, 2), "i64"), ((4, 3), "f32"), ((4, 3), "i64"), ((4, 3), "i64"), ((4, 3), "f32"),
        ((4, 3), "f32"), ((4, 3), "f32"), ((4, 2), "f32"), ((4, 2), "f32"), ((4, 4), "f32"),
    ]  # fmt: skip
    kinds = [(s.kind, s.params) for s in program.body if isinstance(s, Opaque)]
    assert kinds == [
        ("topk", (("k", 2),)), ("sort", (("descending", 1),)), ("argsort", ()), ("fft", ()), ("ifft", ()),
        ("rfft", ()), ("rfft", (("n", 6),)),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("(v, i) = topk(x)", "topk() needs k between 0 and the last axis' size 3, but k is None"),
        ("(v, i) = topk(x; k=4)", "but k is 4"),
        ("(v, i) = topk(x, x; k=1)", "topk() takes 1 tensor"),
        ("(a, b) = fft(x)", "fft() takes 2 tensors"),
        ("(a, b) = fft(x, h)", "fft() needs tensors of one shape with at least one axis"),
        ("(v, i) = sort(x; dim=0)", "sort() works along the last axis and has no option dim"),
        ("i = nonzero(x)", "nonzero() has a result whose shape depends on data; that is not supported"),
        ("i = unique(x)", "unique() has a result whose shape depends on data"),
        ("(v, i) = sort(sum(t<T: x[t, 0]))", "sort() needs tensors of one shape with at least one axis"),
    ],
)
def test_faults_of_opaque_primitives(text: str, said: str) -> None:
    assert said in message(text)
