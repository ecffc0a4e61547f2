"""Two-pass sequence encoder: a normalised gated cell forwards, a peephole memory cell backwards over its outputs."""

import torch
import torch.nn as nn

BATCH = 64
STEPS = 128
FEATURES = 160
HIDDEN = 384


class Model(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.hidden = hidden
        self.x_gates = nn.Linear(features, 3 * hidden, bias=False)
        self.h_gates = nn.Linear(hidden, 3 * hidden)
        self.norm = nn.LayerNorm(hidden)
        self.peep = nn.Parameter(torch.randn(hidden) * 0.1)
        self.memory = nn.Linear(features + 2 * hidden, 4 * hidden)
        self.peeps = nn.Parameter(torch.randn(3, hidden) * 0.1)

    def forward(self, x, at):
        b, steps, _ = x.shape
        h = x.new_zeros(b, self.hidden)
        forwards = []
        for t in range(steps):
            xz, xr, xn = self.x_gates(x[:, t]).chunk(3, dim=-1)
            hz, hn, hr = self.h_gates(h).chunk(3, dim=-1)
            z = torch.sigmoid(xz + hz + self.peep * h)
            r = torch.sigmoid(xr + hr)
            h = self.norm(z * torch.tanh(xn + r * hn) + (1 - z) * h)
            forwards.append(h)
        first = torch.stack(forwards, dim=1)

        h = forwards[-1]
        c = torch.zeros_like(h)
        backwards = []
        for t in reversed(range(steps)):
            i, f, g, o = self.memory(torch.cat([x[:, t], first[:, t], h], dim=1)).chunk(4, dim=1)
            i = torch.sigmoid(i + self.peeps[0] * c)
            f = torch.sigmoid(f + self.peeps[1] * c + 1.0)
            c = f * c + i * torch.tanh(g)
            h = torch.sigmoid(o + self.peeps[2] * c) * torch.tanh(c)
            backwards.append(h)
        second = torch.stack(backwards[::-1], dim=1)
        picked = second.gather(1, at[:, None, None].expand(-1, 1, self.hidden)).squeeze(1)
        return torch.cat([first, second], dim=2), picked, first[torch.arange(b, device=at.device), at], c


def get_inputs():
    return [torch.randn(BATCH, STEPS, FEATURES), torch.randint(0, STEPS, (BATCH,))]


def get_init_inputs():
    return [FEATURES, HIDDEN]
