"""A bottleneck ResNet of timm with squeeze-and-excitation and an average in the shortcut."""

import torch
from timm.models.resnet import Bottleneck, ResNet
from torch import nn

BATCH = 4
IMAGE = 128
CLASSES = 100
LAYERS = (2, 3, 2, 2)
CHANNELS = (64, 128, 256, 512)
STEM = 32


class Model(nn.Module):
    def __init__(self, layers, channels, classes, stem):
        super().__init__()
        self.net = ResNet(
            Bottleneck,
            layers=layers,
            channels=channels,
            num_classes=classes,
            stem_width=stem,
            stem_type="deep",
            avg_down=True,
            block_args={"attn_layer": "se"},
        )

    def forward(self, x):
        return self.net(x)


def get_inputs():
    return [torch.rand(BATCH, 3, IMAGE, IMAGE)]


def get_init_inputs():
    return [LAYERS, CHANNELS, CLASSES, STEM]
