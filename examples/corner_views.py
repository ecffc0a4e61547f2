"""Batch of covariance matrices: band scaling, shrinkage of the diagonals and row updates, all written in place."""

import torch
import torch.nn as nn

BATCH = 256
SIZE = 512
HEAD = 48


class Model(nn.Module):
    def __init__(self, size, head):
        super().__init__()
        self.head = head
        self.gain = nn.Parameter(torch.rand(size // 2) + 0.5)
        self.ridge = nn.Parameter(torch.rand(size) * 0.1)
        self.shift = nn.Parameter(torch.randn(head, size) * 0.1)

    def forward(self, x):
        y = x.clone()
        lines = y[:, 1::2]
        corner = y[:, : self.head, -self.head :]
        y[:, ::2, 1::3] *= 0.5
        lines.mul_(self.gain[:, None])
        start = y.diagonal(dim1=1, dim2=2).clone()
        y.diagonal(dim1=1, dim2=2).add_(self.ridge)
        y.diagonal(offset=-2, dim1=1, dim2=2)[:, ::2] = 0.0
        y.transpose(1, 2)[:, : self.head] += self.shift
        flat = y.view(y.shape[0], -1)
        flat[:, self.head :: 5] -= 1.0
        half = y * 0.5
        corner.copy_(corner.transpose(1, 2) + half[:, : self.head, : self.head])
        y[:, -1] = y[:, 0]
        return lines, start, half.sum(dim=2), y.transpose(1, 2), corner.sum(dim=(1, 2))


def get_inputs():
    return [torch.randn(BATCH, SIZE, SIZE)]


def get_init_inputs():
    return [SIZE, HEAD]
