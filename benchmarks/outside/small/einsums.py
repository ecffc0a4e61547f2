"""einsum with repeated, implicit, upper-case and missing letters, an ellipsis, three operands; other products."""

import torch
from torch import nn

BATCH = 6
ROWS = 14
WIDTH = 15
OUT = 22
RANK = 9


class Model(nn.Module):
    def __init__(self, rows, width, out, rank):
        super().__init__()
        self.u = nn.Parameter(torch.randn(width, rank))
        self.v = nn.Parameter(torch.randn(rank, out))
        self.square = nn.Parameter(torch.randn(rows, rows))
        self.mix = nn.Bilinear(width, width, rank)

    def forward(self, x, y):
        three = torch.einsum("bnd,dr,ro->bno", x, self.u, self.v)
        implicit = torch.einsum("zA,Ab", self.u, self.v)  # the output is "bz": letters in order, capitals first
        trace = torch.einsum("ii", self.square)
        diagonal = torch.einsum("ii->i", self.square)
        rest = torch.einsum("...ij,...kj->...ik", x, y)
        outer = torch.einsum("bi,bj->bij", x[:, 0], y[:, 1])
        summed = torch.einsum("bnd->d", x)
        turned = torch.einsum("bnd->dbn", x)
        batch = torch.einsum("bnd,bnd->bn", x, y)
        pair = torch.tensordot(x, y, dims=([0, 1], [0, 1]))
        products = torch.bmm(x, y.mT), torch.baddbmm(rest, x, y.mT, beta=0.5, alpha=2.0), x @ y[0, 0]
        small = torch.outer(x[0, 0], y[0, 0]), torch.dot(x[0, 0], y[0, 0]), torch.mv(x[0], y[0, 0])
        other = torch.kron(self.v, self.square[:2, :3]), torch.addmm(self.v[0], x[0], self.u @ self.v, alpha=0.1)
        chain = torch.linalg.multi_dot([x[0], self.u, self.v]), self.mix(x, y), torch.cross(x[..., :3], y[..., :3], -1)
        return three, implicit, trace, diagonal, rest, outer, summed, turned, batch, pair, products, small, other, chain


def get_inputs():
    return [torch.randn(BATCH, ROWS, WIDTH), torch.randn(BATCH, ROWS, WIDTH)]


def get_init_inputs():
    return [ROWS, WIDTH, OUT, RANK]
