"""Convolutions: 'same' with an even kernel, groups, dilation, padding modes, transposed with groups and extra rows."""

import torch
import torch.nn.functional as F
from torch import nn

BATCH = 3
CHANNELS = 12
HEIGHT = 18
WIDTH = 25
GROUPS = 3


class Model(nn.Module):
    def __init__(self, channels, groups):
        super().__init__()
        self.same = nn.Conv2d(channels, channels, (4, 3), padding="same", dilation=(1, 2))
        self.wrapped = nn.Conv2d(channels, channels, 3, padding=(2, 1), padding_mode="circular", bias=False)
        self.mirrored = nn.Conv1d(channels, channels, 5, padding=2, padding_mode="reflect")
        self.grouped = nn.Conv2d(channels, 2 * channels, 3, stride=(2, 1), groups=groups)
        self.depth = nn.Conv2d(channels, channels, 3, padding=1, groups=channels)
        self.up = nn.ConvTranspose2d(
            channels, channels, (3, 4), stride=(2, 3), padding=(1, 0), output_padding=(1, 2), groups=groups
        )
        self.wide = nn.ConvTranspose1d(channels, channels, 3, dilation=2, bias=False)
        self.solid = nn.Conv3d(1, groups, (3, 2, 2), stride=(1, 2, 2))

    def forward(self, x):
        line = x[..., 0]
        kernel = self.depth.weight.flip(-1)
        return (
            self.same(x),
            self.wrapped(x),
            self.mirrored(line),
            self.grouped(x),
            self.depth(x),
            self.up(x),
            self.wide(line),
            self.solid(x.unsqueeze(1)),
            F.conv2d(x, kernel, groups=x.shape[1]),
            F.conv1d(line[0], self.mirrored.weight, padding="valid", stride=2),
        )


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS, GROUPS]
