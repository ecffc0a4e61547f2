"""Results that change their form at a number of the source: values are drawn there, and every distribution is."""

import ast

import pytest
from solar_agent.verifier.plan import OTHERS, later_rounds
from solar_agent.verifier.reference import open_reference
from solar_agent.verifier.types import Assignment
from solar_agent.verifier.verify import verify
from solar_agent.verifier.worker.source import landmarks

SOURCE = """
import torch
WIDTH = 77
def fn(x, k):
    return torch.where(k > 100, x + 1, x), torch.where(x > 50.0, 2 * x, x).clamp(-1e4, 1e4)
def get_inputs():
    return [torch.randn(64, 4096), torch.randint(0, 1000, (64, 4096))]
"""
TEXT = """program thresholds
input x[B, I]
input k[B, I] : int in 0..1000
for b<B, i<I: y[b, i] = select(k[b, i] > 100, x[b, i] + 1, x[b, i])
for b<B, i<I: z[b, i] = min(max(select(x[b, i] > 50, 2 * x[b, i], x[b, i]), -10000), 10000)
output y
output z
"""


@pytest.fixture(scope="module")
def thresholds(tmp_path_factory):
    path = tmp_path_factory.mktemp("landmarks") / "thresholds.py"
    path.write_text(SOURCE)
    with open_reference(path) as reference:
        yield reference


def test_the_numbers_of_functions():
    assert landmarks(ast.parse(SOURCE)) == (-1e4, 1e4, 100.0, 50.0, 2.0, 1.0)


def test_a_right_text_is_verified(thresholds):
    assert verify(thresholds, TEXT).verdict == "verified"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("> 100", "> 101"),
        ("> 100", ">= 100"),
        ("x[b, i] > 50", "x[b, i] >= 50"),
        ("x[b, i] > 50", "x[b, i] > 1000"),
        ("min(max(select", "(max(select"),
    ],
)
def test_a_wrong_number_is_noticed(thresholds, old, new):
    wrong = TEXT.replace(old, new)
    if "min(" not in wrong:
        wrong = wrong.replace(", -10000), 10000)", ", -10000))")
    assert wrong != TEXT
    certificate = verify(thresholds, wrong)
    assert certificate.verdict == "unverified"
    assert "differs from the original" in certificate.feedback()


def test_every_distribution_is_drawn():
    assignments = [Assignment(f"sizes {rows}", {}, {"x": (rows, 5)}, rows == 1) for rows in (3, 1, 5)]
    steps = later_rounds(assignments, 0, None)
    assert [step.distribution for step in steps] == list(OTHERS)
    assert [step.size for step in steps] == [0, 1, 2, 1, 1, 1]
