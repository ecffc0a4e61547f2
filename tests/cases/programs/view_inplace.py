import torch
from torch import nn


class Aliases(nn.Module):
    """Three in-place steps through views of one copy; one of the views is a result too."""

    def forward(self, table):
        copy = torch.clone(table)
        every_other = copy[:, 0::2]
        every_other *= 2.0
        copy.diagonal().fill_(0.0)
        copy.flatten()[-3:-1] += 100.0
        return copy, every_other


def get_inputs():
    return [torch.arange(1.0, 13.0).view(3, 4)]
