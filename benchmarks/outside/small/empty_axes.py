"""An axis of extent zero: joined, summed, multiplied, averaged over nothing of interest, normalised."""

import torch
from torch import nn

BATCH = 9
FEATURES = 20
OUT = 13


class Model(nn.Module):
    def __init__(self, features, out):
        super().__init__()
        self.linear = nn.Linear(features, out)
        self.hollow = nn.Parameter(torch.empty(out, 0))
        self.norm = nn.LayerNorm(features)

    def forward(self, x, nothing):
        joined = torch.cat([nothing, x, x[:0]])
        legacy = torch.cat([x.new_zeros(0), x], dim=1)
        empty = self.linear(nothing)
        zero = self.hollow @ x.new_zeros(0, x.shape[0]) + x[:, 0]
        start = x[:, 3:3]
        sums = start.sum(dim=1) + x[:, 0], start.prod(dim=1) * x[:, 1], empty.sum() + x.sum(), nothing.sum(dim=0) + x
        tests = start.any(dim=1) | (x[:, 0] > 0), start.all(dim=1) & (x[:, 1] > 0), empty.numel()
        normal = torch.cat([self.norm(nothing).softmax(-1), self.linear(x) @ self.linear.weight])
        wide = torch.cat([start, x.narrow(1, 0, 4), start], dim=1)
        gone = wide.unsqueeze(1)[:, 1:].expand(-1, -1, -1)
        none_left = gone.square().sum(dim=1) - wide
        product = torch.bmm(gone.mT, gone) + wide[:, None]
        return joined, legacy, zero, sums, tests, normal, wide, none_left, product


def get_inputs():
    return [torch.randn(BATCH, FEATURES), torch.randn(0, FEATURES)]


def get_init_inputs():
    return [FEATURES, OUT]
