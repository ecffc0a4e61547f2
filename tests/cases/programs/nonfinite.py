import torch
from torch import nn


class Logarithms(nn.Module):
    """Logarithms of numbers of both signs: masked, accumulated along a row, and compared with the numbers."""

    def forward(self, x):
        logs = x.log()
        safe = torch.where(x > 0, logs, 0.0)
        running = torch.cumsum(logs, dim=-1)
        larger = torch.maximum(x, logs)
        return safe, running, larger


def get_inputs():
    return [torch.randn(8, 64)]
