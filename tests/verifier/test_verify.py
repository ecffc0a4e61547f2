"""Verification of texts against originals that are NumPy functions, so that no child process is needed."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from solar_agent.ir.bindings import Bindings, TensorType
from solar_agent.verifier.types import Assignment, Description, Domain, Leaf, NotPromotable, ReferenceFailed, Trial
from solar_agent.verifier.verify import recheck, verify

SIZES = ({"B": 2, "K": 5, "O": 3}, {"B": 1, "K": 7, "O": 11}, {"B": 3, "K": 2, "O": 5})
FULL = {"B": 64, "K": 512, "O": 256}


@dataclass
class Original:
    """`function(inputs, state)` gives {path: array or number}; shapes are given by size names."""

    function: object
    inputs: dict
    state: dict = field(default_factory=dict)
    types: dict = field(default_factory=dict)
    out_types: dict = field(default_factory=dict)
    mutated: tuple = ()
    attrs: object = None
    fail_on: tuple = ()
    full: dict = field(default_factory=lambda: dict(FULL))
    trials: list = field(default_factory=list)
    warnings: tuple = ()
    known: dict = field(default_factory=dict)

    def bindings(self, sizes):
        def tensor(name, axes):
            return TensorType(tuple(sizes[axis] for axis in axes), self.types.get(name, "f32"))

        return Bindings(
            {name: tensor(name, axes) for name, axes in self.inputs.items()},
            {name: tensor(name, axes) for name, axes in self.state.items()},
            attrs=dict(self.attrs(sizes) if self.attrs else {}),
        )

    def assignments(self):
        return tuple(
            Assignment(f"sizes {n}", sizes, {k: tuple(sizes[a] for a in v) for k, v in self.inputs.items()}, n == 1)
            for n, sizes in enumerate(SIZES)
        )

    def leaves(self, inputs, state):
        out = []
        for path, value in self.function(inputs, state).items():
            kind = "state" if path in self.mutated else "result"
            if isinstance(value, np.ndarray | np.generic):
                value = np.asarray(value)
                default = {"f": "f32", "i": "i64", "b": "bool"}[value.dtype.kind]
                out.append(Leaf(kind, path, self.out_types.get(path, default), value.shape, value))
            else:
                out.append(Leaf(kind, path, "i64", None, value))
        return tuple(out)

    def describe(self):
        rng = np.random.default_rng(0)
        small = SIZES[0]
        shapes = {}
        drawn = [self.draw(group, small, rng, "normal") for group in (self.inputs, self.state)]
        for leaf in self.leaves(*drawn):
            grown = leaf.shape and tuple({v: self.full[k] for k, v in small.items()}.get(n, n) for n in leaf.shape)
            shapes[leaf.path] = replace(leaf, shape=grown, value=leaf.value if leaf.shape is None else None)
        domains = {name: Domain("randint", 0, 6) for name in self.inputs if self.types.get(name) == "i64"}
        return Description(
            "original.py", "Model", "module", "torch", "2.13.0", "eval", "", {}, "s" * 64, "forward(x)", "f32",
            self.bindings(self.full), domains, tuple(shapes.values()),
        )  # fmt: skip

    def draw(self, specs, sizes, rng, distribution):
        return {name: self.array(name, [sizes[a] for a in axes], rng, distribution) for name, axes in specs.items()}

    def array(self, name, shape, rng, distribution):
        if self.types.get(name) == "i64":
            return rng.integers(0, 7, shape)
        match distribution:
            case "ties":
                return rng.integers(-2, 3, shape).astype(float)
            case "negative":
                return -rng.random(shape) - 0.1
            case "positive" | "uniform":
                return rng.random(shape) + 0.1
            case "large":
                return rng.normal(size=shape) * 1e3
            case "tiny":
                return rng.normal(size=shape) * 1e-3
            case _:
                return rng.normal(size=shape)

    def trial(self, assignment, seed, distribution, precision):
        if distribution in self.fail_on:
            raise ReferenceFailed(f"no {distribution} values")
        self.trials.append((assignment.label, seed, distribution, precision))
        rng = np.random.default_rng(seed)
        inputs = self.draw(self.inputs, assignment.changes, rng, distribution)
        state = self.draw(self.state, assignment.changes, rng, distribution)
        with np.errstate(all="ignore"):
            leaves = self.leaves(inputs, state)
            nudged = [{k: self.nudge(v, rng) for k, v in group.items()} for group in (inputs, state)]
            leaves = tuple(self.measured(a, b) for a, b in zip(leaves, self.leaves(*nudged), strict=True))
        bindings = self.bindings(assignment.changes)
        return Trial(assignment, seed, distribution, precision, bindings, inputs, state, (), leaves)

    def feeding(self, assignment, seed, distribution):
        raise ReferenceFailed("its values are not followed")

    def known_state(self, names):
        return {name: array for name, array in self.known.items() if name in names}

    @staticmethod
    def nudge(array, rng):
        if array.dtype.kind != "f":
            return array
        return array * (1 + 2.0**-52 * rng.choice([-1, 1], size=array.shape))

    @staticmethod
    def measured(leaf, nudged):
        if leaf.shape is None or leaf.value.dtype.kind != "f" or not leaf.value.size:
            return leaf
        finite = np.isfinite(leaf.value) & np.isfinite(nudged.value)
        top = np.abs(leaf.value[finite]).max(initial=0)
        change = np.abs(leaf.value[finite] - nudged.value[finite]).max(initial=0) / top if top else 0.0
        return replace(leaf, change=float(change), flipped=int((~finite ^ ~np.isfinite(leaf.value)).sum()))


def linear(inputs, state):
    return {"": inputs["x"] @ state["fc.weight"].T + state["fc.bias"]}


LINEAR = {"inputs": {"x": "BK"}, "state": {"fc.weight": "OK", "fc.bias": "O"}}
TEXT = """program linear
input x[B, K]
param w = "fc.weight"[O, K]
param b = "fc.bias"[O]
for n<B, o<O, k<K: z[n, o] += x[n, k] * w[o, k]
for n<B, o<O: y[n, o] = z[n, o] + b[o]
output y
"""


def original(function=linear, **more):
    return Original(function, **{**LINEAR, **more})


def test_a_right_text_is_verified():
    reference = original()
    certificate = verify(reference, TEXT)
    assert certificate.verdict == "verified", certificate.feedback()
    assert certificate.feedback() == ""
    assert not certificate.failures
    (leaf,) = certificate.leaves
    assert (leaf.status, leaf.shape, leaf.dtype, leaf.compared) == ("verified", (64, 256), "f32", 1.0)
    assert leaf.informative_trials >= 2
    assert leaf.error < 1e-12
    assert len(certificate.sizes) == 3
    assert [trial.precision for trial in certificate.trials].count("native") == 1
    assert len([trial for trial in certificate.trials if trial.precision == "promoted"]) == 9
    assert {"normal", "ties", "negative"} <= set(certificate.distributions)


def test_the_same_seed_gives_the_same_certificate():
    first, second = verify(original(), TEXT, seed=3), verify(original(), TEXT, seed=3)
    assert first == second
    assert first.hash == second.hash
    assert first.hash != verify(original(), TEXT, seed=4).hash


def test_the_number_of_trials():
    reference = original()
    verify(reference, TEXT, trials=4)
    assert [precision for *_, precision in reference.trials].count("promoted") == 4


WRONG = {
    "missing bias": (TEXT.replace(" + b[o]", ""), ['never used by the text: param "fc.bias"', "fc.bias along axis 1"]),
    "factor": (TEXT.replace("z[n, o] + b[o]", "(z[n, o] + b[o]) / K"), ["x expected everywhere (1/K"]),
    "sign": (TEXT.replace("z[n, o] + b", "z[n, o] - b"), ["line 6", "fed by the statements of lines 5"]),
    "hard-coded size": (TEXT.replace("k<K:", "k<2:"), ["arguments x[3, 2]", "depend on the sizes"]),
    "batch": (TEXT.replace("z[n, o] + b", "z[B-1-n, o] + b"), ["only at batch 1", "reversed along axis 0"]),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_values_are_explained(name):
    text, expected = WRONG[name]
    certificate = verify(original(), text)
    assert certificate.verdict == "unverified"
    assert certificate.exit_code == 20
    (failure,) = certificate.failures
    assert (failure.kind, failure.tensor, failure.statement) == ("compare", "", 6)
    message = certificate.feedback()
    for part in [*expected, "differs from the original", "arguments x[", "seed", "expected", "line 6: for n<B, o<O"]:
        assert part in message, message


def test_transposed_axes_are_named():
    def square(inputs, state):
        return {"": inputs["x"] @ inputs["x"].T @ np.diag(np.arange(1.0, len(inputs["x"]) + 1))}

    text = """program square
input x[B, K]
for a<B, b<B, k<K: y[a, b] += (a + 1) * x[a, k] * x[b, k]
output y
"""
    certificate = verify(Original(square, {"x": "BK"}), text)
    assert "axes are permuted: expected = got transposed by (1, 0)" in certificate.feedback()


def test_a_text_that_does_not_parse():
    certificate = verify(original(), TEXT.replace("for n<B, o<O, k<K:", "for n<B o<O:"))
    assert certificate.verdict == "unverified"
    assert {failure.kind for failure in certificate.failures} == {"parse"}
    assert certificate.failures[0].statement == 5
    assert "line 5" in certificate.feedback()


def test_a_text_that_does_not_load():
    certificate = verify(original(), TEXT.replace('"fc.bias"', '"fc.offset"'))
    assert certificate.verdict == "unverified"
    assert "fc.offset" in certificate.feedback()
    assert certificate.failures[0].statement == 4


def test_a_read_out_of_bounds_names_the_line():
    certificate = verify(original(), TEXT.replace("x[n, k]", "x[n, k+1]"))
    assert certificate.verdict == "unverified"
    assert certificate.failures[0].statement == 5


def test_shapes_are_checked_at_full_size():
    reference = original()
    reference.full["O"] = 257
    certificate = verify(reference, TEXT.replace("o<O: y", "o<min(O, 256): y"))
    assert certificate.verdict == "unverified"
    assert certificate.failures[0].kind == "full-size"
    assert "expected f32[64, 257], got f32[64, 256]" in certificate.feedback()


def test_a_decision_taken_only_at_full_size_is_named():
    text = TEXT.replace("for n<B, o<O: y", "if K > 100:\n    z = 2 * z\nfor n<B, o<O: y")
    certificate = verify(original(), text)
    assert certificate.verdict == "verified-in-part"
    assert certificate.exit_code == 10
    assert any("line 6" in decision for decision in certificate.untested_decisions)
    assert "line 6" in certificate.feedback()


def test_several_leaves_each_have_a_verdict_and_a_path():
    def heads(inputs, state):
        x = inputs["x"]
        return {"loss": np.asarray(x.sum()), "heads.0": x.max(1), "top": x.argmax(1), "steps": 3}

    text = """program heads
input x[B, K]
for b<B, k<K: loss[] += x[b, k]
for b<B, k<K: top[b] max= x[b, k]
for b<B, k<K: i[b] argmax= x[b, k]
output loss
output top
output i
output 3
"""
    reference = Original(heads, {"x": "BK"})
    certificate = verify(reference, text)
    assert certificate.verdict == "verified", certificate.feedback()
    assert [(leaf.path, leaf.status) for leaf in certificate.leaves] == [
        (path, "verified") for path in ("loss", "heads.0", "top", "steps")
    ]
    wrong = verify(reference, text.replace("top[b] max=", "top[b] min=").replace("output 3", "output 4"))
    assert [failure.tensor for failure in wrong.failures] == ["heads.0", "steps"]
    assert [leaf.path for leaf in wrong.leaves if leaf.status == "different"] == ["heads.0", "steps"]
    short = verify(reference, text.replace("output 3\n", ""))
    assert "4 result(s)" in short.feedback()
    assert "`output` line" in short.feedback()


def test_the_first_of_equal_values_is_told_from_the_last():
    def last(inputs, state):
        return {"": inputs["x"].shape[1] - 1 - inputs["x"][:, ::-1].argmax(1)}

    def first(inputs, state):
        return {"": inputs["x"].argmax(1)}

    text = "program p\ninput x[B, K]\nfor b<B, k<K: i[b] argmax= x[b, k]\noutput i\n"
    assert verify(Original(first, {"x": "BK"}), text).verdict == "verified"
    certificate = verify(Original(last, {"x": "BK"}), text)
    assert certificate.verdict == "unverified"
    assert "ties values" in certificate.feedback()


def test_a_constant_output_is_flagged_and_not_called_verified():
    def constant(inputs, state):
        h = inputs["x"] - inputs["x"].mean(1, keepdims=True)
        e = np.exp(inputs["x"] - inputs["x"].max(1, keepdims=True))
        return {"mean": h.mean(1), "sum": (e / e.sum(1, keepdims=True)).sum(1)}

    text = "program p\ninput x[B, K]\nfor b<B: y[b] = 0.0\nfor b<B: z[b] = 1.0\noutput y : f32\noutput z : f32\n"
    certificate = verify(Original(constant, {"x": "BK"}), text)
    assert certificate.verdict == "verified-in-part", certificate.feedback()
    assert "input-independent" in certificate.flags
    assert [(leaf.status, leaf.informative_trials) for leaf in certificate.leaves] == [("constant", 0)] * 2
    assert certificate.dead == ("x",)
    assert verify(Original(constant, {"x": "BK"}), text.replace("1.0", "0.5")).verdict == "unverified"


def test_a_leaf_that_is_hardly_finite_is_drawn_again_on_a_positive_domain():
    def log_sum(inputs, state):
        with np.errstate(all="ignore"):
            return {"": np.cumsum(np.log(inputs["x"]), axis=1)}

    text = "program p\ninput x[B, K]\nfor b<B, i<K, j<i+1: y[b, i] += log(x[b, j])\noutput y\n"
    reference = Original(log_sum, {"x": "BK"})
    certificate = verify(reference, text)
    assert certificate.verdict == "verified", certificate.feedback()
    assert "positive" in certificate.distributions
    assert certificate.leaves[0].compared < 1


def test_hiding_nan_is_noticed():
    def top(inputs, state):
        with np.errstate(all="ignore"):
            return {"": np.maximum(inputs["x"], np.log(inputs["x"]))}

    text = "program p\ninput x[B, K]\nfor b<B, k<K: y[b, k] = {}\noutput y\n"
    assert verify(Original(top, {"x": "BK"}), text.format("max(x[b, k], log(x[b, k]))")).verdict == "verified"
    hidden = "select(x[b, k] > 0, max(x[b, k], log(x[b, k])), x[b, k])"
    certificate = verify(Original(top, {"x": "BK"}), text.format(hidden))
    assert certificate.verdict == "unverified"
    assert "NaN" in certificate.feedback()


def test_mutated_state_has_to_be_an_output():
    def count(inputs, state):
        return {"": inputs["x"] * 2, "seen": state["seen"] + inputs["x"].sum(0)}

    reference = Original(count, {"x": "BK"}, {"seen": "K"}, mutated=("seen",))
    text = 'program p\ninput x[B, K]\nparam s = "seen"[K]\nfor b<B, k<K: y[b, k] = 2 * x[b, k]\noutput y\n'
    certificate = verify(reference, text)
    assert certificate.verdict == "unverified"
    assert 'output state "seen"' in certificate.feedback()
    more = "for b<B, k<K: t[k] += x[b, k]\nfor k<K: u[k] = s[k] + t[k]\noutput state \"seen\" = u\n"
    certificate = verify(reference, text + more)
    assert certificate.verdict == "verified", certificate.feedback()
    assert [(leaf.kind, leaf.path) for leaf in certificate.leaves] == [("result", ""), ("state", "seen")]


def gather(inputs, state):
    return {"": state["table"][inputs["ids"] % len(state["table"])]}


GATHER = """program gather
input ids[B] : int{claim}
param t = "table"[O, K]
for b<B, k<K: y[b, k] = t[ids[b] % O, k]
output y
"""


def test_a_range_has_to_admit_the_values_of_the_original():
    reference = Original(gather, {"ids": "B"}, {"table": "OK"}, types={"ids": "i64"})
    assert verify(reference, GATHER.format(claim="")).verdict == "verified"
    fair = verify(reference, GATHER.format(claim=" in 0..7"))
    assert fair.verdict == "verified", fair.feedback()
    assert "in 0..7" in fair.assumed_ranges[0]
    narrow = verify(reference, GATHER.format(claim=" in 0..6"))
    assert narrow.verdict == "unverified"
    assert "range" in {failure.kind for failure in narrow.failures}


def test_a_false_fact_about_a_captured_tensor_fails():
    def masked(inputs, state):
        return {"": inputs["x"] @ np.tril(state["mask"]) * 1.0}

    reference = Original(masked, {"x": "BK"}, {"mask": "KK"})
    reference.array = lambda name, shape, rng, distribution: (
        np.tril(np.ones(shape)) if name == "mask" else rng.normal(size=shape)
    )
    text = """program masked
input x[B, K]
param m = "mask"[K, K]
fact m[i, j] == ({relation})
for b<B, j<K, i<K: y[b, j] += x[b, i] * m[i, j]
output y
"""
    certificate = verify(reference, text.format(relation="j <= i"))
    assert certificate.verdict == "verified", certificate.feedback()
    assert "fact m[i, j]" in certificate.assumed_facts[0] and "trials only" in certificate.assumed_facts[0]
    reference.known = {"mask": np.tril(np.ones((512, 512)))}
    held = verify(reference, text.format(relation="j <= i"))
    assert (held.verdict, held.assumed_facts) == ("verified", ())
    reference.known = {"mask": np.triu(np.tril(np.ones((512, 512))), -256)}
    band = verify(reference, text.format(relation="j <= i"))
    assert (band.verdict, band.exit_code, band.assumed_facts) == ("unverified", 20, ())
    assert (band.failures[0].kind, band.failures[0].statement) == ("fact", 4)
    assert "at full size [512, 512]" in band.feedback()
    wrong = verify(reference, text.format(relation="j < i"))
    assert wrong.verdict == "unverified"
    assert (wrong.failures[0].kind, wrong.failures[0].statement) == ("fact", 4)
    assert "false for the captured values" in wrong.feedback()


def test_dead_inputs_and_unused_state_are_listed():
    reference = original(inputs={"x": "BK", "spare": "O"}, state={**LINEAR["state"], "never_read": "K"})
    certificate = verify(reference, TEXT)
    assert certificate.verdict == "verified"
    assert certificate.dead == ("spare",)
    assert certificate.unused_state == ("never_read",)


def test_a_distribution_that_breaks_the_original_is_a_warning():
    certificate = verify(original(fail_on=("ties",)), TEXT)
    assert certificate.verdict == "verified-in-part"
    assert any("no ties values" in warning for warning in certificate.warnings)


def test_a_program_that_cannot_run_in_float64_is_checked_in_its_own_types():
    reference = original()
    run = reference.trial

    def trial(assignment, seed, distribution, precision):
        if precision == "promoted":
            raise NotPromotable("bit views")
        return run(assignment, seed, distribution, precision)

    reference.trial = trial
    certificate = verify(reference, TEXT)
    assert certificate.verdict == "verified-in-part"
    assert certificate.flags == ("native-only",)
    assert {trial.precision for trial in certificate.trials} == {"native"}
    assert recheck(reference, TEXT, certificate) == certificate
    assert verify(reference, WRONG["missing bias"][0]).verdict == "unverified"


def test_an_original_that_never_runs_raises():
    with pytest.raises(ReferenceFailed, match="no normal values"):
        verify(original(fail_on=("normal",)), TEXT)


def test_a_spent_budget_is_not_a_pass():
    certificate = verify(original(), TEXT, budget_s=0.0)
    assert certificate.verdict == "unverified"
    assert "budget-spent" in certificate.flags


class TestRecheck:
    def test_one_cheap_trial(self):
        certificate = verify(original(), TEXT)
        reference = original()
        assert recheck(reference, TEXT, certificate) == certificate
        assert reference.trials == [("sizes 2", 2, "normal", "promoted")]  # x[3, 2] is the smallest

    def test_a_changed_original_is_noticed(self):
        certificate = verify(original(), TEXT)
        changed = original(lambda inputs, state: {"": linear(inputs, state)[""] * 1.001})
        again = recheck(changed, TEXT, certificate)
        assert again.verdict == "unverified"
        assert "got = 0.999 x expected everywhere" in again.feedback()

    def test_another_text_is_refused(self):
        certificate = verify(original(), TEXT)
        assert "another text" in recheck(original(), TEXT + "\n", certificate).feedback()
