"""Texts to syntax trees: tokens, layout, contextual keywords, and the errors of texts that cannot be read."""

from __future__ import annotations

import random
import string

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from solar_agent.ir import syntax as s
from solar_agent.ir.errors import IRError, Problem
from solar_agent.ir.parse import parse, parse_expression
from solar_agent.ir.show import show

SAMPLE = """\
program sample
# a block of every kind
input x[B, C, H] : float
input ids[B, T] : int in 0..V unique
input odd = "args/0"[B]
param w = "conv.weight"[O, C, R]
attr s = "self.conv.stride.0"
attr k = "arg.k" or 3
draw h0[B, O]
draw z = 2..2+T [B]
let P = (H + 2*1 - R)//s + 1
require C % 2 == 0 and P > 0
fact w[o, c, r] == (r <= c)
tensor y[B, O, P] : bf16 = 0
view f[b<B, i<C*H] = x[b, i // H, i % H]
for b<B, o<O, p<P: y[b, o, p] += sum(c<C, r<R where r != c: (x[b, c, s*p + r - 1] else 0) * w[o, c, r])
for b<B where b > 0 or b == 0:
    m[b] max= f[b, 0]
    n[b] = select(m[b] >= 1.5e-3, -m[b]**2, not m[b] < 0)
def norm(x[..., D]; name, eps=1e-5):
    param g = "{name}.weight"[D]
    for ..., d<D: u[..., d] = x[..., d] * rsqrt(eps) * g[d]
    return u
repeat (i, j) in [(0, 1), (2, 3)]:
    y = norm(y; name="blocks.{i}.norm")
if s == 2: q = relu(y)
elif s == 1:
    q = y
else:
    q = max(y, 0)
scan reverse t<T carry h = h0, c = h0:
    next h = h + c
    emit hs = h
if? c:
    (v, i) = topk(h; k=1)
else:
    v, i = sort(h)
output y : f32 unordered along 1 with q, h
output i indexes x along 1 giving v
output state "bn.mean" = m
output input "x" = x
"""


def body(text: str) -> tuple[s.Stmt, ...]:
    return parse(text).body


def problems(text: str) -> tuple[Problem, ...]:
    with pytest.raises(IRError) as caught:
        parse(text)
    return caught.value.problems


def only(text: str) -> Problem:
    (problem,) = problems(text)
    return problem


# tokens


@pytest.mark.parametrize(
    ("text", "value"),
    [("0", 0), ("007", 7), ("12", 12), ("1.5", 1.5), ("1e3", 1000.0), ("1E-3", 0.001), ("2.5e+1", 25.0)],
)
def test_numbers(text: str, value: float) -> None:
    expr = parse_expression(text)
    assert isinstance(expr, s.Number) and expr.value == value and type(expr.value) is type(value)


@pytest.mark.parametrize("text", ["1.", ".5", "1.e3", "1_000", "0x10", "1e", "1.5.2", "2x", "1e5.0", "1..2"])
def test_what_is_no_number(text: str) -> None:
    with pytest.raises(IRError):
        parse_expression(text)


def test_a_lone_point_is_explained() -> None:
    assert "a decimal point has digits on both sides" in only("let a = 1.\n").message
    assert "a decimal point has digits on both sides" in only("y = x.shape\n").message


def test_a_number_of_absurd_length_is_refused() -> None:
    assert "digits is too long" in only(f"let a = {'9' * 5000}\n").message


@pytest.mark.parametrize(
    ("text", "low", "high"), [("0..4", 0, 4), ("1 ..4", 1, 4), ("1.. 4", 1, 4), ("10..20", 10, 20)]
)
def test_ranges_are_told_from_decimal_points(text: str, low: int, high: int) -> None:
    assert body(f"repeat i in {text}: y = x\n") == (
        s.Repeat(("i",), s.Number(low), s.Number(high), (s.Assign(s.Name("y"), "=", s.Name("x")),)),
    )


def test_a_range_of_decimals() -> None:
    (statement,) = body("input x[N] in 0.5..1.5\n")
    assert isinstance(statement, s.Input)
    assert (statement.low, statement.high) == (s.Number(0.5), s.Number(1.5))


def test_an_ellipsis_is_not_a_range() -> None:
    assert parse_expression("x[..., d]") == s.Subscript("x", (s.Spread(), s.Name("d")))


@pytest.mark.parametrize(
    ("text", "op"),
    [
        ("y[i] = 1", "="), ("y[i] += 1", "+"), ("y[i]+=1", "+"), ("y[i] *=1", "*"), ("y[i]*=1", "*"),
        ("y[i] max= 1", "max"), ("y[i] max = 1", "max"), ("y[i] min=1", "min"), ("y[i] and= 1", "and"),
        ("y[i] or =1", "or"), ("y[i] argmax= 1", "argmax"), ("y[i] argmin= 1", "argmin"),
    ],
)  # fmt: skip
def test_assignment_operators(text: str, op: str) -> None:
    assert body(text) == (s.Assign(s.Subscript("y", (s.Name("i"),)), op, s.Number(1)),)


def test_an_unknown_reduction_lists_the_known_ones() -> None:
    problem = only("y[i] mean= 1\n")
    assert "unknown reduction mean=" in problem.message and "argmin=" in problem.message
    assert (problem.line, problem.column, problem.text) == (1, 6, "y[i] mean= 1")


def test_operators_that_share_characters() -> None:
    assert parse_expression("a*-b") == s.Binary("*", s.Name("a"), s.Unary("-", s.Name("b")))
    assert parse_expression("a**-b") == s.Binary("**", s.Name("a"), s.Unary("-", s.Name("b")))
    assert parse_expression("a//b/c") == s.Binary("/", s.Binary("//", s.Name("a"), s.Name("b")), s.Name("c"))
    assert parse_expression("a<-b") == s.Comparison(s.Name("a"), (("<", s.Unary("-", s.Name("b"))),))
    assert parse_expression("a>=b==c") == s.Comparison(s.Name("a"), ((">=", s.Name("b")), ("==", s.Name("c"))))


def test_precedence() -> None:
    a, b, c, d = (s.Name(name) for name in "abcd")
    assert parse_expression("a + b * c") == s.Binary("+", a, s.Binary("*", b, c))
    assert parse_expression("-a ** b") == s.Unary("-", s.Binary("**", a, b))
    assert parse_expression("a - b - c") == s.Binary("-", s.Binary("-", a, b), c)
    assert parse_expression("not a == b") == s.Unary("not", s.Comparison(a, (("==", b),)))
    assert parse_expression("a or b and not c") == s.Logic("or", (a, s.Logic("and", (b, s.Unary("not", c)))))
    assert parse_expression("a if b else c if d else a") == s.Conditional(a, b, s.Conditional(c, d, a))


def test_strings_of_both_kinds_hold_anything_but_their_quote() -> None:
    assert parse_expression("'a\"# (['") == s.String('a"# ([')
    assert parse_expression('"it\'s {i}"') == s.String("it's {i}")


def test_a_reduction_and_a_call_differ_by_the_colon() -> None:
    assert parse_expression("max(a < b)") == s.Call("max", (s.Comparison(s.Name("a"), (("<", s.Name("b")),)),))
    assert parse_expression("max(a < b: c)") == s.Reduction("max", (s.Head("a", s.Name("b")),), None, s.Name("c"))
    assert parse_expression("sum(..., i<2*N+1 where i != k: c)") == s.Reduction(
        "sum",
        (
            s.Spread(),
            s.Head("i", s.Binary("+", s.Binary("*", s.Number(2), s.Name("N")), s.Number(1))),
        ),
        s.Comparison(s.Name("i"), (("!=", s.Name("k")),)),
        s.Name("c"),
    )


@pytest.mark.parametrize("head", ["i", "i<=N", "2<N", "i>N", "i<N<M", "x[i]<N", "i=N"])
def test_the_heads_of_a_reduction_are_name_below_expression(head: str) -> None:
    with pytest.raises(IRError):
        parse(f"y = sum({head}: x[i])\n")


def test_a_call_has_tensors_then_options() -> None:
    expected = s.Call("f", (s.Name("x"),), (s.Option("k", s.Number(1)), s.Option("name", s.Name("name"))))
    assert parse_expression("f(x; k=1, name)") == expected
    assert parse_expression("f(x,; k=1, name,)") == expected
    assert parse_expression("f(; k=1)") == s.Call("f", (), (s.Option("k", s.Number(1)),))
    assert "name=value" in only("y = f(x; 3)\n").message


def test_lists_and_tuples_are_the_same() -> None:
    pair = s.TupleOf((s.Number(1), s.Number(2)))
    assert parse_expression("[1, 2]") == parse_expression("(1, 2)") == parse_expression("[1, 2,]") == pair
    assert parse_expression("(1,)") == parse_expression("[1]") == s.TupleOf((s.Number(1),))
    assert parse_expression("[]") == s.TupleOf(())
    assert parse_expression("[(1, 2), (1, 2)]") == s.TupleOf((pair, pair))


# declarations


def test_shapes_may_be_left_out_at_rank_zero() -> None:
    for text in ("input x", 'param x = "a.b"', "draw x", "tensor x", "shape x"):
        assert body(f"{text}\n") == body(f"{text}[]\n")
    assert body("tensor x = 0\n") == (s.TensorDecl("x", (), None, s.Number(0)),)


def test_a_stack_of_draws_ends_before_its_shape() -> None:
    expected = s.Draw("z", (s.Name("B"),), s.Number(2), s.Binary("+", s.Number(2), s.Name("T")))
    assert (
        body("draw z = 2..2+T [B]\n") == body("draw z = 2..2+T[B]\n") == body("draw z = 2..(2 + T)[B]\n") == (expected,)
    )
    assert body("draw z = 0..3\n") == (s.Draw("z", (), s.Number(0), s.Number(3)),)
    assert body("draw z = 0..n [B] : f32\n") == (s.Draw("z", (s.Name("B"),), s.Number(0), s.Name("n"), "f32"),)


def test_an_attribute_has_a_path_and_a_default() -> None:
    assert body('attr s = "self.a"\n') == (s.Attr("s", "self.a"),)
    assert body('attr s = "self.a" or 3\n') == (s.Attr("s", "self.a", s.Number(3)),)
    assert body('attr s = "self.a" or P or 3\n') == (s.Attr("s", "self.a", s.Logic("or", (s.Name("P"), s.Number(3)))),)
    assert body('attr s = is_none("arg.k")\n') == (s.Let("s", s.Call("is_none", (s.String("arg.k"),))),)


def test_a_def_without_options_without_tensors_and_with_commas_at_the_end() -> None:
    returned = (s.Return((s.Name("x"),)),)
    assert body("def f(x[]): return x\n") == (s.Def("f", (s.Parameter("x", ()),), (), returned),)
    assert body("def f(; k): return x\n") == (s.Def("f", (), (s.OptionDecl("k"),), returned),)
    assert body("def f(x[],; k,): return x\n") == (s.Def("f", (s.Parameter("x", ()),), (s.OptionDecl("k"),), returned),)
    assert body("def f(): return x\n") == (s.Def("f", (), (), returned),)


def test_the_program_line_may_be_missing() -> None:
    assert parse("output x\n").name == "program"
    assert parse("program p\n") == s.Program("p", ())


# contextual keywords

KEYWORDS = [
    "program", "input", "param", "attr", "draw", "let", "tensor", "shape", "view", "require", "fact", "output", "next",
    "emit", "repeat", "scan", "where", "carry", "reverse", "unordered", "along", "with", "indexes", "giving", "state",
    "unique",
]  # fmt: skip


@pytest.mark.parametrize("word", KEYWORDS)
def test_every_contextual_keyword_names_a_tensor(word: str) -> None:
    statements = body(f"""\
input {word}[B] : int in 0..{word} unique
param {word} = "a"[{word}]
let {word} = {word} + 1
tensor {word}[B] = {word}
{word} = f({word}; {word}={word}) + {word}[0]
{word}[0] += {word}
{word} *= 2
{word}, a = f(x)
({word}, {word}) = f(x)
for {word}<B where {word} > 0: {word}[{word}] max= sum({word}<B where {word} != 0: {word}[{word}])
repeat {word} in 0..{word}: {word} = {word}
scan {word}<T carry {word} = {word}:
    next {word} = {word}
    emit {word} = {word}
scan reverse {word}<T:
    emit {word} = {word}
if {word} == 1: {word} = {word}
output {word} : f32 unordered along {word} with {word}, {word}
output {word} indexes {word} along {word} giving {word}
output state "a" = {word}
output input "a" = {word}
def {word}({word}[{word}]; {word}={word}): return {word}
""")
    kinds = [type(statement).__name__ for statement in statements]
    assert kinds == [
        "Input", "Param", "Let", "TensorDecl", "Assign", "Assign", "Assign", "Unpack", "Unpack", "For", "Repeat",
        "ScanStmt", "ScanStmt", "If", "OutputDecl", "OutputDecl", "OutputDecl", "OutputDecl", "Def",
    ]  # fmt: skip
    assert not any(word_is_lost(statement, word) for statement in statements)


def word_is_lost(statement: s.Stmt, word: str) -> bool:
    return f"'{word}'" not in repr(statement)


@pytest.mark.parametrize("word", ["if", "elif", "else", "and", "or"])
def test_reserved_words_name_no_tensor(word: str) -> None:
    assert f"found '{word}', expected an expression" in only(f"y = x + {word}[0]\n").message


def test_a_mutated_slot_is_told_from_a_result_called_like_it() -> None:
    assert body('output state "a" = x\n') == (s.OutputDecl(s.Name("x"), "state", "a"),)
    assert body('output input "a" = x\n') == (s.OutputDecl(s.Name("x"), "input", "a"),)
    assert body("output state\noutput input\n") == (s.OutputDecl(s.Name("state")), s.OutputDecl(s.Name("input")))


# layout


def test_comments_blank_lines_and_spaces_do_not_matter() -> None:
    plain = "program p\nif a:\n    y = x\n    z = y\noutput z\n"
    spaced = (
        "\n# head\n\nprogram   p # tail\n\nif a :  # why\n\n# flush left\n"
        "    y = x\n        # deeper\n\n    z=y\n  \noutput z # end"
    )
    assert parse(spaced) == parse(plain)


@pytest.mark.parametrize("text", ["", "\n", "   ", "\n\n", "# nothing", "\t\n# a\n\n"])
def test_an_empty_text_is_an_empty_program(text: str) -> None:
    assert parse(text) == s.Program("program", ())


@pytest.mark.parametrize("line_end", ["\r\n", "\r"])
def test_line_ends_of_other_systems(line_end: str) -> None:
    assert parse(SAMPLE.replace("\n", line_end)) == parse(SAMPLE)
    (problem,) = problems(f"program p{line_end}{line_end}y = ={line_end}")
    assert (problem.line, problem.column, problem.text) == (3, 5, "y = =")


def test_tabs_count_eight_columns() -> None:
    assert parse("if a:\n\ty = x\n        z = y\n") == parse("if a:\n    y = x\n    z = y\n")


def test_a_byte_order_mark_is_skipped() -> None:
    assert parse("\ufeffprogram p\n").name == "p"


def test_the_last_line_needs_no_line_end() -> None:
    assert parse(SAMPLE.rstrip("\n")) == parse(SAMPLE)


def test_lines_go_on_inside_brackets() -> None:
    text = """\
y = f(x,   # the tensor
      (a
       + b);
k=[1,

   2])
for i<N: z[i] = sum(
  j<M: x[i, j]
)
"""
    assert body(text) == body("y = f(x, (a + b); k=[1, 2])\nfor i<N: z[i] = sum(j<M: x[i, j])\n")


def test_bodies_on_one_line() -> None:
    (assign,) = body("y = x\n")
    assert body("if a: y = x\nelse: y = x\n") == body("if a:\n    y = x\nelse:\n    y = x\n")
    assert body("repeat i in 0..2: y = x\n") == (s.Repeat(("i",), s.Number(0), s.Number(2), (assign,)),)
    assert body("def f(): let a = 1\n") == (s.Def("f", (), (), (s.Let("a", s.Number(1)),)),)
    assert body("if a: output x\n") == (s.If(((s.Name("a"), (s.OutputDecl(s.Name("x")),)),), ()),)
    assert body("scan t<T: emit y = x\n") == (s.ScanStmt("t", s.Name("T"), False, (), (s.EmitStmt("y", s.Name("x")),)),)


def test_defs_stand_between_other_statements() -> None:
    kinds = [type(statement).__name__ for statement in body("a = x\ndef f(): return x\nb = f()\ndef g(): return x\n")]
    assert kinds == ["Assign", "Def", "Assign", "Def"]


def test_blocks_nest_and_end_together() -> None:
    text = "if a:\n  if b:\n      if c:\n       y = x\nz = y\n"
    assert body(text) == body("if a:\n    if b:\n        if c: y = x\nz = y\n")


def test_positions_are_those_of_the_text() -> None:
    program = parse(SAMPLE)
    assert program.lines[program.body[0].pos.line - 1].startswith("input x")
    for statement in program.body:
        line = program.lines[statement.pos.line - 1]
        assert line[statement.pos.column - 1 :].strip()
        assert statement.pos.column == 1
    (loop,) = (statement for statement in program.body if isinstance(statement, s.Repeat))
    assert loop.body[0].pos == s.Pos(loop.pos.line + 1, 5)


def test_the_sample_survives_printing() -> None:
    assert parse(show(parse(SAMPLE))) == parse(SAMPLE)


# errors


def test_every_error_has_its_line_column_and_text() -> None:
    text = """\
program p
input x[B, N
y = x +
let a = 3 )
for i<N z[i] = x[i]
if a == 1
    y = x
output "never ends
output y
"""
    found = problems(text)
    assert [(p.line, p.column, p.text) for p in found] == [
        (2, 8, "input x[B, N"),
        (3, 8, "y = x +"),
        (4, 11, "let a = 3 )"),
        (5, 9, "for i<N z[i] = x[i]"),
        (6, 10, "if a == 1"),
        (8, 8, 'output "never ends'),
    ]
    assert found[0].message == "'[' is not closed"
    assert "found end of line, expected an expression" in found[1].message
    assert "')' closes nothing" in found[2].message
    assert found[3].message == "found 'z', expected an operator, ',', ':' or 'where'"
    assert found[4].message == "':' is missing at the end"


def test_an_error_in_a_statement_of_many_lines_is_told_where_it_is() -> None:
    problem = only("y = f(x,\n      a b,\n      c)\nz = y\n")
    assert (problem.line, problem.column, problem.text) == (2, 9, "      a b,")
    assert "found 'b'" in problem.message


def test_an_error_in_a_block_does_not_end_the_block() -> None:
    found = problems("if a:\n    y = = x\nelse:\n    z = 1 +\noutput q q\n")
    assert [(p.line, p.column) for p in found] == [(2, 9), (4, 12), (5, 10)]


def test_an_error_in_a_blocks_head_leaves_its_body() -> None:
    found = problems("while a:\n    y = x\n    z = = y\noutput z\n")
    assert [p.line for p in found] == [1, 3]


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("a = x\n    b = x\nc = x\n", 2, 5, "indented, but no block"),
        ("if a:\n        b = x\n    c = x\n", 3, 5, "matches no outer block"),
        ("if a:\nb = x\n", 1, 1, "an indented block is expected"),
        ("for i<N:\n", 1, 1, "an indented block is expected"),
        ("if a:\n    y = x\nelse:\noutput y\n", 3, 1, "an indented block is expected"),
        ("  program p\n", 1, 3, "indented, but no block"),
        ("y = f(x]\n", 1, 8, "']' does not close the '(' of column 6"),
        ("y = f((x)\nz = y\n", 1, 6, "'(' is not closed"),
        ("let a = 'b\n", 1, 9, "the string that ' begins has no end"),
        ("y = a ? b\n", 1, 7, "found '?'"),
        ("y = a @ b\n", 1, 7, "write a matrix product as a sum"),
        ("y = a && b\n", 1, 7, "write 'and'"),
        ("input x[B] :\n", 1, 13, "found end of line, expected a name"),
        ("elif a: y = x\n", 1, 1, "found 'elif'"),
        ("for i<N, 3: y[i] = x[i]\n", 1, 10, "an iterator is written name < extent"),
        ("view f[n, i<4] = h[n, i]\n", 1, 8, "an iterator is written name < extent"),
        ("scan ...: emit y = x\n", 1, 6, "found '...', expected an expression"),
        ("scan 3<T: emit y = x\n", 1, 6, "an iterator is written name < extent"),
        ("for i in range(3):\n    y = x\n", 1, 7, "an iterator is written name < extent"),
        ("while c: y = x\n", 1, 1, "there is no while"),
        ("import torch\n", 1, 1, "there is nothing to import"),
        ("y = x; z = x\n", 1, 6, "each statement has a line of its own"),
        ("y = f(x\nz = a]\n", 1, 6, "'(' is not closed"),
        ("y = x.T\n", 1, 6, "names have no dots"),
        ("y = x[:, 0]\n", 1, 7, "there are no slices"),
    ],
)
def test_what_is_said_about_a_fault(text: str, line: int, column: int, message: str) -> None:
    problem = problems(text)[0]
    assert (problem.line, problem.column) == (line, column)
    assert message in problem.message
    assert problem.text == text.split("\n")[line - 1]


def test_indentation_faults_do_not_hide_what_follows() -> None:
    found = problems("a = x\n    b = x\n    c = = x\nd = x +\n")
    assert [(p.line, p.column) for p in found] == [(2, 5), (3, 9), (4, 8)]


def test_braces_hold_one_expression() -> None:
    assert parse_expression(" i + 1 ") == s.Binary("+", s.Name("i"), s.Number(1))
    assert parse_expression("input(x)") == s.Call("input", (s.Name("x"),))
    for text in ("", "i +", "i:02d", "a)", "(a", "'", "a\nb", "a}", "let x = 1"):
        with pytest.raises(IRError, match="cannot read the expression"):
            parse_expression(text)


# no other exception, whatever the text


@pytest.mark.parametrize(
    "text",
    [
        "y = " + "-" * 5000 + "x\n",
        "y = " + "(" * 5000 + "x" + ")" * 5000 + "\n",
        "y = " + "[" * 5000 + "x" + "]" * 5000 + "\n",
        "y = " + "f(" * 5000 + "x" + ")" * 5000 + "\n",
        "y = " + " + ".join(["x"] * 5000) + "\n",
        "y = " + "x if a else " * 5000 + "x\n",
        "y = " + "not " * 5000 + "x\n",
        "y = " + "x ** " * 5000 + "x\n",
        "".join(f"{' ' * level}if a:\n" for level in range(400)) + " " * 400 + "y = x\n",
    ],
)
def test_deep_nesting_is_refused_or_read(text: str) -> None:
    try:
        parse(text)
    except IRError as error:
        (problem,) = error.problems
        assert "nested too deeply" in problem.message


def test_what_is_nested_too_deeply_is_named() -> None:
    problem = only("a = x\ny = " + " + ".join(["x"] * 500) + "\n")
    assert problem.line == 2 and problem.column >= 5
    assert parse("y = " + " + ".join(["x"] * 100) + "\n").body


def test_a_long_text_is_read() -> None:
    assert len(parse("y = x + 1\n" * 2000).body) == 2000


def test_an_endless_text_is_refused() -> None:
    assert "characters; at most" in only("y = x + 1\n" * 100_000).message


QUICK = settings(
    derandomize=True, deadline=None, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck)
)


def parses_or_complains(text: str) -> None:
    try:
        program = parse(text)
    except IRError as error:
        assert error.problems
        for problem in error.problems:
            assert problem.message and problem.line >= 0 and problem.column >= 0
            assert problem.line <= len(program_lines(text))
    else:
        assert parse(show(program)) == program


def program_lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


@settings(QUICK, max_examples=200)
@given(st.text(st.characters(max_codepoint=0x2FF)))
def test_any_text_parses_or_complains(text: str) -> None:
    parses_or_complains(text)


@settings(QUICK, max_examples=200)
@given(st.text(alphabet=" \n\t\r()[]{}:;,.\"'#=<>+-*/%!?xiN0 1eforin", max_size=60))
def test_any_text_of_its_characters_parses_or_complains(text: str) -> None:
    parses_or_complains(text)


SIGNS = 'x y[ ] ( ) = += max= < : 1 .. ... "a" , ; in return def and not else for if else: elif'
WORDS = [*KEYWORDS, *SIGNS.split(), "\n", "\n    "]


@settings(QUICK, max_examples=200)
@given(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join))
def test_any_text_of_its_words_parses_or_complains(text: str) -> None:
    parses_or_complains(text)


@pytest.mark.parametrize("seed", range(4))
def test_a_damaged_text_parses_or_complains(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(25):
        text = SAMPLE
        for _ in range(rng.randint(1, 4)):
            text = damaged(rng, text)
        parses_or_complains(text)


def damaged(rng: random.Random, text: str) -> str:
    at = rng.randrange(len(text))
    match rng.randrange(5):
        case 0:
            return text[:at] + text[at + 1 :]
        case 1:
            return text[:at] + rng.choice("()[]:;,=<.\"' \n\t#x0" + string.punctuation) + text[at:]
        case 2:
            lines = text.split("\n")
            del lines[rng.randrange(len(lines))]
            return "\n".join(lines)
        case 3:
            lines = text.split("\n")
            line = rng.randrange(len(lines))
            lines[line] = " " * rng.randrange(9) + lines[line].lstrip()
            return "\n".join(lines)
        case _:
            return text[:at] + text[at + rng.randrange(1, 9) :]
