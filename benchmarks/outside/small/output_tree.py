"""Results in dicts, tuples and lists, with None, numbers and the input itself; keyword and default arguments."""

from typing import NamedTuple

import torch
from torch import nn

BATCH = 7
LENGTH = 17
FEATURES = 24


class Heads(NamedTuple):
    mean: torch.Tensor
    spread: torch.Tensor | None


class Model(nn.Module):
    def __init__(self, features, *, depth=2, scale=0.5):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(features, features) for _ in range(depth))
        self.scale = scale

    def forward(self, x, *, bias=None, mask=None, heads=True, shift: float = 0.25):
        states = [x]
        for layer in self.layers:
            states.append(torch.tanh(layer(states[-1])) * self.scale)
        h = states[-1] + shift
        if bias is not None:
            h = h + bias
        if mask is not None:
            h = h * mask
        return {
            "states": states,
            "heads": Heads(h.mean(1), None) if heads else None,
            "size": h.shape[1],
            "ratio": h.shape[1] / h.shape[2],
            "shape": tuple(h.shape),
            "loss": h.square().mean(),
            "nested": [(h[:, 0], [h[:, -1], None]), {}],
            "same": x,
            "flag": h.is_contiguous(),
        }


def get_inputs():
    return {"x": torch.randn(BATCH, LENGTH, FEATURES), "bias": torch.randn(FEATURES), "heads": True}


def get_init_inputs():
    return {"features": FEATURES, "depth": 3}
