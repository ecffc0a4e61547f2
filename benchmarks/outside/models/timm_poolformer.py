"""PoolFormer: the token mixer is an average pool minus the identity, with layer scale."""

import timm
import torch
from torch import nn

BATCH = 4
IMAGE = 96
CLASSES = 40


class Model(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.net = timm.create_model("poolformer_s12", pretrained=False, num_classes=classes)

    def forward(self, x):
        return self.net(x)


def get_inputs():
    return [torch.rand(BATCH, 3, IMAGE, IMAGE)]


def get_init_inputs():
    return [CLASSES]
