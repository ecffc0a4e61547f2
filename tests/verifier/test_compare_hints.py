import numpy as np
import pytest
from solar_agent.verifier.hints import Clues, find

RNG = np.random.default_rng(5)
X = RNG.normal(size=(4, 5, 6))
SQUARE = RNG.normal(size=(5, 5))
BIAS = RNG.normal(size=5)
CLUES = Clues({"bn.bias": BIAS, "gain": RNG.normal(size=(1, 5, 1)), "x": X}, {"K": 7.0, "N": 30.0})


@pytest.mark.parametrize(
    ("expected", "got", "hint"),
    [
        (SQUARE, SQUARE.T, "axes are permuted: expected = got transposed by (1, 0)"),
        (X, X.transpose(2, 0, 1), "transposed by (1, 2, 0)"),
        (X, X.reshape(20, 6), "row-major"),
        (X, X * 7, "got = 7 x expected everywhere (K = 7)"),
        (X, X / 30, "got = 0.0333 x expected everywhere (1/N = 0.0333)"),
        (X, X * 30 / 29, "(N/(N-1) = 1.03)"),
        (X, -X, "got = -1 x expected"),
        (X, X + 0.5, "got = expected + 0.5 everywhere"),
        (X, X - BIAS[None, :, None], "expected = got + bn.bias along axis 1"),
        (X, X + BIAS[None, :, None], "expected = got - bn.bias along axis 1"),
        (X * CLUES.arrays["gain"], X, "expected = got * gain along axis 1"),
        (X + X**2, X**2, "expected = got + x: is `x` missing"),
        (X, np.roll(X, 1, axis=2), "shifted by one along axis 2: got[i+1] = expected[i]"),
        (X, np.roll(X, -1, axis=0), "shifted by one along axis 0: got[i] = expected[i+1]"),
        (X, X[:, ::-1], "reversed along axis 1"),
        (X, np.sort(X, axis=None).reshape(X.shape), "same values stand at other positions"),
        (X, np.zeros_like(X), "everything is zero"),
        (X, X * (1 + 1e-4 * RNG.normal(size=X.shape)), "the values are close"),
        (np.where(X > 0, X, np.nan), np.where(X > 0, X, 0), "NaN in"),
    ],
)
def test_the_kind_of_difference_is_named(expected, got, hint):
    found = find(expected, got, CLUES)
    assert any(hint in line for line in found), found


def test_a_wrong_border_is_named():
    got = X.copy()
    got[:, :, 0] += 1
    got[:, :, -1] += RNG.normal(size=(4, 5))
    assert "only positions 0, 5 of axis 2 (extent 6) are wrong (the border: padding?)" in find(X, got, CLUES)


def test_unrelated_results_get_no_guess():
    assert find(X, RNG.normal(size=X.shape), CLUES) == ()


def test_right_results_up_to_rounding_do_not_raise():
    for shape in ((), (1,), (0, 3), (1, 1, 1)):
        value = np.ones(shape)
        assert isinstance(find(value, value * 2, CLUES), tuple)
