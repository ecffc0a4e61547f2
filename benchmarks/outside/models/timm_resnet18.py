"""ResNet-18, as timm makes it by name: only the batch, the image and the classes are free."""

import timm
import torch
from torch import nn

BATCH = 8
IMAGE = 160
CLASSES = 100


class Model(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.net = timm.create_model("resnet18", pretrained=False, num_classes=classes)

    def forward(self, x):
        return self.net(x)


def get_inputs():
    return [torch.rand(BATCH, 3, IMAGE, IMAGE)]


def get_init_inputs():
    return [CLASSES]
