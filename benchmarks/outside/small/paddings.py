"""Pads: reflected, replicated, circular, constant with unequal and negative amounts, on some axes only."""

import torch
import torch.nn.functional as F
from torch import nn

BATCH = 4
CHANNELS = 10
HEIGHT = 20
WIDTH = 27


class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.zero = nn.ZeroPad2d((1, 0, 2, 3))
        self.reflect = nn.ReflectionPad2d((3, 1, 0, 2))
        self.conv = nn.Conv2d(channels, channels, 3)

    def forward(self, x):
        cut = F.pad(x, (-2, 1, 1, -3), value=0.5)
        front = F.pad(x, (0, 0, 0, 0, 1, 2), value=-1.0)
        wrapped = F.pad(x, (2, 3, 1, 4), mode="circular")
        edges = F.pad(x, (4, 0, 0, 1), mode="replicate")
        lines = F.pad(x.flatten(2), (5, 2), mode="reflect")
        mirrored = self.conv(self.reflect(x)).amax(dim=(2, 3))
        lone = F.pad(x[:, 0], (0, 1), value=float(2))
        shifted = F.pad(x, (1, -1)) - F.pad(x, (0, 0, -1, 1))
        lowest = F.pad(x, (1, 1), value=float("-inf")).max(dim=-1).values
        return self.zero(cut), front, wrapped, edges, lines, mirrored, lone, shifted, lowest


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS]
