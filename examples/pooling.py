"""Pyramid pooling: overlapping max, uncounted padding, ceil mode and two adaptive grids over one feature map."""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 16
CHANNELS = 256
HEIGHT = 112
WIDTH = 96
GRID = 6


class Model(nn.Module):
    def __init__(self, grid):
        super().__init__()
        self.peak = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.smooth = nn.AvgPool2d(kernel_size=3, stride=2, padding=1, ceil_mode=True, count_include_pad=False)
        self.grid = nn.AdaptiveAvgPool2d(grid)

    def forward(self, x):
        peak = self.peak(x)
        smooth = self.smooth(peak)
        grid = self.grid(smooth)
        best = F.adaptive_max_pool2d(peak, 1).flatten(1)
        return grid, best, F.avg_pool2d(x.abs(), (2, 4))


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [GRID]
