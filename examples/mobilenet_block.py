"""Inverted residual with a 5x5 depthwise convolution, squeeze-and-excitation and hard activations."""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 64
CHANNELS = 48
EXPANSION = 6
REDUCTION = 4
SIZE = 56


class Model(nn.Module):
    def __init__(self, channels, expansion, reduction):
        super().__init__()
        wide = channels * expansion
        self.expand = nn.Conv2d(channels, wide, 1, bias=False)
        self.expand_bn = nn.BatchNorm2d(wide, eps=1e-3)
        self.depthwise = nn.Conv2d(wide, wide, 5, padding=2, groups=wide, bias=False)
        self.depthwise_bn = nn.BatchNorm2d(wide, eps=1e-3)
        self.squeeze = nn.Conv2d(wide, wide // reduction, 1)
        self.excite = nn.Conv2d(wide // reduction, wide, 1)
        self.project = nn.Conv2d(wide, channels, 1, bias=False)
        self.project_bn = nn.BatchNorm2d(channels, eps=1e-3)

    def forward(self, x):
        h = F.hardswish(self.expand_bn(self.expand(x)))
        h = F.hardswish(self.depthwise_bn(self.depthwise(h)))
        gate = F.relu(self.squeeze(F.adaptive_avg_pool2d(h, 1)))
        h = h * F.hardsigmoid(self.excite(gate))
        return x + self.project_bn(self.project(h))


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, SIZE, SIZE)]


def get_init_inputs():
    return [CHANNELS, EXPANSION, REDUCTION]
