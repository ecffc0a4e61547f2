"""Products without layers: broadcast batches, a dot of two vectors, an einsum of three."""

import torch


def run(a, b, u, p, m, q):
    return a @ b, u @ u, torch.einsum("bi,ij,bj->b", p, m, q)


def get_inputs():
    return [
        torch.randn(5, 1, 3, 7),
        torch.randn(4, 7, 2),
        torch.randn(9),
        torch.randn(6, 10),
        torch.randn(10, 12),
        torch.randn(6, 12),
    ]
