"""A tiny DeiT: patches, a class token, fused attention."""

import torch
from timm.models.vision_transformer import VisionTransformer
from torch import nn

BATCH = 8
IMAGE = 112
PATCH = 16
WIDTH = 192
HEADS = 3
DEPTH = 4
CLASSES = 100


class Model(nn.Module):
    def __init__(self, image, patch, width, heads, depth, classes):
        super().__init__()
        self.net = VisionTransformer(
            img_size=image, patch_size=patch, embed_dim=width, num_heads=heads, depth=depth, num_classes=classes
        )

    def forward(self, x):
        return self.net(x)


def get_inputs():
    return [torch.rand(BATCH, 3, IMAGE, IMAGE)]


def get_init_inputs():
    return [IMAGE, PATCH, WIDTH, HEADS, DEPTH, CLASSES]
