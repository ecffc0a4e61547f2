import math, torch, torch.nn as nn

BATCH, LENGTH, HEADS, WIDTH, MAXIMUM = 8, 512, 8, 512, 1024

class Model(nn.Module):
    def __init__(self, width, heads, maximum):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.heads = heads
        self.register_buffer("mask", torch.tril(torch.ones(maximum, maximum)))

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.qkv(self.norm(x)).split(C, dim=2)
        q, k, v = (t.view(B, T, self.heads, C // self.heads).transpose(1, 2) for t in (q, k, v))
        att = (q @ k.transpose(-2, -1)) / math.sqrt(k.size(-1))
        att = att.masked_fill(self.mask[:T, :T] == 0, float("-inf")).softmax(dim=-1)
        return x + self.proj((att @ v).transpose(1, 2).reshape(B, T, C))

def get_inputs():
    return [torch.randn(BATCH, LENGTH, WIDTH)]

def get_init_inputs():
    return [WIDTH, HEADS, MAXIMUM]
