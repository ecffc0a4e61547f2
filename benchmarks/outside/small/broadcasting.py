"""Broadcasts: rank 0, (n, 1) with (1, m), None in an index, missing leading axes, kept axes, an Ellipsis between."""

import torch
from torch import nn

BATCH = 8
ROWS = 9
COLUMNS = 21
DEPTH = 11


class Model(nn.Module):
    def __init__(self, rows, columns, depth):
        super().__init__()
        self.gain = nn.Parameter(torch.tensor(1.7))
        self.left = nn.Parameter(torch.randn(rows, 1))
        self.right = nn.Parameter(torch.randn(1, columns))
        self.deep = nn.Parameter(torch.randn(depth))

    def forward(self, x):
        table = self.left * self.right - self.right / (self.left.abs() + 1.0)
        y = x + table
        cube = y[..., None] * self.deep + self.deep[None, :, None, None].sum(dim=(0, 2, 3))
        centred = y - y.mean(dim=(0, 2), keepdim=True)
        scaled = self.gain * centred + y[0, 0, 0]
        outer = y[:, None, :, -1] - y[:, :, None, 0]
        mixed = torch.maximum(scaled, self.left[None]) + x.new_full((), 0.25)
        columns = self.right.squeeze(0)[None, ..., None] + self.left[:, 0]
        added = torch.addcmul(scaled, self.left, self.right, value=-0.5)
        blend = torch.lerp(x, table, self.right.sigmoid())
        same_rank = x.sum(-1, keepdim=True).expand_as(x) * 2
        return cube.sum(2), outer, mixed, columns, added, blend, same_rank, table.broadcast_to(2, *table.shape)


def get_inputs():
    return [torch.randn(BATCH, ROWS, COLUMNS)]


def get_init_inputs():
    return [ROWS, COLUMNS, DEPTH]
