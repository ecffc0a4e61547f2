"""Weights and activations stored in eight bits, multiplied in bf16, scaled per row."""

import torch
from torch import nn

EIGHT = torch.float8_e4m3fn


class Model(nn.Module):
    def __init__(self, rows, columns):
        super().__init__()
        self.register_buffer("packed", torch.randn(rows, columns).to(EIGHT))
        self.register_buffer("scale", torch.rand(rows) + 0.5)

    def forward(self, x):
        product = x.to(torch.bfloat16) @ self.packed.to(torch.bfloat16).t()
        return product.float() * self.scale


def get_inputs():
    return [torch.randn(32, 128).to(EIGHT)]


def get_init_inputs():
    return [64, 128]
