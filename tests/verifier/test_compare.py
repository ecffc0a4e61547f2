import numpy as np
import pytest
from solar_agent.ir.program import Output, Source
from solar_agent.verifier.compare import Rules, can_fail, compare, compare_indexes, pair, scaled_error
from solar_agent.verifier.types import Leaf

RULES = Rules()
RNG = np.random.default_rng(7)


def output(dtype="f32", kind="result", name="", **more):
    return Output(kind, name, "y", None, dtype, Source(1, 1, "output y"), **more)


def leaf(value, dtype="f32", kind="result", path="", **more):
    value = np.asarray(value)
    return Leaf(kind, path, dtype, value.shape, value, **more)


def test_equal_values_pass_and_are_informative():
    value = RNG.normal(size=(3, 4))
    result = compare(output(), value + 1e-12, leaf(value), RULES)
    assert result.status == "equal"
    assert result.informative
    assert result.compared == result.elements == 12
    assert 0 < result.error < 1e-11


@pytest.mark.parametrize("wrong", [np.zeros, np.ones], ids=["zeros", "constant"])
def test_tiny_outputs_are_judged_by_their_own_scale(wrong):
    value = RNG.random((4, 1000)) * 5e-6
    constant = wrong(value.shape) * value.mean()
    assert compare(output(), constant, leaf(value), RULES).status == "different"
    assert compare(output(), np.roll(value, 1, axis=1), leaf(value), RULES).status == "different"
    assert compare(output(), value, leaf(value), RULES).informative


def test_error_is_the_greater_of_maximum_and_norm():
    expected = np.array([100.0, 0, 0, 0])
    ours = np.array([101.0, 1, 1, 1])
    assert scaled_error(ours, expected) == pytest.approx(0.02)  # norm: sqrt(4)/100; maximum: 1/100


def test_scaled_error_survives_huge_values():
    expected = np.array([1e300, -1e300])
    assert scaled_error(expected * (1 + 1e-12), expected) == pytest.approx(1e-12 * 2**0, rel=0.01)


@pytest.mark.parametrize(
    ("ours", "dtype", "reason"),
    [
        (np.zeros((4, 3)), "f32", "shape"),
        (np.zeros((3, 4, 1)), "f32", "shape"),
        (np.ones((3, 4)), "f16", "storage type"),
        (3, "i64", "tensor"),
    ],
)
def test_shape_and_type_are_exact(ours, dtype, reason):
    result = compare(output(dtype), ours, leaf(np.ones((3, 4))), RULES)
    assert result.status == "different"
    assert reason in result.reason


def test_tolerance_follows_the_change_of_the_original():
    value = RNG.normal(size=20)
    off = value * (1 + 1e-7)
    assert compare(output(), off, leaf(value), RULES).status == "different"
    assert compare(output(), off, leaf(value, change=1e-8), RULES).status == "equal"  # 32 * 1e-8 allowed


def test_a_trial_that_hangs_on_the_last_bits_does_not_count():
    value = RNG.normal(size=20)
    result = compare(output(), value * 2, leaf(value, change=2e-6), RULES)
    assert result.status == "undecided"
    assert not result.informative


@pytest.mark.parametrize("wrong", [np.inf, -np.inf, np.nan, 1.0])
@pytest.mark.parametrize("right", [np.inf, -np.inf, np.nan])
def test_nonfinite_values_position_by_position(right, wrong):
    value = RNG.normal(size=8)
    value[3] = right
    ours = value.copy()
    assert compare(output(), ours, leaf(value), RULES).status == "equal"
    if not (right == wrong or (np.isnan(right) and np.isnan(wrong))):
        ours[3] = wrong
        result = compare(output(), ours, leaf(value), RULES)
        assert result.status == "different"
        assert "NaN or infinity" in result.reason


def test_a_mostly_nonfinite_leaf_is_not_informative():
    value = RNG.normal(size=100)
    value[:51] = np.nan
    result = compare(output(), value, leaf(value), RULES)
    assert (result.status, result.compared, result.informative) == ("equal", 49, False)


def test_integers_are_exact():
    value = np.arange(6, dtype=np.int64) + 2**53
    assert compare(output("i64"), value.copy(), leaf(value, "i64"), RULES).status == "equal"
    ours = value.copy()
    ours[2] += 1
    assert compare(output("i64"), ours, leaf(value, "i64"), RULES).status == "different"
    assert compare(output("i64"), ours, leaf(value, "i64", flipped=1), RULES).status == "undecided"
    assert compare(output("i32"), value.astype(np.int32), leaf(value, "i64"), RULES).status == "different"


@pytest.mark.parametrize(
    ("ours", "expected", "same"),
    [(3, 3, True), (3, 4, False), (3.0, 3, True), (np.array(3), 3, True), (True, True, True), (0.1 + 0.2, 0.3, True),
     (float("nan"), float("nan"), True), ("a", "a", True), ("a", "b", False), (np.zeros(2), 0, False)],
)  # fmt: skip
def test_plain_numbers(ours, expected, same):
    result = compare(output("i64"), ours, Leaf("result", "steps", "i64", None, expected), RULES)
    assert (result.status == "equal") == same


def test_rounding_noise_is_not_compared_with_rounding_noise():
    noise = leaf(RNG.normal(size=16) * 1e-17, change=0.7)
    rules = Rules(origins=(np.array([3.0, -1.0]),))
    assert compare(output(), np.zeros(16), noise, rules).status == "equal"
    assert not compare(output(), np.zeros(16), noise, rules).informative
    assert compare(output(), np.full(16, 0.1), noise, rules).status == "different"


def test_zeros_are_expected_only_up_to_rounding():
    zero = leaf(np.zeros(5))
    rules = Rules(origins=(np.ones(3),))
    assert compare(output(), np.full(5, 1e-16), zero, rules).status == "equal"
    assert compare(output(), np.full(5, 1e-3), zero, rules).status == "different"


def test_native_tolerance_depends_on_the_coarsest_type():
    value = RNG.normal(size=50)
    off = value + 0.01 * np.abs(value).max()
    for coarsest, status in (("f32", "different"), ("bf16", "equal")):
        rules = Rules("native", coarsest=coarsest)
        assert compare(output(), off, leaf(value), rules).status == status


@pytest.mark.parametrize(
    ("value", "fails"),
    [([1.0, 2, 3], True), ([2.0, 2, 2], False), ([0.0, 0, 0], False), ([1.0], False), ([1e9, 1e9 + 1e-3], False)],
)
def test_can_fail(value, fails):
    assert can_fail(np.array(value), 1e-9) == fails


def test_results_are_paired_in_order_and_none_is_dropped():
    leaves = [leaf(np.ones(2), path="a"), Leaf("result", "b", "none", None, None), leaf(np.ones(3), path="c")]
    found = pair([output(), output()], leaves)
    assert [(position, item.path) for position, item in found.pairs] == [(0, "a"), (1, "c")]
    assert not found.problems


def test_a_missing_output_is_named_with_all_leaves():
    found = pair([output()], [leaf(np.ones(2), path="a"), leaf(np.ones((3, 1)), "i32", path="b.0")])
    assert len(found.problems) == 1
    assert '"a": f32[2], "b.0": i32[3, 1]' in found.problems[0]


def test_mutations_have_to_be_declared():
    mutated = leaf(np.ones(4), kind="state", path="bn.running_mean")
    assert 'output state "bn.running_mean"' in pair([output()], [leaf(np.ones(1)), mutated]).problems[0]
    declared = output(kind="state", name="bn.running_mean")
    found = pair([output(), declared], [leaf(np.ones(1)), mutated])
    assert not found.problems
    assert found.pairs[1] == (1, mutated)
    assert "does not change it" in pair([output(), declared], [leaf(np.ones(1))]).problems[0]


class TestIndexes:
    x = np.array([[3.0, 1, 3, 0], [2, 2, 2, 5]])
    expected = np.array([[0, 2], [3, 0]])
    values = np.array([[3.0, 3], [5, 2]])

    def check(self, ours, values=None, captured=False):
        told = output("i64", indexes=("x", 1, "v"))
        result = compare(told, np.array(ours), leaf(self.expected, "i64"), RULES)
        return compare_indexes(result, self.x, 1, self.values if values is None else values, captured=captured)

    def test_another_order_among_ties_is_accepted_but_proves_nothing(self):
        assert self.check([[2, 0], [3, 2]]).status == "undecided"

    def test_of_captured_values_it_proves_what_it_says(self):
        result = self.check([[2, 0], [3, 2]], captured=True)
        assert (result.status, result.informative, result.compared) == ("equal", True, 4)

    def test_where_everything_is_equal_it_proves_nothing(self):
        told = output("i64", indexes=("x", 1, "v"))
        result = compare(told, np.array([[1], [2]]), leaf(np.array([[2], [0]]), "i64"), RULES)
        found = compare_indexes(result, np.ones((2, 3)), 1, np.ones((2, 1)), captured=True)
        assert (found.status, found.informative) == ("equal", False)

    @pytest.mark.parametrize("captured", [False, True])
    @pytest.mark.parametrize(
        ("ours", "reason"),
        [([[0, 0], [3, 0]], "repeated"), ([[0, 1], [3, 0]], "x[i] is not v"), ([[0, 4], [3, 0]], "out of")],
    )
    def test_wrong_indices_fail(self, ours, reason, captured):
        result = self.check(ours, captured=captured)
        assert result.status == "different"
        assert reason in result.reason

    def test_a_false_claim_about_the_values_fails(self):
        assert self.check([[2, 0], [3, 2]], values=np.zeros((2, 2))).status == "different"

    def test_the_same_indices_need_no_excuse(self):
        assert self.check(self.expected).status == "equal"


