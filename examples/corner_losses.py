"""Training objective of a tagger: smoothed and weighted classification, distillation and a duration regression."""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 64
STEPS = 256
FEATURES = 512
CLASSES = 1000
PADDING = 0


class Model(nn.Module):
    def __init__(self, features, classes, padding):
        super().__init__()
        self.padding = padding
        self.head = nn.Linear(features, classes)
        self.length = nn.Linear(features, 1)
        self.register_buffer("weight", torch.rand(classes) + 0.5)

    def forward(self, x, tags, teacher, duration):
        logits = self.head(x)
        scores = logits.transpose(1, 2)
        smooth = F.cross_entropy(scores, tags, weight=self.weight, ignore_index=self.padding, label_smoothing=0.1)
        each = F.cross_entropy(scores, tags, ignore_index=self.padding, label_smoothing=0.05, reduction="none")
        logp = F.log_softmax(logits, dim=-1)
        total = F.nll_loss(logp.flatten(0, 1), tags.flatten(), weight=self.weight, reduction="sum")
        soft = F.log_softmax(teacher / 2.0, dim=-1)
        distil = F.kl_div(F.log_softmax(logits / 2.0, dim=-1), soft, reduction="batchmean", log_target=True) * 4.0
        spread = F.kl_div(logp, torch.softmax(teacher, dim=-1), reduction="none").mean(dim=(0, 1))
        guess = self.length(x).squeeze(-1)
        timing = F.smooth_l1_loss(guess, duration, beta=0.25, reduction="none").sum(dim=1)
        robust = F.huber_loss(guess, duration, delta=0.25)
        loss = smooth + 0.5 * distil + 0.1 * timing.mean()
        return loss, smooth, each, total, distil, spread, timing, robust


def get_inputs():
    return [
        torch.randn(BATCH, STEPS, FEATURES),
        torch.randint(0, CLASSES, (BATCH, STEPS)),
        torch.randn(BATCH, STEPS, CLASSES),
        torch.rand(BATCH, STEPS) * 2.0,
    ]


def get_init_inputs():
    return [FEATURES, CLASSES, PADDING]
