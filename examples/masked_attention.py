"""Multi-head self-attention over padded sequences: keys behind each sequence's length are masked out."""

import math

import torch
import torch.nn as nn

BATCH = 16
LENGTH = 1024
HEADS = 12
HEAD_DIM = 64
WIDTH = HEADS * HEAD_DIM


class Model(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x, valid):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in (q, k, v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        scores = scores.masked_fill(~valid[:, None, None, :], -1e9)
        mixed = torch.softmax(scores, dim=-1) @ v
        mixed = mixed.transpose(1, 2).reshape(batch, length, width)
        return self.out(mixed) * valid[:, :, None]


def get_inputs():
    lengths = torch.randint(LENGTH // 2, LENGTH + 1, (BATCH, 1))
    return [torch.randn(BATCH, LENGTH, WIDTH), torch.arange(LENGTH)[None, :] < lengths]


def get_init_inputs():
    return [WIDTH, HEADS]
