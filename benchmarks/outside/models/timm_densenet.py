"""A small DenseNet: every layer reads all that came before it, joined."""

import torch
from timm.models.densenet import DenseNet
from torch import nn

BATCH = 4
IMAGE = 96
CLASSES = 60
GROWTH = 16
BLOCKS = (3, 4, 6, 3)


class Model(nn.Module):
    def __init__(self, growth, blocks, classes):
        super().__init__()
        self.net = DenseNet(growth, blocks, num_classes=classes)

    def forward(self, x):
        return self.net(x)


def get_inputs():
    return [torch.rand(BATCH, 3, IMAGE, IMAGE)]


def get_init_inputs():
    return [GROWTH, BLOCKS, CLASSES]
