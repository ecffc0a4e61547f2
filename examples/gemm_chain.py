"""Three matrix products in a row with a bias, a scaled tanh-GELU and a residual connection."""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 2048
IN_FEATURES = 4096
HIDDEN = 8192
RANK = 512
OUT_FEATURES = IN_FEATURES


class Model(nn.Module):
    def __init__(self, in_features, hidden, rank, out_features, scale):
        super().__init__()
        self.up = nn.Linear(in_features, hidden)
        self.squeeze = nn.Parameter(torch.randn(hidden, rank) * 0.02)
        self.down = nn.Linear(rank, out_features, bias=False)
        self.scale = scale

    def forward(self, x):
        h = F.gelu(self.up(x), approximate="tanh")
        h = torch.matmul(h, self.squeeze) * self.scale
        return x + self.down(h)


def get_inputs():
    return [torch.randn(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, HIDDEN, RANK, OUT_FEATURES, 0.5]
