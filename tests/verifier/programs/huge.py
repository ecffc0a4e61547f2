"""Too large to be built: each matrix takes 4 GiB."""

import torch
from torch import nn

size = 32768


class Model(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.matrix = nn.Parameter(torch.randn(size, size, device="cuda" if torch.cuda.is_available() else "cpu"))

    def forward(self, x):
        return x.exp() @ self.matrix


def get_inputs():
    return [torch.rand(32768, size)]


def get_init_inputs():
    return [size]
