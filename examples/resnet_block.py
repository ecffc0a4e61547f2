"""A residual stage: one down-sampling block with a projected shortcut, then blocks that keep the shape."""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 32
IN_CHANNELS = 64
CHANNELS = 128
BLOCKS = 3
SIZE = 56


class Block(nn.Module):
    def __init__(self, in_channels, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, channels, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.shortcut = None
        if stride != 1 or in_channels != channels:
            self.shortcut = nn.Sequential(
                nn.Conv2d(in_channels, channels, 1, stride=stride, bias=False), nn.BatchNorm2d(channels)
            )

    def forward(self, x):
        h = F.relu(self.bn1(self.conv1(x)))
        h = self.bn2(self.conv2(h))
        skip = x if self.shortcut is None else self.shortcut(x)
        return F.relu(h + skip)


class Model(nn.Module):
    def __init__(self, in_channels, channels, blocks):
        super().__init__()
        self.blocks = nn.ModuleList(
            Block(in_channels if i == 0 else channels, channels, 2 if i == 0 else 1) for i in range(blocks)
        )

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x.mean(dim=(2, 3))


def get_inputs():
    return [torch.randn(BATCH, IN_CHANNELS, SIZE, SIZE)]


def get_init_inputs():
    return [IN_CHANNELS, CHANNELS, BLOCKS]
