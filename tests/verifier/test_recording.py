"""What a recording says of the operators: where they come from, what they take and give, and what is refused."""

import json
import textwrap

import pytest
from solar_agent.verifier.reference import open_reference
from solar_agent.verifier.tracecodec import traced_from_plain, traced_to_plain
from solar_agent.verifier.traced import Call, DType, Ref, Result, Value
from solar_agent.verifier.types import ReferenceFailed
from solar_agent.verifier.worker import recorder
from solar_agent.verifier.worker.faults import Refused, UserError

INPUTS = "\ndef get_inputs():\n    return [torch.rand(8, 4)]\n"


@pytest.fixture
def written(program, tmp_path):
    """The session on a program of this text, which gets its imports and an input x[8, 4]."""

    def opened(text, mode="eval", inputs=INPUTS):
        path = tmp_path / "prog.py"
        path.write_text("import torch\nfrom torch import nn\n" + textwrap.dedent(text) + inputs)
        return program(path, mode=mode)

    return opened


def names(traced):
    return [operator.name.removeprefix("aten.") for operator in traced.operators]


def test_composite_operators_stay_whole(written):
    traced = written("""
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Sequential(nn.Linear(4, 6), nn.ReLU())
            def forward(self, x):
                return self.net(x)
        """).trace({})
    linear, relu = traced.operators
    state = traced.state
    assert linear.name == "aten.linear.default" and linear.where == "prog.py:9"
    weight, bias = Ref(state["net.0.weight"]), Ref(state["net.0.bias"])
    assert linear.arguments == {"input": Ref(traced.inputs["x"]), "weight": weight, "bias": bias}
    assert traced.values[linear.results[0]].shape == (8, 6)
    assert relu.arguments == {"self": Ref(linear.results[0])}
    assert traced.results == (Result("", relu.results[0]),)
    assert traced.calls == (
        Call("", "solar_user_program.Model", None),
        Call("net", "torch.nn.modules.container.Sequential", 0),
        Call("net.0", "torch.nn.modules.linear.Linear", 1),
        Call("net.1", "torch.nn.modules.activation.ReLU", 1),
    )
    assert (linear.call, relu.call) == (2, 3)


def test_arguments_by_name_with_defaults(written):
    traced = written("""
        def fn(x):
            y = torch.cumsum(x, 1, dtype=torch.float64)
            z = torch.full((2, 3), float("-inf"), dtype=torch.float16, device=x.device)
            return y + 2, z, torch.split(x, [1, 3], dim=1), torch.topk(x, 2), len(x)
        """).trace({})
    cumsum, full, add, split, topk = traced.operators
    assert cumsum.arguments == {"self": Ref(0), "dim": 1, "dtype": DType("f64")}
    assert full.arguments == {"size": (2, 3), "fill_value": float("-inf"), "dtype": DType("f16")}
    assert add.arguments == {"self": Ref(cumsum.results[0]), "other": 2, "alpha": 1}
    assert split.arguments == {"self": Ref(0), "split_sizes": (1, 3), "dim": 1} and len(split.results) == 2
    assert topk.arguments == {"self": Ref(0), "k": 2, "dim": -1, "largest": True, "sorted": True}
    assert [traced.values[number].dtype for number in topk.results] == ["f32", "i64"]
    assert traced.results[-1] == Result("4", None, 8)
    assert traced.calls == (Call("", "fn", None),)


def test_memory_is_told_by_storages(written):
    traced = written("""
        def fn(x):
            y = x.t()
            y.data.add_(1)
            z = y.reshape(8, 4)
            z.unsqueeze_(0)
            torch.mul(z, 2, out=z)
            return z, x.contiguous(), y.view(4, 8)
        """).trace({})
    t, add, reshape, unsqueeze, mul, view = traced.operators
    values = traced.values
    assert values[t.results[0]] == Value((4, 8), "f32", values[0].storage, contiguous=False)
    assert add.mutates == ("self",) and add.results == t.results and add.arguments["self"] == Ref(t.results[0])
    assert values[reshape.results[0]].storage != values[0].storage
    assert unsqueeze.mutates == () and unsqueeze.results != reshape.results
    assert values[unsqueeze.results[0]].storage == values[reshape.results[0]].storage
    assert mul.mutates == ("out",) and mul.results == unsqueeze.results == (traced.results[0].value,)
    assert traced.results[1].value == traced.inputs["x"]
    assert view.results != t.results and values[view.results[0]] == values[t.results[0]]


def test_names_of_one_tensor_and_tensors_without_a_name(written):
    traced = written("""
        TABLE = [torch.ones(4)]
        hidden = (lambda tensor: lambda: tensor)(torch.ones(4))
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.scale = nn.Parameter(torch.ones(4))
                self.same = self.scale
                self.more = {"part": torch.zeros(4)}
            def forward(self, x):
                return x * self.scale + TABLE[0] + self.more["part"] + torch.tensor([1.0, 2, 3, 4]) + hidden()
        """).trace({})
    assert traced.state["scale"] == traced.state["same"]
    used = [operator.arguments["other"].value for operator in traced.operators]
    assert used[:4] == [traced.state[name] for name in ("scale", "const.TABLE.0", "more.part", "made.0")]
    assert used[4] not in {*traced.state.values(), *traced.inputs.values()}
    assert traced.bindings.state["made.0"].shape == (4,)


MODULES = """
class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.line = nn.Linear(4, 4)
    def forward(self, x):
        return self.line(x)
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Part()
        self.kept = [Part()]
    def forward(self, x):
        x = self.part.forward(x)
        x = self.kept[0](x)
        try:
            self.part(x[0, 0])
        except RuntimeError:
            pass
        return nn.Tanh()(x)
"""


def test_module_calls(written):
    traced = written(MODULES).trace({})
    assert [(call.path, call.cls.rpartition(".")[2], call.parent) for call in traced.calls] == [
        ("", "Model", None),
        ("part.line", "Linear", 0),
        ("kept.0", "Part", 0),
        ("kept.0.line", "Linear", 2),
        ("part", "Part", 0),
        ("part.line", "Linear", 4),
        ("", "Tanh", 0),
    ]
    assert [(operator.name, operator.call) for operator in traced.operators][-1] == ("aten.tanh.default", 6)


def test_lines_of_a_library_model(written, tmp_path, monkeypatch):
    library = tmp_path / "site-packages" / "layers_of_a_library"
    library.mkdir(parents=True)
    (library / "helper.py").write_text("def double(x):\n    return x * 2\n")
    model = "import torch\nfrom .helper import double\nclass Layer(torch.nn.Module):\n    def forward(self, x):\n"
    (library / "modeling.py").write_text(model + "        return double(x)\n")
    (library / "__init__.py").write_text("from .helper import double\nfrom .modeling import Layer\n")
    monkeypatch.syspath_prepend(str(library.parent))
    traced = written("""
        from layers_of_a_library import Layer, double
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = Layer()
            def forward(self, x):
                return double(self.layer(x))
        """).trace({})
    assert [operator.where for operator in traced.operators] == ["modeling.py:5", "prog.py:10"]


def test_norms_say_which_statistics_they_write(written):
    text = """
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.norm = nn.BatchNorm1d(4)
                self.free = nn.BatchNorm1d(4, track_running_stats=False)
            def forward(self, x):
                return self.free(self.norm(x))
        """
    first, second = written(text).trace({}).operators
    assert first.mutates == second.mutates == ()
    count, first, second = written(text, mode="train").trace({}).operators
    assert count.name == "aten.add_.Tensor" and count.mutates == ("self",)
    assert first.mutates == ("running_mean", "running_var") and second.mutates == ()


def test_draws_belong_to_operators(written):
    session = written(
        """
        import random
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.drop = nn.Dropout(0.5)
                self.lstm = nn.LSTM(4, 3, num_layers=3, dropout=0.5, bidirectional=True, batch_first=True)
            def forward(self, x):
                x = self.drop(x) * random.random() + torch.randn(4)
                x = x + torch.empty(8, 4).uniform_()
                return self.lstm(x[None])[0]
        """,
        mode="train",
    )
    traced = session.trace({})
    owners = {traced.operators[index].name: draws for index, draws in traced.drawn.items()}
    assert owners == {
        "aten.dropout.default": (0,),
        "aten.randn.default": (2,),
        "aten.uniform_.default": (3,),
        "aten.lstm.input": (4, 5),
    }
    assert traced.loose_draws == (1,)
    assert [draw.shape for draw in traced.bindings.draws] == [(8, 4), (), (4,), (8, 4), (8, 1, 6), (8, 1, 6)]
    assert {traced.values[number].shape: draw for number, draw in traced.draws.items()} == {(4,): 2, (8, 4): 3}
    assert session.describe()[0].bindings == traced.bindings == session.trial({}, 0, "uniform", "native").bindings


def test_state_that_another_tensor_takes_the_place_of(written):
    traced = written("""
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.last = torch.zeros(8, 4)
                self.count = torch.zeros(())
                self.weighted = nn.utils.weight_norm(nn.Linear(4, 4))
            def forward(self, x):
                self.count += 1
                self.last = x * 2
                return self.weighted(x)
        """).trace({})
    (double,) = (operator for operator in traced.operators if operator.name == "aten.mul.Tensor")
    assert traced.final_state == {"last": double.results[0]}


def test_constructor_that_reads_values(written):
    traced = written("""
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.width = int(torch.linspace(1, 9, 9).sum().item())
                self.line = nn.Linear(4, self.width)
            def forward(self, x):
                return self.line(x)
        """).trace({})
    assert names(traced) == ["linear.default"]
    assert traced.values[traced.results[0].value].shape == (8, 45)


def test_long_recurrences_are_one_operator(written):
    inputs = "\ndef get_inputs():\n    return [torch.rand(100000, 64, 4)]\n"
    text = """
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.lstm = nn.LSTM(4, 5, num_layers=2)
                self.gru = nn.GRU(5, 3, batch_first=True)
            def forward(self, x):
                return self.gru(self.lstm(x)[0])
        """
    traced = written(text, inputs=inputs).trace({})
    assert [name for name in names(traced) if not name.startswith("zeros")] == ["lstm.input", "gru.input"]
    output, last = (traced.values[result.value] for result in traced.results)
    assert (output.shape, output.contiguous, last.shape) == ((100000, 64, 3), False, (1, 100000, 3))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x * x.sum().item()", "aten.item.default: a tensor's value is read"),
        ("x if x.sum() > 0 else -x", "aten.is_nonzero.default: a tensor's value is read"),
        ("x[x > 0.5]", "aten.index.Tensor: a tensor's value is read: NotImplementedError"),
        ("x * x[0].tolist()[0]", "aten.to.dtype_layout: a tensor's value is read: "),
        ("x.numpy()", "a tensor's value is read: TypeError"),
        ("x * (1 + 2j)", "aten.mul.Tensor: an argument of type complex is not understood"),
        ("nn.functional.rrelu(x, training=True)", "aten.rrelu.default: the random draw inside aten::rrelu_with_noise"),
        ("torch.vmap(torch.sum)(x)", "aten.sum.default: a tensor without memory of its own"),
        ("x @ x", "RuntimeError: "),
    ],
)
def test_what_is_refused_names_the_line(written, line, message):
    with pytest.raises((Refused, UserError)) as caught:
        written(f"def fn(x):\n    return {line}\n").trace({})
    assert str(caught.value).startswith(f"prog.py:4: {message}")


def test_a_refusal_that_the_program_swallows(written):
    session = written("""
        def fn(x):
            try:
                return x * x.sum().item()
            except Exception:
                return x
        """)
    with pytest.raises(Refused, match=r"^prog\.py:6: aten\.item\.default: "):
        session.trace({})


def test_autocast_is_refused(written):
    session = written("""
        def fn(x):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return x.relu()
        """)
    with pytest.raises(Refused, match=r"^prog\.py:6: aten\.relu\.default: it is called under torch\.autocast"):
        session.trace({})


def test_too_many_operators(written, monkeypatch):
    monkeypatch.setattr(recorder, "_MOST_OPERATORS", 50)
    session = written("""
        def fn(x):
            for _ in range(STEPS):
                x = x + 1
            return x
        STEPS = 50
        """)
    assert len(session.trace({}).operators) == 50
    with pytest.raises(Refused, match=r"^prog\.py:6: aten\.add\.Tensor: more than 50 operators are called"):
        session.trace({"const.STEPS": 51})


def test_a_recording_as_json(program):
    for name, mode in (("noisy", "train"), ("counting", "eval"), ("outputs", "eval"), ("quantised", "eval")):
        traced = program(name, mode=mode).trace({})
        assert traced_from_plain(json.loads(json.dumps(traced_to_plain(traced)))) == traced


def test_in_a_process_of_its_own(tmp_path):
    """Nothing that is slow to import is asked for while recording."""
    path = tmp_path / "prog.py"
    path.write_text(
        "import sys\nimport torch\nSTEPS = 3\n"
        "def fn(x):\n    for _ in range(STEPS):\n        x = torch.nn.functional.gelu(x @ x.T) @ x\n"
        '    kinds = {type(sys.modules.get(name)).__name__ for name in ("sym" "py", "torch._dyn" "amo")}\n'
        '    return {"x": x, "kinds": ",".join(kinds)}\n'
        "def get_inputs():\n    return [torch.rand(100000, 50000)]\n"
    )
    with open_reference(path) as reference:
        one_step = ["numpy_T.default", "matmul.default", "gelu.default", "matmul.default"]
        assert names(reference.trace({"const.STEPS": 1})) == one_step
        traced = reference.trace({})
        assert traced.results == (Result("x", traced.operators[-1].results[0]), Result("kinds", None, "_StandIn"))
        assert traced.bindings == reference.describe().bindings
        path.write_text(path.read_text().replace("return {", "return {'v': x.sum().item(), "))
    with (
        open_reference(path) as reference,
        pytest.raises(ReferenceFailed, match=r"^prog\.py:8: aten\.item\.default: a tensor's value is read"),
    ):
        reference.trace({})
