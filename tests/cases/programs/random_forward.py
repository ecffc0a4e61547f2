import torch
from torch import nn


class Noisy(nn.Module):
    """Dropout is left in training mode, and uniform noise is added besides."""

    def __init__(self, probability):
        super().__init__()
        self.project = nn.Linear(20, 30, bias=False)
        self.dropout = nn.Dropout(probability)

    def forward(self, x):
        kept = self.dropout(self.project(x))
        return kept + torch.rand_like(kept) * 0.01


def get_inputs():
    return [torch.randn(50, 20)]


def get_init_inputs():
    return [0.25]
