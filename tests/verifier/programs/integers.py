"""Whole-number arithmetic with negative values; the results are named."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, keep):
        return {
            "floor": x // 3,
            "trunc": torch.div(x, 3, rounding_mode="trunc"),
            "mod": x % -4,
            "half": x / 2,
            "count": (keep & (x > 0)).sum(-1),
            "wrap": x.to(torch.int8) * 2,
        }


def get_inputs():
    return [
        torch.tensor([[-7, -1, 0, 5, 100, -128]], dtype=torch.int32),
        torch.tensor([[True, True, True, False, True, True]]),
    ]
