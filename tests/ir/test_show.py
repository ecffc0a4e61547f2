"""Printing a syntax tree gives text that parses to an equal tree."""

from __future__ import annotations

import string

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from solar_agent.ir import syntax as s
from solar_agent.ir.parse import parse, parse_expression
from solar_agent.ir.show import show, show_expr, signature

CONTEXTUAL = [
    "program", "input", "param", "attr", "draw", "let", "tensor", "shape", "view", "require", "fact", "output", "next",
    "emit", "repeat", "scan", "where", "carry", "reverse", "unordered", "along", "with", "indexes", "giving", "state",
    "unique", "inf", "max", "e1", "_",
]  # fmt: skip
NAMES = st.one_of(
    st.sampled_from(CONTEXTUAL),
    st.text(string.ascii_letters + "_", min_size=1, max_size=3).filter(
        lambda name: name not in {"in", "or", "if", "and", "not", "for", "def"}
    ),
)
TEXTS = st.text(st.characters(codec="ascii", exclude_categories=["Cc"], exclude_characters="'"), max_size=6)
NUMBERS = st.one_of(
    st.integers(0, 10**20),
    st.floats(0, allow_nan=False, allow_infinity=True),
).map(s.Number)


def _composed(inner: st.SearchStrategy[s.Expr]) -> st.SearchStrategy[s.Expr]:
    several = st.lists(inner, max_size=3).map(tuple)
    links = st.lists(st.tuples(st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), inner), min_size=1, max_size=2)
    return st.one_of(
        st.builds(s.TupleOf, several),
        st.builds(s.Subscript, NAMES, several),
        st.builds(s.Guarded, inner, inner),
        st.builds(s.Unary, st.sampled_from(["-", "not"]), inner),
        st.builds(s.Binary, st.sampled_from(["+", "-", "*", "/", "//", "%", "**"]), inner, inner),
        st.builds(s.Comparison, inner, links.map(tuple)),
        st.builds(s.Logic, st.sampled_from(["and", "or"]), st.lists(inner, min_size=2, max_size=3).map(tuple)),
        st.builds(s.Conditional, inner, inner, inner),
        st.builds(s.Call, NAMES, several, st.lists(st.builds(s.Option, NAMES, inner), max_size=2).map(tuple)),
        st.builds(s.Reduction, NAMES, _heads(inner), st.none() | inner, inner),
    )


def _heads(inner: st.SearchStrategy[s.Expr]) -> st.SearchStrategy[tuple[s.LoopHead, ...]]:
    return st.lists(st.one_of(st.builds(s.Head, NAMES, inner), st.just(s.Spread())), min_size=1, max_size=3).map(tuple)


EXPRS: st.SearchStrategy[s.Expr] = st.recursive(
    st.one_of(NUMBERS, TEXTS.map(s.String), NAMES.map(s.Name)), _composed, max_leaves=8
)
SMALL: st.SearchStrategy[s.Expr] = st.recursive(st.one_of(NUMBERS, NAMES.map(s.Name)), _composed, max_leaves=3)
SHAPES = st.lists(SMALL | st.just(s.Spread()), max_size=3).map(tuple)
DTYPES = st.none() | st.sampled_from(["int", "bf16", "float"])
TARGETS = st.one_of(NAMES.map(s.Name), st.builds(s.Subscript, NAMES, SHAPES))


def _bounded(draw: st.DrawFn) -> s.Input:
    low, high = draw(st.one_of(st.just((None, None)), st.tuples(SMALL, SMALL)))
    return s.Input(
        draw(NAMES), draw(st.none() | TEXTS), draw(SHAPES), draw(DTYPES), low, high, unique=draw(st.booleans())
    )


def _drawn(draw: st.DrawFn) -> s.Draw:
    first, last = draw(st.one_of(st.just((None, None)), st.tuples(SMALL, SMALL)))
    return s.Draw(draw(NAMES), draw(SHAPES), first, last, draw(DTYPES))


def _results(draw: st.DrawFn) -> s.OutputDecl:
    kind = draw(st.sampled_from(["plain", "unordered", "indexes", "state", "input"]))
    value, dtype = draw(SMALL), draw(DTYPES)
    match kind:
        case "plain":
            return s.OutputDecl(value, dtype=dtype)
        case "unordered":
            names = draw(st.lists(NAMES, max_size=2))
            return s.OutputDecl(value, dtype=dtype, unordered=draw(SMALL), companions=tuple(names))
        case "indexes":
            return s.OutputDecl(value, dtype=dtype, indexes=(draw(NAMES), draw(SMALL), draw(NAMES)))
        case slot:
            return s.OutputDecl(value, "state" if slot == "state" else "input", draw(TEXTS), dtype)


def _attribute(draw: st.DrawFn) -> s.Attr:
    return s.Attr(draw(NAMES), draw(TEXTS), draw(st.none() | EXPRS))


ASSIGNS = st.one_of(
    st.builds(s.Assign, TARGETS, st.sampled_from(["=", "+", "*", "and", "or"]), EXPRS),
    # `let max= x` is a declaration
    st.builds(
        s.Assign,
        TARGETS.filter(lambda target: target.name not in CONTEXTUAL),
        st.sampled_from(["max", "argmin"]),
        EXPRS,
    ),
)
SIMPLE: st.SearchStrategy[s.Stmt] = st.one_of(
    st.composite(_bounded)(),
    st.builds(s.Param, NAMES, TEXTS, SHAPES, DTYPES),
    st.composite(_attribute)(),
    st.composite(_drawn)(),
    st.builds(s.Let, NAMES, EXPRS),
    st.builds(s.TensorDecl, NAMES, SHAPES, DTYPES, st.none() | SMALL),
    st.builds(s.ShapeDecl, NAMES, SHAPES),
    st.builds(s.ViewDecl, NAMES, _heads(SMALL), SMALL),
    st.builds(s.Require, EXPRS),
    st.builds(s.FactDecl, EXPRS),
    st.composite(_results)(),
    st.builds(s.Unpack, st.lists(NAMES, min_size=2, max_size=3).map(tuple), SMALL),
    st.builds(s.Next, NAMES, SMALL),
    st.builds(s.EmitStmt, NAMES, SMALL),
    st.builds(s.Return, st.lists(SMALL, min_size=1, max_size=2).map(tuple)),
)


def _blocks(inner: st.SearchStrategy[s.Stmt]) -> st.SearchStrategy[s.Stmt]:
    body = st.lists(inner, min_size=1, max_size=2).map(tuple)
    names = st.lists(NAMES, min_size=1, max_size=2).map(tuple)
    carries = st.lists(st.tuples(NAMES, SMALL), max_size=2).map(tuple)
    parameters = st.lists(st.builds(s.Parameter, NAMES, st.none() | SHAPES), max_size=2).map(tuple)
    options = st.lists(st.builds(s.OptionDecl, NAMES, st.none() | SMALL), max_size=2).map(tuple)
    arms = st.lists(st.tuples(SMALL, body), min_size=1, max_size=2).map(tuple)
    orelse = st.just(()) | body
    return st.one_of(
        st.builds(s.For, _heads(SMALL), st.none() | SMALL, body),
        st.builds(s.Repeat, names, SMALL, st.none() | SMALL, body),
        st.builds(s.If, arms, orelse),
        st.builds(s.If, arms.map(lambda found: found[:1]), orelse, st.just(True)),
        st.builds(s.ScanStmt, NAMES, SMALL, st.booleans(), carries, body),
        st.builds(s.Def, NAMES, parameters, options, body),
    )


STATEMENTS = st.recursive(st.one_of(SIMPLE, ASSIGNS), _blocks, max_leaves=5)
PROGRAMS = st.builds(s.Program, NAMES, st.lists(STATEMENTS, max_size=3).map(tuple))
RARE = settings(
    derandomize=True, deadline=None, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck)
)


@settings(RARE, max_examples=300)
@given(EXPRS)
@example(s.Number(1e22))
@example(s.Number(5e-324))
@example(s.String('say "so"'))
@example(s.Binary("**", s.Unary("-", s.Number(2)), s.Unary("-", s.Name("x"))))
def test_an_expression_survives_printing(expr: s.Expr) -> None:
    assert parse_expression(show_expr(expr)) == expr


@settings(RARE, max_examples=120)
@given(PROGRAMS)
@example(s.Program("p", (s.OutputDecl(s.TupleOf((s.TupleOf(()), s.Name("a")))),)))
@example(s.Program("p", (s.OutputDecl(s.TupleOf((s.Name("a"),))),)))
@example(s.Program("p", (s.Draw("z", (), s.Number(0), s.Subscript("n", (s.Number(0),))),)))
@example(s.Program("p", (s.Draw("z", (s.Name("B"),), s.Number(2), s.Binary("+", s.Number(2), s.Name("T"))),)))
def test_a_program_survives_printing(program: s.Program) -> None:
    text = show(program)
    assert parse(text) == program
    assert show(parse(text)) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a-b-c", "a - b - c"),
        ("a-(b-c)", "a - (b - c)"),
        ("-a**2", "-a**2"),
        ("(-a)**2", "(-a)**2"),
        ("2**3**2", "2**3**2"),
        ("(2**3)**2", "(2**3)**2"),
        ("not (a and b) or c", "not (a and b) or c"),
        ("(a if b else c) if d else e", "(a if b else c) if d else e"),
        ("a if b else (c if d else e)", "a if b else c if d else e"),
        ("a < b <= c", "a < b <= c"),
        ("(a < b) == c", "(a < b) == c"),
        ("sum( i < N+1 where i != k : x[i] )", "sum(i<N + 1 where i != k: x[i])"),
        ("(x[i-1] else -inf)", "(x[i - 1] else -inf)"),
        ("f(x,y ; k = 1, m)", "f(x, y; k=1, m=m)"),
        ("f(;k=1)", "f(; k=1)"),
        ("(a, b)", "[a, b]"),
        ("+a", "a"),
    ],
)
def test_expressions_are_printed_with_the_parentheses_they_need(text: str, shown: str) -> None:
    assert show_expr(parse_expression(text)) == shown
    assert parse_expression(shown) == parse_expression(text)


def test_a_program_is_printed_one_statement_a_line() -> None:
    text = """\
program demo
input x[B, N] : int in 0..V unique
param w = "a.b"[N]
attr k = "arg.k" or 3
draw z = 2..(2 + T) [B]
let P = N // 2
tensor y[B, P] : bf16 = 0
for b<B, i<P where i != k: y[b, i] += x[b, i] * w[i]
for b<B:
    u[b] max= x[b, 0]
    v[b] = u[b]
if k == 3:
    (p, q) = f(x, y; k=1)
elif k > 3:
    p = x
else:
    p = y
if? c:
    p = x
scan reverse t<T carry h = p, g = q:
    next h = h + g
    emit hs = h
output p : i64 unordered along 1 with q, r
output i indexes x along 1 giving v
output state "bn.mean" = m
output input "x" = p
output p, q
def f(x[..., N], y[]; k, eps=1e-05):
    return x, y
"""
    assert show(parse(text)) == text


def test_a_signature_is_what_a_reader_calls() -> None:
    (definition,) = parse("def norm(x[..., D], s; name, eps=1e-5):\n    return x\n").body
    assert isinstance(definition, s.Def)
    assert signature(definition) == "def norm(x[..., D], s; name, eps=1e-05)"
