"""Linear layer with int8 weights: per-channel scales, activations quantised per row, exact integer product."""

import torch
import torch.nn as nn

ROWS = 1024
IN_FEATURES = 4096
OUT_FEATURES = 4096


class Model(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.register_buffer("weight", torch.randint(-127, 128, (out_features, in_features), dtype=torch.int8))
        self.register_buffer("scale", torch.rand(out_features) * 0.01 + 0.001)
        self.bias = nn.Parameter(torch.randn(out_features))

    def forward(self, x):
        step = x.abs().amax(dim=1, keepdim=True) / 127.0
        q = torch.round(x / step).clamp(-127, 127)
        product = q @ self.weight.to(x.dtype).T
        return product * step * self.scale + self.bias


def get_inputs():
    return [torch.randn(ROWS, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES]
