import torch
from torch import nn

WIDTH = 1024


class ExpProduct(nn.Module):
    """An exponential that is bound by memory, then a product that is bound by arithmetic."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width, width))

    def forward(self, x):
        return torch.matmul(torch.exp(x), self.weight)


def get_inputs():
    return [torch.rand(WIDTH, WIDTH)]


def get_init_inputs():
    return [WIDTH]
