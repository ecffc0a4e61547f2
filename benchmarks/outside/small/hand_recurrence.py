"""A recurrence by hand: decay, a running maximum and a running sum, written into a buffer made beforehand; a loop
over layers inside the loop over time, each layer with a state of its own."""

import torch
from torch import nn

BATCH = 4
TIME = 21
WIDTH = 16
LAYERS = 3


class Model(nn.Module):
    def __init__(self, width, layers):
        super().__init__()
        self.decay = nn.Parameter(torch.rand(width))
        self.mix = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.gate = nn.Parameter(torch.randn(layers, width))

    def forward(self, keys, values):
        b, time, width = keys.shape
        top = keys.new_full((b, width), -1e4)
        numerator, denominator = torch.zeros_like(top), torch.zeros_like(top)
        out = torch.empty_like(values)
        for t in range(time):
            k, v = keys[:, t], values[:, t]
            new_top = torch.maximum(top - self.decay, k)
            old, now = torch.exp(top - self.decay - new_top), torch.exp(k - new_top)
            numerator = old * numerator + now * v
            denominator = old * denominator + now
            out[:, t] = numerator / denominator
            top = new_top
        states = [out[:, 0] * 0 for _ in self.mix]
        previous = out[:, 0]
        tops = []
        for t in range(time):
            h = out[:, t] - previous
            for number, layer in enumerate(self.mix):
                gate = torch.sigmoid(self.gate[number])
                states[number] = gate * states[number] + (1 - gate) * torch.tanh(layer(h))
                h = h + states[number]
            previous = out[:, t]
            tops.append(h)
        return out, torch.stack(tops, 1), torch.stack(states)


def get_inputs():
    return [torch.randn(BATCH, TIME, WIDTH), torch.randn(BATCH, TIME, WIDTH)]


def get_init_inputs():
    return [WIDTH, LAYERS]
