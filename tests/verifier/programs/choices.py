"""Two modules, neither called Model; sizes come from the file beside this one."""

import torch
from choices_sizes import WIDTH
from torch import nn


class First(nn.Module):
    def forward(self, x):
        return x + WIDTH


class Second(nn.Module):
    def forward(self, x):
        return x * torch.tensor([2.0, 3.0])


example_inputs = (torch.ones(64, 2),)
