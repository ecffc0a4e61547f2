"""Batch normalisation, whose fresh state would hide four of its inputs, beside entries that must stay as they are."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)
        self.register_buffer("root", torch.zeros(channels, 1, 1))
        self.register_buffer("ramp", torch.arange(float(channels)).view(-1, 1, 1))

    def forward(self, x):
        return self.norm(x) * self.ramp + torch.sqrt(self.root)


def get_inputs():
    return [torch.rand(64, 32, 224, 224)]


def get_init_inputs():
    return [32]
