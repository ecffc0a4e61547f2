"""Masks: where with numbers of other types, filled and copied in place, triangles off the diagonal, rows of bools."""

import torch
from torch import nn

BATCH = 6
LENGTH = 23
WIDTH = 17


class Model(nn.Module):
    def __init__(self, length):
        super().__init__()
        self.register_buffer("causal", torch.ones(length, length).tril(-1).bool())
        self.register_buffer("slope", torch.arange(length).float())

    def forward(self, x, valid):
        scores = x @ x.mT
        hidden = scores.masked_fill(self.causal.mT, float("-inf")).softmax(-1)
        low = torch.tril(scores, diagonal=-2) + torch.triu(scores, diagonal=3)
        chosen = torch.where(valid[:, :, None], x, torch.zeros(()))
        number = torch.where(x > 0, 1, -2), torch.where(x > 0, x, 0), torch.where(valid, 2.5, 1)
        cleared = x.clone()
        cleared[~valid] = 0.0
        cleared[cleared > 1.0] = 1.0
        cleared.masked_fill_(cleared < -1.5, 0.25)
        mean = (x * valid[..., None]).sum(1) / valid.sum(1, keepdim=True).clamp(min=1)
        band = (self.slope[:, None] - self.slope[None]).abs() <= 3
        local = scores.where(band & valid[:, None, :], scores.new_tensor(-1e9)).logsumexp(-1)
        first = torch.full_like(scores, 0.1).fill_diagonal_(1.0) if scores.dim() == 2 else torch.eye(x.shape[1]) * 2
        distances = scores + torch.ones_like(scores).triu(1).cumsum(-1)
        corner = torch.zeros_like(scores[0])
        corner[2:, :-2] = 1.0
        return hidden, low, chosen, number, cleared, mean, local, first, distances, corner


def get_inputs():
    return [torch.randn(BATCH, LENGTH, WIDTH), torch.randint(0, 2, (BATCH, LENGTH)).bool()]


def get_init_inputs():
    return [LENGTH]
