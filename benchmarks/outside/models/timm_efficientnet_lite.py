"""EfficientNet-Lite0: depthwise convolutions, ReLU6."""

import timm
import torch
from torch import nn

BATCH = 8
IMAGE = 112
CLASSES = 80


class Model(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.net = timm.create_model("efficientnet_lite0", pretrained=False, num_classes=classes)

    def forward(self, x):
        return self.net(x)


def get_inputs():
    return [torch.rand(BATCH, 3, IMAGE, IMAGE)]


def get_init_inputs():
    return [CLASSES]
