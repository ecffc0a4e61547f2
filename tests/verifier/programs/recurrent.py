"""An LSTM with two directions and projections; it draws its own starting state."""

import torch
from torch import nn

batch, steps, width, hidden = 64, 300, 96, 160


class Model(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.hidden = hidden
        self.rnn = nn.LSTM(width, hidden, num_layers=2, bidirectional=True, proj_size=4, batch_first=True)

    def forward(self, x, c0=None):
        if c0 is None:
            c0 = torch.randn(4, x.size(0), self.hidden)
        out, (h, c) = self.rnn(x, (torch.zeros(4, x.size(0), 4), c0))
        return out, h, c


def get_inputs():
    return [torch.rand(batch, steps, width)]


def get_init_inputs():
    return [width, hidden]
