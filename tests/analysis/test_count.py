"""Work and traffic of small programs, against figures derived by hand and against counting one by one."""

from __future__ import annotations

import pytest
from analysis_texts import program, tensor
from brute_force import Brute
from solar_agent.analysis.count import Counts, count
from solar_agent.analysis.work import analyse
from solar_agent.ir.program import Program


def totals(counts: Counts) -> tuple[int, int, int]:
    return counts.macs, counts.macs_nominal, counts.fused_bytes


# known wrong answers of other tools (what the right one is, and why)

TRANSPOSED = """
input x[N, C, H, W]
param w = "w"[C, OG, R, S]
let P = (H-1)*2 - 2 + R + 1
let Q = (W-1)*2 - 2 + S + 1
let CG = C//4
tensor y[N, 4*OG, P, Q] = 0
for n<N, g<4, o<OG, p<P, q<Q, c<CG, r<R, s<S where (p+1-r) % 2 == 0 and (q+1-s) % 2 == 0: y[n, g*OG+o, p, q] += \
(x[n, g*CG+c, (p+1-r)//2, (q+1-s)//2] else 0) * w[g*CG+c, o, r, s]
output y
"""


def test_grouped_transposed_convolution() -> None:
    found = count(program(TRANSPOSED, {"x": tensor(2, 12, 5, 7)}, {"w": tensor(12, 2, 3, 3)}))
    exact = 2 * 12 * 2 * (14 * 20)  # of 15 row taps 14 fall inside, of 21 column taps 20
    nominal = 2 * 12 * 5 * 7 * 2 * 9  # every input position meets every tap
    assert totals(found) == (exact, nominal, 4 * (2 * 12 * 5 * 7 + 12 * 2 * 3 * 3 + 2 * 8 * 10 * 14))
    assert (found.macs, found.macs_nominal, found.fused_bytes) == (13_440, 15_120, 13_184)


def test_the_same_convolution_as_a_scatter_has_the_same_exact_work() -> None:
    text = """
input x[N, C, H, W]
param w = "w"[C, OG, R, S]
let P = (H-1)*2 - 2 + R + 1
let Q = (W-1)*2 - 2 + S + 1
tensor y[N, 4*OG, P, Q] = 0
for n<N, g<4, o<OG, h<H, v<W, c<C//4, r<R, s<S where 2*h+r >= 1 and 2*h+r-1 < P and 2*v+s >= 1 and 2*v+s-1 < Q: \
y[n, g*OG+o, 2*h+r-1, 2*v+s-1] += x[n, g*(C//4)+c, h, v] * w[g*(C//4)+c, o, r, s]
output y
"""
    found = count(program(text, {"x": tensor(2, 12, 5, 7)}, {"w": tensor(12, 2, 3, 3)}))
    assert totals(found) == (13_440, 15_120, 13_184)


def test_matrix_products_without_modules() -> None:
    text = """
input a[A, Z, I, K]
input b[B, K, J]
input u[U]
input p[X, Y]
input m[Y, W]
input q[X, W]
for i<A, j<B, r<I, s<J, k<K: s0[i,j,r,s] += a[i,0,r,k]*b[j,k,s]
for i<U: d[] += u[i]*u[i]
for x<X, y<Y, w<W: e[x] += p[x,y]*m[y,w]*q[x,w]
output s0
output d
output e
"""
    shapes = {"a": (5, 1, 3, 7), "b": (4, 7, 2), "u": (9,), "p": (6, 10), "m": (10, 12), "q": (6, 12)}
    found = count(program(text, {name: tensor(*shape) for name, shape in shapes.items()}))
    pairwise = 6 * 10 * 12 + 6 * 10  # m with q first, then one dot product of 10 for each row
    assert found.macs == found.macs_nominal == 5 * 4 * 3 * 2 * 7 + 9 + pairwise == 1_629
    assert found.fused_bytes == 4 * (422 + 127)


def test_lstm_reads_its_weights_once() -> None:
    text = """
input x[B, T, I]
def layer(x[B, T, I]; k, suffix, rev):
    param wi = "wi{k}{suffix}"[G, I]
    param wh = "wh{k}{suffix}"[G, P]
    param bi = "bi{k}{suffix}"[G]
    param bh = "bh{k}{suffix}"[G]
    param wr = "wr{k}{suffix}"[P, D]
    for b<B, p<P: h0[b,p] = 0.0
    for b<B, d<D: c0[b,d] = 0.0
    scan t<T carry h = h0, c = c0:
        for b<B, g<G: a[b,g] = sum(i<I: x[b, t + rev*(T-1-2*t), i]*wi[g,i]) + bi[g] + sum(p<P: h[b,p]*wh[g,p]) + bh[g]
        for b<B, d<D: cn[b,d] = sigmoid(a[b,D+d])*c[b,d] + sigmoid(a[b,d])*tanh(a[b,2*D+d])
        for b<B, d<D: o[b,d] = sigmoid(a[b,3*D+d])*tanh(cn[b,d])
        for b<B, p<P: hn[b,p] = sum(d<D: o[b,d]*wr[p,d])
        next h = hn
        next c = cn
        emit ys = hn
    return ys, h, c
"""
    # two layers of two directions, written out
    text += """
(f0, hf0, cf0) = layer(x; k=0, suffix="", rev=0)
(r0, hr0, cr0) = layer(x; k=0, suffix="r", rev=1)
shape f0[T, B, P]
tensor y0[B, T, 2*P]
for b<B, t<T, p<P: y0[b,t,p] = f0[t,b,p]
for b<B, t<T, p<P: y0[b,t,P+p] = r0[T-1-t,b,p]
(f1, hf1, cf1) = layer(y0; k=1, suffix="", rev=0)
(r1, hr1, cr1) = layer(y0; k=1, suffix="r", rev=1)
tensor y[B, T, 2*P]
for b<B, t<T, p<P: y[b,t,p] = f1[t,b,p]
for b<B, t<T, p<P: y[b,t,P+p] = r1[T-1-t,b,p]
shape cf0[B, D]
tensor h[4, B, P]
tensor c[4, B, D]
for b<B, p<P: h[0,b,p] = hf0[b,p]
for b<B, p<P: h[1,b,p] = hr0[b,p]
for b<B, p<P: h[2,b,p] = hf1[b,p]
for b<B, p<P: h[3,b,p] = hr1[b,p]
for b<B, d<D: c[0,b,d] = cf0[b,d]
for b<B, d<D: c[1,b,d] = cr0[b,d]
for b<B, d<D: c[2,b,d] = cf1[b,d]
for b<B, d<D: c[3,b,d] = cr1[b,d]
output y
output h
output c
"""
    state = {}
    for k, size in ((0, 6), (1, 8)):
        for suffix in ("", "r"):
            end = f"{k}{suffix}"
            state |= {
                f"wi{end}": tensor(40, size),
                f"wh{end}": tensor(40, 4),
                f"bi{end}": tensor(40),
                f"bh{end}": tensor(40),
                f"wr{end}": tensor(4, 10),
            }
    found = count(program(text, {"x": tensor(3, 7, 6)}, state))
    step = 40 * 6 + 40 * 4 + 4 * 10 + 40 * 8 + 40 * 4 + 4 * 10  # both layers, one direction
    assert found.macs == found.macs_nominal == 3 * 7 * 2 * step == 40_320
    assert found.fused_bytes == 4 * (126 + 2_240 + 336) == 10_808
    assert found.unfused_bytes > 7 * found.weight_bytes  # every step reads the weights again


def test_storage_types_count_their_own_bytes() -> None:
    text = """
input x[M, K]
param w = "w"[N, K]
param s = "row_scale"[N]
for m<M, n<N, k<K: a[m,n] += bf16(x[m,k]) * bf16(w[n,k])
for m<M, n<N: y[m,n] = f32(bf16(a[m,n])) * s[n]
output y
"""
    found = program(
        text, {"x": tensor(32, 128, dtype="e4m3")}, {"w": tensor(64, 128, dtype="e4m3"), "row_scale": tensor(64)}
    )
    counts = count(found)
    assert counts.macs == 32 * 64 * 128
    assert counts.fused_bytes == 32 * 128 + 64 * 128 + 4 * 64 + 4 * 32 * 64 == 20_736
    assert {op.dtype for op in analyse(found).operations if op.macs} == {"bf16"}


def test_embedding_is_charged_by_rows() -> None:
    text = """
param t = "t"[V, D]
input ids[B, T] : int in 0..V
for b<B, i<T, d<D: y[b,d] += t[ids[b,i],d]
output y
"""
    found = count(program(text, {"ids": tensor(4, 16, dtype="i64")}, {"t": tensor(50_000, 64)}))
    assert found.macs == 0
    assert found.vector_ops == 4 * 15 * 64  # 15 additions of 16 rows
    assert found.fused_bytes == 64 * 64 * 4 + 64 * 8 + 4 * 64 * 4 == 17_920
    assert any("at most 4096 elements" in note for note in found.notes)
    many = count(program(text, {"ids": tensor(4, 16, dtype="i64")}, {"t": tensor(10, 64)}))
    assert many.weight_bytes == 10 * 64 * 4  # never more rows than there are


def test_sorting_is_no_arithmetic() -> None:
    text = "input x[N, I]\n(v, i) = topk(x; k=5)\n(s, j) = sort(x)\noutput v\noutput i\noutput s\noutput j\n"
    found = count(program(text, {"x": tensor(6, 40)}))
    assert (found.macs, found.flops, found.vector_ops) == (0, 0, 0)


def test_dead_code_unused_inputs_and_dead_columns() -> None:
    text = """
input x[N, K]
input spare[M]
param big = "big"[K, K]
param small = "small"[R, O]
for n<N, o<K, k<K: probe[n,o] += x[n,k]*big[k,o]
for n<N, o<O, k<R: y[n,o] += x[n,k]*small[k,o]
output y
"""
    found = count(
        program(text, {"x": tensor(10, 256), "spare": tensor(77)}, {"big": tensor(256, 256), "small": tensor(8, 4)})
    )
    assert totals(found) == (10 * 8 * 4, 10 * 8 * 4, 4 * (10 * 8 + 8 * 4 + 10 * 4))
    assert "unused: spare, big" in found.notes
    assert any("lines 7" in note for note in found.notes)


def test_tied_weights_are_one_storage() -> None:
    text = """
param e = "emb.weight"[V, D]
param h = "head.weight"[V, D]
input ids[B, T] : int in 0..V
for b<B, t<T, d<D: x[b,t,d] = e[ids[b,t],d]
for b<B, t<T, v<V, d<D: y[b,t,v] += x[b,t,d]*h[v,d]
output y
"""
    table = tensor(1000, 32, storage="s0")
    found = count(program(text, {"ids": tensor(2, 5, dtype="i64")}, {"emb.weight": table, "head.weight": table}))
    assert totals(found) == (320_000, 320_000, 80 + 128_000 + 40_000)


def test_strides_decide_how_much_memory_there_is() -> None:
    text = """
input a[A, B, D]
input y[B, D]
input z[N, M]
for i<A, j<B, k<D: o[i,k] += a[i,j,k]*y[j,k]
for n<N, m<M: s[n] += z[n,m]**2
output o
output s
"""
    found = count(program(text, {
        "a": tensor(32, 128, 64, strides=(0, 0, 1)), "y": tensor(128, 64, strides=(1, 128)),
        "z": tensor(10, 64, strides=(130, 2), offset=1),
    }))  # fmt: skip
    assert found.input_bytes == 4 * (64 + 128 * 64 + 10 * 64) == 35_584
    assert found.output_bytes == 4 * (32 * 64 + 10) == 8_232
    assert found.macs == 32 * 128 * 64  # a square is no multiply-accumulate
    assert found.vector_ops == 640 + 10 * 63  # squares and additions


def test_overlapping_views_of_one_block() -> None:
    text = "input a[N]\ninput b[N]\nfor n<N: y[n] = a[n] + b[n]\noutput y\n"
    views = {"a": tensor(8, storage="s"), "b": tensor(8, storage="s", offset=4)}
    assert count(program(text, views)).input_bytes == 4 * 12
    apart = {"a": tensor(8, storage="s"), "b": tensor(8, storage="s", offset=8)}
    assert count(program(text, apart)).input_bytes == 4 * 16
    crossed = {"a": tensor(8, storage="s", strides=(2,)), "b": tensor(8, storage="s", strides=(3,))}
    assert count(program(text, crossed)).input_bytes == 4 * len({2 * i for i in range(8)} | {3 * i for i in range(8)})


def test_outputs_that_are_inputs_or_each_other() -> None:
    text = """
input x[N, M]
for n<N, m<M: y[n,m] = x[n,m] + 1
view t[m<M, n<N] = y[n,m]
view s[n<N, m<2] = y[n,m]
output y
output t
output s
output x
"""
    found = count(program(text, {"x": tensor(3, 5)}))
    assert found.output_bytes == 4 * 15
    assert found.input_bytes == 4 * 15
    only = count(program("input x[N, M]\nview t[m<M, n<N] = x[n,m]\noutput t\n", {"x": tensor(3, 5)}))
    assert (only.fused_bytes, only.unfused_bytes) == (0, 0)


def test_mutated_state_writes_what_changed() -> None:
    text = """
input k[B, D]
param cache = "cache"[B, T, D]
tensor c[B, T, D] = cache
for b<B, d<D: c[b, 3, d] = k[b,d]
output state "cache" = c
for b<B, d<D: y[b,d] = max(t<T: c[b,t,d])
output y
"""
    found = count(program(text, {"k": tensor(2, 5)}, {"cache": tensor(2, 7, 5)}))
    assert found.output_bytes == 4 * (2 * 5 + 2 * 5)  # one new position of the cache, and y
    assert found.weight_bytes == 4 * 2 * 6 * 5  # position 3 is overwritten before it is read


def test_draws_cost_nothing() -> None:
    text = "input x[N]\ndraw z[N]\nfor n<N: y[n] = x[n]*z[n]\noutput y\n"
    found = count(program(text, {"x": tensor(6)}, draws=[tensor(6)]))
    assert found.fused_bytes == 4 * 12


# normalisation


@pytest.mark.parametrize(
    "text",
    [
        "for n<N, o<O: y[n,o] = (x[n,o] - m[o]) * rsqrt(v[o] + 0.1)\n",
        "for o<O: s[o] = rsqrt(v[o] + 0.1)\nfor n<N, o<O: y[n,o] = (x[n,o] - m[o]) * s[o]\n",
        "for o<O: e[o] = v[o] + 0.1\nfor o<O: s[o] = rsqrt(e[o])\nfor n<N, o<O: d[n,o] = x[n,o] - m[o]\n"
        "for n<N, o<O: y[n,o] = d[n,o] * s[o]\n",
    ],
)
def test_counts_do_not_depend_on_spelling(text: str) -> None:
    head = 'input x[N, O]\nparam m = "m"[O]\nparam v = "v"[O]\n'
    found = count(program(f"{head}{text}output y\n", {"x": tensor(100, 7)}, {"m": tensor(7), "v": tensor(7)}))
    assert found.special_ops == 7
    assert found.vector_ops == 7 + 2 * 700
    assert found.fused_bytes == 4 * (700 + 14 + 700)
    # v+eps, rsqrt, x-m, product: each reads its operands and writes its result
    assert found.unfused_bytes == 4 * ((7 + 7) + (7 + 7) + (700 + 7 + 700) + (700 + 7 + 700))


def test_equal_subexpressions_are_computed_once() -> None:
    text = """
input x[N, D]
for n<N, d<D: a[n] += (x[n,d] - 1)**2
for i<N, j<D: b[i,j] = exp(x[i,j] - 1)
for i<N, j<D: c[i,j] = exp(x[i,j] - 1) + b[i,j]
output a
output c
"""
    found = count(program(text, {"x": tensor(4, 5)}))
    assert found.special_ops == 20
    assert found.vector_ops == 20 + 20 + 4 * 4 + 20  # one difference, squares, sums, the last addition


def test_scales_are_pulled_out_of_sums() -> None:
    head = 'input x[M, K]\nparam w = "w"[K, N]\ninput z[M]\n'
    shapes = ({"x": tensor(3, 50), "z": tensor(3)}, {"w": tensor(50, 4)})
    for body in ("x[m,k]*w[k,n]/K", "x[m,k]*w[k,n]*0.5", "2.0*x[m,k]*w[k,n]"):
        found = count(program(f"{head}for m<M, n<N, k<K: y[m,n] += {body}\noutput y\n", *shapes))
        assert (found.macs, found.vector_ops, found.special_ops) == (600, 12, 0), body
    found = count(program(f"{head}for m<M, n<N, k<K: y[m,n] += x[m,k]/z[m]*w[k,n]\noutput y\n", *shapes))
    assert (found.macs, found.vector_ops, found.special_ops) == (600, 0, 12)


def test_sum_of_products_and_more() -> None:
    text = """
input x[M, K]
param w = "w"[K, N]
param v = "v"[K, N]
for m<M, n<N, k<K: y[m,n] += x[m,k]*w[k,n] + x[m,k]*v[k,n] + w[k,n]
output y
"""
    found = count(program(text, {"x": tensor(3, 50)}, {"w": tensor(50, 4), "v": tensor(50, 4)}))
    assert found.macs == 2 * 600
    assert found.vector_ops == 49 * 4 + 2 * 12  # the plain sum only once a column, then two joins


def test_square_of_one_factor_is_vector_work_and_product_of_two_is_not() -> None:
    found = count(program("input x[N, D]\nfor n<N, d<D: y[n] += x[n,d]**2\noutput y\n", {"x": tensor(4, 5)}))
    assert (found.macs, found.vector_ops) == (0, 20 + 16)
    found = count(program("input x[N, D]\nfor n<N, d<D: y[n] += x[n,d]*x[n,d]\noutput y\n", {"x": tensor(4, 5)}))
    assert (found.macs, found.vector_ops) == (20, 0)


@pytest.mark.parametrize(
    ("body", "adds"),
    [
        ("for b<B, i<T, j<i+1: y[b,i] += x[b,j]", 3 * 999),
        ("tensor y[B, T] = 0\nfor b<B, i<T, j<i: y[b,i] += x[b,j]", 3 * 998),  # exclusive: the last one is not used
        ("for b<B, i<T, j<T where j >= i: y[b,i] += x[b,j]", 3 * 999),
        ("for b<B, i<T, j<i+1: y[b,i] max= x[b,j]", 3 * 999),
        ("for b<B, i<T, j<T-i: y[b,i] += x[b,i+j]", 3 * 999),
        ("for b<B, i<T, j<i+1: y[b,i] += x[b,i-j]", 3 * 999),
        ("for b<B, i<T, j<T-i: y[b,i] += x[b,T-1-i-j]", 3 * 999),
        ("for b<B, i<T-3, j<4: y[b,i] += x[b,i+j]", 3 * 997 * 3),  # a window is not a prefix
    ],
)
def test_prefix_sums_are_linear(body: str, adds: int) -> None:
    found = count(program(f"input x[B, T]\n{body}\noutput y\n", {"x": tensor(3, 1000)}))
    assert (found.macs, found.vector_ops) == (0, adds)


def test_a_sum_in_a_variable_that_is_returned_is_no_extra_copy() -> None:
    text = """
input x[M, K]
param w = "w"[NN, K]
let N = NN//2
tensor y[M, 2*N]
for m<M, g<2, n<N: y[m, g*N+n] = sum(k<K: x[m,k]*w[g*N+n,k])
output y
"""
    found = count(program(text, {"x": tensor(3, 5)}, {"w": tensor(8, 5)}))
    assert found.unfused_bytes == found.fused_bytes == 4 * (15 + 40 + 24)


def test_product_below_a_prefix_sum_is_no_contraction() -> None:
    text = "input x[B, T]\ninput m[B, T]\nfor b<B, i<T, j<i+1: y[b,i] += x[b,j]*m[b,j]\noutput y\n"
    found = count(program(text, {"x": tensor(3, 100), "m": tensor(3, 100, dtype="bool")}))
    assert (found.macs, found.vector_ops) == (0, 300 + 3 * 99)
    assert found.fused_bytes == 300 * 4 + 300 + 300 * 4  # a bool is one byte


# exact and nominal, demand

CONV = """
input x[N, C, H, W]
param w = "w"[O, C, R, S]
for n<N, o<O, p<H, q<W, c<C, r<R, s<S: y[n,o,p,q] += (x[n,c,p+r-1,q+s-1] else 0) * w[o,c,r,s]
"""
SMALL = ({"x": tensor(2, 3, 5, 4)}, {"w": tensor(2, 3, 3, 3)})

BRUTE = {
    "padded": CONV + "output y\n",
    "padded by a copy": """
input x[N, C, H, W]
param w = "w"[O, C, R, S]
for n<N, c<C, p<H+2, q<W+2: z[n,c,p,q] = (x[n,c,p-1,q-1] else 0)
for n<N, o<O, p<H, q<W, c<C, r<R, s<S: y[n,o,p,q] += z[n,c,p+r,q+s] * w[o,c,r,s]
output y
""",
    "padded by a declared tensor": """
input x[N, C, H, W]
param w = "w"[O, C, R, S]
tensor z[N, C, H+2, W+2] = 0
for n<N, c<C, p<H, q<W: z[n,c,p+1,q+1] = x[n,c,p,q]
for n<N, o<O, p<H, q<W, c<C, r<R, s<S: y[n,o,p,q] += z[n,c,p+r,q+s] * w[o,c,r,s]
output y
""",
    "pooled without the last column": CONV
    + """
for n<N, o<O, p<H//2, q<W//2, r<2, s<2: z[n,o,p,q] max= y[n,o,2*p+r,2*q+s]
output z
""",
    "every second row": CONV + "for n<N, o<O, p<3, q<W: z[n,o,p,q] = exp(y[n,o,2*p,q])\noutput z\n",
    "one row through a sum": CONV + "for n<N, q<W: z[n,q] = sum(o<O: y[n,o,0,q])\noutput z\n",
    "rows of two consumers": CONV
    + """
for n<N, o<O, q<W: a[n,o,q] = exp(y[n,o,1,q])
for n<N, o<O, q<W: b[n,o,q] = exp(y[n,o,3,q]) + y[n,o,4,2]
output a
output b
""",
    "flattened": CONV
    + """
shape y[N, O, P, Q]
view f[n<N, i<O*P*Q] = y[n, i//(P*Q), (i//Q)%P, i%Q]
for n<N, i<7: z[n,i] = f[n, 2*i] + 1
output z
""",
    "select by position": CONV
    + """
for n<N, o<O, p<H, q<W: z[n,o,p,q] = select(p < 2, y[n,o,p,q], x[n,o,p,q] - 1)
output z
""",
    "overwritten": CONV
    + """
tensor z[N, O, H, W] = 0
for n<N, o<O, p<H, q<W: z[n,o,p,q] = y[n,o,p,q]
for n<N, o<O, p<2, q<W: z[n,o,p,q] = 1
output z
""",
}


@pytest.mark.parametrize("name", BRUTE)
def test_against_counting_one_by_one(name: str) -> None:
    found = program(BRUTE[name], *SMALL)
    brute = Brute(found)
    for row in count(found).per_statement:
        if row.macs:
            assert row.macs == brute.live[row.line], row.text
    assert any(row.macs for row in count(found).per_statement)
    external = sum(charge.elements for charge in analyse(found).charges if charge.kind != "output")
    assert external == brute.external_elements()


FACT = 'param mask = "mask"[1, 1, M, M]\nfact mask[0,0,i,j] == (j <= i)'
ATTENTION = """
input q[B, T, E]
input k[B, T, E]
input v[B, T, E]
{head}
for b<B, i<T, j<T: s[b,i,j] += sum(e<E: q[b,i,e]*k[b,j,e])
for b<B, i<T, j<T: a[b,i,j] = {masked}
for b<B, i<T, j<T: m[b,i] max= a[b,i,j]
for b<B, i<T, j<T: p[b,i,j] = exp(a[b,i,j] - m[b,i])
for b<B, i<T, j<T: z[b,i] += p[b,i,j]
for b<B, i<T, e<E, j<T: o[b,i,e] += p[b,i,j]/z[b,i]*v[b,j,e]
output o
"""


def attention(head: str, masked: str) -> Program:
    shapes = {name: tensor(2, 6, 4) for name in "qkv"}
    return program(
        ATTENTION.format(head=head, masked=masked).replace("s[b,i,j] += sum", "s[b,i,j] = sum"),
        shapes,
        {"mask": tensor(1, 1, 8, 8)},
    )


@pytest.mark.parametrize(
    ("head", "masked"),
    [
        ("", "select(j <= i, s[b,i,j]*0.5, -inf)"),
        ("", "select(j > i, -inf, s[b,i,j])"),
        ("for i<T, j<T: c[i,j] = select(i < j, -inf, 0)", "s[b,i,j] + c[i,j]"),
        (FACT, "select(mask[0,0,i,j] == 0, -inf, s[b,i,j])"),
        ("for i<T: r[i] = i", "select(r[j] <= r[i], s[b,i,j], -inf)"),
        (
            "for i<T: r[i] = i\nview c[i<T, j<1] = r[i]\nfor i<T: q1[i] = r[i] + 3\n"
            "for i<T, j<T: m1[i,j] = q1[j] - 3 > c[i,0]",
            "select(m1[i,j], -inf, s[b,i,j])",
        ),
    ],
)
def test_causal_masks_halve_both_products(head: str, masked: str) -> None:
    found = count(attention(head, masked))
    assert found.macs_nominal == 2 * (2 * 6 * 6 * 4)
    assert found.macs == 2 * (2 * 21 * 4)  # 6*7/2 pairs


@pytest.mark.parametrize(
    "head",
    [
        "for i<T: r[i] = i\nfor i<T: r[i] = r[i] % 2",
        "tensor r[T] : int = 0\nfor i<T where i > 1: r[i] = i",
        "tensor r[T] : int = 0\nfor i<T: r[i] = i\nfor i<3: r[i] = 7",
        "for i<T: r[i] = int(q[0,i,0])",
    ],
)
def test_what_does_not_hold_positions_decides_no_comparison(head: str) -> None:
    found = count(attention(head, "select(r[j] <= r[i], s[b,i,j], -inf)"))
    assert found.macs == found.macs_nominal


def test_a_softmax_that_guards_its_divisor_keeps_what_is_zero() -> None:
    plain = attention("", "select(j <= i, s[b,i,j], -inf)")
    text = ATTENTION.replace("p[b,i,j]/z[b,i]*v", "select(z[b,i] == 0, 0, p[b,i,j]/z[b,i])*v")
    shapes = {name: tensor(2, 6, 4) for name in "qkv"}
    guarded = program(text.format(head="", masked="select(j <= i, s[b,i,j], -inf)"), shapes)
    assert count(guarded).macs == count(plain).macs


def test_triangular_text_counts_as_the_masked_one() -> None:
    text = """
input q[B, T, E]
input k[B, T, E]
input v[B, T, E]
for b<B, i<T, j<i+1: s[b,i,j] = sum(e<E: q[b,i,e]*k[b,j,e])
for b<B, i<T: m[b,i] = max(j<i+1: s[b,i,j])
for b<B, i<T, j<i+1: p[b,i,j] = exp(s[b,i,j] - m[b,i])
for b<B, i<T: z[b,i] = sum(j<i+1: p[b,i,j])
for b<B, i<T, e<E: o[b,i,e] = sum(j<i+1: p[b,i,j]/z[b,i]*v[b,j,e])
output o
"""
    found = count(program(text, {name: tensor(2, 6, 4) for name in "qkv"}))
    masked = count(attention("", "select(j <= i, s[b,i,j], -inf)"))
    assert (found.macs, found.special_ops, found.fused_bytes) == (masked.macs, masked.special_ops, masked.fused_bytes)
    assert found.macs_nominal == masked.macs_nominal


def test_a_covered_mask_is_charged_whole_with_the_figure_beside() -> None:
    found = count(attention(FACT, "select(mask[0,0,i,j] == 0, -inf, s[b,i,j])"))
    assert found.weight_bytes == 4 * 6 * 6
    assert any("144 bytes less" in note for note in found.notes)


def test_a_covered_mask_is_charged_the_same_when_it_is_compared_beforehand() -> None:
    compared = """param mask = "mask"[1, 1, M, M]
fact mask[a,c,i,j] == (j <= i)
view part[a<1, c<1, i<T, j<M] = mask[a, c, i, j]
view whole[a<1, c<1, i<T, j<T] = part[a, c, i, j]
hidden = whole == 0"""
    found = count(attention(compared, "select(hidden[0,0,i,j], -inf, s[b,i,j])"))
    direct = count(attention(FACT, "select(mask[0,0,i,j] == 0, -inf, s[b,i,j])"))
    assert (found.macs, found.flops, found.fused_bytes) == (direct.macs, direct.flops, direct.fused_bytes)
    assert found.weight_bytes == 4 * 6 * 6


def test_one_token_of_the_last_layer() -> None:
    text = """
input x[B, T, D]
param w = "w"[D, D]
param u = "u"[D, D]
for b<B, t<T, o<D: h[b,t,o] = sum(d<D: x[b,t,d]*w[o,d])
for b<B, t<T, o<D: g[b,t,o] = sum(d<D: h[b,t,d]*u[o,d])
for b<B, o<D: y[b,o] = max(g[b,0,o], 0)
output y
"""
    found = count(program(text, {"x": tensor(2, 9, 4)}, {"w": tensor(4, 4), "u": tensor(4, 4)}))
    assert found.macs == 2 * (2 * 1 * 4 * 4)
    assert found.macs_nominal == 2 * (2 * 9 * 4 * 4)
    assert found.input_bytes == 4 * 2 * 4


# scans

SCAN = """
input x[T, B, D]
param w = "w"[D, D]
param u = "u"[D, D]
for b<B, d<D: h0[b,d] = 0.0
scan t<T carry h = h0:
    for b<B, d<D: z[b,d] = sum(k<D: x[t,b,k]*w[d,k]) + sum(k<D: h[b,k]*u[d,k])
    for b<B, d<D: hn[b,d] = tanh(z[b,d])
    for b<B, d<D: unused[b,d] = exp(z[b,d])
    next h = hn
    emit ys = hn
    emit spare = unused
"""


@pytest.mark.parametrize(
    ("output", "steps"),
    [("output ys\n", 9), ("output h\n", 9), ("for b<B: y[b] = ys[4,b,0] + 1\noutput y\n", 5)],
)
def test_a_scan_works_as_far_as_it_is_needed(output: str, steps: int) -> None:
    found = count(program(SCAN + output, {"x": tensor(9, 2, 3)}, {"w": tensor(3, 3), "u": tensor(3, 3)}))
    last = 0 if output.startswith("output") else 2 * 2 * 2 * 3  # of the last step one column of three is needed
    assert found.macs == steps * 2 * (2 * 3 * 3) - last
    assert found.special_ops == steps * 2 * 3 - last // 6
    assert found.input_bytes == 4 * steps * 2 * 3
    assert found.weight_bytes == 4 * 2 * 9
    assert any("9 dependent steps" in note for note in found.notes)


def test_a_reversed_scan_stops_early_too() -> None:
    text = SCAN.replace("scan t<T", "scan reverse t<T") + "for b<B, d<D: y[b,d] = ys[7,b,d] + 1\noutput y\n"
    found = count(program(text, {"x": tensor(9, 2, 3)}, {"w": tensor(3, 3), "u": tensor(3, 3)}))
    assert found.macs == 2 * 2 * (2 * 3 * 3)  # steps 8 and 7


def test_work_without_the_step_is_done_once() -> None:
    text = """
input x[T, B]
param v = "v"[B]
for b<B: h0[b] = 0.0
scan t<T carry h = h0:
    for b<B: hn[b] = h[b] + x[t,b]*rsqrt(v[b] + 1)
    next h = hn
output h
"""
    found = count(program(text, {"x": tensor(9, 4)}, {"v": tensor(4)}))
    assert found.special_ops == 4
    assert found.vector_ops == 4 + 2 * 9 * 4


def test_a_choice_at_run_time_takes_the_cheaper_arm() -> None:
    text = """
input x[B, I]
param u = "u"[I, H]
param v = "v"[H, O]
param w = "w"[I, O]
for b<B, i<I: m[] += x[b,i]
for: c[] = m[] > 0
if? c:
    for b<B, h<H: g[b,h] = sum(i<I: x[b,i]*u[i,h])
    for b<B, o<O: y[b,o] = sum(h<H: g[b,h]*v[h,o])
else:
    for b<B, o<O: y[b,o] = sum(i<I: x[b,i]*w[i,o])
output y
"""
    shapes = ({"x": tensor(4, 16)}, {"u": tensor(16, 32), "v": tensor(32, 8), "w": tensor(16, 8)})
    found = count(program(text.replace("for: c[] = m[] > 0", "c = m > 0"), *shapes))
    assert found.macs == 4 * 16 * 8
    assert any("512 to 3072 multiply-adds" in note for note in found.notes)


def test_rows_name_the_statements() -> None:
    found = count(program(CONV + "output y\n", *SMALL))
    (row,) = found.per_statement
    assert row.line == 5
    assert row.text.strip().startswith("for n<N, o<O")
    assert row.macs == found.macs
    assert row.bytes == found.unfused_bytes


def test_repeats_are_one_row() -> None:
    text = """
input x[B, D]
def layer(x[B, D]; k):
    param w = "w{k}"[D, D]
    for b<B, o<D: y[b,o] = sum(d<D: x[b,d]*w[o,d])
    return y
repeat k in 0..3:
    x = layer(x; k=k)
output x
"""
    found = count(program(text, {"x": tensor(2, 4)}, {f"w{k}": tensor(4, 4) for k in range(3)}))
    (row,) = [row for row in found.per_statement if row.macs]
    assert (row.instances, row.macs) == (3, 3 * 2 * 16)


def test_jax_scan_over_layers_with_a_running_sum() -> None:
    text = """
input x[B, D]
param w = "params/w"[L, D, D]
param v = "params/b/v"[L, D]
scan t<L carry h = x:
    for b<B, d<D: z[b,d] = sum(k<D: h[b,k]*w[t,k,d]) + v[t,d]
    for b<B, d<D: hn[b,d] = tanh(z[b,d])
    for b<B, d<D: s[] += h[b,d]
    next h = hn
    emit trace = s
for i<L, j<i+1: c[i] += trace[j]
output h
output c
"""
    found = count(program(text, {"x": tensor(4, 16)}, {"params/w": tensor(24, 16, 16), "params/b/v": tensor(24, 16)}))
    assert found.macs == 24 * 4 * 16 * 16 == 24_576
    assert found.special_ops == 24 * 4 * 16
    assert found.vector_ops == 24 * (64 + 63) + 23  # bias and sum of every layer; 23 additions of the running sum
    assert found.fused_bytes == 26_112 + 256 + 256 + 96 == 26_720


@pytest.mark.parametrize(("read", "steps"), [("0", 9), ("8", 1), ("6", 3)])
def test_a_scan_backwards_runs_as_far_as_it_is_read(read: str, steps: int) -> None:
    """y[t] = ys[8 - t]: what is read of y says after which turn nothing is needed any more."""
    text = f"""
input x[T, K]
input w[K, K]
tensor h0[K] = 0
scan t<T carry h = h0:
    for k<K: n[k] = x[T - 1 - t, k] + sum(j<K: h[j] * w[j, k])
    next h = n
    emit ys = n
view y[t<T, k<K] = ys[T - 1 - t, k]
for k<K: out[k] = y[{read}, k]
output out
"""
    counts = count(program(text, {"x": tensor(9, 4), "w": tensor(4, 4)}))
    assert counts.macs == steps * 4 * 4
