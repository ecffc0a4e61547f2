import torch
from torch import nn


class Ranking(nn.Module):
    """The five best of each row and the whole row in order; many scores are equal."""

    def forward(self, scores):
        best, where = torch.topk(scores, 5, dim=-1)
        ordered, order = torch.sort(scores, dim=-1, stable=True)
        return best, where, ordered, order


def get_inputs():
    return [torch.randint(0, 4, (6, 40)).to(torch.float32)]
