"""Normalisations over odd axes, with and without weights, with statistics of the batch in eval mode."""

import torch
import torch.nn.functional as F
from torch import nn

BATCH = 6
CHANNELS = 12
HEIGHT = 10
WIDTH = 14
GROUPS = 3


class Model(nn.Module):
    def __init__(self, channels, height, width, groups):
        super().__init__()
        self.batch = nn.BatchNorm2d(channels)
        self.always = nn.BatchNorm2d(channels, track_running_stats=False)
        self.bare = nn.BatchNorm1d(channels, affine=False, eps=1e-3)
        self.grouped = nn.GroupNorm(groups, channels)
        self.each = nn.InstanceNorm2d(channels)
        self.kept = nn.InstanceNorm2d(channels, affine=True, track_running_stats=True)
        self.planes = nn.LayerNorm((height, width), bias=False)
        self.last = nn.LayerNorm(width, elementwise_affine=False)
        self.roots = nn.RMSNorm(width)
        self.local = nn.LocalResponseNorm(5)

    def forward(self, x):
        line = x.mean(-1)
        channels_last = F.layer_norm(x.permute(0, 2, 3, 1), (x.shape[1],), eps=1e-2).permute(0, 3, 1, 2)
        by_hand = x / x.pow(2).mean(1, keepdim=True).add(1e-6).sqrt()
        return (
            self.batch(x),
            self.always(x),
            self.bare(line),
            self.bare(line[..., 0]),
            self.grouped(x) + self.grouped(line)[..., None],
            self.each(x),
            self.kept(x),
            self.planes(x),
            self.last(x),
            self.roots(x),
            self.local(x),
            channels_last,
            by_hand,
            F.group_norm(x, 1),
            F.normalize(x, dim=1, eps=0.5),
        )


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS, HEIGHT, WIDTH, GROUPS]
