import torch
from torch import nn


class Report(nn.Module):
    """A dictionary of a scalar, nested sequences with a None, and a plain number."""

    def forward(self, x):
        centre = x.mean(dim=-1, keepdim=True)
        return {
            "loss": torch.mean((x - centre) ** 2),
            "heads": [x.max(dim=-1).values, (centre[:, 0], None)],
            "steps": len(x),
        }


def get_inputs():
    return [torch.randn(3, 9)]
