"""Tied weights, one layer called in several places, weight_norm, layers kept in lists and dicts, plain tensors."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

BATCH = 6
LENGTH = 19
WIDTH = 32
VOCABULARY = 75


class Block(nn.Module):
    def __init__(self, width, norm):
        super().__init__()
        self.norm = norm
        self.lift = weight_norm(nn.Linear(width, width))

    def forward(self, x):
        return x + self.lift(self.norm(x))


class Model(nn.Module):
    def __init__(self, width, vocabulary):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        norm = nn.LayerNorm(width)
        self.blocks = nn.ModuleList([Block(width, norm) for _ in range(3)])
        self.blocks.append(self.blocks[0])
        self.choices = nn.ModuleDict({"gelu": nn.GELU(), "tanh": nn.Tanh()})
        self.gains = nn.ParameterList([nn.Parameter(torch.rand(width)) for _ in range(2)])
        self.table = nn.ParameterDict({"bias": nn.Parameter(torch.randn(vocabulary))})
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.embed.weight
        self.offset = torch.full((width,), 0.125)

    def forward(self, ids):
        h = self.embed(ids)
        for number, block in enumerate(self.blocks):
            h = block(h)
            if number < len(self.gains):
                h = h * self.gains[number]
        h = self.choices["gelu"](self.blocks[1](h)) + self.choices["tanh"](self.blocks[1].norm(h)) + self.offset
        turned = F.linear(h, self.blocks[2].lift.weight.t())
        return self.head(h) + self.table["bias"], turned


def get_inputs():
    return [torch.randint(0, VOCABULARY, (BATCH, LENGTH))]


def get_init_inputs():
    return [WIDTH, VOCABULARY]
