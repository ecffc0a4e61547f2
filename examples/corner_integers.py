"""Event log features: calendar buckets of signed offsets, int8 accumulators and counts per row, as a dictionary."""

import torch
import torch.nn as nn

BATCH = 1024
EVENTS = 4096
PERIOD = 7
BUCKET = 60
RANGE = 5000


class Model(nn.Module):
    def __init__(self, period, bucket):
        super().__init__()
        self.period = period
        self.bucket = bucket
        self.register_buffer("table", torch.randint(-128, 128, (period,), dtype=torch.int8))

    def forward(self, offset, delta):
        slot = torch.div(offset, self.bucket, rounding_mode="floor")
        nearest = torch.div(offset, self.bucket, rounding_mode="trunc")
        phase = offset % self.period
        late = offset < 0
        code = delta * 3 + self.table[phase]
        same = slot == nearest
        return {
            "slot": slot,
            "nearest": nearest,
            "inside": offset - nearest * self.bucket,
            "signed_phase": torch.fmod(offset, self.period),
            "countdown": torch.remainder(offset, -self.period),
            "quarter": offset >> 2,
            "code": code,
            "magnitude": delta.abs(),
            "checksum": code.sum(dim=1, dtype=torch.int8),
            "drift": delta.sum(dim=1),
            "late": late.sum(dim=1),
            "late_share": late.float().mean(dim=1),
            "odd": late ^ same,
            "level": delta.float() / 128 + late,
        }


def get_inputs():
    offset = torch.randint(-RANGE, RANGE, (BATCH, EVENTS))
    return [offset, torch.randint(-128, 128, (BATCH, EVENTS), dtype=torch.int8)]


def get_init_inputs():
    return [PERIOD, BUCKET]
