"""MobileNetV3 small at half width: inverted residuals, squeeze-and-excitation, hard swish."""

import timm
import torch
from torch import nn

BATCH = 16
IMAGE = 96
CLASSES = 50


class Model(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.net = timm.create_model("mobilenetv3_small_050", pretrained=False, num_classes=classes)

    def forward(self, x):
        return self.net(x)


def get_inputs():
    return [torch.rand(BATCH, 3, IMAGE, IMAGE)]


def get_init_inputs():
    return [CLASSES]
