import torch
from torch import nn


class Normalised(nn.Module):
    """The mean after a layer norm is zero, and probabilities add up to one, whatever goes in."""

    def __init__(self):
        super().__init__()
        self.project = nn.Linear(32, 64)
        self.norm = nn.LayerNorm(64, elementwise_affine=False)

    def forward(self, x):
        normal = self.norm(self.project(x))
        return normal.mean(dim=-1), normal.softmax(dim=-1).sum(dim=-1)


def get_inputs():
    return [torch.randn(16, 32)]
