"""What a trial hands over: inputs, state, draws and results that belong together, checked against NumPy."""

import numpy as np
import pytest
from solar_agent.verifier.types import DISTRIBUTIONS
from solar_agent.verifier.worker.faults import Refused, UserError

SMALL = {"recurrent": {"const.batch": 3, "const.steps": 4, "const.width": 5, "const.hidden": 7}}


def run(session, distribution="normal", precision="promoted", seed=3, changes=None):
    return session.trial(changes or {}, seed, distribution, precision)


def results(trial):
    return {leaf.path: leaf.value for leaf in trial.leaves if leaf.kind == "result"}


def close(actual, expected):
    return np.shape(actual) == np.shape(expected) and np.allclose(actual, expected, rtol=1e-12, atol=1e-12)


def test_function_without_modules(program):
    trial = run(program("products"))
    a, b, u, p, m, q = (trial.inputs[name] for name in "abupmq")
    found = results(trial)
    assert close(found["0"], a @ b)
    assert close(found["1"], u @ u)
    assert close(found["2"], np.einsum("bi,ij,bj->b", p, m, q))
    assert [leaf.shape for leaf in trial.leaves] == [(5, 4, 3, 2), (), (6,)]
    assert trial.state == {}


def test_recurrent_draws_are_handed_over(program):
    session = program("recurrent")
    trial = run(session, changes=SMALL["recurrent"])
    assert trial.bindings.inputs["x"].shape == (3, 4, 5)
    assert [draw.shape for draw in trial.bindings.draws] == [(4, 3, 7)]
    assert [array.shape for array in trial.draws] == [(4, 3, 7)]
    assert trial.bindings.attrs["arg.c0"] is None
    again = run(session, precision="native", changes=SMALL["recurrent"])
    for name, leaf in results(trial).items():
        assert np.allclose(leaf, results(again)[name], atol=1e-5)
        assert not np.array_equal(leaf, results(again)[name])


def test_eight_bit_storage(program):
    session = program("quantised")
    trial, native = run(session), run(session, precision="native")
    assert trial.bindings.inputs["x"].dtype == "e4m3"
    assert trial.bindings.state["packed"].dtype == "e4m3"
    assert [leaf.dtype for leaf in trial.leaves] == ["f32"]
    x, packed, scale = trial.inputs["x"], trial.state["packed"], trial.state["scale"]
    assert x.dtype == packed.dtype == np.float64
    assert close(results(trial)[""], (x @ packed.T) * scale)  # promoted: the rounding to bf16 is off
    assert np.array_equal(x, native.inputs["x"]) and np.array_equal(packed, native.state["packed"])
    error = np.abs(results(native)[""] - results(trial)[""]).max() / np.abs(results(trial)[""]).max()
    assert 2**-12 < error < 2**-6  # native: one rounding to 8 bits of mantissa


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_integers_keep_their_types_and_range(program, distribution):
    trial = run(program("integers"), distribution)
    x, keep, found = trial.inputs["x"], trial.inputs["keep"], results(trial)
    assert x.dtype == np.int32 and keep.dtype == np.bool_
    if distribution not in ("normal", "large"):  # those two go past the limits of narrower types
        assert x.min() >= -128 and x.max() <= 100
    assert np.array_equal(found["floor"], x // 3) and found["floor"].dtype == np.int32
    assert np.array_equal(found["trunc"], np.trunc(x / 3).astype(np.int32))
    assert np.array_equal(found["mod"], x % -4)
    assert close(found["half"], x / 2)
    assert np.array_equal(found["count"], (keep & (x > 0)).sum(-1)) and found["count"].dtype == np.int64
    assert np.array_equal(found["wrap"], x.astype(np.int8) * np.int8(2)) and found["wrap"].dtype == np.int8
    assert {leaf.path: leaf.dtype for leaf in trial.leaves}["half"] == "f32"


def test_tied_weights_are_one_storage(program):
    trial = run(program("tied"), changes={"const.words": 11})
    table, last = trial.bindings.state["table.weight"], trial.bindings.state["last.weight"]
    assert table.storage is not None and table.storage == last.storage
    assert trial.state["table.weight"] is trial.state["last.weight"]
    table = trial.state["table.weight"]
    assert close(results(trial)[""], table[trial.inputs["ids"]] @ table.T)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_indices_stay_in_range(program, distribution):
    trial = run(program("tied"), distribution, changes={"const.words": 11})
    assert trial.inputs["ids"].min() >= 0 and trial.inputs["ids"].max() < 11
    scattered = run(program("scattered"), distribution)
    assert set(scattered.inputs["index"].tolist()) <= {1, 2, 3}
    assert close(
        results(scattered)["1"],
        scattered.inputs["base"] + np.bincount(scattered.inputs["index"], minlength=5),
    )


def test_inputs_leave_their_range_only_where_results_stay_finite(program):
    kept = run(program("logs"), "negative")
    assert kept.inputs["x"].min() >= 0
    assert kept.warnings == ("inputs are kept to the range that get_inputs uses",)
    free = run(program("attention"), "negative", changes={"const.longest": 5, "const.length": 4, "const.width": 6})
    assert free.inputs["x"].max() < 0 and free.warnings == ()


def test_result_tree(program):
    trial = run(program("outputs"))
    x, found = trial.inputs["x"], results(trial)
    assert list(found) == ["loss", "heads.0", "heads.1.0", "rows"]
    assert close(found["loss"], x.var(-1).mean())
    assert close(found["heads.1.0"], x.mean(-1))
    rows = trial.leaves[-1]
    assert (rows.shape, rows.dtype, rows.value) == (None, "i64", 30)


def test_draws_of_a_training_run(program):
    trial = run(program("noisy", mode="train"))
    mask, noise = trial.draws
    assert set(np.unique(mask)) == {0.0, 1.0} and noise.shape == (50, 1)
    product = trial.inputs["x"] @ trial.state["mix.weight"].T
    assert close(results(trial)[""], product * mask / 0.75 + 0.01 * noise)
    assert [draw.shape for draw in run(program("noisy")).bindings.draws] == [(50, 1)]


def test_draws_of_python_and_numpy(program, tmp_path):
    path = tmp_path / "dice.py"
    path.write_text(
        "import random\n"
        "from random import randint\n"
        "import numpy as np\n"
        "import torch\n"
        "def fn(x):\n"
        "    return x * random.random() + torch.from_numpy(np.random.randn(3)).float() * randint(1, 9)\n"
        "def get_inputs():\n"
        "    return [torch.randn(3)]\n"
    )
    session = program(path)
    for precision in ("promoted", "native"):
        trial = run(session, precision=precision)
        share, noise, count = trial.draws
        assert [(draw.shape, draw.dtype) for draw in trial.bindings.draws] == [((), "f64"), ((3,), "f64"), ((), "i64")]
        assert np.allclose(results(trial)[""], trial.inputs["x"] * share + noise * count, atol=1e-5)
    assert session.describe()[0].bindings.draws == trial.bindings.draws


def test_default_type_of_the_file(program, tmp_path):
    path = tmp_path / "brief.py"
    path.write_text(
        "import torch\n"
        "torch.set_default_dtype(torch.bfloat16)\n"
        "def fn(x, power=2):\n"
        "    assert x.type() == 'torch.BFloat16Tensor'\n"
        "    return x + torch.ones(3) / 3\n"
        "def get_inputs():\n"
        "    return [torch.randn(3)]\n"
    )
    session = program(path)
    trial, native = run(session), run(session, precision="native")
    assert session.default_dtype == "bf16" and trial.bindings.inputs["x"].dtype == "bf16"
    assert trial.bindings.attrs["arg.power"] == 2
    assert close(results(trial)[""], trial.inputs["x"] + 1 / 3)
    assert 0 < np.abs(results(native)[""] - results(trial)[""]).max() < 2**-5
    assert trial.leaves[0].dtype == "bf16"
    assert run(program("loose")).leaves[0].dtype == "f32"


def test_state_outside_state_dict(program):
    trial = run(program("loose"))
    state, attrs = trial.state, trial.bindings.attrs
    assert set(state) == {"mix", "tower.0.weight", "tower.0.bias", "place", "const.SHIFT"}
    hidden = trial.inputs["x"] @ state["mix"] + state["place"]
    expected = (hidden @ state["tower.0.weight"].T + state["tower.0.bias"]) * attrs["self.gain"] + state["const.SHIFT"]
    assert close(results(trial)[""], expected)
    assert attrs["self.tower.0.in_features"] == 6
    assert np.allclose(state["const.SHIFT"], np.linspace(-1, 1, 6))  # neither drawn nor constant: kept
    assert trial.kept_state == ("const.SHIFT",)


def test_strides_and_shared_memory_of_inputs(program):
    trial = run(program("strided"))
    a, y, z, tail = (trial.bindings.inputs[name] for name in ("a", "y", "z", "tail"))
    assert (a.shape, a.strides) == ((32, 128, 64), (0, 0, 1))
    assert (y.shape, y.strides) == ((128, 64), (1, 128))
    assert (z.strides, z.offset, z.storage) == ((130, 2), 1, tail.storage) and tail.offset == 100
    assert np.array_equal(trial.inputs["z"][:, 50], trial.inputs["tail"][:, 1])
    assert np.ptp(trial.inputs["a"], axis=(0, 1)).max() == 0
    found = results(trial)
    assert close(found["0"], (trial.inputs["a"] * trial.inputs["y"]).sum(1))
    assert close(found["1"], (trial.inputs["z"] ** 2).sum(-1) + trial.inputs["tail"][0, 0])


def test_promotion_and_type_questions(program):
    trial, native = run(program("rounding")), run(program("rounding"), precision="native")
    x, weight = trial.inputs["x"], trial.state["weight"]
    assert close(results(trial)["0"], x @ weight / 3)
    assert not np.allclose(results(native)["0"], x @ weight / 3, rtol=1e-4)
    assert np.array_equal(results(trial)["1"], [-65504, -65504])  # the answer for f16, not for float64
    assert close(results(trial)["2"], x) and np.array_equal(results(native)["2"], x.astype(np.float16))
    assert [leaf.dtype for leaf in trial.leaves] == ["f32", "f16", "f16"]


@pytest.mark.parametrize("precision", ["promoted", "native"])
def test_changed_state_and_arguments_are_results(program, precision):
    session = program("counting")
    for _ in range(2):  # the second trial starts afresh
        trial = run(session, precision=precision)
        found = {(leaf.kind, leaf.path): leaf.value for leaf in trial.leaves}
        x, seen = trial.inputs["x"], trial.state["seen"]
        assert set(found) == {("result", ""), ("state", "seen"), ("state", "last"), ("input", "x")}
        assert np.allclose(found["state", "seen"], seen + x.sum(0), atol=1e-4)
        assert np.allclose(found["state", "last"], x[-1]) and np.allclose(found["input", "x"], 2 * x)
        assert np.allclose(found["result", ""], 2 * x + seen + x.sum(0), atol=1e-4)


def test_randomised_state(program):
    changes = {"get_inputs.return.0(0)": 3, "get_inputs.return.0(2)": 5, "get_inputs.return.0(3)": 7}
    trial = run(program("normalised"), changes=changes)
    state = trial.state
    for name in ("norm.weight", "norm.running_var"):
        assert state[name].min() > 0 and np.ptp(state[name]) > 0.1
    for name in ("norm.bias", "norm.running_mean"):
        assert state[name].min() < 0 < state[name].max()
    assert np.array_equal(state["ramp"].ravel(), np.arange(32))  # a table: kept
    assert np.all(state["root"] == 0)  # negative values make the square root NaN: kept and reported
    assert set(trial.kept_state) == {"ramp", "root"}
    assert state["norm.num_batches_tracked"].dtype == np.int64
    other = run(program("normalised"), seed=4, changes=changes)
    assert not np.array_equal(other.state["norm.weight"], state["norm.weight"])


def test_ties_are_small_whole_numbers(program):
    trial = run(program("noisy"), "ties")
    near_literals = {number + step for number in (0.25, 20, 30, 1) for step in (-0.25, 0, 0.25)}  # noisy.py has these
    assert set(np.unique(trial.inputs["x"])) <= set(range(-2, 4)) | near_literals
    assert set(np.unique(trial.state["mix.weight"])) <= set(range(-2, 3))


def test_sensitivity(program):
    leaf = run(program("logs"), "uniform").leaves[0]
    assert 0 < leaf.change < 1e-13 and leaf.flipped == 0
    assert run(program("logs"), "uniform", precision="native").leaves[0].change == 0
    assert all(leaf.change == 0 and leaf.flipped == 0 for leaf in run(program("integers")).leaves)


def test_trials_repeat_from_their_seed(program):
    one, two = (run(program("noisy"), seed=5) for _ in range(2))
    assert all(np.array_equal(one.inputs[name], two.inputs[name]) for name in one.inputs)
    assert all(np.array_equal(one.state[name], two.state[name]) for name in one.state)
    assert np.array_equal(results(one)[""], results(two)[""])
    assert not np.array_equal(results(one)[""], results(run(program("noisy"), seed=6))[""])


def test_a_bit_view_has_native_runs_only(program, tmp_path):
    path = tmp_path / "bits.py"
    path.write_text(
        "import torch\n"
        "def fn(x):\n"
        "    return x.view(torch.int32) >> 23\n"
        "def get_inputs():\n"
        "    return [torch.randn(4)]\n"
    )
    session = program(path)
    with pytest.raises(Refused, match=r"bits of a float") as caught:
        run(session)
    assert caught.value.kind == "not_promotable"
    native = run(session, precision="native")
    assert np.array_equal(results(native)[""], native.inputs["x"].astype(np.float32).view(np.int32) >> 23)


def test_eps_that_is_left_to_the_type_is_that_of_the_original(program, tmp_path):
    path = tmp_path / "roots.py"
    path.write_text(
        "import torch\n"
        "import torch.nn.functional as F\n"
        "def fn(x):\n"
        "    return F.rms_norm(x * 1e-4, (4,)), F.rms_norm(x, (4,), eps=0.5)\n"
        "def get_inputs():\n"
        "    return [torch.randn(3, 4)]\n"
    )
    trial = run(program(path))
    x = trial.inputs["x"]
    squares = (x**2).mean(-1, keepdims=True)
    assert close(results(trial)["0"], x / np.sqrt(squares + np.finfo(np.float32).eps * 1e8))
    assert close(results(trial)["1"], x / np.sqrt(squares + 0.5))


def test_an_exception_of_the_program_names_its_line(program, tmp_path):
    path = tmp_path / "wrong.py"
    path.write_text(
        "import torch\n"
        "def fn(x):\n"
        "    return x @ x\n"
        "def get_inputs():\n"
        "    return [torch.randn(4, 3)]\n"
    )
    with pytest.raises(UserError, match=r"^wrong\.py:3: RuntimeError: mat1 and mat2 .*\(while running forward\(\)\)$"):
        run(program(path))
