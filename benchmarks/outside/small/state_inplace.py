"""Inputs and buffers that forward() changes, some of them through a view; a buffer outside of the state dict."""

import torch
from torch import nn

BATCH = 10
FEATURES = 28
SLOTS = 14


class Model(nn.Module):
    def __init__(self, features, slots):
        super().__init__()
        self.project = nn.Linear(features, features, bias=False)
        self.register_buffer("memory", torch.randn(slots, features))
        self.register_buffer("steps", torch.tensor(3, dtype=torch.int64))
        self.register_buffer("mask", torch.linspace(0.0, 1.0, features), persistent=False)

    def forward(self, x, count):
        h = self.project(x)
        x.add_(h)
        x[:, 1:].mul_(self.mask[1:])
        count += 1
        count[::2] -= 3
        self.memory[1:] = self.memory[:-1].clone()
        self.memory[0].copy_(h.mean(0))
        self.steps += 1
        old = self.memory.detach()
        self.memory.mul_(0.5).add_(0.25)
        total = old.sum(0) + self.steps  # old is the same memory as the buffer
        h.clamp_(min=-1.0).neg_()
        return h, total


def get_inputs():
    return [torch.randn(BATCH, FEATURES), torch.randint(-5, 6, (BATCH,))]


def get_init_inputs():
    return [FEATURES, SLOTS]
