"""Pools: rounded-up extents, padding that does not count, dilation, indices, adaptive extents that do not divide."""

import torch
import torch.nn.functional as F
from torch import nn

BATCH = 4
CHANNELS = 10
HEIGHT = 30
WIDTH = 23
BINS = 7


class Model(nn.Module):
    def __init__(self, bins):
        super().__init__()
        self.up = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.spread = nn.MaxPool2d(3, stride=1, padding=1, dilation=2)
        self.without = nn.AvgPool2d((3, 5), stride=2, padding=(1, 2), count_include_pad=False)
        self.partly = nn.AvgPool2d(4, stride=3, padding=1, ceil_mode=True)
        self.fixed = nn.AvgPool2d(2, divisor_override=3)
        self.bins = nn.AdaptiveAvgPool2d((bins, None))
        self.tops = nn.AdaptiveMaxPool1d(bins)

    def forward(self, x):
        largest, where = F.max_pool2d(x, 2, return_indices=True)
        line = x.mean(2)
        return (
            self.up(x),
            self.spread(x),
            self.without(x),
            self.partly(x),
            self.fixed(x),
            self.bins(x),
            self.tops(line),
            F.adaptive_avg_pool2d(x, 1).flatten(1),
            largest,
            where,
            F.lp_pool1d(line.abs() + 0.1, 2.0, 3, stride=2),
            F.avg_pool1d(line, 3, stride=1, padding=1),
            F.max_pool3d(x.unsqueeze(1), (2, 3, 3), stride=(1, 2, 2)),
        )


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [BINS]
