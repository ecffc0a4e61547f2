"""Pointwise operators against torch."""

from __future__ import annotations

import torch

from .rulelab import check


def test_relu_of_two_shapes() -> None:
    text = check("aten.relu.default", {"self": torch.randn(2, 3)}, {"self": torch.randn(5, 4)})
    assert "relu(" in text
