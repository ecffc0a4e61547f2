"""A segmenter in the style of torchvision, written in full: residual blocks that dilate instead of striding, a pyramid
of dilated branches with one global branch, an auxiliary head, results in a dict at the image's resolution."""

import torch
import torch.nn.functional as F
from torch import nn

BATCH = 2
IMAGE = 96
CLASSES = 21
WIDTH = 32
BRANCH = 48
RATES = (2, 4)


class ConvNormActivation(nn.Sequential):
    def __init__(self, inputs, outputs, kernel=3, stride=1, dilation=1, activation=nn.ReLU):
        padding = (kernel - 1) // 2 * dilation
        layers = [
            nn.Conv2d(inputs, outputs, kernel, stride, padding, dilation, bias=False),
            nn.BatchNorm2d(outputs),
        ]
        if activation is not None:
            layers.append(activation(inplace=True))
        super().__init__(*layers)


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride=1, dilation=1):
        super().__init__()
        self.first = ConvNormActivation(inputs, outputs, stride=stride, dilation=dilation)
        self.second = ConvNormActivation(outputs, outputs, dilation=dilation, activation=None)
        self.shortcut = None
        if stride != 1 or inputs != outputs:
            self.shortcut = ConvNormActivation(inputs, outputs, kernel=1, stride=stride, activation=None)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        out = self.second(self.first(x))
        out += x if self.shortcut is None else self.shortcut(x)
        return self.relu(out)


class GlobalBranch(nn.Sequential):
    def __init__(self, inputs, outputs):
        super().__init__(nn.AdaptiveAvgPool2d(1), ConvNormActivation(inputs, outputs, kernel=1))

    def forward(self, x):
        pooled = super().forward(x)
        return F.interpolate(pooled, size=x.shape[-2:], mode="bilinear", align_corners=False)


class Model(nn.Module):
    def __init__(self, width, branch, classes, rates):
        super().__init__()
        self.stem = nn.Sequential(ConvNormActivation(3, width, 7, 2), nn.MaxPool2d(3, 2, 1))
        self.stage1 = nn.Sequential(Block(width, width), Block(width, width))
        self.stage2 = nn.Sequential(Block(width, 2 * width, 2), Block(2 * width, 2 * width))
        self.stage3 = nn.Sequential(Block(2 * width, 4 * width, dilation=2), Block(4 * width, 4 * width, dilation=2))
        branches = [ConvNormActivation(4 * width, branch, kernel=1)]
        branches += [ConvNormActivation(4 * width, branch, dilation=rate) for rate in rates]
        branches.append(GlobalBranch(4 * width, branch))
        self.branches = nn.ModuleList(branches)
        self.project = nn.Sequential(
            ConvNormActivation(len(branches) * branch, branch, kernel=1),
            nn.Dropout(0.1),
            nn.Conv2d(branch, classes, 1),
        )
        self.auxiliary = nn.Sequential(ConvNormActivation(2 * width, width), nn.Conv2d(width, classes, 1))

    def forward(self, x):
        size = x.shape[-2:]
        middle = self.stage2(self.stage1(self.stem(x)))
        deep = self.stage3(middle)
        out = self.project(torch.cat([branch(deep) for branch in self.branches], dim=1))
        maps = {"out": out, "aux": self.auxiliary(middle)}
        return {name: F.interpolate(m, size=size, mode="bilinear", align_corners=False) for name, m in maps.items()}


def get_inputs():
    return [torch.rand(BATCH, 3, IMAGE, IMAGE)]


def get_init_inputs():
    return [WIDTH, BRANCH, CLASSES, RATES]
