"""VGG-11 with batch norm; its head is two convolutions."""

import torch
from timm.models.vgg import VGG
from torch import nn

BATCH = 4
IMAGE = 96
CLASSES = 100
PLAN = [64, "M", 128, "M", 256, 256, "M", 512, 512, "M", 512, 512, "M"]


class Model(nn.Module):
    def __init__(self, plan, classes):
        super().__init__()
        self.net = VGG(plan, num_classes=classes, norm_layer=nn.BatchNorm2d, mlp_ratio=0.25)

    def forward(self, x):
        return self.net(x)


def get_inputs():
    return [torch.rand(BATCH, 3, IMAGE, IMAGE)]


def get_init_inputs():
    return [PLAN, CLASSES]
