"""F19: arguments that repeat, transpose or skip memory.

Counters bill them as dense; checks replace them by dense ones and never see a fault of layout."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from .lab import F32, Case, changed, opened, results

TEXT = """program weighted
input a = "repeated"[B, M, N]
input y = "transposed"[M, N]
input z = "skipping"[R, C]
for b<B, m<M, n<N: product[b, m, n] = a[b, m, n] * y[m, n]
for b<B, m<M, n<N: s[b, n] += product[b, m, n]
for r<R, c<C: q[r] += z[r, c]**2
output s
output q
"""
AS_PRODUCTS = """program weighted
input a = "repeated"[B, M, N]
input y = "transposed"[M, N]
input z = "skipping"[R, C]
for b<B, n<N: s[b, n] = sum(m<M: a[b, m, n] * y[m, n])
for r<R: q[r] = sum(c<C: z[r, c] * z[r, c])
output s
output q
"""
TEXTS = {"elementwise": TEXT, "as-products": AS_PRODUCTS}


@pytest.fixture(scope="module")
def case() -> Iterator[Case]:
    with opened("strided_inputs") as found:
        yield found


@pytest.mark.parametrize("name", TEXTS)
def test_right_texts_are_verified(case: Case, name: str) -> None:
    case.accepted(TEXTS[name])


@pytest.mark.parametrize("name", TEXTS)
def test_only_memory_that_is_there_is_counted(case: Case, name: str) -> None:
    found = case.count(TEXTS[name])
    distinct = 64 + 128 * 64 + 10 * 64
    assert distinct == 8_896
    assert found.input_bytes == distinct * F32 == 35_584  # by shapes 1,083,904
    assert found.output_bytes == (32 * 64 + 10) * F32 == 8_232
    assert found.fused_bytes == 35_584 + 8_232


def test_layouts_at_full_size(case: Case) -> None:
    inputs = case.description.bindings.inputs
    assert {name: entry.shape for name, entry in inputs.items()} == {
        "repeated": (32, 128, 64), "transposed": (128, 64), "skipping": (10, 64),
    }  # fmt: skip
    assert inputs["repeated"].strides == (0, 0, 1)
    assert inputs["transposed"].strides == (1, 128)
    assert (inputs["skipping"].strides, inputs["skipping"].offset) == ((130, 2), 1)


@pytest.mark.parametrize("distribution", ["normal", "ties", "large"])
def test_values_drawn_afresh_keep_the_layout(case: Case, distribution: str) -> None:
    """At every size: shape, type, repeats and steps; the rows that are one in memory hold one row of values."""
    for assignment in case.reference.assignments():
        trial = case.reference.trial(assignment, 5, distribution, "promoted")  # type: ignore[arg-type]
        bound = trial.bindings.inputs
        batch, rows, columns = bound["repeated"].shape
        assert bound["repeated"].strides == (0, 0, 1)
        assert bound["transposed"].strides == (1, rows) or 1 in bound["transposed"].shape
        assert bound["skipping"].strides is not None and bound["skipping"].strides[1] == 2
        assert {entry.dtype for entry in bound.values()} == {"f32"}
        repeated = trial.inputs["repeated"]
        assert np.array_equal(repeated, np.broadcast_to(repeated[0, 0], (batch, rows, columns)))


def test_all_rows_of_the_first_result_are_equal(case: Case) -> None:
    rows = np.asarray(results(case.trial())["0"])
    assert rows.shape == (32, 64)
    assert np.array_equal(rows, np.broadcast_to(rows[0], rows.shape))


@pytest.mark.parametrize(
    ("old", "new", "leaf"),
    [
        pytest.param("a[b, m, n] * y[m, n]", "a[b, m, n] * y[(n*M + m) // N, (n*M + m) % N]", "0", id="as-if-dense"),
        pytest.param("a[b, m, n] * y[m, n]", "a[b, m, n] * y[0, n]", "0", id="one-row"),
        pytest.param("z[r, c]**2", "z[r, c]", "1", id="no-square"),
    ],
)
def test_faults_of_layout_are_noticed(case: Case, old: str, new: str, leaf: str) -> None:
    case.rejected(changed(TEXT, old, new), f'"{leaf}"', "differs from the original")
