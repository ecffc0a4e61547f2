"""The description of a program at its full size, and the small sizes that are found for it."""

from math import gcd

import numpy as np
import pytest
from solar_agent.ir.bindings import TensorType
from solar_agent.verifier.codec import bindings_from_plain, bindings_to_plain, description_from_json
from solar_agent.verifier.types import BadInput, Description
from solar_agent.verifier.worker.faults import Refused, UserError
from solar_agent.verifier.worker.source import find_spots, local_sources, sources_sha256


def shapes(types):
    return {name: item.shape for name, item in types.items()}


def test_full_size_without_memory(program):
    done, file = program("huge").describe()
    assert (file.entry, file.kind, done.signature) == ("Model", "module", "forward(x)")
    assert shapes(done.bindings.inputs) == {"x": (32768, 32768)}
    assert shapes(done.bindings.state) == {"matrix": (32768, 32768)}
    assert [(leaf.path, leaf.shape, leaf.dtype, leaf.value) for leaf in done.leaves] == [
        ("", (32768, 32768), "f32", None)
    ]
    assert done.bindings.attrs["arg.size"] == done.bindings.attrs["const.size"] == 32768
    assert (done.domains["x"].factory, done.domains["x"].low, done.domains["x"].high) == ("rand", 0.0, 1.0)
    assert done.warnings == ()


def test_attributes(program):
    attrs = program("attention").describe()[0].bindings.attrs
    assert attrs["arg.width"] == 384 and attrs["arg.eps"] == 1e-5 and attrs["const.heads"] == 6
    assert attrs["self.heads"] == 6 and attrs["self.project.in_features"] == 384
    assert attrs["self.norm.eps"] == 1e-5 and attrs["self.norm.normalized_shape"] == (384,)
    assert attrs["self.norm.normalized_shape.0"] == 384 and attrs["self.norm.elementwise_affine"] is True
    assert attrs["arg.scale"] is None
    grow = program("transposed").describe()[0].bindings.attrs
    assert grow["self.grow.stride"] == (2, 2) and grow["self.grow.stride.1"] == 2
    assert grow["self.grow.bias"] is None and grow["self.grow.padding_mode"] == "zeros"
    assert not any("_parameters" in path or "hook" in path for path in (*attrs, *grow))


def test_draws_and_literals_at_full_size(program):
    recurrent = program("recurrent").describe()[0]
    assert recurrent.bindings.draws == (TensorType((4, 64, 160), "f32"),)
    assert [leaf.shape for leaf in recurrent.leaves] == [(64, 300, 8), (4, 64, 4), (4, 64, 160)]
    training = program("noisy", mode="train").describe()[0]
    assert training.bindings.draws == (TensorType((50, 30), "f32"), TensorType((50, 1), "f32"))
    choices = program("choices", entry="Second").describe()[0]
    assert choices.bindings.state["made.0"] == TensorType((2,), "f32")
    assert shapes(choices.bindings.inputs) == {"x": (64, 2)}


def test_types_and_result_tree_at_full_size(program):
    leaves = program("integers").describe()[0].leaves
    assert {leaf.path: leaf.dtype for leaf in leaves} == {
        "floor": "i32", "trunc": "i32", "mod": "i32", "half": "f32", "count": "i64", "wrap": "i8",
    }  # fmt: skip
    rows = program("outputs").describe()[0].leaves[-1]
    assert (rows.path, rows.shape, rows.value) == ("rows", None, 30)
    assert program("quantised").describe()[0].bindings.inputs["x"] == TensorType((32, 128), "e4m3")


def test_strides_and_ties_at_full_size(program):
    inputs = program("strided").describe()[0].bindings.inputs
    assert inputs["a"].strides == (0, 0, 1) and inputs["y"].strides == (1, 128)
    assert inputs["z"].storage == inputs["tail"].storage is not None
    state = program("tied").describe()[0].bindings.state
    assert state["table.weight"].storage == state["last.weight"].storage is not None


def test_a_branch_on_data_leaves_the_shapes_open(program):
    done, _ = program("branching").describe()
    assert done.leaves is None
    assert done.warnings[0].startswith("the shapes of the results at full size are not known: branching.py:14: ")
    assert shapes(done.bindings.inputs) == {"x": (400, 16)}
    assert len(program("branching").assignments()) == 3


def test_constructor_that_reads_values(program, tmp_path):
    path = tmp_path / "reads.py"
    path.write_text(
        "import torch\n"
        "from torch import nn\n"
        "class Model(nn.Module):\n"
        "    def __init__(self, n):\n"
        "        super().__init__()\n"
        "        self.rates = [x.item() for x in torch.linspace(0, 1, 3)]\n"
        "        self.mix = torch.randn(n, n)\n"
        "        self.last = nn.Linear(n, n)\n"
        "    def forward(self, x):\n"
        "        return self.last(x @ self.mix) * self.rates[1]\n"
        "def get_inputs():\n"
        "    return [torch.randn(7000, 3000)]\n"
        "def get_init_inputs():\n"
        "    return [3000]\n"
    )
    done, _ = program(path).describe()
    assert done.bindings.attrs["self.rates"] == (0.0, 0.5, 1.0)
    assert shapes(done.bindings.state) == {"mix": (3000, 3000), "last.weight": (3000, 3000), "last.bias": (3000,)}
    assert done.leaves[0].shape == (7000, 3000)


# -- entries -------------------------------------------------------------------------------------------------------


def test_entries(program):
    assert program("bare", inputs=(("x", "f32", (9, 4)), ("ids", "i64", (5,)))).describe()[1].entry == "fn"
    session = program("choices", entry="First")
    assert session.describe()[1].entry == "First"
    trial = session.trial({}, 0, "normal", "promoted")
    assert np.allclose(trial.leaves[0].value, trial.inputs["x"] + 4)  # from the file beside it
    assert list(session.sources) == ["choices.py", "choices_sizes.py"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import torch\n\ndef fn(x) return x\n", r"^case\.py:3: SyntaxError: "),
        ("import torch\nimport nosuchlibrary\n", r"^case\.py:2: cannot import nosuchlibrary: "),
        ("import torch\nx = 1 / 0\ndef fn(x): return x\n", r"^case\.py:2: ZeroDivisionError: division by zero"),
        ("x = 3\n", r"^case\.py has no Model, .* it offers nothing, no module and no function$"),
        ("import jax\ndef fn(x): return x\n", r"^case\.py is a JAX program; "),
        ("import torch\ndef fn(x): return x\n", r'^case\.py has no get_inputs .* "x=f32\[8,128\]"$'),
        (
            "import torch\ndef fn(x): return x\ndef get_inputs(): return [torch.ones(2), torch.ones(2)]\n",
            r"^the inputs \(get_inputs or --inputs\) do not fit the signature \(x\): too many positional arguments$",
        ),
    ],
)
def test_unusable_files(program, tmp_path, text, message):
    path = tmp_path / "case.py"
    path.write_text(text)
    with pytest.raises((Refused, UserError), match=message) as caught:
        program(path).describe()
    assert caught.value.kind == "bad_input" and "\n" not in str(caught.value)


def test_candidates_are_listed(program):
    with pytest.raises(Refused, match=r"it offers First, Second$"):
        program("choices").describe()
    with pytest.raises(Refused, match=r'has no "Third"; it offers First, Second$'):
        program("choices", entry="Third").describe()


# -- sizes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["transposed", "products", "recurrent", "quantised", "tied", "logs", "outputs", "strided", "huge", "attention",
     "rounding", "normalised", "integers", "scattered", "noisy"],
)  # fmt: skip
def test_small_sizes(program, name):
    session = program(name)
    found = session.assignments()
    assert len(found) >= 3
    assert any(assignment.batch_one for assignment in found) or name == "scattered"  # its indices reach up to 3
    full = session.describe()[0].bindings.inputs
    assert len({tuple(assignment.inputs.items()) for assignment in found}) == len(found)
    for index, assignment in enumerate(found):
        assert set(assignment.inputs) == set(full)
        trial = session.trial(assignment.changes, index, "normal", "promoted")
        assert shapes(trial.bindings.inputs) == dict(assignment.inputs)
        assert sum(array.size for array in (*trial.inputs.values(), *trial.state.values())) < 1 << 20


def test_constraints_are_kept(program):
    for assignment in program("attention").assignments():
        sizes = {"const.heads": 6, **assignment.changes}
        assert sizes["const.width"] % sizes["const.heads"] == 0
        assert sizes["const.length"] <= sizes["const.longest"] < 1024
    for assignment in program("transposed").assignments():
        assert assignment.inputs["x" if "x" in assignment.inputs else "image"][1] % 4 == 0


def test_independent_sizes_get_values_of_their_own(program):
    for assignment in program("recurrent").assignments():
        batch, steps, width = assignment.inputs["x"]
        extents = (steps, width, assignment.changes["const.hidden"])
        assert len({batch, *extents}) == 4
        assert all(gcd(a, b) == 1 for a, b in zip(extents, extents[1:], strict=False))
    sizes = {assignment.inputs["x"] for assignment in program("huge").assignments()}
    assert all(rows != columns for rows, columns in sizes)  # 32768 twice in the source


def test_what_stays_is_told(program):
    for assignment in program("normalised").assignments():
        assert "const.batch" not in assignment.not_varied
    kept = program("tied").assignments()[0].not_varied
    assert kept == ()
    assert program("attention").assignments()[0].not_varied == ()


POOLED = """
import torch
from torch import nn
batch, channels, length = 64, 192, 4096
kernel_size, stride, padding, dilation, dim, power = 8, 1, 4, 3, 1, 2
class Model(nn.Module):
    def __init__(self, kernel_size, stride, padding, dilation, dim, power):
        super().__init__()
        self.pool = nn.MaxPool1d(kernel_size, stride, padding, dilation)
        self.narrow = nn.AvgPool1d(2)
        self.softmax = nn.Softmax(1)
        self.gates = nn.Parameter(torch.randn(3, 1))
        self.dim, self.power = dim, power
    def forward(self, x):
        x = self.softmax(self.narrow(self.pool(x))) * self.gates[0]
        return (x ** self.power).mean(self.dim)
def get_inputs():
    return [torch.rand(batch, channels, length)]
def get_init_inputs():
    return [kernel_size, stride, padding, dilation, dim, power]
"""


def test_small_sizes_vary_and_what_selects_stays(program, tmp_path):
    path = tmp_path / "pooled.py"
    path.write_text(POOLED)
    found = program(path).assignments()
    assert set(found[0].not_varied) == {"const.dim", "const.power"}
    changed = {label for assignment in found for label in assignment.changes}
    assert not [label for label in changed if label.startswith("Model.__init__")]
    assert found == program(path).assignments()


WINDOWED = """
import torch
from torch import nn
batch, image, window, width = 16, 112, 7, 96
class Model(nn.Module):
    def __init__(self, image, window, width):
        super().__init__()
        assert image // window >= 16 and image % (16 * window) == 0
        self.window = window
        self.weight = nn.Parameter(torch.randn(width))
    def forward(self, x):
        b, h, c = x.shape
        return x.view(b, h // self.window, self.window, c).sum(2) * self.weight
def get_inputs():
    return [torch.rand(batch, image, width)]
def get_init_inputs():
    return [image, window, width]
"""


def test_a_window_and_its_multiples_shrink_in_one_ratio(program, tmp_path):
    path = tmp_path / "windowed.py"
    path.write_text(WINDOWED)
    found = program(path).assignments()
    assert found[0].inputs["x"][1] < 112
    assert all(assignment.changes["const.window"] < 7 for assignment in found)


def test_equal_sizes_that_only_move_together_stay_equal(program, tmp_path):
    path = tmp_path / "square.py"
    path.write_text(
        "import torch\n"
        "size = 4096\n"
        "rows = 4096\n"
        "def fn(x, y):\n"
        "    return x * y\n"
        "def get_inputs():\n"
        "    return [torch.rand(rows, size), torch.rand(rows)]\n"
    )
    found = program(path).assignments()
    assert len(found) == 3
    assert all(shape["x"][0] == shape["x"][1] == shape["y"][0] for shape in (a.inputs for a in found))


def test_no_input_gets_one_row_to_be_broadcast(program, tmp_path):
    path = tmp_path / "two.py"
    path.write_text(
        "import torch\n"
        "def fn(x, k):\n"
        "    return torch.where(k > 2, x + 1, x)\n"
        "def get_inputs():\n"
        "    return [torch.randn(64, 4096), torch.randint(0, 9, (64, 4096))]\n"
    )
    found = program(path).assignments()
    assert len(found) >= 3
    assert all(assignment.inputs["x"] == assignment.inputs["k"] for assignment in found)


# -- source and JSON -----------------------------------------------------------------------------------------------


def test_literals():
    import ast

    text = (
        "a, b = 3, 2**10\n"
        "shape = (a, 64)\n"
        "names = ['x']\n"
        "wide = [128] * 4\n"
        "flag = True\n"
        "rate = 0.5\n"
        "double = a * 2\n"
        "class Model:\n"
        "    def __init__(self, depth=12, parts=(7, 9)): self.inner = Linear(33)\n"
        "def get_inputs():\n"
        "    return [rand(a, 20), rand(5).sum(dim=1), tensor([77])]\n"
    )
    spots = {spot.label: (spot.value, spot.where) for spot in find_spots(ast.parse(text), "Model")}
    assert spots == {
        "const.a": (3, "const"),
        "const.b": (1024, "const"),
        "const.shape.1": (64, "const"),
        "const.wide.0": (128, "const"),
        "const.wide.len": (4, "const"),
        "arg.depth": (12, "default"),
        "arg.parts.0": (7, "default"),
        "arg.parts.1": (9, "default"),
        "get_inputs.return.0(1)": (20, "inputs"),
        "get_inputs.return.1(0)": (5, "inputs"),
        "Model.__init__.inner(0)": (33, "body"),
    }


def test_hash_of_the_source_closure(tmp_path):
    path = tmp_path / "top.py"
    (tmp_path / "other.py").write_text("N = 3\n")

    def digest(text):
        return sources_sha256(local_sources(path, text))

    first = digest("import other\nx = 1\n")
    assert digest("import other  # why\n\nx = 1\n") == first
    assert digest("import other\nx = 2\n") != first
    (tmp_path / "other.py").write_text("N = 4\n")
    assert digest("import other\nx = 1\n") != first


def test_description_as_json(program):
    done, file = program("strided").describe()
    whole = Description(
        path=str(file.path), entry=file.entry, kind=file.kind, framework="torch", framework_version="2", mode="eval",
        source=file.text, sources={"strided.py": file.text}, source_sha256="0", signature=done.signature,
        default_dtype="f32", bindings=done.bindings, domains=done.domains, leaves=done.leaves, warnings=("w",),
    )  # fmt: skip
    assert Description.from_json(whole.to_json()) == whole
    for damaged in ("[]", "{}", whole.to_json().replace('"bindings"', '"other"'), "nonsense"):
        with pytest.raises(ValueError):
            description_from_json(damaged)


def test_attributes_survive_json(program):
    bindings = program("attention").describe()[0].bindings
    assert bindings_from_plain(bindings_to_plain(bindings)) == bindings


def test_inputs_option():
    from solar_agent.verifier.reference import parse_inputs

    assert parse_inputs("x=f32[8,128], ids=i64[4]") == (("x", "f32", (8, 128)), ("ids", "i64", (4,)))
    assert parse_inputs("scale = bf16[]") == (("scale", "bf16", ()),)
    for wrong in ("x", "x=f33[8]", "x=f32[8,n]", "x=f32[8] y=f32[8]"):
        with pytest.raises(BadInput, match=r"^--inputs: "):
            parse_inputs(wrong)
