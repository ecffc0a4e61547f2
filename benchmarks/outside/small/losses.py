"""Losses: classes that are ignored, weighted or smoothed, targets that are places or probabilities, reductions."""

import torch
import torch.nn.functional as F
from torch import nn

BATCH = 10
CLASSES = 19
LENGTH = 12


class Model(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.register_buffer("weight", torch.rand(classes) + 0.5)
        self.smooth = nn.CrossEntropyLoss(label_smoothing=0.1)
        self.head = nn.Linear(classes, classes)

    def forward(self, logits, target, x, y):
        ignored = F.cross_entropy(logits, target, ignore_index=2)
        weighted = F.cross_entropy(logits, target, weight=self.weight, reduction="sum")
        each = F.cross_entropy(logits, target, weight=self.weight, label_smoothing=0.2, reduction="none")
        soft = F.cross_entropy(logits, logits.flip(1).softmax(1))
        likely = F.nll_loss(self.head(x).log_softmax(-1), target[:, 0], weight=self.weight)
        squares = F.mse_loss(x, y), F.mse_loss(x, y, reduction="none").mean(1), F.l1_loss(x, y, reduction="sum")
        robust = F.smooth_l1_loss(x, y, beta=0.5), F.huber_loss(x, y, delta=2.0)
        binary = F.binary_cross_entropy_with_logits(x, y.sigmoid(), pos_weight=self.weight)
        probable = F.binary_cross_entropy(x.sigmoid(), (y > 0).float(), weight=self.weight)
        divergence = F.kl_div(x.log_softmax(-1), y.softmax(-1), reduction="batchmean")
        known = F.kl_div(x.log_softmax(-1), y.log_softmax(-1), log_target=True)
        sides = torch.where(target[:, 0] > 3, 1.0, -1.0)
        ranking = F.margin_ranking_loss(x[:, 0], y[:, 0], sides, margin=0.3), F.soft_margin_loss(x, sides[:, None])
        embedded = (
            F.cosine_embedding_loss(x, y, sides, margin=0.1),
            F.hinge_embedding_loss(x, sides[:, None].expand_as(x)),
        )
        triplet = F.triplet_margin_loss(x, y, x.roll(1, 0)), F.poisson_nll_loss(x.clamp(max=3.0), y.abs())
        several = F.multi_margin_loss(x, target[:, 0]), F.multilabel_soft_margin_loss(x, (y > 0).float())
        entropy = ignored, weighted, each, soft, self.smooth(x, target[:, 1]), likely
        return entropy, squares, robust, binary, probable, divergence, known, ranking, embedded, triplet, several


def get_inputs():
    return [
        torch.randn(BATCH, CLASSES, LENGTH),
        torch.randint(0, CLASSES, (BATCH, LENGTH)),
        torch.randn(BATCH, CLASSES),
        torch.randn(BATCH, CLASSES),
    ]


def get_init_inputs():
    return [CLASSES]
