import torch, torch.nn as nn, torch.nn.functional as F

BATCH, CHANNELS, WIDTH, SIZE = 16, 3, 64, 128

class Model(nn.Module):
    def __init__(self, channels, width):
        super().__init__()
        self.conv = nn.Conv2d(channels, width, 3, stride=2, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(width)
        self.drop = nn.Dropout(0.1)
        self.depthwise = nn.Conv2d(width, width, (5, 1), padding="same", groups=width)
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(width * 4, width))

    def forward(self, x):
        h = F.max_pool2d(F.relu(self.bn(self.conv(x))), 3, stride=2, padding=1)
        h = h + self.depthwise(self.drop(h))
        return self.head(F.adaptive_avg_pool2d(h, 2))

def get_inputs():
    return [torch.randn(BATCH, CHANNELS, SIZE, SIZE)]

def get_init_inputs():
    return [CHANNELS, WIDTH]
