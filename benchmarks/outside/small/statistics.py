"""Moments with and without correction over lists of axes, extremes that tie, norms of every kind, log-sum-exp."""

import torch

BATCH = 8
CHANNELS = 14
LENGTH = 25


def forward(x, numbers):
    spread = x.var(dim=(0, 2)), x.var(dim=-1, unbiased=False), x.std(dim=[-1, 0], keepdim=True), x.var()
    both = torch.var_mean(x, dim=1, correction=0), torch.std_mean(x, dim=(1, 2), correction=2)
    extremes = torch.aminmax(numbers, dim=1), numbers.amax(dim=(0, 2)), numbers.amin(), x.max(), x.min(dim=0).values
    norms = (
        x.norm(),
        x.norm(p=1, dim=1),
        x.norm(dim=(1, 2), keepdim=True),
        torch.linalg.vector_norm(x, ord=float("inf"), dim=(0, 2)),
        torch.linalg.vector_norm(x, ord=3, dim=-1),
        torch.linalg.vector_norm(x, ord=0),
        torch.linalg.matrix_norm(x),
        torch.norm(x, p=float("-inf"), dim=2),
    )
    soft = x.softmax(0), x.log_softmax(1), torch.logsumexp(x, dim=(1, 2)), x.logsumexp(0, keepdim=True)
    low = torch.nn.functional.softmin(x, dim=-1)
    totals = x.sum(), x.sum(()), x.mean((0, -1)), x.sum(-2, keepdim=True), x[:, 0].prod(-1), numbers.float().mean(1)
    counts = (x > 0).sum((0, 1)), torch.count_nonzero(numbers, dim=1), (numbers == 2).float().mean()
    centred = (x - x.mean(1, keepdim=True)) / (x.std(1, keepdim=True) + 1e-5)
    covariance = centred[:, :, 1:] @ centred[:, :, 1:].mT / (x.shape[2] - 2)
    partly = x.masked_fill(x > 1.0, float("nan"))
    return spread, both, extremes, norms, soft, low, totals, counts, covariance, partly.nansum(1), partly.nanmean()


def example_inputs():
    return [torch.randn(BATCH, CHANNELS, LENGTH), torch.randint(0, 9, (BATCH, CHANNELS, LENGTH))]
