import torch
from torch import nn


class Upsampler(nn.Module):
    """Doubles an image with a transposed convolution in four groups."""

    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.grow = nn.ConvTranspose2d(
            in_channels, out_channels, kernel_size=3, stride=2, padding=1, output_padding=1, groups=4, bias=False
        )

    def forward(self, image):
        return self.grow(image)


def get_inputs():
    return [torch.randn(2, 12, 5, 7)]


def get_init_inputs():
    return [12, 8]
