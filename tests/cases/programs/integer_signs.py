import torch
from torch import nn


class Arithmetic(nn.Module):
    """Integer operators whose results depend on signs, types and width."""

    def forward(self, numbers, mask):
        positive = mask & (numbers > 0)
        return {
            "floor": torch.div(numbers, 3, rounding_mode="floor"),
            "trunc": torch.div(numbers, 3, rounding_mode="trunc"),
            "mod": torch.remainder(numbers, -4),
            "half": numbers / 2,
            "count": positive.sum(dim=-1),
            "wrap": 2 * numbers.to(torch.int8),
        }


def get_inputs():
    numbers = torch.tensor([[-7, -1, 0, 5, 100, -128]], dtype=torch.int32)
    mask = torch.tensor([[True, True, True, False, True, True]])
    return [numbers, mask]
