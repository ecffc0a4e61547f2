"""GhostNet at half width: half of the channels are made from the others by cheap convolutions."""

import timm
import torch
from torch import nn

BATCH = 8
IMAGE = 96
CLASSES = 40


class Model(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.net = timm.create_model("ghostnet_050", pretrained=False, num_classes=classes)

    def forward(self, x):
        return self.net(x)


def get_inputs():
    return [torch.rand(BATCH, 3, IMAGE, IMAGE)]


def get_init_inputs():
    return [CLASSES]
