import torch
from torch import nn


class Probabilities(nn.Module):
    """Rows so long that each probability is about 5e-6."""

    def forward(self, logits):
        return logits.softmax(dim=-1)


def get_inputs():
    return [torch.rand(4, 200_000)]
