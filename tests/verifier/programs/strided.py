"""Inputs that are views: repeated, transposed, every second column, and two that share memory."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, a, y, z, tail):
        return (a * y).sum(1), (z * z).sum(-1) + tail[0, 0]


def get_inputs():
    a = torch.randn(1, 1, 64).expand(32, 128, 64)
    y = torch.randn(64, 128).t()
    wide = torch.randn(10, 130)
    return [a, y, wide[:, 1:129:2], wide[:, 100:]]
