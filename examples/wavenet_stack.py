"""Stack of dilated causal convolutions with tanh-sigmoid gates, residual paths and summed skip connections."""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 8
CHANNELS = 128
SKIP = 256
STEPS = 8000
LAYERS = 8
KERNEL = 2


class Model(nn.Module):
    def __init__(self, channels, skip, layers, kernel):
        super().__init__()
        self.kernel = kernel
        self.gated = nn.ModuleList(
            nn.Conv1d(channels, 2 * channels, kernel, dilation=2**i) for i in range(layers)
        )
        self.residual = nn.ModuleList(nn.Conv1d(channels, channels, 1) for _ in range(layers))
        self.skip = nn.ModuleList(nn.Conv1d(channels, skip, 1) for _ in range(layers))

    def forward(self, x):
        total = 0
        for i, conv in enumerate(self.gated):
            h = conv(F.pad(x, (2**i * (self.kernel - 1), 0)))
            a, b = h.chunk(2, dim=1)
            h = torch.tanh(a) * torch.sigmoid(b)
            total = total + self.skip[i](h)
            x = x + self.residual[i](h)
        return F.relu(total), x


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, STEPS)]


def get_init_inputs():
    return [CHANNELS, SKIP, LAYERS, KERNEL]
