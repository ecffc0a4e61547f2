"""A logarithm of inputs that get_inputs keeps positive."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.log(x + 0.5).cumsum(-1)


def get_inputs():
    return [torch.rand(8, 64)]
