"""Writes through views: a slice of a view of a view, a step, a transpose, a diagonal, a row taken after a write."""

import torch
from torch import nn

BATCH = 6
ROWS = 24
COLUMNS = 36


class Model(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(columns) + 0.5)

    def forward(self, x, y):
        a = x * self.scale
        inner = a[:, 2:-1][..., ::3]
        inner[:, 1:] += 1.5
        before = inner.sum(dim=1)
        a[:, ::2] += y[:, ::2]
        a.transpose(1, 2)[:, 4:7].mul_(2.0)
        a.diagonal(dim1=1, dim2=2).sub_(3.0)
        row = a[:, 5]
        a[:, 5] = row.flip(-1)
        swapped = a.mT
        swapped[:, 1, :] = y[:, :, 2]
        a[..., 0].copy_(a[..., -1])
        after = inner.sum(dim=1)
        a.unsqueeze(0).squeeze(0).view(a.shape[0], -1)[:, 7].zero_()
        return a, before, after


def get_inputs():
    return [torch.randn(BATCH, ROWS, COLUMNS), torch.randn(BATCH, ROWS, COLUMNS)]


def get_init_inputs():
    return [COLUMNS]
