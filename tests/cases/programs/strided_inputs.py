import torch
from torch import nn


class Weighted(nn.Module):
    """One argument repeats 64 numbers without storing them again, one is transposed, one skips columns."""

    def forward(self, repeated, transposed, skipping):
        return torch.sum(repeated * transposed, dim=1), torch.sum(skipping * skipping, dim=-1)


def get_inputs():
    repeated = torch.randn(64).expand(32, 128, 64)
    transposed = torch.randn(64, 128).transpose(0, 1)
    skipping = torch.randn(10, 130)[:, 1:129:2]
    return [repeated, transposed, skipping]
