"""Recurrent layers of the library: stacked, in two directions, projected, given a first state, without bias."""

import torch
from torch import nn

BATCH = 5
TIME = 16
FEATURES = 12
HIDDEN = 18
PROJECTED = 10
LAYERS = 2


class Model(nn.Module):
    def __init__(self, features, hidden, projected, layers):
        super().__init__()
        self.both = nn.LSTM(features, hidden, layers, batch_first=True, bidirectional=True)
        self.narrow = nn.LSTM(2 * hidden, hidden, proj_size=projected)
        self.gru = nn.GRU(projected, hidden, layers, bias=False, bidirectional=True)
        self.plain = nn.RNN(2 * hidden, hidden, nonlinearity="relu", batch_first=True)

    def forward(self, x, first):
        outputs, (h, c) = self.both(x)
        narrow, (h_narrow, _) = self.narrow(outputs.transpose(0, 1))
        turned, last = self.gru(narrow, first)
        plain, _ = self.plain(turned.transpose(0, 1))
        single, _ = self.plain(turned[:, 0])
        return outputs, h, c.sum(0), h_narrow, last, plain[:, -1], single


def get_inputs():
    return [torch.randn(BATCH, TIME, FEATURES), torch.randn(2 * LAYERS, BATCH, HIDDEN)]


def get_init_inputs():
    return [FEATURES, HIDDEN, PROJECTED, LAYERS]
