# ruff: noqa: E501
"""The executor against the point-by-point interpreter, one family of nests at a time."""

from __future__ import annotations

import numpy as np
import pytest

from .lab import check

CONV = """program conv
input x[N, C, H, W]
param w = "w"[O, K, R, S]
attr st = "st"
attr pad = "pad"
attr dil = "dil"
let G = C // K
let OG = O // G
let P = (H + 2*pad - dil*(R-1) - 1)//st + 1
let Q = (W + 2*pad - dil*(S-1) - 1)//st + 1
for n<N, o<O, p<P, q<Q, c<K, r<R, s<S: y[n,o,p,q] += (x[n, (o//OG)*K + c, st*p+dil*r-pad, st*q+dil*s-pad] else 0) * w[o,c,r,s]
output y
"""

TRANSPOSED = """program convt
input x[N, C, H, W]
param w = "w"[C, OG, R, S]
attr st = "st"
attr pad = "pad"
attr dil = "dil"
attr G = "g"
let CG = C // G
let P = (H - 1)*st - 2*pad + dil*(R - 1) + 1
let Q = (W - 1)*st - 2*pad + dil*(S - 1) + 1
tensor y[N, G*OG, P, Q] = 0
for n<N, g<G, o<OG, p<P, q<Q, c<CG, r<R, s<S where (p + pad - r*dil) % st == 0 and (q + pad - s*dil) % st == 0: y[n, g*OG + o, p, q] += (x[n, g*CG + c, (p + pad - r*dil)//st, (q + pad - s*dil)//st] else 0) * w[g*CG + c, o, r, s]
output y
"""


@pytest.mark.parametrize(
    ("shape", "kernel", "st", "pad", "dil"),
    [
        ((2, 3, 5, 6), (4, 3, 3, 2), 1, 1, 1),
        ((1, 4, 6, 5), (4, 2, 2, 3), 2, 0, 1),
        ((2, 4, 5, 5), (4, 1, 3, 3), 1, 2, 2),
        ((1, 2, 4, 4), (3, 2, 1, 1), 1, 0, 1),
        ((2, 4, 4, 4), (8, 1, 3, 3), 2, 1, 1),
    ],
)
def test_convolutions(shape, kernel, st, pad, dil):
    check(CONV, {"x": shape}, {"w": kernel}, {"st": st, "pad": pad, "dil": dil})


@pytest.mark.parametrize(
    ("shape", "kernel", "st", "pad", "dil", "groups"),
    [
        ((2, 2, 3, 4), (2, 3, 3, 3), 2, 1, 1, 1),
        ((1, 4, 3, 3), (4, 2, 3, 2), 3, 0, 2, 2),
        ((2, 2, 4, 3), (2, 1, 2, 2), 1, 1, 1, 2),
        ((1, 3, 3, 3), (3, 2, 5, 4), 2, 2, 1, 1),
    ],
)
def test_transposed_convolutions(shape, kernel, st, pad, dil, groups):
    check(TRANSPOSED, {"x": shape}, {"w": kernel}, {"st": st, "pad": pad, "dil": dil, "g": groups})


CASES = {
    "linear": (
        "for n<N, o<M: y[n,o] = sum(c<C: x[n,c] * z[o,c]) / sqrt(C) + 1",
        {"x": (4, 5), "z": (3, 5)},
        "input x[N, C]\ninput z[M, C]",
    ),
    "batched product": (
        "for b<B, i<I, j<J: y[b,i,j] += x[b,i,k] * z[b,k,j]".replace("j<J:", "j<J, k<K:"),
        {"x": (2, 3, 4), "z": (2, 4, 5)},
        "input x[B, I, K]\ninput z[B, K, J]",
    ),
    "three factors": (
        "for i<I, j<J, k<K, l<L: y[i,l] += x[i,j] * z[j,k] * u[k,l]",
        {"x": (2, 3), "z": (3, 4), "u": (4, 5)},
        "input x[I, J]\ninput z[J, K]\ninput u[K, L]",
    ),
    "dot": ("for i<N: y[] += x[i] * z[i]", {"x": (7,), "z": (7,)}, "input x[N]\ninput z[N]"),
    "outer sum": ("for i<N, j<M: y[i] += x[i] * z[j]", {"x": (3,), "z": (4,)}, "input x[N]\ninput z[M]"),
    "absent factor axis": (
        "for i<N, j<M, k<3: y[i] += x[i,j] * z[j]",
        {"x": (3, 4), "z": (4,)},
        "input x[N,M]\ninput z[M]",
    ),
    "max pool": (
        "for n<N, p<(H+1)//2, r<3: y[n,p] max= (x[n, 2*p + r - 1] else -inf)",
        {"x": (2, 9)},
        "input x[N, H]",
    ),
    "mean": ("for n<N, c<C, p<H: y[n,c] += x[n,c,p] / H", {"x": (2, 3, 5)}, "input x[N, C, H]"),
    "inclusive sum": ("for b<B, i<N: y[b,i] = sum(j<i+1: x[b,j])", {"x": (2, 6)}, "input x[B, N]"),
    "exclusive sum": ("for b<B, i<N: y[b,i] = sum(j<i: x[b,j])", {"x": (2, 6)}, "input x[B, N]"),
    "reversed sum": ("for b<B, i<N: y[b,i] = sum(j<N-i: x[b,N-1-j])", {"x": (2, 6)}, "input x[B, N]"),
    "suffix sum": ("for b<B, i<N: y[b,i] = sum(j<N where j >= i: x[b,j])", {"x": (2, 6)}, "input x[B, N]"),
    "running max": ("for b<B, i<N: y[b,i] = max(j<i+1: x[b,j])", {"x": (2, 6)}, "input x[B, N]"),
    "running product": ("for b<B, i<N: y[b,i] = prod(j<i+1: x[b,j] * 2)", {"x": (2, 6)}, "input x[B, N]"),
    "running mean": ("for b<B, i<N: y[b,i] = sum(j<i+1: x[b,j] * (1/(i+1)))", {"x": (2, 6)}, "input x[B, N]"),
    "strided prefix": ("for b<B, i<3: y[b,i] = sum(j<2*i+1, k<2: x[b,j,k])", {"x": (2, 6, 2)}, "input x[B, N, M]"),
    "integral image": ("for i<N, k<M: y[i,k] = sum(j<i+1, l<k+1: x[j,l])", {"x": (4, 5)}, "input x[N, M]"),
    "band": ("for i<N: y[i] = sum(j<N where j <= i+1 and j >= i-1: x[j])", {"x": (6,)}, "input x[N]"),
    "blocked prefix": (
        "for b<B, c<J, l<Q, s<l+1: y[b,c,l] += x[b, c*Q + s]",
        {"x": (2, 12)},
        "input x[B, N]\nlet J = 3\nlet Q = N // J",
    ),
    "triangle scores": (
        "for i<N, j<i+1: s[i,j] = sum(e<E: x[i,e] * z[j,e])\nfor i<N: m[i] = max(j<i+1: s[i,j])\n"
        "for i<N, j<i+1: p[i,j] = exp(s[i,j] - m[i])\nfor i<N, e<E: y[i,e] = sum(j<i+1: p[i,j] * z[j,e])",
        {"x": (5, 3), "z": (5, 3)},
        "input x[N, E]\ninput z[N, E]",
    ),
    "off by two triangle": (
        "for i<N, j<i+1: s[i,j] = x[i-j]\nfor i<N: y[i] = sum(j<i+1: s[i,j])",
        {"x": (5,)},
        "input x[N]",
    ),
    "diagonal": ("for i<N, j<N where i == j: y[i] += x[i,j]", {"x": (4, 4)}, "input x[N, N]"),
    "trace": ("for i<N, j<N where i == j: y[] += x[i,j]", {"x": (4, 4)}, "input x[N, N]"),
    "without diagonal": ("for i<N: y[i] = sum(j<N where j != i: x[i,j])", {"x": (4, 4)}, "input x[N, N]"),
    "either": ("for i<N: y[i] = sum(j<N where j < 1 or j > i: x[i,j])", {"x": (4, 4)}, "input x[N, N]"),
    "odd rows": ("tensor y[N] = 5\nfor i<N where i % 2 == 1: y[i] = x[i]", {"x": (7,)}, "input x[N]"),
    "odd sums": ("for i<N, j<M where (i + j) % 3 == 1: y[i] += x[i,j]", {"x": (7, 5)}, "input x[N, M]"),
    "shuffle": ("for n<N, c<C: y[n,c] = x[n, (c%3)*(C//3) + c//3]", {"x": (2, 12)}, "input x[N, C]"),
    "roll": ("tensor y[N, C]\nfor n<N, c<C: y[n,(c+2)%C] = x[n,(c+3)%C]", {"x": (2, 7)}, "input x[N, C]"),
    "flatten": ("for n<N, i<C*H: y[n,i] = x[n, i//H, i%H]", {"x": (2, 3, 4)}, "input x[N, C, H]"),
    "flatten twice": ("for i<N*C*H: y[i] = x[i//(C*H), (i//H)%C, i%H]", {"x": (2, 3, 4)}, "input x[N, C, H]"),
    "uneven division": ("for i<N: y[i] = x[i//3] + (i%3)", {"x": (7,)}, "input x[N]"),
    "merge": ("tensor y[N*C]\nfor i<N, c<C: y[i*C + c] = x[i,c]", {"x": (3, 4)}, "input x[N, C]"),
    "reverse": ("for i<N: y[i] = x[N-1-i]", {"x": (5,)}, "input x[N]"),
    "concat": (
        "tensor y[N, C+D]\nfor n<N, c<C: y[n,c] = x[n,c]\nfor n<N, c<D: y[n,C+c] = z[n,c]",
        {"x": (2, 3), "z": (2, 4)},
        "input x[N, C]\ninput z[N, D]",
    ),
    "upsample": ("for i<2*N, j<3*M: y[i,j] = x[i//2, j//3]", {"x": (3, 2)}, "input x[N, M]"),
    "adaptive mean": (
        "for p<3: y[p] = sum(h<N where h >= (p*N)//3 and h < ((p+1)*N + 2)//3: x[h]) / 2",
        {"x": (7,)},
        "input x[N]",
    ),
    "adaptive max": (
        "for p<3: y[p] = max(h<N where h >= (p*N)//3 and h < ((p+1)*N + 2)//3: x[h])",
        {"x": (7,)},
        "input x[N]",
    ),
    "arg max": ("for i<N, j<M: y[i] argmax= x[i,j]", {"x": (4, 5)}, "input x[N, M]"),
    "arg min": ("for i<N, j<M where j > i: y[i] argmin= x[i,j]", {"x": (4, 5)}, "input x[N, M]"),
    "overlapping add": ("tensor y[2*N+1] = 0\nfor i<N, r<3: y[2*i + r] += x[i,r]", {"x": (4, 3)}, "input x[N, R]"),
    "scatter convolution": (
        "tensor y[2*N+1] = 1\nfor i<N, r<3, c<C: y[2*i + r] += x[i,c] * z[c,r]",
        {"x": (4, 2), "z": (2, 3)},
        "input x[N, C]\ninput z[C, R]",
    ),
    "polynomial": (
        "tensor y[N] = 0\nfor i<N, j<N where i + j < N: y[i+j] += x[i] * z[j]",
        {"x": (5,), "z": (5,)},
        "input x[N]\ninput z[N]",
    ),
    "select": ("for i<N: y[i] = select(x[i] > 0, x[i], (x[i-1] else 0))", {"x": (6,)}, "input x[N]"),
    "select on index": ("for i<N: y[i] = select(i >= 2 and i < 4, x[i], -i)", {"x": (6,)}, "input x[N]"),
    "scan": (
        "for b<B: z[b] = 0.5\nscan t<T carry h = z:\n    for b<B: g[b] = h[b] * 0.5 + x[t,b]\n    next h = g\n    emit ys = h\n"
        "for t<T, b<B: y[t,b] = ys[t,b] + h[b]",
        {"x": (4, 2)},
        "input x[T, B]",
    ),
    "reverse scan": (
        "for b<B: z[b] = 0.5\nscan reverse t<T carry h = z:\n    for b<B: g[b] = h[b] * 0.5 + x[t,b]\n    next h = g\n"
        "    emit ys = g\nfor t<T, b<B: y[t,b] = ys[t,b]",
        {"x": (4, 2)},
        "input x[T, B]",
    ),
    "scan triangle": (
        "for b<B: z[b] = 0\nscan t<T carry h = z:\n    for b<B, j<t+1: g[b] += x[j,b] * (j + t)\n    for b<B: k[b] = g[b] - h[b]\n"
        "    next h = k\n    emit ys = h\nfor t<T, b<B: y[t,b] = ys[t,b]",
        {"x": (4, 2)},
        "input x[T, B]",
    ),
    "view": (
        "view f[n<N, i<C*H] = x[n, i // H, i % H]\nfor n<N: y[n] = sum(i<C*H: f[n,i]**2)",
        {"x": (2, 3, 4)},
        "input x[N,C,H]",
    ),
    "one step update": (
        "tensor y[N] = 1\nfor i<N: y[i] = x[i] * 2\nfor i<N-1: y[i] = y[i+1] + y[i]",
        {"x": (5,)},
        "input x[N]",
    ),
    "start values": ("tensor y[N] = x\nfor i<N, j<3: y[i] += x[j]\nfor i<N: y[i] *= 2", {"x": (5,)}, "input x[N]"),
    "equal twice": ("tensor y[N]\nfor i<N, j<3: y[i] = x[i]", {"x": (5,)}, "input x[N]"),
    "rank 0": ("y = x * 2 + 1", {"x": ()}, "input x[]"),
    "any all": (
        "for i<N: a[i] = any(j<M: x[i,j] > 1)\nfor i<N: b[i] = all(j<i+1: x[i,j] < 1)\nfor i<N: y[i] = select(a[i] or b[i], 1.0, 2.0)",
        {"x": (4, 5)},
        "input x[N, M]",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_family(name):
    body, inputs, head = CASES[name]
    for seed in range(2):
        check(f"program t\n{head}\n{body}\noutput y\n", inputs, seed=seed)


INTEGER_CASES = {
    "wrap": (
        "for i<N: y[i] = i8(x[i] * x[i] + z[i])",
        {"x": ((6,), "i8"), "z": ((6,), "i8")},
        "input x[N]\ninput z[N]",
    ),
    "product": (
        "for i<I, j<J, k<K: y[i,j] += x[i,k] * z[k,j]",
        {"x": ((3, 4), "i32"), "z": ((4, 5), "i32")},
        "input x[I, K]\ninput z[K, J]",
    ),
    "unsigned": ("for i<N: y[i] = (x[i] - 200) // 3 + x[i] % 7", {"x": ((9,), "u8")}, "input x[N]"),
    "bytes sum": ("tensor y[N] : i8 = 0\nfor i<N, j<M: y[i] += x[i,j]", {"x": ((3, 40), "i8")}, "input x[N, M]"),
    "bool sum": ("for i<N: y[i] = sum(j<M: x[i,j])", {"x": ((3, 40), "bool")}, "input x[N, M]"),
    "int max": ("for i<N: y[i] = max(j<i: x[j])", {"x": ((5,), "i16")}, "input x[N]"),
    "running product": ("for i<N: y[i] = prod(j<i+1: x[j])", {"x": ((9,), "i64")}, "input x[N]"),
}


@pytest.mark.parametrize("name", INTEGER_CASES)
def test_integers(name):
    body, inputs, head = INTEGER_CASES[name]
    check(f"program t\n{head}\n{body}\noutput y\n", inputs)


INDIRECT_CASES = {
    "embedding": ("for b<B, d<D: y[b,d] = x[i[b],d]", "input i[B]\ninput x[V, D]", {"i": ((5,), "i64"), "x": (4, 3)}),
    "gather along": ("for b<B, d<D: y[b,d] = x[b, i[b,d]]", "input i[B, D]\ninput x[B, V]", {"i": ((3, 5), "i64"), "x": (3, 4)}),
    "scatter add": ("tensor y[4] = 0\nfor b<B: y[i[b]] += x[b]", "input i[B]\ninput x[B]", {"i": ((9,), "i64"), "x": (9,)}),
    "scatter max": ("tensor y[4] = 0\nfor b<B: y[i[b]] max= x[b]", "input i[B]\ninput x[B]", {"i": ((9,), "i64"), "x": (9,)}),
    "scatter set": ("tensor y[4, 3] = 7\nfor b<B, d<D: y[i[b], d] = d", "input i[B]\ninput x[D]", {"i": ((9,), "i64"), "x": (3,)}),
    "guarded": ("for b<B: y[b] = (x[i[b] - 1] else 9)", "input i[B]\ninput x[V]", {"i": ((9,), "i64"), "x": (2,)}),
    "experts": (
        "for n<N, f<F: y[n,f] = sum(d<D: x[n,d] * w[i[n],d,f])",
        "input i[N]\ninput x[N, D]\ninput w[E, D, F]",
        {"i": ((5,), "i64"), "x": (5, 3), "w": (4, 3, 2)},
    ),
    "block rows": (
        "for n<N, k<2: y[n,k] = x[i[n]*2 + k] ",
        "input i[N]\ninput x[V]",
        {"i": ((5,), "i64"), "x": (8,)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", INDIRECT_CASES)
def test_indirect(name):
    body, head, inputs = INDIRECT_CASES[name]
    check(f"program t\n{head}\n{body}\noutput y\n", inputs, top=4)


def test_nan_and_infinity_spread_only_where_they_are_read():
    text = """program t
input x[N, E]
input z[N, E]
for i<N, j<i+1: p[i,j] = x[i,0] * z[j,0]
for i<N, e<E: y[i,e] = sum(j<i+1: p[i,j] * z[j,e])
for i<N: m[i] = max(j<i+1: z[j,1])
for i<N, j<N: k[i] argmax= z[i,j % E] + x[j,0]
output y
output m
output k
"""
    from solar_agent.ir.execute import execute
    from solar_agent.ir.load import load

    from .lab import assert_same, bindings, numbers, slow

    bound = bindings({"x": (5, 3), "z": (5, 3)})
    program = load(text, bound)
    for seed in range(6):
        values = numbers(bound, seed)
        values.inputs["z"][3, 1] = np.inf
        values.inputs["z"][2, seed % 3] = np.nan
        values.inputs["x"][4, 0] = -np.inf
        assert_same(execute(program, values).outputs, slow(program, values))
