"""Look-ups by whole-number tensors, and scatters to such places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from solar_agent.agent.builtin.model import Untranslatable

from .rulelab import check

SIZES = ((5, 4, 3), (7, 6, 2))
randn = torch.randn


def ints(low: int, high: int, *shape: int) -> torch.Tensor:
    return torch.randint(low, high, shape)


def at(name: str, made: Callable[[int, int, int], dict[str, Any]], exact: bool = True) -> str:
    """`made` gives the arguments at sizes n, c, k."""
    torch.manual_seed(7)
    return check(name, *(made(*sizes) for sizes in SIZES), exact=exact)


INDICES: dict[str, Callable[[int, int, int], list[Any]]] = {
    "rows": lambda n, c, k: [ints(-n, n, k, 2)],
    "columns": lambda n, c, k: [None, ints(-c, c, k)],
    "neighbours": lambda n, c, k: [ints(0, n, k, 1), ints(0, c, 1, k)],
    "apart": lambda n, c, k: [ints(0, n, k), None, ints(0, 3, k)],
    "pairs": lambda n, c, k: [None, ints(0, c, k), ints(0, 3, k)],
    "number": lambda n, c, k: [torch.tensor(-1)],
    "narrow": lambda n, c, k: [ints(0, n, k).int()],
}


@pytest.mark.parametrize("case", list(INDICES))
def test_index(case: str) -> None:
    at("aten.index.Tensor", lambda n, c, k: {"self": randn(n, c, 3), "indices": INDICES[case](n, c, k)})


@pytest.mark.parametrize("case", list(INDICES))
def test_index_put_adds(case: str) -> None:
    at(
        "aten.index_put.default",
        lambda n, c, k: {
            "self": randn(n, c, 3), "indices": INDICES[case](n, c, k), "values": randn(()), "accumulate": True,
        },
        exact=False,
    )  # fmt: skip


def test_index_put_of_rows() -> None:
    text = at(
        "aten.index_put.default",
        lambda n, c, k: {"self": randn(n, c), "indices": [torch.randperm(n)[:k]], "values": randn(c)},
    )
    assert "tensor self1[N, C] = self" in text


@pytest.mark.parametrize(
    "made",
    [
        lambda n, c, k: {"indices": [randn(n, c) > 0], "values": randn(())},
        lambda n, c, k: {"indices": [randn(n) > 0], "values": randn(c)},
        lambda n, c, k: {"indices": [randn(n) > 0], "values": randn(1, c)},
        lambda n, c, k: {"indices": [None, randn(c) > 0], "values": randn(1)},
        lambda n, c, k: {"indices": [randn(n) > 0], "values": randn(1), "accumulate": True},
    ],
)
def test_masks_choose_where_to_write(made: Callable[[int, int, int], dict[str, Any]]) -> None:
    assert "select(" in at(
        "aten.index_put.default", lambda n, c, k: {"self": randn(n, c), **made(n, c, k)}, exact=False
    )


def test_shapes_that_depend_on_values() -> None:
    with pytest.raises(Untranslatable, match="depends on values"):
        at("aten.index.Tensor", lambda n, c, k: {"self": randn(n), "indices": [torch.arange(n) < 2]})
    with pytest.raises(Untranslatable, match="depends on values"):
        at("aten.masked_select.default", lambda n, c, k: {"self": randn(3), "mask": torch.arange(3) < 2})
    with pytest.raises(Untranslatable, match="depends on values"):
        at(
            "aten.index_put.default",
            lambda n, c, k: {"self": randn(n), "indices": [torch.arange(n) < 2], "values": randn(2)},
        )


def test_picks_along_an_axis() -> None:
    at("aten.index_select.default", lambda n, c, k: {"self": randn(n, c), "dim": -1, "index": ints(0, c, k)})
    at("aten.index_select.default", lambda n, c, k: {"self": randn(n, c), "dim": 0, "index": torch.tensor(1)})
    at("aten.gather.default", lambda n, c, k: {"self": randn(n, c), "dim": 1, "index": ints(0, c, n - 1, k)})
    at("aten.take_along_dim.default", lambda n, c, k: {"self": randn(n, c), "indices": ints(0, c, 1, k), "dim": 1})
    at("aten.take_along_dim.default", lambda n, c, k: {"self": randn(1, c), "indices": ints(0, c, n, k), "dim": 1})
    at("aten.take_along_dim.default", lambda n, c, k: {"self": randn(n, c), "indices": ints(0, c, k, k)})


def test_flat_places() -> None:
    at("aten.take.default", lambda n, c, k: {"self": randn(n, c, 2), "index": ints(-n * c, n * c, k, 2)})
    at(
        "aten.put.default",
        lambda n, c, k: {"self": randn(n, c), "index": torch.arange(k) - 2, "source": randn(k), "accumulate": True},
        exact=False,
    )


@pytest.mark.parametrize("shape", [(), (2,), (2, 3)])
def test_embedding(shape: tuple[int, ...]) -> None:
    at("aten.embedding.default", lambda n, c, k: {"weight": randn(n, c), "indices": ints(0, n, *shape)})


def test_scatter() -> None:
    at(
        "aten.scatter.src",
        lambda n, c, k: {
            "self": randn(n, c), "dim": 1, "index": torch.randperm(c)[:k].expand(n, k).clone(), "src": randn(n, c),
        },
    )  # fmt: skip
    for value in (1, 1.5, -1):
        at("aten.scatter.value", lambda n, c, k, v=value: {
            "self": randn(n, c), "dim": 1, "index": ints(0, c, n, k), "value": v})  # fmt: skip
    at("aten.scatter.value", lambda n, c, k: {
        "self": ints(0, 9, n, c), "dim": 1, "index": ints(0, c, n, k), "value": 7})  # fmt: skip


def test_scatter_add_and_multiply() -> None:
    def made(n: int, c: int, k: int) -> dict[str, Any]:
        return {"self": randn(n, c), "dim": 0, "index": ints(0, n, n - 1, k), "src": randn(n, c)}

    at("aten.scatter_add.default", made, exact=False)
    at("aten.scatter.reduce", lambda n, c, k: {**made(n, c, k), "reduce": "multiply"}, exact=False)
    at("aten.scatter.value_reduce", lambda n, c, k: {
        "self": randn(n, c), "dim": 0, "index": ints(0, n, 2, k), "value": 2.0,
        "reduce": "add"}, exact=False)  # fmt: skip


@pytest.mark.parametrize("include", [True, False])
@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
def test_scatter_reduce(reduce: str, include: bool) -> None:
    at("aten.scatter_reduce.two", lambda n, c, k: {
        "self": randn(n, c), "dim": 0, "index": ints(0, n, n - 1, k), "src": randn(n, c), "reduce": reduce,
        "include_self": include}, exact=False)  # fmt: skip


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("include", [True, False])
def test_index_reduce(include: bool) -> None:
    for reduce in ("prod", "mean", "amax", "amin"):
        at("aten.index_reduce.default", lambda n, c, k, r=reduce: {
            "self": randn(n, c), "dim": 1, "index": ints(0, c, k), "source": randn(n, k), "reduce": r,
            "include_self": include}, exact=False)  # fmt: skip


def test_index_add_copy_fill() -> None:
    for alpha in (1, 2.5):
        at("aten.index_add.default", lambda n, c, k, a=alpha: {
            "self": randn(n, c), "dim": 0, "index": ints(0, n, k), "source": randn(k, c), "alpha": a},
            exact=False)  # fmt: skip
    at("aten.index_copy.default", lambda n, c, k: {
        "self": randn(n, c), "dim": 1, "index": torch.randperm(c)[:k], "source": randn(n, k)})  # fmt: skip
    for value in (float("-inf"), 2):
        at("aten.index_fill.int_Scalar", lambda n, c, k, v=value: {
            "self": randn(n, c), "dim": -1, "index": ints(-c, c, k), "value": v})  # fmt: skip
    at("aten.index_fill.int_Tensor", lambda n, c, k: {
        "self": randn(n, c), "dim": 0, "index": ints(0, n, k), "value": torch.tensor(3)})  # fmt: skip


@pytest.mark.parametrize("right", [True, False])
def test_sorted_boundaries(right: bool) -> None:
    nan = torch.tensor([float("nan"), 1.0, 0.0, float("inf")])
    at("aten.bucketize.Tensor", lambda n, c, k: {
        "self": randn(n, c).round(), "boundaries": torch.arange(k + 2) - 1.0, "right": right,
        "out_int32": right})  # fmt: skip
    at("aten.bucketize.Tensor", lambda n, c, k: {
        "self": nan.expand(n, 4).clone(), "boundaries": torch.arange(k + 2) - 1.0, "right": right})  # fmt: skip
    at("aten.searchsorted.Tensor", lambda n, c, k: {
        "self": randn(n, k).round(), "sorted_sequence": randn(n, c).round().sort().values, "right": right})  # fmt: skip
    at("aten.searchsorted.Tensor", lambda n, c, k: {
        "self": randn(n, k).round(), "sorted_sequence": torch.arange(c) - 1.0, "side": "right"})  # fmt: skip
