"""Other resolutions: nearest and exact, bilinear and bicubic with corners aligned or not, sizes that do not divide,
columns of patches and back, a grid of places."""

import torch
import torch.nn.functional as F
from torch import nn

BATCH = 3
CHANNELS = 9
HEIGHT = 14
WIDTH = 20
TALL = 33
PATCH = 4


class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
        self.theta = nn.Parameter(torch.tensor([[[0.8, 0.1, 0.0], [-0.2, 0.9, 0.1]]]))
        self.out = nn.Conv2d(channels, channels, 1)

    def forward(self, x):
        b, c, h, w = x.shape
        doubled = F.interpolate(x, scale_factor=2, mode="nearest")
        taller = F.interpolate(x, size=(TALL, w), mode="nearest")
        exact = F.interpolate(x, size=(TALL, w), mode="nearest-exact")
        smooth = F.interpolate(x, size=(TALL, w + 3), mode="bilinear", align_corners=False)
        halved = F.interpolate(x, scale_factor=0.5, mode="bilinear", align_corners=False)
        cubic = F.interpolate(x, scale_factor=1.5, mode="bicubic", align_corners=False)
        line = F.interpolate(x[:, :, 0], size=TALL, mode="linear", align_corners=True)
        area = F.interpolate(x, size=(5, 6), mode="area")
        columns = F.unfold(x, PATCH, stride=2, padding=1, dilation=1)
        back = F.fold(columns, (h, w), PATCH, stride=2, padding=1)
        grid = F.affine_grid(self.theta.expand(b, -1, -1), (b, c, h, w), align_corners=False)
        warped = F.grid_sample(x, grid, align_corners=False, padding_mode="border")
        return self.out(self.up(x)), doubled, taller, exact, smooth, halved, cubic, line, area, columns, back, warped


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS]
