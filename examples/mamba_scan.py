"""Selective state-space layer: input-dependent step sizes, a recurrence over time, a gate and a causal convolution."""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4
STEPS = 256
WIDTH = 768
STATE = 16
STEP_RANK = 48
KERNEL = 4


class Model(nn.Module):
    def __init__(self, width, state, step_rank, kernel):
        super().__init__()
        self.in_proj = nn.Linear(width, 2 * width, bias=False)
        self.conv = nn.Conv1d(width, width, kernel, padding=kernel - 1, groups=width)
        self.x_proj = nn.Linear(width, step_rank + 2 * state, bias=False)
        self.dt_proj = nn.Linear(step_rank, width)
        self.a_log = nn.Parameter(torch.log(torch.rand(width, state) + 0.5))
        self.skip = nn.Parameter(torch.randn(width))
        self.out_proj = nn.Linear(width, width, bias=False)
        self.step_rank, self.state = step_rank, state

    def forward(self, x):
        steps = x.shape[1]
        u, gate = self.in_proj(x).chunk(2, dim=-1)
        u = F.silu(self.conv(u.transpose(1, 2))[:, :, :steps]).transpose(1, 2)
        dt, b, c = self.x_proj(u).split([self.step_rank, self.state, self.state], dim=-1)
        dt = F.softplus(self.dt_proj(dt))
        a = -torch.exp(self.a_log)
        h = torch.zeros(x.shape[0], u.shape[2], self.state, device=x.device, dtype=x.dtype)
        outputs = []
        for t in range(steps):
            decay = torch.exp(dt[:, t, :, None] * a)
            h = decay * h + dt[:, t, :, None] * b[:, t, None, :] * u[:, t, :, None]
            outputs.append((h * c[:, t, None, :]).sum(dim=-1))
        y = torch.stack(outputs, dim=1) + u * self.skip
        return self.out_proj(y * F.silu(gate))


def get_inputs():
    return [torch.randn(BATCH, STEPS, WIDTH)]


def get_init_inputs():
    return [WIDTH, STATE, STEP_RANK, KERNEL]
