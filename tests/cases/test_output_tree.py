"""F16: results in dictionaries, lists and tuples, with None, a plain number and a tensor of rank 0.

Checks compare the first tensor alone, or stumble over the rest."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .lab import F32, Case, changed, opened

TEXT = """program report
input x[B, N]
for b<B: m[b] = sum(n<N: x[b, n]) / N
for b<B, n<N: square[b, n] = (x[b, n] - m[b])**2
for b<B, n<N: total[] += square[b, n]
loss = total / (B*N)
for b<B, n<N: top[b] max= x[b, n]
output loss
output top
output m
output B
"""


@pytest.fixture(scope="module")
def case() -> Iterator[Case]:
    with opened("output_tree") as found:
        yield found


def test_leaves_have_paths_and_none_has_no_leaf(case: Case) -> None:
    shapes = {path: (leaf.shape, leaf.dtype) for path, leaf in case.leaves.items()}
    assert shapes == {
        "loss": ((), "f32"),
        "heads.0": ((3,), "f32"),
        "heads.1.0": ((3,), "f32"),
        "steps": (None, "i64"),  # a plain number, no tensor
    }
    assert case.leaves["steps"].value == 3


def test_every_leaf_has_a_verdict_of_its_own(case: Case) -> None:
    certificate = case.accepted(TEXT)
    assert [leaf.path for leaf in certificate.leaves] == ["loss", "heads.0", "heads.1.0", "steps"]
    assert all(leaf.informative_trials >= 2 for leaf in certificate.leaves)


def test_values(case: Case) -> None:
    outcome = case.attempt(TEXT)
    assert [result.status for result in outcome.results] == ["equal"] * 4
    assert outcome.results[3].ours == 3


WRONG = {
    "loss-not-divided": ("loss = total / (B*N)", "loss = total / N", "loss"),
    "smallest": ("top[b] max=", "top[b] min=", "heads.0"),
    "mean-of-one-less": ("output m\n", "for b<B: q[b] = m[b] * N / (N - 1)\noutput q\n", "heads.1.0"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_leaf_is_named_by_its_path(case: Case, name: str) -> None:
    old, new, path = WRONG[name]
    certificate = case.rejected(changed(TEXT, old, new), f'"{path}"')
    assert [failure.tensor for failure in certificate.failures] == [path]
    status = {leaf.path: leaf.status for leaf in certificate.leaves}
    assert [leaf for leaf, found in status.items() if found == "different"] == [path]


def test_the_plain_number_is_compared_exactly(case: Case) -> None:
    certificate = case.rejected(changed(TEXT, "output B\n", "output B + 1\n"), '"steps"', "expected 3, got 4")
    assert {failure.tensor for failure in certificate.failures} == {"steps"}


def test_a_number_that_only_fits_one_size_is_noticed(case: Case) -> None:
    case.rejected(changed(TEXT, "output B\n", "output 3\n"), '"steps"')


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(changed(TEXT, "output m\n", ""), id="a-leaf-left-out"),
        pytest.param(changed(TEXT, "output m\n", "output m\noutput m\n"), id="a-leaf-for-none"),
    ],
)
def test_the_number_of_leaves_has_to_fit(case: Case, text: str) -> None:
    given = text.count("output ")
    certificate = case.rejected(text, "the original gives 4 result(s)", f"the text has {given} `output` line(s)")
    assert '"heads.1.0": f32[3]' in certificate.feedback()


def test_leaves_in_another_order_are_noticed(case: Case) -> None:
    case.rejected(changed(TEXT, "output top\noutput m\n", "output m\noutput top\n"), '"heads.0"', '"heads.1.0"')


def test_bytes_of_all_leaves(case: Case) -> None:
    found = case.count(TEXT)
    assert found.input_bytes == 3 * 9 * F32
    assert found.output_bytes == (1 + 3 + 3) * F32  # a plain number is no memory
    assert found.macs == 0
