"""ViT without a pooled token."""

import torch
from torch import nn
from transformers import ViTConfig, ViTModel

BATCH = 4
IMAGE = 96
PATCH = 16
WIDTH = 192
HEADS = 4
LAYERS = 3
FEEDFORWARD = 640


class Model(nn.Module):
    def __init__(self, width, heads, layers, feedforward, image, patch):
        super().__init__()
        self.net = ViTModel(
            ViTConfig(
                hidden_size=width,
                num_attention_heads=heads,
                num_hidden_layers=layers,
                intermediate_size=feedforward,
                image_size=image,
                patch_size=patch,
            )
        )

    def forward(self, x):
        return self.net(x).last_hidden_state


def get_inputs():
    return [torch.randn(BATCH, 3, IMAGE, IMAGE)]


def get_init_inputs():
    return [WIDTH, HEADS, LAYERS, FEEDFORWARD, IMAGE, PATCH]
