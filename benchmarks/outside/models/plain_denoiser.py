"""A denoiser of sequences: sines of the step, residual blocks whose norms are scaled by it, attention at the coarsest
level, skips joined on the way up."""

import math

import torch
import torch.nn.functional as F
from torch import nn

BATCH = 4
CHANNELS = 10
LENGTH = 128
WIDTH = 48
GROUPS = 4
HEADS = 4


class Residual(nn.Module):
    def __init__(self, inputs, outputs, condition, groups):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(groups, inputs), nn.GroupNorm(groups, outputs)
        self.conv1, self.conv2 = nn.Conv1d(inputs, outputs, 3, padding=1), nn.Conv1d(outputs, outputs, 3, padding=1)
        self.modulate = nn.Linear(condition, 2 * outputs)
        self.skip = nn.Conv1d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x, condition):
        h = self.conv1(F.silu(self.norm1(x)))
        scale, shift = self.modulate(F.silu(condition))[..., None].chunk(2, dim=1)
        h = self.conv2(F.silu(self.norm2(h) * (1 + scale) + shift))
        return (self.skip(x) + h) / math.sqrt(2)


class Attention(nn.Module):
    def __init__(self, width, heads, groups):
        super().__init__()
        self.heads = heads
        self.norm = nn.GroupNorm(groups, width)
        self.qkv = nn.Conv1d(width, 3 * width, 1)
        self.out = nn.Conv1d(width, width, 1)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).reshape(x.shape[0], 3, self.heads, -1, x.shape[2]).unbind(1)
        weights = torch.einsum("bhdq,bhdk->bhqk", q, k).div(math.sqrt(q.shape[2])).softmax(-1)
        mixed = torch.einsum("bhqk,bhdk->bhdq", weights, v).flatten(1, 2)
        return x + self.out(mixed)


class Model(nn.Module):
    def __init__(self, channels, width, groups, heads):
        super().__init__()
        condition = 4 * width
        self.width = width
        self.embed = nn.Sequential(nn.Linear(width, condition), nn.SiLU(), nn.Linear(condition, condition))
        self.enter = nn.Conv1d(channels, width, 3, padding=1)
        self.down1 = Residual(width, width, condition, groups)
        self.shrink1 = nn.Conv1d(width, width, 3, stride=2, padding=1)
        self.down2 = Residual(width, 2 * width, condition, groups)
        self.shrink2 = nn.AvgPool1d(2)
        self.middle = Residual(2 * width, 2 * width, condition, groups)
        self.attention = Attention(2 * width, heads, groups)
        self.up2 = Residual(4 * width, width, condition, groups)
        self.grow = nn.ConvTranspose1d(width, width, 4, stride=2, padding=1)
        self.up1 = Residual(2 * width, width, condition, groups)
        self.leave = nn.Sequential(nn.GroupNorm(groups, width), nn.SiLU(), nn.Conv1d(width, channels, 3, padding=1))

    def forward(self, x, step):
        half = self.width // 2
        frequencies = torch.exp(-math.log(10000.0) * torch.arange(half, device=x.device) / half)
        angles = step[:, None] * frequencies
        condition = self.embed(torch.cat([angles.sin(), angles.cos()], dim=-1))
        first = self.down1(self.enter(x), condition)
        second = self.down2(self.shrink1(first), condition)
        h = self.attention(self.middle(self.shrink2(second), condition))
        h = F.interpolate(h, scale_factor=2.0, mode="nearest")
        h = self.up2(torch.cat([h, second], dim=1), condition)
        h = self.up1(torch.cat([self.grow(h), first], dim=1), condition)
        return self.leave(h)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, LENGTH), torch.randint(0, 1000, (BATCH,))]


def get_init_inputs():
    return [CHANNELS, WIDTH, GROUPS, HEADS]
