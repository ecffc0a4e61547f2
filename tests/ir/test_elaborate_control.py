"""Control: repeat, if, scan, if? and the decisions that are taken on the way."""

from __future__ import annotations

import pytest
from elaborating import built, dtype, lines, problems, result, result_type, shape
from solar_agent.ir.bindings import Constant
from solar_agent.ir.program import Nest, Scan

GIVEN = {"x": "4 3", "h": "3", "c": "bool[]"}
HEAD = "input x[T, D]\ninput h[D]\ninput c[]\n"


def body(text: str, attrs: dict[str, Constant] | None = None) -> list[str]:
    return lines(built(f"{HEAD}{text}\noutput x\n", GIVEN, None, (), attrs))


def nests(text: str) -> list[str]:
    return [line.strip() for line in body(text) if line.strip().startswith("for") or line.strip().startswith("y")]


def message(text: str) -> str:
    (problem,) = problems(f"{HEAD}{text}\noutput x\n", GIVEN, None, ("3", "3"))
    assert problem.line >= 4
    return problem.message


def known(text: str, name: str, attrs: dict[str, Constant] | None = None) -> Constant:
    return built(f"{HEAD}{text}\noutput x\n", GIVEN, None, (), attrs).sizes.get(name)


# repeat


def test_repeat_over_ranges_and_lists_is_unrolled() -> None:
    assert nests("y = h\nrepeat i in 1..3: y = y*i") == [
        "for i0<3: y[i0] = (h[i0] * 1)",
        "for i0<3: y.2[i0] = (y[i0] * 2)",
    ]
    assert known("let n = 0\nrepeat c2 in [64, 128]: let n = n + c2", "n") == 192
    assert known("let n = 0\nrepeat (a, b) in [(1, 2), (3, 4)]: let n = n + a*b", "n") == 14
    assert known("let n = 0\nrepeat a, b in [[1, 2]]: let n = n + a*b", "n") == 2
    assert (
        known(
            'let n = 0\nattr s = "self.cfg"\nrepeat (a, b) in s: let n = n + a*b', "n", {"self.cfg": ((1, 2), (3, 4))}
        )
        == 14
    )
    assert known('let n = ""\nrepeat s in ["a", "b"]: let n = "{n}{s}"', "n") == "ab"
    assert known("let n = 0\nrepeat p in [(1, 2)]: let n = p[1]", "n") == 2
    assert (
        body("repeat i in 3..3: y = x + 1")
        == []
        == body("repeat i in 5..2: y = x + 1")
        == body("repeat i in []: y = x + 1")
    )


def test_a_repeat_body_is_open_and_its_variable_ends_with_it() -> None:
    assert known("repeat i in 0..3:\n    let k = i", "k") == 2
    assert known("repeat i in 0..3:\n    let k = i", "i") is None
    assert known("repeat i in 0..2: let a = i\nrepeat i in 0..5: let b = i", "b") == 4
    assert known("let n = 0\nrepeat i in 0..2:\n    repeat j in 0..3: let n = n + 1", "n") == 6


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("repeat (a, b) in [1, 2]: y = x", "repeat has 2 variables, but an item is 1"),
        ("repeat (a, b) in [(1, 2, 3)]: y = x", "repeat has 2 variables, but an item is (1, 2, 3)"),
        ("repeat (a, b) in 0..2: y = x", "repeat over a range has one variable"),
        ("repeat a in T: y = x", "repeat needs a range low..high or a list, but this is 4"),
        ("repeat a in 0..h: y = x", "h is a tensor; a compile-time value is expected here"),
        ("repeat a in 0..T/3: y = x", "the end of a repeat must be an integer"),
        ("repeat a in 0..10**9: y = x", "repeat runs 1000000000 times; at most 50000 are unrolled"),
        ("repeat T in 0..2: y = x", "T already means something here; the repeat variable needs another name"),
        ("repeat x in 0..2: y = x", "x already means something here"),
        ("repeat a in 0..2:\n    repeat a in 0..2: y = x", "a already means something here"),
        ("repeat a in 0..2: let a = 3", "a is already a size or repeat variable, 0; this needs another name"),
    ],
)
def test_faults_of_repeat(text: str, said: str) -> None:
    assert said in message(text)


def test_a_fault_in_a_repeat_is_told_once_with_its_round() -> None:
    (problem,) = problems(f"{HEAD}repeat i in 0..4:\n    let b = 3 // (2 - i)\noutput x\n", GIVEN)
    assert problem.message == "division by zero: 3 // 0"
    assert problem.trail == ("i = 2",)


# if


def test_the_taken_arm_is_elaborated_and_its_names_escape() -> None:
    text = "if T == 3: let k = 1\nelif T == 4:\n    let k = 2\n    y = x + 1\nelse: let k = undefined\nlet z = k"
    assert known(text, "z") == 2
    assert nests(text) == ["for i0<4, i1<3: y[i0, i1] = (x[i0, i1] + 1)"]
    assert known("if T == 3: let k = 1\nelse: let k = 3", "k") == 3
    assert body("if T == 3: y = undefined") == []


def test_outputs_of_a_taken_arm_count() -> None:
    program = built(f"{HEAD}if T == 4:\n    output h\nelse: output x\nrepeat i in 0..2: output i\n", GIVEN)
    assert [(o.tensor, o.value) for o in program.outputs] == [("h", None), (None, 0), (None, 1)]


def test_conditions_are_compile_time_values() -> None:
    assert message("if h[0] > 1: y = x") == "h is a tensor; a compile-time value is expected here"
    assert message("if c: y = x") == "c is a tensor; a compile-time value is expected here"
    assert message("if k == 3: y = x\nz = y") == "k is not defined here"


def test_decisions_are_recorded_with_place_text_and_outcome() -> None:
    text = f"""{HEAD}if T > 3: let k = max(T, D)
let m = 1 if has("w") else 2
let n = min(D, 9, 2)
repeat i in 0..2:
    if i == 0: y = x
output x
"""
    program = built(text, GIVEN)
    assert sorted((d.line, d.column, d.text, d.outcome) for d in program.decisions) == [
        (4, 4, "if T > 3: let k = max(T, D)", True),
        (4, 19, "max()", 0),
        (5, 14, "has()", False),
        (5, 14, 'let m = 1 if has("w") else 2', False),
        (6, 9, "min()", 2),
        (8, 8, "if i == 0: y = x", False),
        (8, 8, "if i == 0: y = x", True),
    ]


def test_decisions_inside_the_prelude_name_it() -> None:
    program = built(f"{HEAD}y = softmax(x)\noutput y\n", GIVEN)
    assert all(decision.text.startswith("softmax: ") for decision in program.decisions)
    assert program.decisions


# scan


def test_a_scan_stays_one_node() -> None:
    text = """\
tensor h0[D] = 0
scan t<T carry s = h0, u = h:
    for d<D: g[d] = tanh(s[d] + x[t, d])
    next s = g
    emit ys = g
    emit ts = t*2
"""
    program = built(f"{HEAD}{text}output ys, s, u, ts\n", GIVEN)
    assert lines(program) == [
        "tensor h0[3] : f32 = 0",
        "scan @t<4 carry s = h0 next g final s.2, u = h next u final u.2 emit ys of g, ts.2 of ts:",
        "    tensor g[3] : f32",
        "    for d<3: g[d] = tanh((s[d] + x[@t, d]))",
        "    tensor ts[] : i64",
        "    ts[] = <2*@t>",
    ]
    assert [output.tensor for output in program.outputs] == ["ys", "s.2", "u.2", "ts.2"]
    assert [shape(program, result(program, at)) for at in range(4)] == [(4, 3), (3,), (3,), (4,)]


def test_a_reversed_scan_and_an_empty_one() -> None:
    program = built(f"{HEAD}scan reverse t<T: emit y = h\nscan t<0 carry s = h: emit z = s\noutput y, z\n", GIVEN)
    assert [(s.reverse, s.trip) for s in program.body if isinstance(s, Scan)] == [(True, 4), (False, 0)]
    assert [shape(program, result(program, at)) for at in (0, 1)] == [(4, 3), (0, 3)]


def test_a_body_assigns_only_names_of_its_own() -> None:
    said = message("acc = h\nscan t<T:\n    acc = acc + 1\n    emit y = acc")
    assert said.startswith("acc is made outside this scan, whose body may assign only names of its own: carry it")
    for text in (
        "tensor acc[D] = 0\nscan t<T:\n    for d<D: acc[d] += 1\n    emit y = h",
        "scan t<T:\n    for d<D: h[d] = 1.0\n    emit y = h",
        "scan t<T:\n    tensor h[3] = 0\n    emit y = h",
        "scan t<T:\n    view h[i<D] = x[t, i]\n    emit y = h",
        "scan t<T:\n    (a, h) = sort(h)\n    emit y = h",
        "scan t<T:\n    scan u<D: emit h = u\n    emit y = h",
        "scan t<T:\n    if D == 3: h = h + 1\n    emit y = h",
    ):
        assert "h is made outside this scan" in message(text).replace("acc", "h")


def test_a_body_may_rebind_its_own_names_and_what_it_carries() -> None:
    text = "scan t<T carry s = h:\n    s = s + 1\n    a = s*2\n    a = a + s\n    next s = a\n    emit y = s"
    assert body(text)[0] == "scan @t<4 carry s = h next a.2 final s.3 emit y of s.2:"


def test_names_of_a_body_end_with_it_and_outer_ones_stay() -> None:
    assert message("scan t<T:\n    a = h + 1\n    emit y = a\nz = a") == "a is not defined here"
    assert known("let k = 1\nscan t<T:\n    let k = 2\n    emit y = h", "k") == 1


def test_next_takes_effect_after_the_body() -> None:
    text = "scan t<T carry s = h:\n    next s = s + 1\n    emit y = s"
    assert body(text)[0] == "scan @t<4 carry s = h next s.2 final s.3 emit y of s:"


def test_nested_scans_and_functions_that_use_the_same_iterator_names() -> None:
    text = """\
def f(a[A, B]):
    for t<A, u<B: y[t, u] = a[t, u]
    scan u<A:
        for t<B: z[t] = y[u, t]
        emit zs = z
    return zs
scan t<T carry s = x:
    scan u<D carry g = s:
        for i<T, j<D: n[i, j] = g[i, u] + s[t, u]
        next g = n
    next s = f(g)
"""
    assert body(text) == [
        "scan @t<4 carry s = x next zs final s.2 emit nothing:",
        "    scan @u<3 carry g = s next n final g.2 emit nothing:",
        "        tensor n[4, 3] : f32",
        "        for i<4, j<3: n[i, j] = (g[i, @u] + s[@t, @u])",
        "    tensor y[4, 3] : f32",
        "    for t<4, u<3: y[t, u] = g.2[t, u]",
        "    scan @u.2<4 carry nothing emit zs of z:",
        "        tensor z[3] : f32",
        "        for t<3: z[t] = y[@u.2, t]",
    ]


def test_extents_conditions_and_reductions_may_use_the_iterator() -> None:
    text = "scan t<T:\n    for d<t+1 where d != t: g[d] = x[t, 0] + sum(k<t: x[k, 0])\n    emit y = g"
    assert body(text)[1:] == [
        "    tensor g~[] : f32 = 0",
        "    for k<@t: g~[] += x[k, 0]",
        "    tensor g[4] : f32",
        "    for d<@t + 1 where -@t + d != 0: g[d] = (x[@t, 0] + g~[])",
    ]


def test_what_is_emitted_and_carried_on_is_what_it_was_then() -> None:
    text = "scan t<T carry s = h:\n    tensor a[D] = 0\n    emit y = a\n    next s = a\n    a[0] = 1.0\n    emit z = a"
    assert body(text)[0] == "scan @t<4 carry s = h next a final s.2 emit y of a, z of a.2:"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("next s = h", "next stands in the body of a scan"),
        ("emit y = h", "emit stands in the body of a scan"),
        ("scan t<T carry s = h: next g = h", "g is not carried: write scan … carry g = …"),
        ("scan t<T carry s = h:\n    next s = h\n    next s = h", "next s is given twice"),
        ("scan t<T:\n    emit y = h\n    emit y = h", "y is emitted twice"),
        ("scan t<T carry s = h, s = h: emit y = s", "s is carried twice"),
        ("scan t<T carry s = h: next s = x", "next s has shape [4, 3], but the carry starts as [3]"),
        ("scan t<-1: emit y = h", "the trip count of a scan is -1; it cannot be negative"),
        ("scan t<T/3: emit y = h", "the trip count of a scan must be an integer"),
        ("scan t<c: emit y = h", "c is a tensor; a compile-time value is expected here"),
        ("scan T<3: emit y = h", "T already means something here; the scan's iterator needs another name"),
        ("scan h<3: emit y = x", "h already means something here; the scan's iterator needs another name"),
        ("scan t<T:\n    scan t<T: emit y = h", "t already means something here"),
        ("scan t<T:\n    for t<D: a[t] = h[t]\n    emit y = a", "t is already an iterator here"),
        (
            "scan t<T:\n    for d<D: a[t, d] = h[d]\n    emit y = a",
            "a[…] is indexed by the scan's iterator: emit collects",
        ),
        ("scan t<T:\n    t = h\n    emit y = h", "t is an iterator here; a tensor needs another name"),
        ("scan t<T:\n    let t = 3\n    emit y = h", "t is an iterator here; a compile-time value needs another name"),
        ("scan t<T:\n    shape h[t]\n    emit y = h", "t is an iterator here; the size needs another name"),
        ("scan t<T:\n    output h", "outputs are declared at top level"),
        ("scan t<T:\n    draw z[D]\n    emit y = z", "a draw runs once: stack the draws of a scan before it"),
        ("def f(a[N]):\n    draw z[N]\n    return z\nscan t<T: emit y = f(h)", "a draw runs once"),
        ("scan t<T carry s = h:\n    if? c: next s = h", "next stands in the body of a scan, not in an arm of if?"),
        ("scan t<T carry s = h:\n    if? c: emit y = h", "emit stands in the body of a scan, not in an arm of if?"),
        ("scan t<T carry T = h: emit y = T", "T is a size or repeat variable, 4; a tensor needs another name"),
        (
            "def f(a[N]):\n    next s = a\n    return a\nscan t<T carry s = h: next s = f(s)",
            "next stands in the body of a scan",
        ),
    ],
)
def test_faults_of_scans(text: str, said: str) -> None:
    assert said in message(text)


def test_all_faults_of_a_body_are_told_and_none_follows_from_them() -> None:
    text = f"""{HEAD}scan t<T carry s = h:
    a = u1
    b = a + 1
    d = u2
    next s = b
    emit y = d
z = s + y
output z
"""
    found = problems(text, GIVEN)
    assert [(p.line, p.message) for p in found] == [(5, "u1 is not defined here"), (7, "u2 is not defined here")]


def test_a_carry_finds_its_element_type() -> None:
    started = built(f"{HEAD}tensor z[D] = 0\nscan t<T carry s = z: next s = bf16(s + h)\noutput s\n", GIVEN)
    assert result_type(started) == "bf16" and dtype(started, "z") == "bf16"
    counted = built(f"{HEAD}scan t<T carry n = 0: next n = n + 1\noutput n\n", GIVEN)
    assert result_type(counted) == "i64"
    literal = built(f"{HEAD}scan t<T carry n = 0: next n = n + 0.5\noutput n\n", GIVEN)
    assert result_type(literal) == "f32" and dtype(literal, "n") == "f32"


def test_a_start_of_another_type_is_converted_once_before_the_scan() -> None:
    text = "input k[3] : int\nscan t<T carry s = k:\n    next s = s + h\noutput s\n"
    program = built(HEAD + text, {**GIVEN, "k": "i64[3]"})
    assert lines(program)[:3] == [
        "tensor k.2[3] : f32",
        "for i0<3: k.2[i0] = k[i0]",
        "scan @t<4 carry s = k.2 next s.2 final s.3 emit nothing:",
    ]


# if?


def test_both_arms_are_elaborated_and_what_both_define_escapes() -> None:
    text = "if? c:\n    y = x*2\n    only = h\nelse:\n    y = x\nz = y + 1"
    assert body(text) == [
        "if? c:",
        "    tensor y[4, 3] : f32",
        "    for i0<4, i1<3: y[i0, i1] = (x[i0, i1] * 2)",
        "else:",
        "join y.2 = y or x",
        "tensor z[4, 3] : f32",
        "for i0<4, i1<3: z[i0, i1] = (y.2[i0, i1] + 1)",
    ]
    assert message(text + "\nw = only") == "only is not defined here"


def test_an_arm_may_be_missing_where_the_name_is_there_before() -> None:
    assert body("y = x + 0\nif? c: y = y*2")[2:] == [
        "if? c:",
        "    tensor y.2[4, 3] : f32",
        "    for i0<4, i1<3: y.2[i0, i1] = (y[i0, i1] * 2)",
        "else:",
        "join y.3 = y.2 or y",
    ]
    assert message("if? c: y = x\nz = y") == "y is not defined here"


def test_a_declared_tensor_may_be_written_in_an_arm_and_stays_declared() -> None:
    text = "tensor y[T] = 0\nif? c: y[0] = 1.0\ny[1] = 2.0"
    assert body(text) == [
        "tensor y[4] : f32 = 0",
        "if? c:",
        "    tensor y.2[4] : f32 = y",
        "    y.2[0] = 1.0",
        "else:",
        "join y.3 = y.2 or y",
        "y.3[1] = 2.0",
    ]


def test_conditions_may_be_expressions_and_arms_of_two_types_meet() -> None:
    text = f"{HEAD}if? h[0] > 1.0 and c:\n    y = h\nelse:\n    y = bf16(h)\noutput y\n"
    program = built(text, GIVEN)
    assert result_type(program) == "f32"
    assert lines(program)[:3] == ["tensor condition[] : bool", "condition[] = ((h[0] > 1.0) and c[])", "if? condition:"]
    assert lines(program)[-3:] == ["    tensor y.2[3] : f32", "    for i0<3: y.2[i0] = y[i0]", "join y.3 = h or y.2"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("if? x: y = x", "if? needs a rank-0 tensor, but this has shape [4, 3]"),
        ("if? c: y = x\nelse: y = h", "y has shape [4, 3] in one arm and [3] in the other"),
        ("if? c: let k = 1\nelse: let k = 2", "k is a compile-time value that differs between the arms of if?"),
        ("if? c: output x", "outputs are declared at top level"),
        ("if? c: draw z[D]", "a draw runs once"),
        ("if? c:\n    def f(a[N]): return a", "a def stands at top level"),
        ("if? zz: y = x", "zz is not defined here"),
    ],
)
def test_faults_of_branches(text: str, said: str) -> None:
    assert said in message(text)


def test_a_name_that_one_arm_cannot_make_is_no_second_fault() -> None:
    found = problems(f"{HEAD}if? c:\n    y = u1\nelse:\n    y = u2\nz = y + 1\noutput z\n", GIVEN)
    assert [(p.line, p.message) for p in found] == [(5, "u1 is not defined here"), (7, "u2 is not defined here")]


def test_statements_know_the_rounds_and_calls_that_led_to_them() -> None:
    text = """\
def f(a[N]; k):
    repeat j in 0..2: a = a*k
    return a
repeat i in 1..2: y = f(h; k=i)
output y
"""
    program = built(HEAD + text, GIVEN)
    trails = [s.source.trail for s in program.body if isinstance(s, Nest)]
    assert trails == [("i = 1", "f(k=1) at line 7", "j = 0"), ("i = 1", "f(k=1) at line 7", "j = 1")]
