"""Shifted-window attention block with a table of relative position biases and a mask between wrapped regions."""

import torch
import torch.nn as nn

BATCH = 32
HEIGHT = 56
WIDTH = 84
WINDOW = 7
SHIFT = 3
HEADS = 4
CHANNELS = 128


class Model(nn.Module):
    def __init__(self, height, width, window, shift, heads, channels):
        super().__init__()
        self.window, self.shift, self.heads = window, shift, heads
        self.norm = nn.LayerNorm(channels)
        self.qkv = nn.Linear(channels, 3 * channels)
        self.proj = nn.Linear(channels, channels)
        self.table = nn.Parameter(torch.randn((2 * window - 1) ** 2, heads) * 0.02)
        step = torch.arange(window)
        at = torch.stack(torch.meshgrid(step, step, indexing="ij")).flatten(1)
        apart = at[:, :, None] - at[:, None, :] + window - 1
        self.register_buffer("index", apart[0] * (2 * window - 1) + apart[1])
        region = torch.zeros(height, width)
        parts = (slice(0, -window), slice(-window, -shift), slice(-shift, None))
        for i, rows in enumerate(parts):
            for j, columns in enumerate(parts):
                region[rows, columns] = 3 * i + j
        region = self.split(region[None, :, :, None]).squeeze(-1)
        differs = region[:, :, None] != region[:, None, :]
        self.register_buffer("mask", torch.zeros(differs.shape).masked_fill(differs, -100.0))

    def split(self, x):
        b, h, w, c = x.shape
        x = x.view(b, h // self.window, self.window, w // self.window, self.window, c)
        return x.permute(0, 1, 3, 2, 4, 5).reshape(-1, self.window * self.window, c)

    def forward(self, x):
        b, h, w, c = x.shape
        rolled = torch.roll(self.norm(x), shifts=(-self.shift, -self.shift), dims=(1, 2))
        tiles = self.split(rolled)
        count, area, _ = tiles.shape
        q, k, v = self.qkv(tiles).view(count, area, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = (q * (c // self.heads) ** -0.5) @ k.transpose(-2, -1)
        bias = self.table[self.index.view(-1)].view(area, area, -1).permute(2, 0, 1)
        scores = (scores + bias).view(b, count // b, self.heads, area, area) + self.mask[None, :, None]
        weight = torch.softmax(scores.view(count, self.heads, area, area), dim=-1)
        out = self.proj((weight @ v).transpose(1, 2).reshape(count, area, c))
        out = out.view(b, h // self.window, w // self.window, self.window, self.window, c)
        out = out.permute(0, 1, 3, 2, 4, 5).reshape(b, h, w, c)
        return x + torch.roll(out, shifts=(self.shift, self.shift), dims=(1, 2))


def get_inputs():
    return [torch.randn(BATCH, HEIGHT, WIDTH, CHANNELS)]


def get_init_inputs():
    return [HEIGHT, WIDTH, WINDOW, SHIFT, HEADS, CHANNELS]
