"""ConvNeXt: large depthwise kernels, layer norm over channels, layer scale."""

import torch
from timm.models.convnext import ConvNeXt
from torch import nn

BATCH = 4
IMAGE = 160
CLASSES = 100
DEPTHS = (2, 2, 4, 2)
DIMS = (48, 96, 192, 384)


class Model(nn.Module):
    def __init__(self, depths, dims, classes):
        super().__init__()
        self.net = ConvNeXt(depths=depths, dims=dims, num_classes=classes, ls_init_value=0.5)

    def forward(self, x):
        return self.net(x)


def get_inputs():
    return [torch.rand(BATCH, 3, IMAGE, IMAGE)]


def get_init_inputs():
    return [DEPTHS, DIMS, CLASSES]
