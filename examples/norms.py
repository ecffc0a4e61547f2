"""One feature map, five normalisations; each result is an output of its own."""

import torch
import torch.nn as nn

BATCH = 32
CHANNELS = 64
GROUPS = 8
HEIGHT = 128
WIDTH = 128


class Model(nn.Module):
    def __init__(self, channels, groups, width):
        super().__init__()
        self.batch = nn.BatchNorm2d(channels)
        self.group = nn.GroupNorm(groups, channels, eps=1e-6)
        self.instance = nn.InstanceNorm2d(channels, affine=True)
        self.layer = nn.LayerNorm(width)
        self.gain = nn.Parameter(torch.rand(channels, 1, 1) + 0.5)

    def forward(self, x):
        mean_square = x.pow(2).mean(dim=1, keepdim=True)
        rms = x * torch.rsqrt(mean_square + 1e-6) * self.gain
        return self.batch(x), self.group(x), self.instance(x), self.layer(x), rms


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS, GROUPS, WIDTH]
