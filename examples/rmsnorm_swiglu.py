"""Decoder block: RMS norm, rotary positions, grouped-query causal attention, SwiGLU feed-forward."""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4
LENGTH = 2048
HEADS = 16
KV_HEADS = 4
HEAD_DIM = 64
WIDTH = HEADS * HEAD_DIM
HIDDEN = 2816


class RMSNorm(nn.Module):
    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + self.eps) * self.weight


class Model(nn.Module):
    def __init__(self, width, heads, kv_heads, head_dim, hidden, base=10000.0):
        super().__init__()
        self.heads, self.kv_heads, self.head_dim, self.base = heads, kv_heads, head_dim, base
        self.norm1 = RMSNorm(width)
        self.wq = nn.Linear(width, heads * head_dim, bias=False)
        self.wk = nn.Linear(width, kv_heads * head_dim, bias=False)
        self.wv = nn.Linear(width, kv_heads * head_dim, bias=False)
        self.wo = nn.Linear(heads * head_dim, width, bias=False)
        self.norm2 = RMSNorm(width)
        self.gate = nn.Linear(width, hidden, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def rotate(self, x):
        half = self.head_dim // 2
        frequency = self.base ** (-torch.arange(half, device=x.device, dtype=x.dtype) / half)
        angle = torch.arange(x.shape[2], device=x.device, dtype=x.dtype)[:, None] * frequency
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], dim=-1)

    def forward(self, x):
        batch, length, _ = x.shape
        h = self.norm1(x)
        q = self.rotate(self.wq(h).view(batch, length, self.heads, self.head_dim).transpose(1, 2))
        k = self.rotate(self.wk(h).view(batch, length, self.kv_heads, self.head_dim).transpose(1, 2))
        v = self.wv(h).view(batch, length, self.kv_heads, self.head_dim).transpose(1, 2)
        k = k.repeat_interleave(self.heads // self.kv_heads, dim=1)
        v = v.repeat_interleave(self.heads // self.kv_heads, dim=1)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.wo(mixed.transpose(1, 2).reshape(batch, length, -1))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


def get_inputs():
    return [torch.randn(BATCH, LENGTH, WIDTH)]


def get_init_inputs():
    return [WIDTH, HEADS, KV_HEADS, HEAD_DIM, HIDDEN]
