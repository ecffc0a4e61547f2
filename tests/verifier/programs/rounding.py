"""Half precision inside, and questions about types."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(12, 12))

    def forward(self, x):
        assert x.dtype == torch.float32
        half = x.half()
        lowest = torch.finfo(half.dtype).min
        same = x.float()
        same.add_(0)
        total = half.to(torch.bfloat16).float() @ self.weight
        return total / 3, torch.full((2,), lowest, dtype=half.dtype), half


def get_inputs():
    return [torch.randn(40, 12)]
