"""Ends in the way its number says."""

import ctypes
import os
import sys
import time

import torch
from torch import nn

way = 9


class Model(nn.Module):
    def forward(self, x):
        match way:
            case 1:
                raise ValueError("no\nway")
            case 2:
                sys.exit(3)
            case 3:
                torch.ones(25 * 10**9)
            case 4:
                os._exit(0)
            case 5:
                ctypes.string_at(0)
            case 6:
                time.sleep(1000)
        return x


def get_inputs():
    return [torch.randn(2)]
