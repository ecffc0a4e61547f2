"""Two-level U-Net: double convolutions, max-pool down, transposed convolution up, skip connections by concatenation."""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 8
IN_CHANNELS = 1
OUT_CHANNELS = 4
BASE = 64
HEIGHT = 256
WIDTH = 192


class DoubleConv(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.first = nn.Conv2d(in_channels, out_channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(out_channels)
        self.second = nn.Conv2d(out_channels, out_channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(out_channels)

    def forward(self, x):
        x = F.relu(self.bn1(self.first(x)))
        return F.relu(self.bn2(self.second(x)))


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, base):
        super().__init__()
        self.enc1 = DoubleConv(in_channels, base)
        self.enc2 = DoubleConv(base, 2 * base)
        self.mid = DoubleConv(2 * base, 4 * base)
        self.up2 = nn.ConvTranspose2d(4 * base, 2 * base, 2, stride=2)
        self.dec2 = DoubleConv(4 * base, 2 * base)
        self.up1 = nn.ConvTranspose2d(2 * base, base, 2, stride=2)
        self.dec1 = DoubleConv(2 * base, base)
        self.head = nn.Conv2d(base, out_channels, 1)

    def forward(self, x):
        fine = self.enc1(x)
        coarse = self.enc2(F.max_pool2d(fine, 2))
        h = self.mid(F.max_pool2d(coarse, 2))
        h = self.dec2(torch.cat([self.up2(h), coarse], dim=1))
        h = self.dec1(torch.cat([self.up1(h), fine], dim=1))
        return self.head(h)


def get_inputs():
    return [torch.randn(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, BASE]
