"""Faults of a text: all at once, each with its place and its numbers, none that only follows from another."""

from __future__ import annotations

import random
import re

import pytest
from elaborating import bound, built, problems
from solar_agent.ir.elaborate import scope
from solar_agent.ir.errors import IRError
from solar_agent.ir.load import load

GIVEN = {"x": "4 3", "i": "i64[4]", "c": "bool[]", "h": "bf16[3]"}
STATE = {"w": "3 3"}
ATTRS = {"arg.k": 2, "self.t": (1, 2), "self.n": None}
SAMPLE = """\
program sample
input x[T, D]
input i[T] : int in 0..T
input c[]
input h[D]
param w = "w"[D, D]
attr k = "arg.k" or 3
attr t2 = "self.t"
draw z[D]
let P = (T + 2*k - D)//k + 1
require T % 2 == 0
fact w[a, b] == (a <= b)
tensor y[T, D] = 0
view v[d<D, t<T] = x[t, d]
def f(a[..., D]; k, m=k*2):
    for ..., d<D: u[..., d] = a[..., d] * m
    if k == 0: return u
    return u + 1
for t<T, d<D where t != d: y[t, d] += sum(e<D where e > d: (x[t, e - 1] else 0) * w[e, d])
for t<T, j<t+1: q[t, j] = select(x[t, 0] > 0, x[j, 0]**2, -1) / max(d<D: x[j, d])
repeat (a, b) in [(1, 2), (3, 4)]:
    y = f(y; k=a) + relu(x)
scan t<T carry s = h, n = 0:
    for d<D: g[d] = tanh(s[d] + x[t, d])
    next s = g
    next n = n + 1
    emit ys = g
if? c:
    r = x * 2
else:
    r = y
(v5, i5) = topk(r; k=2)
for t<T, d<D: best[t] argmax= x[t, d]
output y : f32 unordered along 1 with r
output ys, n, P
output i5 indexes r along 1 giving v5
"""


def sampled(text: str) -> None:
    load(text, bound(GIVEN, STATE, ("3", "3"), ATTRS))


def test_the_sample_itself_is_well_formed() -> None:
    sampled(SAMPLE)


def test_all_faults_of_a_text_are_told_at_once_in_order() -> None:
    text = """\
program p
input x[T, D]
input y[T, 9]
attr s = "self.stride"
let n = T + undefined1
for t<T, d<D: a[t, d] = x[t, d, 0]
b = a + x
def f(u[N]): return u * undefined2
e = f(x)
for t<T: g[t] = undefined3[t]
require T == 5
output b
output g
"""
    found = problems(text, {"x": "4 3", "y": "4 3"})
    assert [(p.line, p.column, p.message) for p in found] == [
        (3, 1, "input y has shape [4, 3]: axis 1 is 3, expected 9"),
        (4, 1, "'self.stride' is not in the captured program"),
        (5, 13, "undefined1 is not defined here"),
        (6, 25, "x has 2 axes [4, 3], but 3 indices are given"),
        (9, 5, "f(): argument u has 2 axes [4, 3], but [N] has 1"),
        (10, 17, "undefined3 is not defined here"),
        (11, 1, "not met at these sizes: T == 5, where T = 4"),
    ]
    assert [p.text for p in found][:3] == ["input y[T, 9]", 'attr s = "self.stride"', "let n = T + undefined1"]


def test_the_message_of_an_error_shows_place_text_and_trail() -> None:
    text = "input x[T, D]\ndef f(u[N, M]; k):\n    return u * k * zz\nrepeat i in 0..2: y = f(x; k=i)\noutput y\n"
    with pytest.raises(IRError) as caught:
        built(text, GIVEN)
    assert str(caught.value) == (
        "line 3, column 20: zz is not defined here\n    return u * k * zz\n    in i = 0\n    in f(k=0) at line 4"
    )


@pytest.mark.parametrize(
    "definition",
    [
        "input y[T, 9]",
        "param y = 'nothing'[T]",
        "attr y = 'self.nothing'",
        "draw q[T]\ndraw y[T]",
        "let y = undefined",
        "tensor y[undefined]",
        "view y[i<T] = undefined[i]",
        "y = undefined",
        "(y, z) = topk(undefined; k=1)",
        "for t<T: y[t] = undefined[t]",
        "for t<T:\n    y[t] = undefined[t]",
        "repeat i in 0..3: y = undefined",
        "repeat i in undefined: y = x",
        "if undefined == 1: y = x\nelse: y = x + 1",
        "if T == 4: y = undefined",
        "scan t<T carry y = undefined: next y = y",
        "scan t<T: emit y = undefined",
        "scan t<undefined: emit y = x",
        "if? undefined: y = x",
        "y = f(undefined)\ndef f(a): return a",
        "y = f(x)\ndef f(a): return undefined",
        "y = f(x)\ndef f(a):\n    if undefined == 1: return a\n    return a",
        "y = f(x)\ndef f(a):\n    if undefined == 1: return a",
    ],
)
def test_a_name_whose_definition_failed_is_no_second_fault(definition: str) -> None:
    uses = """\
a = y
b = a + 1
for t<T: e[t] = y[t]
let n = y + 1
shape y[N]
view v[i<T] = y[i]
output y
output b, n
let m = N
"""
    found = problems(f"input x[T, D]\n{definition}\n{uses}", {"x": "4 3", "y": "4 3"}, None, ("4",))
    assert len(found) == 1, [str(p) for p in found]


def test_sizes_of_a_declaration_that_failed_are_no_second_fault() -> None:
    found = problems('param w = "nothing"[O, C]\nfor o<O, c<C: y[o, c] = w[o, c]\nlet k = O*C\noutput y\n')
    assert [p.line for p in found] == [1]


def test_a_fault_in_a_function_that_is_called_often_is_told_once() -> None:
    text = "input x[T, D]\ndef f(a): return zz\ny = f(x)\nz = f(y)\nrepeat i in 0..5: w = f(x)\noutput w\n"
    (problem,) = problems(text, GIVEN)
    assert problem.trail == ("f() at line 3",)


def test_no_more_than_twenty_faults_are_told() -> None:
    text = "input x[T, D]\n" + "".join(f"y{i} = undefined{i}\n" for i in range(50)) + "output x\n"
    assert len(problems(text, GIVEN)) == 20


def test_deep_calls_are_refused_or_run() -> None:
    chain = "".join(f"def f{i}(a): return f{i + 1}(a + 1)\n" for i in range(80)) + "def f80(a): return a\n"
    (problem,) = problems(f"input x[T, D]\n{chain}y = f0(x)\noutput y\n", GIVEN)
    assert "recursion is not supported" in problem.message or "nested too deeply" in problem.message
    nested = "f(" * 50 + "x" + ")" * 50
    assert built(f"input x[T, D]\ndef f(a): return a\ny = {nested}\noutput y\n", GIVEN).outputs
    long = " + ".join(["x"] * 100)
    assert len(built(f"input x[T, D]\ny = {long}\noutput y\n", GIVEN).body) == 2


def test_nothing_but_an_ir_error_comes_out_of_huge_numbers() -> None:
    for text in (
        "let a = 9**99**99",
        "let a = 10**60 * 10**60",
        "tensor y[10**30]",
        "for t<10**40: y[t] = 1",
        "for t<T: y[t] = x[t * 10**50, 0]",
        "for t<T where t * 10**50 > 3: y[t] = x[t, 0]",
        "let a = 1e308 * 10 - 1e308 * 10",
        "let a = int(1e300)",
        "let a = floor(inf)",
        "y = x * 10**59",
    ):
        try:
            sampled(f"input x[T, D]\n{text}\noutput x\n")
        except IRError as error:
            assert error.problems


@pytest.mark.parametrize(
    "text",
    [
        "repeat a in 0..40000:\n    repeat b in 0..40000: let c = 1",
        "let a = sum(i<10**9: i)",
        "let a = sum(i<10**4, j<10**4: 0)",
        "let a = sum(i<10**9 where i < 0: i)",
        "".join(f"def f{i}(a): return f{i + 1}(f{i + 1}(a))\n" for i in range(30)) + "def f30(a): return a\ny = f0(x)",
    ],
)
def test_endless_texts_are_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scope, "_MOST_WORK", 20_000)
    (problem,) = problems(f"input x[T, D]\n{text}\noutput x\n", GIVEN)
    assert problem.message == "the text unrolls to more statements than can be analysed"


@pytest.mark.parametrize(
    "text",
    ['let s = "ab"\nrepeat i in 0..99: let s = "{s}{s}"', "let t = [1, 2]\nrepeat i in 0..99: let t = [t, t]"],
)
def test_endless_values_are_refused(text: str) -> None:
    (problem,) = problems(f"input x[T, D]\n{text}\noutput x\n", GIVEN)
    assert problem.message == "a value of more than 10,000 items"


@pytest.mark.parametrize("seed", range(4))
def test_a_damaged_text_is_elaborated_or_refused(seed: int) -> None:
    rng = random.Random(seed)
    outcomes = set[bool]()
    for _ in range(40):
        try:
            sampled(damaged(rng))
            outcomes.add(True)
        except IRError as error:
            assert error.problems and all(problem.message for problem in error.problems)
            outcomes.add(False)
    assert False in outcomes


WORDS = sorted(set(re.findall(r"\w+", SAMPLE))) + ["0", "7", "inf", "None", "undefined"]
PIECES = [
    "-",
    "*",
    "//",
    "%",
    "0",
    "-1",
    "[0]",
    "(x)",
    "10**9",
    "**",
    "inf",
    "...",
    "None",
    '"s"',
    "[1, 2]",
    "sum(q<3: q)",
]


def damaged(rng: random.Random) -> str:
    tokens = re.findall(r'\w+|"[^"]*"|\s+|.', SAMPLE)
    for _ in range(rng.randint(1, 2)):
        at = rng.randrange(len(tokens))
        match rng.randrange(6):
            case 0:
                tokens[at] = rng.choice(tokens)
            case 1:
                del tokens[at]
            case 2:
                tokens.insert(at, rng.choice(PIECES))
            case _:
                words = [position for position, token in enumerate(tokens) if token[0].isalnum()]
                tokens[rng.choice(words)] = rng.choice(WORDS)
    return "".join(tokens)
