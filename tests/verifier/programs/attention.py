"""Causal attention: the width must divide by the heads, the length must not pass the mask's."""

import math

import torch
from torch import nn

batch_size, longest, length, width, heads = 32, 1024, 512, 384, 6


class Model(nn.Module):
    def __init__(self, width, heads, longest, eps=1e-5):
        super().__init__()
        assert width % heads == 0
        self.project = nn.Linear(width, 3 * width)
        self.norm = nn.LayerNorm(width, eps=eps)
        self.register_buffer("mask", torch.tril(torch.ones(longest, longest)))
        self.heads = heads

    def forward(self, x, scale=None):
        b, t, c = x.size()
        q, k, v = (part.view(b, t, self.heads, c // self.heads).transpose(1, 2) for part in self.project(x).split(c, 2))
        scores = q @ k.transpose(-2, -1) * (scale or 1 / math.sqrt(c // self.heads))
        scores = scores.masked_fill(self.mask[:t, :t] == 0, float("-inf"))
        return self.norm((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, c))


def get_inputs():
    return [torch.rand(batch_size, length, width)]


def get_init_inputs():
    return {"width": width, "heads": heads, "longest": longest}
