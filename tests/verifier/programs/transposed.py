"""Upsampling by a grouped, strided, transposed convolution."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, inner, outer, groups=4):
        super().__init__()
        self.grow = nn.ConvTranspose2d(
            inner, outer, 3, stride=2, padding=1, output_padding=1, groups=groups, bias=False
        )

    def forward(self, image):
        return self.grow(image)


def get_inputs():
    return [torch.randn(16, 96, 40, 56)]


def get_init_inputs():
    return [96, 64]
