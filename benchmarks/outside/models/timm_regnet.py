"""RegNetY: grouped convolutions in stages whose widths come from a line, squeeze-and-excitation."""

import timm
import torch
from torch import nn

BATCH = 6
IMAGE = 128
CLASSES = 90


class Model(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.net = timm.create_model("regnety_002", pretrained=False, num_classes=classes)

    def forward(self, x):
        return self.net(x)


def get_inputs():
    return [torch.rand(BATCH, 3, IMAGE, IMAGE)]


def get_init_inputs():
    return [CLASSES]
