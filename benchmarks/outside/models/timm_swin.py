"""Swin: attention in windows, shifted by rolls in every second block, with a relative bias."""

import torch
from timm.models.swin_transformer import SwinTransformer
from torch import nn

BATCH = 4
IMAGE = 64
PATCH = 4
WIDTH = 48
DEPTHS = (2, 2)
HEADS = (3, 6)
WINDOW = 4
CLASSES = 30


class Model(nn.Module):
    def __init__(self, image, patch, width, depths, heads, window, classes):
        super().__init__()
        self.net = SwinTransformer(
            img_size=image,
            patch_size=patch,
            embed_dim=width,
            depths=depths,
            num_heads=heads,
            window_size=window,
            num_classes=classes,
        )

    def forward(self, x):
        return self.net(x)


def get_inputs():
    return [torch.rand(BATCH, 3, IMAGE, IMAGE)]


def get_init_inputs():
    return [IMAGE, PATCH, WIDTH, DEPTHS, HEADS, WINDOW, CLASSES]
