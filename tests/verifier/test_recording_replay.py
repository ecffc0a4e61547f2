"""A recording run again, operator by operator, on the values of a trial must give what the program gave."""

import numpy as np
import pytest
import torch
from solar_agent.verifier.traced import DType, Ref
from solar_agent.verifier.worker.tensors import BY_NAME

PROGRAMS = (
    "attention", "choices", "counting", "integers", "loose", "normalised", "noisy", "outputs", "products", "quantised",
    "recurrent", "rounding", "scattered", "strided", "tied", "transposed",
)  # fmt: skip
EVERYTHING = """
import torch
import torch.nn.functional as F
from torch import nn

N = 4
SCALE = torch.linspace(1, 2, N)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.line = nn.Linear(N, N)
        self.norm = nn.LayerNorm(N)
        self.drop = nn.Dropout(0.25)

    def forward(self, x):
        return self.drop(self.norm(self.line(x))) + x


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])
        self.plain = [Block().eval()]
        self.batch = nn.BatchNorm1d(N)
        self.group = nn.GroupNorm(2, N)
        self.instance = nn.InstanceNorm1d(N, affine=True, track_running_stats=True)
        self.lstm = nn.LSTM(N, N, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(N, N, num_layers=2)
        self.attend = nn.MultiheadAttention(N, 2, batch_first=True)
        self.weighted = nn.utils.weight_norm(nn.Linear(N, N))
        self.spectral = nn.utils.parametrizations.spectral_norm(nn.Linear(N, N))
        self.hidden = torch.zeros(2, N)
        self.tied = self.blocks[0].line.weight
        self.register_buffer("steps", torch.zeros(()))

    def forward(self, x, pair, *, gain):
        for block in self.blocks:
            x = block(x)
        x = self.plain[0].forward(x) * SCALE + pair["b"][0] @ pair["a"]
        x.unsqueeze_(0)
        x = self.batch(x.squeeze(0)) + self.weighted(x[0]) + self.spectral(x[0])
        x = x + self.group(x) + self.instance(x[None].transpose(1, 2)).transpose(1, 2)[0]
        z, _ = self.lstm(x[None])
        g, _ = self.gru(x[:, None])
        self.hidden = z[0, :2, :N]
        self.steps += 1
        weights = torch.tensor([1.0 + i for i in range(N)])
        noise = torch.rand_like(x) + torch.zeros(N).uniform_()
        y = torch.cat(torch.split(x + noise, [1, x.shape[0] - 1]))
        y[0] = 1
        y[1:3, ::2] += gain
        y[y > 2] = 0.5
        pair["a"].mul_(2)
        half = z.data.mul_(2).half()
        a, _ = self.attend(y[None], y[None], y[None])
        s = F.scaled_dot_product_attention(z, z, z, is_causal=True)
        top = torch.topk(y, 2, dim=0)
        return {"y": y * weights, "g": g, "rows": x.shape[0], "half": half, "a": a, "s": s, "top": top, "t": y.t_()}


def get_inputs():
    pair = {"a": torch.randn(3, N), "b": [torch.randn(8, 3)]}
    return {"x": torch.randn(8, N), "pair": pair, "gain": 0.5}
"""


@pytest.fixture
def everything(program, tmp_path):
    path = tmp_path / "everything.py"
    path.write_text(EVERYTHING)
    return lambda mode: program(path, mode=mode)


@pytest.mark.parametrize("mode", ["eval", "train"])
def test_a_program_of_many_kinds(everything, mode):
    session = everything(mode)
    traced, trial = check(session, {})
    assert traced.final_state.keys() == {"hidden"}
    assert {leaf.path for leaf in trial.leaves if leaf.kind == "input"} == {"pair/a"}
    assert len(trial.draws) == (4 if mode == "train" else 2)
    assert [traced.draws[number] for number in sorted(traced.draws)] == list(
        range(len(trial.draws) - 2, len(trial.draws))
    )
    check(session, {"const.N": 6})


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(program, name):
    session = program(name, mode="train", entry="Second" if name == "choices" else None)
    traced, _ = check(session, session.assignments()[0].changes)
    assert traced.operators


def check(session, changes):
    """Does the recording at these sizes give the results and the changed state of a trial there?"""
    traced = session.trace(changes)
    trial = session.trial(changes, 3, "uniform", "native")
    assert traced.bindings == trial.bindings
    assert not traced.loose_draws
    tensors = replayed(traced, trial)
    leaves = {(leaf.kind, leaf.path): leaf for leaf in trial.leaves}
    for result in traced.results:
        same(leaves.pop(("result", result.path)), result.plain if result.value is None else tensors[result.value])
    now = {("input", name): number for name, number in traced.inputs.items()}
    now |= {("state", name): number for name, number in (*traced.state.items(), *traced.final_state.items())}
    for key, leaf in leaves.items():
        same(leaf, tensors[now[key]])
    return traced, trial


def same(leaf, value):
    if leaf.shape is None:
        assert leaf.value == value
    else:
        found = value.to(torch.float64).numpy()
        np.testing.assert_allclose(found, leaf.value.astype(np.float64), rtol=1e-4, atol=1e-5)


def replayed(traced, trial):
    """Tensors by the number of their value, after all operators ran."""
    tensors = {}
    for names, arrays in ((traced.inputs, trial.inputs), (traced.state, trial.state)):
        for name, number in names.items():
            if number not in tensors:
                tensors[number] = torch.from_numpy(np.array(arrays[name])).to(BY_NAME[traced.values[number].dtype])
    for index, operator in enumerate(traced.operators):
        before = {name: first_of(value, tensors) for name, value in operator.arguments.items()}
        step(operator, tensors, [trial.draws[draw] for draw in traced.drawn.get(index, ())])
        for name, copy in before.items():
            now = first_of(operator.arguments[name], tensors)
            kept = copy is None or copy.shape != now.shape or torch.equal(copy.nan_to_num(), now.nan_to_num())
            assert kept or name in operator.mutates or aliased(traced, operator, name), operator
        for number in operator.results:
            if number is not None:
                assert tuple(tensors[number].shape) == traced.values[number].shape, operator
                assert tensors[number].dtype == BY_NAME[traced.values[number].dtype], operator
    return tensors


def aliased(traced, operator, name):
    """Does the argument share memory with one that is written?"""
    written = {traced.values[operator.arguments[other].value].storage for other in operator.mutates}
    return traced.values[operator.arguments[name].value].storage in written


def first_of(value, tensors):
    if not isinstance(value, Ref) or tensors[value.value].dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        return None
    return tensors[value.value].clone()


def step(operator, tensors, draws):
    namespace, name, overload = operator.name.split(".")
    function = getattr(getattr(getattr(torch.ops, namespace), name), overload)
    given = {key: filled(value, tensors) for key, value in operator.arguments.items()}
    positional = [item.name for item in function._schema.arguments if not item.kwarg_only and item.name in given]
    rest = {key: value for key, value in given.items() if key not in positional}
    if draws:
        results = [drawn(name, given, draws)]
    else:
        results = flat(function(*(given[key] for key in positional), **rest))
    for number, result in zip(operator.results, results, strict=True):
        if number is not None:
            tensors[number] = result


def filled(value, tensors):
    match value:
        case Ref():
            return tensors[value.value]
        case DType():
            return BY_NAME[value.name]
        case tuple():
            return [filled(item, tensors) for item in value]
        case _:
            return value


def drawn(name, given, draws):
    (draw,) = (torch.from_numpy(draw) for draw in draws)
    if name == "dropout":
        return given["input"] * draw.to(given["input"].dtype) / (1 - given["p"])
    if name.endswith("_"):
        return given["self"].copy_(draw)
    return draw.to(torch.float32) if draw.dtype == torch.float64 else draw


def flat(out):
    return [part for item in out for part in flat(item)] if isinstance(out, list | tuple) else [out]
