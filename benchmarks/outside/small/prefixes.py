"""Running sums, products, extremes and logarithms of sums along an axis; exclusive, reversed, of integers and bools."""

import torch

BATCH = 6
LENGTH = 28
WIDTH = 10


def fn(x, counts, flags):
    sums = x.cumsum(1)
    exclusive = sums - x
    behind = x.flip(1).cumsum(1).flip(1)
    products = (0.5 + x.sigmoid()).cumprod(dim=-1)
    logs = torch.logcumsumexp(x, dim=1)
    top = torch.cummax(x, dim=1).values
    low, place = torch.cummin(counts, dim=1)
    whole = counts.cumsum(0), flags.cumsum(1), counts.to(torch.int32).cumsum(-1), counts.cumsum(1, dtype=torch.float32)
    steps = x.diff(dim=1), x.diff(n=2, dim=-1), torch.diff(counts, dim=1, prepend=counts[:, :1])
    decay = torch.exp(sums[:, :, None] - sums[:, None]).tril() if x.dim() == 2 else torch.exp(-x.abs().cumsum(1))
    means = sums / torch.arange(1, x.shape[1] + 1)[None, :, None]
    area = torch.trapezoid(x, dim=1), torch.cumulative_trapezoid(x, dx=0.5, dim=1)
    moved = torch.cat([x.new_zeros(x.shape[0], 1, x.shape[2]), sums[:, :-1]], 1)
    window = sums[:, 5:] - sums[:, :-5]
    return exclusive, behind, products, logs, top, low, place, whole, steps, decay, means, area, moved, window


def example_inputs():
    return [
        torch.randn(BATCH, LENGTH, WIDTH),
        torch.randint(-6, 7, (BATCH, LENGTH)),
        torch.randint(0, 2, (BATCH, LENGTH)).bool(),
    ]
