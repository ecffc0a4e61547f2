"""MLP-Mixer: linear layers over patches, then over channels."""

import torch
from timm.models.mlp_mixer import MlpMixer
from torch import nn

BATCH = 8
IMAGE = 96
PATCH = 16
WIDTH = 192
DEPTH = 4
CLASSES = 70


class Model(nn.Module):
    def __init__(self, image, patch, width, depth, classes):
        super().__init__()
        self.net = MlpMixer(img_size=image, patch_size=patch, embed_dim=width, num_blocks=depth, num_classes=classes)

    def forward(self, x):
        return self.net(x)


def get_inputs():
    return [torch.rand(BATCH, 3, IMAGE, IMAGE)]


def get_init_inputs():
    return [IMAGE, PATCH, WIDTH, DEPTH, CLASSES]
