import random

import torch
from torch import nn


class Hidden(nn.Module):
    """State that state_dict() does not know: a plain tensor, a layer in a list, a buffer left out, a drawn number."""

    def __init__(self):
        super().__init__()
        self.rotation = torch.randn(6, 6)
        self.layers = [nn.Linear(6, 6)]
        self.register_buffer("shift", torch.randn(6), persistent=False)
        self.strength = random.random()

    def forward(self, x):
        turned = torch.matmul(x, self.rotation) + self.shift
        return self.strength * self.layers[0](turned)


def get_inputs():
    return [torch.randn(5, 6)]
