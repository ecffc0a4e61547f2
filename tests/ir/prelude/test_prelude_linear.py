from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
import torch.nn as nn  # noqa: E402
import torch.nn.functional as F  # noqa: E402


@pytest.mark.parametrize("shape", [(5,), (3, 5), (2, 3, 4, 5)])
def test_linear(check: Any, shape: tuple[int, ...]) -> None:
    x, w, b = torch.randn(shape), torch.randn(7, 5), torch.randn(7)
    check("linear(x, w)", {"x": x, "w": w}, F.linear(x, w))
    check("add_bias(linear(x, w), b)", {"x": x, "w": w, "b": b}, F.linear(x, w, b))
    for bias in (True, False):
        module = nn.Linear(5, 7, bias=bias)
        check('Linear(x; name="m")', {"x": x}, module(x), module)


def test_products(check: Any) -> None:
    a, b, w = torch.randn(2, 3, 4, 5), torch.randn(2, 3, 5, 6), torch.randn(5, 7)
    check("matmul(a, b)", {"a": a, "b": b}, a @ b)
    check("mm(a, w)", {"a": a, "w": w}, a @ w)
    check("matmul(a, b)", {"a": a[0, 0], "b": b[0, 0]}, a[0, 0] @ b[0, 0])


def test_bilinear(check: Any) -> None:
    x, y, w = torch.randn(4, 3), torch.randn(4, 5), torch.randn(6, 3, 5)
    check("bilinear(x, y, w)", {"x": x, "y": y, "w": w}, F.bilinear(x, y, w))
    for bias in (True, False):
        module = nn.Bilinear(3, 5, 6, bias=bias)
        check('Bilinear(x, y; name="m")', {"x": x, "y": y}, module(x, y), module)


@pytest.mark.parametrize("shape", [(), (4,), (2, 6)])
def test_embedding(check: Any, shape: tuple[int, ...]) -> None:
    ids, w = torch.randint(0, 9, shape), torch.randn(9, 3)
    check("embedding(ids, w)", {"ids": ids, "w": w}, F.embedding(ids, w))
    module = nn.Embedding(9, 3)
    check('Embedding(ids; name="m")', {"ids": ids}, module(ids), module)
