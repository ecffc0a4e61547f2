"""Activations at their joints, gates, and limits that are tensors."""

import torch
import torch.nn.functional as F
from torch import nn

BATCH = 12
CHANNELS = 16
LENGTH = 21


class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.slopes = nn.PReLU(channels)
        self.least = nn.Parameter(-torch.rand(channels, 1))
        self.most = nn.Parameter(torch.rand(channels, 1))
        self.soft = nn.Softplus(beta=2.0, threshold=4.0)

    def forward(self, x):
        joints = F.hardswish(x), F.hardsigmoid(x), F.hardtanh(x, -0.5, 2.0), F.relu6(x), F.softshrink(x, 0.3)
        shrunk = F.hardshrink(x), F.tanhshrink(x), F.threshold(x, 0.1, -7.0), F.softsign(x), F.logsigmoid(x)
        smooth = (
            F.gelu(x),
            F.gelu(x, approximate="tanh"),
            F.silu(x),
            F.mish(x),
            F.elu(x, 0.7),
            F.selu(x),
            F.celu(x, 1.3),
        )
        gated = F.glu(x, dim=1), F.leaky_relu(x, 0.2, inplace=False), self.slopes(x), self.soft(x), F.softplus(x)
        limited = x.clamp(self.least, self.most), x.clamp(max=self.most), torch.clip(x, -1), x.clamp_min(0.25)
        scaled = (
            x.sign() * x.abs().sqrt(),
            torch.copysign(x, self.least),
            torch.heaviside(x, self.most),
            x.square().neg(),
        )
        special = torch.erf(x), torch.expm1(x.clamp(max=3)), torch.log1p(x.abs()), torch.special.xlogy(x.abs(), x.abs())
        angles = torch.sin(x), torch.atan2(x, self.most), torch.hypot(x, self.least), torch.rsqrt(x.abs() + 0.1)
        rounds = x.frac(), x.floor(), torch.sinc(x), torch.logit(x.sigmoid(), eps=1e-3), x.reciprocal().clamp(-9, 9)
        odd = (
            torch.nan_to_num(x / (x.abs() > 0.2), posinf=3.0, neginf=-3.0),
            torch.logaddexp(x, -x),
            torch.exp2(-x.abs()),
        )
        return joints, shrunk, smooth, gated, limited, scaled, special, angles, rounds, odd


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, LENGTH)]


def get_init_inputs():
    return [CHANNELS]
