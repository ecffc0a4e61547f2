import torch, torch.nn as nn, torch.nn.functional as F

BATCH, WIDTH, LAYERS = 64, 512, 4

class Model(nn.Module):
    def __init__(self, width, layers, slope=0.1):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.gain = nn.Parameter(torch.randn(width))
        self.slope = slope

    def forward(self, x):
        for layer in self.layers:
            x = x + F.leaky_relu(layer(x), self.slope)
        return torch.tanh(x * self.gain).mean(dim=-1, keepdim=True)

def get_inputs():
    return [torch.randn(BATCH, WIDTH)]

def get_init_inputs():
    return [WIDTH, LAYERS]
