"""Python that decides by sizes and attributes, layers made by a loop with other widths each, recursion over halves,
slices with computed ends, a hook, a functional call with other weights."""

import math
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import nn

BATCH = 4
LENGTH = 32
WIDTHS = (18, 27, 10)
STEPS = 3


def halved(x):
    """Pairs joined by their maximum until one column is left; an odd last column waits."""
    if x.shape[1] == 1:
        return x[:, 0]
    rest = x[:, x.shape[1] // 2 * 2 :]
    pairs = torch.maximum(x[:, 0:-1:2], x[:, 1::2])
    return halved(torch.cat([pairs, rest], dim=1))


class Model(nn.Module):
    def __init__(self, widths, steps):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(widths))
        self.back = nn.Sequential(*(nn.Linear(b, a) for a, b in pairwise(widths)))
        self.steps = steps
        self.layers[0].register_forward_hook(lambda module, args, output: output * 0.5)

    def forward(self, x):
        h = x
        for layer in self.layers:
            h = layer(h)
            if h.shape[-1] < x.shape[-1]:
                h = h + x[..., : h.shape[-1]]
            else:
                h = h + F.pad(x, (0, h.shape[-1] - x.shape[-1]))
        position = torch.arange(x.shape[1]) / math.sqrt(x.shape[1])
        h = h + torch.sin(position)[:, None]
        half = x.shape[1] // 2
        folded = h[:, :half] - h[:, -half:].flip(1)
        refined = folded
        for step in range(self.steps):
            refined = refined + 2.0**-step * torch.tanh(refined.roll(step + 1, dims=1))
        total = 0.0
        for number, layer in enumerate(reversed(self.layers)):
            total = total + number * layer.weight.abs().sum() / layer.weight.numel()
        called = torch.func.functional_call(self.layers[0], {"weight": self.layers[0].weight.abs()}, (x,))
        return halved(h), refined, total, called, halved(x.mean(-1)).max()


def get_inputs():
    return [torch.randn(BATCH, LENGTH, WIDTHS[0])]


def get_init_inputs():
    return [WIDTHS, STEPS]
