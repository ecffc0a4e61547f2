"""Shifts and bit operators, arithmetic on bools, types of mixed operands, comparisons across types."""

import torch
from torch import nn

ROWS = 15
COLUMNS = 22


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("weights", torch.tensor([1, 2, 4, 8], dtype=torch.int32))
        self.register_buffer("point", torch.tensor(0.5, dtype=torch.float16))

    def forward(self, a, small, flag, x):
        bits = ((a << 2) | 5) ^ (a >> 1) & ~a
        negative = (-a) >> 2
        planes = (a[..., None] & self.weights) != 0
        back = (planes * self.weights).sum(-1)
        counted = flag + flag  # of bools: or
        number = flag.sum(1) - (flag * 3).sum(1) + flag.long().cumsum(1)[:, -1]
        either = (flag | (x > 0)) ^ (a > 3) & ~flag
        as_float = flag * x + (a > x) * 0.5 - (small == a) / 2
        typed = a + small, small * 2, small * 2.5, self.point * x, self.point + a, flag + 1, small + flag
        halves = (x.half() + 1).bfloat16() * a
        close = torch.isclose(x, x.round(), atol=0.2) & torch.ne(a, small)
        logical = torch.logical_xor(a, x > 0.3), torch.logical_not(small), a.bool().all(1), flag.any(), flag.all(0)
        return bits, negative, back, counted, number, either, as_float, typed, halves, close, logical


def get_inputs():
    return [
        torch.randint(0, 100, (ROWS, COLUMNS)),
        torch.randint(-9, 10, (ROWS, COLUMNS), dtype=torch.int8),
        torch.randint(0, 2, (ROWS, COLUMNS)).bool(),
        torch.randn(ROWS, COLUMNS),
    ]
