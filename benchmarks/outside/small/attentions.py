"""Attention as one operator: causal with fewer queries than keys, bool and float masks, a scale, fewer key heads; and
the library's layers, with and without the weights, with a padding mask."""

import torch
import torch.nn.functional as F
from torch import nn

BATCH = 3
HEADS = 4
QUERIES = 10
KEYS = 17
WIDTH = 32
FEEDFORWARD = 45


class Model(nn.Module):
    def __init__(self, width, heads, feedforward):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.cross = nn.MultiheadAttention(width, heads, batch_first=True)
        self.layer = nn.TransformerEncoderLayer(width, heads, feedforward, batch_first=True, norm_first=True)
        self.decoder = nn.TransformerDecoderLayer(width, heads, feedforward, activation="gelu", batch_first=True)

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x, memory, padding):
        q, k, v = (self.split(part) for part in self.qkv(memory).chunk(3, dim=-1))
        few = q[:, :, : x.shape[1]]
        causal = F.scaled_dot_product_attention(few, k, v, is_causal=True)
        masked = F.scaled_dot_product_attention(q, k, v, attn_mask=~padding[:, None, None, :], scale=0.3)
        biased = F.scaled_dot_product_attention(q, k, v, attn_mask=(q @ k.mT).tanh())
        shared = F.scaled_dot_product_attention(q, k[:, ::2], v[:, ::2], enable_gqa=True)
        mixed, weights = self.cross(x, memory, memory, key_padding_mask=padding)
        alone, _ = self.cross(x, memory, memory, need_weights=False)
        encoded = self.layer(memory)
        decoded = self.decoder(x, encoded)
        joined = (masked + biased + shared).transpose(1, 2).flatten(2)
        return causal, joined, mixed, weights, alone, encoded, decoded


def get_inputs():
    padding = torch.cat([torch.zeros(BATCH, 1), torch.randint(0, 2, (BATCH, KEYS - 1))], dim=1).bool()
    return [torch.randn(BATCH, QUERIES, WIDTH), torch.randn(BATCH, KEYS, WIDTH), padding]


def get_init_inputs():
    return [WIDTH, HEADS, FEEDFORWARD]
