"""Super-resolution head: reflected and wrapped borders, sub-pixel upsampling and a bilinear skip by a fraction."""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 8
CHANNELS = 48
FACTOR = 2
HEIGHT = 135
WIDTH = 182


class Model(nn.Module):
    def __init__(self, channels, factor):
        super().__init__()
        self.stem = nn.Conv2d(3, channels, kernel_size=(4, 3), stride=(1, 2))
        self.wrap = nn.Conv2d(
            channels, channels, kernel_size=(3, 5), padding=(2, 4), dilation=2, padding_mode="circular"
        )
        self.spread = nn.Conv2d(channels, 3 * factor * factor, kernel_size=1)
        self.shuffle = nn.PixelShuffle(factor)

    def forward(self, x):
        h = F.relu(self.stem(F.pad(x, (2, 0, 1, 2), mode="reflect")))
        h = h + torch.tanh(self.wrap(h))
        fine = self.shuffle(self.spread(h))
        coarse = F.interpolate(x, scale_factor=1.75, mode="bilinear", align_corners=False)
        small = F.interpolate(h, scale_factor=(0.4, 0.7), mode="bilinear", align_corners=False)
        skip = F.interpolate(coarse, size=fine.shape[-2:], mode="bilinear", align_corners=False)
        return fine + skip, coarse, small


def get_inputs():
    return [torch.randn(BATCH, 3, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS, FACTOR]
