"""Quotients and remainders of negative numbers, of integers and floats, rounding halves, integer sums and powers."""

import torch

ROWS = 18
COLUMNS = 26


def forward(a, b, x):
    floor = a // b
    trunc = torch.div(a, b, rounding_mode="trunc")
    true = a / b
    python_sign = a % b
    c_sign = torch.fmod(a, b)
    negative = a % -3 + torch.remainder(-a, 4) + (7 // b) + 5 % b
    real = x // 0.75 + torch.fmod(x, 0.75) + torch.remainder(x, -0.75)
    rounded = torch.div(x, 0.5, rounding_mode="floor").to(torch.int32) + torch.trunc(x).int()
    halves = torch.round(a * 0.5) + torch.round(x, decimals=1)
    whole = x.to(torch.int64) + a.to(torch.float32).ceil().long()
    powers = a**2 - (a**3).clamp(-100, 100) + (-a).abs() + a.sign() * torch.neg(b)
    total = a.sum(0), a.to(torch.int8).sum(1), (a.sum() // b.sum()), a.prod(1) % 1009
    return floor, trunc, true, python_sign, c_sign, negative, real, rounded, halves, whole, powers, total


def example_inputs():
    sign = torch.where(torch.arange(COLUMNS) % 2 == 0, 1, -1)
    return [
        torch.randint(-40, 41, (ROWS, COLUMNS)),
        torch.randint(1, 9, (ROWS, COLUMNS)) * sign,
        torch.randn(ROWS, COLUMNS),
    ]
