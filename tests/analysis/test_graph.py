"""The einsum graph: layout, canonical ranks, connections, and the same numbers as the program."""

from __future__ import annotations

import re

import numpy as np
import pytest
import yaml
from analysis_texts import program, tensor
from solar_agent.analysis.graph import lift, run_graph
from solar_agent.analysis.ranks import label
from solar_agent.ir.bindings import TensorType
from solar_agent.ir.execute import Values, execute
from solar_agent.ir.program import Program

NET = """
input x[N, C, H, W]
param w = "conv.weight"[O, C, R, S]
param b = "conv.bias"[O]
param u = "fc.weight"[K, O]
for n<N, o<O, p<H, q<W, c<C, r<R, s<S: a[n,o,p,q] += (x[n,c,p+r-1,q+s-1] else 0) * w[o,c,r,s]
for n<N, o<O, p<H, q<W: y[n,o,p,q] = max(a[n,o,p,q] + b[o], 0)
for n<N, o<O, p<H, q<W: dead[n,o,p,q] = exp(y[n,o,p,q])
for n<N, o<O, p<H//2, q<W//2, r<2, s<2: z[n,o,p,q] max= y[n,o,2*p+r,2*q+s]
for n<N, k<K, o<O, p<H//2, q<W//2: f[n,k] += exp(z[n,o,p,q]) * u[k,o]
output f
"""
NET_SHAPES = ({"x": tensor(2, 3, 6, 4)}, {"conv.weight": tensor(5, 3, 3, 3), "conv.bias": tensor(5),
                                          "fc.weight": tensor(7, 5)})

PROGRAMS = {
    "convolution": (NET, *NET_SHAPES),
    "slices and concatenation": (
        """
input x[N, D]
input y[N, D]
tensor z[N, 2*D]
for n<N, d<D: z[n,d] = x[n,d]
for n<N, d<D: z[n,D+d] = tanh(y[n,d])
for n<N, d<D: a[n,d] = z[n,2*d] * z[n,2*d+1]
output a
""", {"x": tensor(2, 3), "y": tensor(2, 3)}, {}),
    "triangle": (
        """
input q[B, T, E]
input k[B, T, E]
for b<B, i<T, j<i+1: s[b,i,j] = sum(e<E: tanh(q[b,i,e])*exp(k[b,j,e]))
for b<B, i<T: m[b,i] = max(j<i+1: s[b,i,j])
output m
""", {"q": tensor(2, 5, 3), "k": tensor(2, 5, 3)}, {}),
    "recurrence": (
        """
input x[T, B, D]
param w = "w"[D, D]
for b<B, d<D: h0[b,d] = 0.0
scan t<T carry h = h0:
    for b<B, d<D: z[b,d] = sum(k<D: exp(x[t,b,k])*w[d,k]) + h[b,d]
    for b<B, d<D: hn[b,d] = tanh(z[b,d])
    next h = hn
    emit ys = hn
output ys
output h
""", {"x": tensor(4, 2, 3)}, {"w": tensor(3, 3)}),
    "rows by index, sorting, and a choice": (
        """
param t = "t"[V, D]
input ids[B] : int in 0..V
for b<B, d<D: e[b,d] = t[ids[b],d]
(v, i) = topk(e; k=2)
for b<B: m[b] = sum(k<2: v[b,k])
s = sum(b<B: m[b])
if? s > 0:
    y = m * 2
else:
    y = m - 1
output y
output i
""", {"ids": tensor(4, dtype="i64")}, {"t": tensor(6, 5)}),
    "zero times something": (
        "input x[N]\ninput y[N]\nfor n<N: a[n] = exp(x[n])\nfor n<N: z[n] = a[n]*0 + y[n]\noutput z\n",
        {"x": tensor(4), "y": tensor(4)}, {}),
}  # fmt: skip


def values(inputs: dict[str, TensorType], state: dict[str, TensorType]) -> Values:
    rng = np.random.default_rng(0)

    def draw(kind: TensorType) -> np.ndarray:
        if kind.dtype == "i64":
            return rng.integers(0, 6, kind.shape)
        return rng.normal(size=kind.shape)

    return Values({k: draw(v) for k, v in inputs.items()}, {k: draw(v) for k, v in state.items()})


def loaded(name: str) -> Program:
    text, inputs, state = PROGRAMS[name]
    return program(text, inputs, state)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_graph_computes_what_the_program_does(name: str) -> None:
    _, inputs, state = PROGRAMS[name]
    given, found = values(inputs, state), loaded(name)
    want, got = execute(found, given).outputs, run_graph(lift(found), given).outputs
    assert len(want) == len(got) > 0
    for left, right in zip(want, got, strict=True):
        np.testing.assert_allclose(np.asarray(left), np.asarray(right), rtol=1e-12, atol=0)


@pytest.mark.parametrize("name", PROGRAMS)
def test_yaml_layout_and_connections(name: str) -> None:
    text = lift(loaded(name)).to_yaml()
    assert "&" not in re.sub(r"text:.*", "", text) and "*id" not in text  # no anchors
    layers = yaml.safe_load(text)["layers"]
    fields = {"type", "einsum_equation", "elementwise_op", "reduction_op", "is_real_einsum", "is_einsum_supportable",
              "tensor_names", "tensor_types", "tensor_shapes", "connections"}
    for key, layer in layers.items():
        assert fields <= set(layer)
        lengths = {len(layer[part]["inputs"]) for part in ("tensor_names", "tensor_types", "tensor_shapes")}
        assert len(lengths) == 1
        for before in layer["connections"]["inputs"]:
            assert key in layers[before]["connections"]["outputs"]
        for after in layer["connections"]["outputs"]:
            assert key in layers[after]["connections"]["inputs"]
    produced = {name for layer in layers.values() for name in layer["tensor_names"]["outputs"]}
    for layer in layers.values():
        for operand, role in zip(layer["tensor_names"]["inputs"], layer["tensor_types"]["inputs"], strict=True):
            assert role == "weight" or operand in produced


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_rank_has_one_size(name: str) -> None:
    sizes: dict[str, int] = {}
    for layer in lift(loaded(name)).layers:
        for rank, size in layer.sizes:
            assert sizes.setdefault(rank, size) == size
        assert re.fullmatch(r"([A-Z0-9()+\-]*,?)*->[A-Z0-9()+\-]*", layer.equation)
    assert sizes or name == "none"


def test_equations_of_a_network() -> None:
    layers = {layer.id: layer for layer in lift(loaded("convolution")).layers}
    assert list(layers) == ["start", "t.a", "t.y", "t.z", "t.f~factor", "t.f"]  # nothing of the dead statement
    conv = layers["t.a"]
    assert re.fullmatch(r"(\w)(\w)\((\w)\+(\w)\)\((\w)\+(\w)\),(\w)\2\4\6->\1\7\3\5", conv.equation)
    assert (conv.elementwise_op, conv.reduction_op, conv.is_real_einsum, conv.type) == ("mul", "add", True, "conv")
    assert dict(conv.sizes) == {rank: size for rank, size in layers["t.a"].sizes}
    pool = layers["t.z"]
    assert (pool.elementwise_op, pool.reduction_op, pool.is_real_einsum) == ("copy", "max", False)
    # batch and channels keep their names all the way
    assert conv.outputs[0].ranks[:2] == pool.outputs[0].ranks[:2]
    assert layers["t.f"].is_real_einsum and layers["t.f~factor"].elementwise_op == "exp"
    assert layers["t.f"].inputs[1].name == "fc.weight"
    assert conv.nest is not None and conv.nest.value is not None


def test_lifting_is_deterministic() -> None:
    assert lift(loaded("convolution")).to_yaml() == lift(loaded("convolution")).to_yaml()


def test_scan_layers_have_a_time_rank() -> None:
    layers = [layer for layer in lift(loaded("recurrence")).layers if layer.is_real_einsum]
    assert [dict(layer.sizes)[layer.outputs[0].ranks[0]] for layer in layers] == [4]


def test_rank_labels() -> None:
    assert [label(n) for n in (0, 25, 26, 51, 52, 26 * 12)] == ["A", "Z", "A0", "Z0", "A1", "A11"]
