"""Writes at places that data chooses, places repeated: added, multiplied, largest; index_put with and without sum."""

import torch
import torch.nn.functional as F

BATCH = 7
LENGTH = 24
WIDTH = 11
BINS = 16


def fn(x, bins, rows):
    spread = bins[:, :, None].expand(-1, -1, x.shape[2])
    added = x.new_zeros(x.shape[0], BINS, x.shape[2]).scatter_add(1, spread, x)
    counted = torch.zeros(x.shape[0], BINS, dtype=torch.int64).scatter_add_(1, bins, torch.ones_like(bins))
    largest = x.new_full((x.shape[0], BINS), -5.0).scatter_reduce(1, bins, x[..., 0], "amax")
    alone = x.new_zeros(x.shape[0], BINS).scatter_reduce(1, bins, x[..., 1], "sum", include_self=False)
    means = added / counted.clamp(min=1).unsqueeze(-1)
    rows_added = x.new_ones(BINS, x.shape[2]).index_add(0, rows, x[0], alpha=-2.0)
    put = torch.zeros(BINS, LENGTH)
    put.index_put_((bins[0], torch.arange(x.shape[1])), x[0, :, 0], accumulate=True)
    put[rows] = 1.25
    filled = added.index_fill(1, torch.tensor([0, 3]), 0.5)
    marked = torch.zeros(x.shape[0], BINS).scatter(1, bins, 1.0)
    one_hot = F.one_hot(bins, BINS)
    segments = one_hot.to(x.dtype).mT @ x
    back = means.gather(1, spread) - x
    return added, counted, largest, alone, means, rows_added, put, filled, marked, one_hot.sum(1), segments, back


def example_inputs():
    return [
        torch.randn(BATCH, LENGTH, WIDTH),
        torch.randint(0, BINS, (BATCH, LENGTH)),
        torch.randint(0, BINS, (LENGTH,)),
    ]
