import torch
from torch import nn


class Tagger(nn.Module):
    """Two LSTM layers in both directions whose hidden state is projected."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(
            input_size=6, hidden_size=10, num_layers=2, batch_first=True, bidirectional=True, proj_size=4
        )

    def forward(self, words):
        states, (last, cell) = self.lstm(words)
        return states, last, cell


def get_inputs():
    return [torch.randn(3, 7, 6)]
