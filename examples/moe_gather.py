"""Mixture of experts: the best experts of each token are gathered by index, applied and mixed by their gates."""

import torch
import torch.nn as nn
import torch.nn.functional as F

TOKENS = 64
WIDTH = 1024
HIDDEN = 2048
EXPERTS = 16
CHOSEN = 2


class Model(nn.Module):
    def __init__(self, width, hidden, experts, chosen):
        super().__init__()
        self.chosen = chosen
        self.router = nn.Linear(width, experts, bias=False)
        self.w_in = nn.Parameter(torch.randn(experts, width, hidden) * 0.02)
        self.w_out = nn.Parameter(torch.randn(experts, hidden, width) * 0.02)

    def forward(self, x):
        gates = F.softmax(self.router(x), dim=-1)
        value, index = torch.topk(gates, self.chosen, dim=-1)
        value = value / value.sum(dim=-1, keepdim=True)
        hidden = F.silu(torch.einsum("nd,nkdf->nkf", x, self.w_in[index]))
        mixed = torch.einsum("nkf,nkfd->nkd", hidden, self.w_out[index])
        load = gates.mean(dim=0)
        return (mixed * value[:, :, None]).sum(dim=1), load


def get_inputs():
    return [torch.randn(TOKENS, WIDTH)]


def get_init_inputs():
    return [WIDTH, HIDDEN, EXPERTS, CHOSEN]
