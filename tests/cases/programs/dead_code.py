import torch
from torch import nn


class MostlyUnused(nn.Module):
    """A large product nobody looks at, an argument and a buffer nobody reads."""

    def __init__(self):
        super().__init__()
        self.large = nn.Parameter(torch.randn(256, 256))
        self.narrow = nn.Parameter(torch.randn(8, 4))
        self.register_buffer("idle", torch.zeros(4096))

    def forward(self, x, extra):
        ignored = torch.matmul(x, self.large)
        assert ignored.shape == x.shape
        return torch.matmul(x[:, :8], self.narrow)


def get_inputs():
    return [torch.randn(10, 256), torch.randn(77)]
