"""Clip descriptor: overlapping, rounded-up and adaptive poolings of frames, and the strongest frame of each pixel."""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 8
FRAMES = 6
CHANNELS = 32
HEIGHT = 112
WIDTH = 150


class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.lift = nn.Conv2d(3, channels, kernel_size=3, padding=1)
        self.top = nn.MaxPool2d(kernel_size=3, stride=2, padding=1, ceil_mode=True)
        self.mean = nn.AvgPool2d(kernel_size=(3, 2), stride=2, padding=1, ceil_mode=True, count_include_pad=False)
        self.padded = nn.AvgPool2d(kernel_size=3, stride=2, padding=1, ceil_mode=True)
        self.norm = nn.LPPool2d(2, kernel_size=(4, 3), stride=3, ceil_mode=True)

    def forward(self, x):
        b, t = x.shape[:2]
        h = self.lift(x.flatten(0, 1))
        clip = h.view(b, t, *h.shape[1:])
        value, frame = clip.max(dim=1)
        faint = clip.amin(dim=(1, 3))
        top = self.top(h)
        mean = self.mean(h)
        grid = F.adaptive_avg_pool2d(h, (5, 7))
        peak = F.adaptive_max_pool2d(h, (7, None))
        hop = F.max_pool2d(h, kernel_size=(2, 3), stride=(3, 2), dilation=(2, 1))
        return value, frame, faint, top, mean, self.padded(h), self.norm(h), grid, peak, hop


def get_inputs():
    return [torch.randn(BATCH, FRAMES, 3, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS]
