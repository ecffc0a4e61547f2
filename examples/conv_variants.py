"""Image pipeline with a strided, a dilated, a grouped and a transposed grouped convolution."""

import torch
import torch.nn as nn

BATCH = 16
IN_CHANNELS = 3
WIDTH = 96
GROUPS = 8
HEIGHT_PX = 256
WIDTH_PX = 320


class Model(nn.Module):
    def __init__(self, in_channels, width, groups):
        super().__init__()
        self.stem = nn.Conv2d(in_channels, width, kernel_size=7, stride=2, padding=3)
        self.dilated = nn.Conv2d(width, width, kernel_size=(3, 5), padding=(2, 4), dilation=2, bias=False)
        self.grouped = nn.Conv2d(width, 2 * width, kernel_size=3, stride=(2, 1), padding=1, groups=groups)
        self.up = nn.ConvTranspose2d(
            2 * width, width, kernel_size=(4, 3), stride=(2, 1), padding=1, output_padding=(1, 0), groups=groups
        )
        self.act = nn.LeakyReLU(0.1)

    def forward(self, x):
        h = self.act(self.stem(x))
        h = h + self.dilated(h)
        h = self.act(self.grouped(h))
        return self.up(h)


def get_inputs():
    return [torch.randn(BATCH, IN_CHANNELS, HEIGHT_PX, WIDTH_PX)]


def get_init_inputs():
    return [IN_CHANNELS, WIDTH, GROUPS]
