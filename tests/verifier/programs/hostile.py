"""What a program may try and must not reach: the answer says what worked."""

import os
import socket
import subprocess
from pathlib import Path

import torch
from torch import nn


def works(action):
    try:
        action()
    except OSError:
        return 0
    return 1


class Model(nn.Module):
    def forward(self, x):
        print("noise" * 1000000)
        child = subprocess.Popen(["sleep", "1000"])
        return {
            "network": works(lambda: socket.socket(socket.AF_INET)),
            "write": works(lambda: Path("/tmp/solar-agent-was-here").write_text("x")),
            "escape": works(os.setsid),
            "own folder": works(lambda: Path("here").write_text("x")),
            "folder": os.getcwd(),
            "environment": ",".join(sorted(os.environ)),
            "child": child.pid,
            "x": x,
        }


def get_inputs():
    return [torch.randn(2)]
