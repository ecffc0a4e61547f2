"""Sequence tagger: bidirectional GRU with a learned initial state, additive attention pooling, per-step tags."""

import torch
import torch.nn as nn

STEPS = 200
BATCH = 64
FEATURES = 160
HIDDEN = 320
LAYERS = 2
TAGS = 48


class Model(nn.Module):
    def __init__(self, features, hidden, layers, tags):
        super().__init__()
        self.gru = nn.GRU(features, hidden, num_layers=layers, bidirectional=True)
        self.start = nn.Parameter(torch.randn(2 * layers, 1, hidden) * 0.1)
        self.score = nn.Linear(2 * hidden, 1)
        self.tag = nn.Linear(2 * hidden, tags)

    def forward(self, x):
        start = self.start.expand(-1, x.shape[1], -1).contiguous()
        states, last = self.gru(x, start)
        weight = torch.softmax(self.score(torch.tanh(states)), dim=0)
        pooled = (weight * states).sum(dim=0)
        return self.tag(states), pooled, last


def get_inputs():
    return [torch.randn(STEPS, BATCH, FEATURES)]


def get_init_inputs():
    return [FEATURES, HIDDEN, LAYERS, TAGS]
