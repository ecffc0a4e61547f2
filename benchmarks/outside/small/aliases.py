"""Which reshape shares memory and which copies; expand and clone; sliding windows; splits and merges of axes."""

import torch
from torch import nn

BATCH = 5
HEADS = 4
WIDTH = 12
LENGTH = 30
WINDOW = 7
HOP = 3


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.shift = nn.Parameter(torch.randn(width, 1))

    def forward(self, x):
        b, hw, t = x.shape
        heads = x.view(b, HEADS, hw // HEADS, t)
        merged = heads.transpose(1, 2).reshape(b, hw, t)  # a copy: the write below stays outside of x
        merged[:, 0] = 0.5
        shared = (x + 1.0).reshape(b * hw, t)
        base = shared.view(b, hw, t)
        shared[1::2] *= -2.0  # no copy: base sees it
        wide = self.shift.expand(-1, t)
        own = wide.clone()
        own[:, 0] = 7.0
        windows = x.unfold(2, WINDOW, HOP)
        energy = (windows * windows).sum(-1)
        flat = x.permute(2, 0, 1).flatten(1)
        folded = flat.unflatten(1, (b, HEADS, -1)).movedim(0, -1)
        ravelled = x.mT.ravel().view_as(x)
        return merged, base, own + wide.unsqueeze(0).expand(b, -1, -1), energy, folded, ravelled


def get_inputs():
    return [torch.randn(BATCH, HEADS * WIDTH, LENGTH)]


def get_init_inputs():
    return [HEADS * WIDTH]
