"""Sorts and places of extremes, also among equal values; the k largest; medians; one-hot of a place."""

import torch
import torch.nn.functional as F
from torch import nn

BATCH = 9
LENGTH = 26
EXPERTS = 12
TOP = 3


class Model(nn.Module):
    def __init__(self, length, experts):
        super().__init__()
        self.route = nn.Linear(length, experts)

    def forward(self, x, numbers):
        logits = self.route(x)
        weights, chosen = logits.softmax(-1).topk(TOP, dim=-1)
        weights = weights / weights.sum(-1, keepdim=True)
        dense = torch.zeros_like(logits).scatter(-1, chosen, weights)
        hard = F.one_hot(logits.argmax(-1), EXPERTS)
        ordered, places = numbers.sort(dim=-1, descending=True, stable=True)
        ranks = numbers.argsort(dim=0, stable=True).argsort(dim=0)
        smallest = x.topk(4, largest=False, sorted=True).values
        first = numbers.argmax(), numbers.argmin(dim=1), numbers.max(dim=0), numbers.amax(dim=0)
        middle = x.median(dim=-1).values, x.median(), x.kthvalue(5, dim=-1).values, x.quantile(0.3, dim=1)
        cut = logits.masked_fill(logits < weights.new_tensor(0.1), 0.0)
        cumulative = logits.softmax(-1).sort(dim=-1, descending=True).values.cumsum(-1)
        return dense, hard, ordered, places, ranks, smallest, first, middle, cut, cumulative, chosen.flip(-1)


def get_inputs():
    return [torch.randn(BATCH, LENGTH), torch.randint(0, 5, (BATCH, LENGTH))]


def get_init_inputs():
    return [LENGTH, EXPERTS]
