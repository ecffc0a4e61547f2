import torch
from torch import nn


class Products(nn.Module):
    """Three products without a layer: broadcast batches, two vectors, three operands at once."""

    def forward(self, left, right, vector, rows, core, columns):
        stack = torch.matmul(left, right)
        dot = vector @ vector
        form = torch.einsum("nk,kl,nl->n", rows, core, columns)
        return stack, dot, form


def get_inputs():
    shapes = [(5, 1, 3, 7), (4, 7, 2), (9,), (6, 10), (10, 12), (6, 12)]
    return [torch.randn(shape) for shape in shapes]
