"""Distillation training loss: smoothed cross entropy, temperature KL to a teacher, and a confidence penalty."""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4096
CLASSES = 8192
TEMPERATURE = 2.0
SMOOTHING = 0.1


class Model(nn.Module):
    def __init__(self, temperature, smoothing):
        super().__init__()
        self.temperature = temperature
        self.smoothing = smoothing

    def forward(self, logits, teacher, target):
        hard = F.cross_entropy(logits, target, label_smoothing=self.smoothing)
        log_p = F.log_softmax(logits / self.temperature, dim=-1)
        q = F.softmax(teacher / self.temperature, dim=-1)
        soft = F.kl_div(log_p, q, reduction="batchmean") * self.temperature**2
        p = F.softmax(logits, dim=-1)
        entropy = -(p * F.log_softmax(logits, dim=-1)).sum(dim=-1)
        return {"hard": hard, "soft": soft, "entropy": entropy}


def get_inputs():
    return [torch.randn(BATCH, CLASSES), torch.randn(BATCH, CLASSES), torch.randint(0, CLASSES, (BATCH,))]


def get_init_inputs():
    return [TEMPERATURE, SMOOTHING]
