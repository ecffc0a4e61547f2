"""Dropout that nobody switched off, and noise."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, share):
        super().__init__()
        self.mix = nn.Linear(20, 30, bias=False)
        self.drop = nn.Dropout(share)

    def forward(self, x):
        return self.drop(self.mix(x)) + 0.01 * torch.rand_like(x[:, :1])


def get_inputs():
    return [torch.randn(50, 20)]


def get_init_inputs():
    return [0.25]
