"""Reads at places that data chooses: gather, take_along_dim, index_select, indexing with several tensors and slices
between them, embeddings with a padding row and bags."""

import torch
import torch.nn.functional as F
from torch import nn

BATCH = 8
LENGTH = 13
WIDTH = 18
VOCABULARY = 60
PICKS = 10


class Model(nn.Module):
    def __init__(self, vocabulary, width):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width, padding_idx=0)
        self.bag = nn.EmbeddingBag(vocabulary, width, mode="mean")
        self.register_buffer("order", torch.tensor([2, 0, 1]))

    def forward(self, x, ids, rows, places):
        picked = x.gather(1, places[:, :, None].expand(-1, -1, x.shape[2]))
        fewer = x.gather(1, places[: (x.shape[0] + 1) // 2, :, None])
        along = torch.take_along_dim(x, places[..., None], dim=1)
        selected = x.index_select(0, rows) + x[rows]
        pairs = x[rows, places[:, 0]]
        apart = x[rows, :, places[:, 1]]  # the picked axis goes first
        between = x[:, places, 1:]
        negative = x[:, self.order - 3]
        embedded = self.embed(ids) - F.embedding(ids, self.bag.weight)
        bags = self.bag(ids)
        table = self.embed.weight[ids[:, 0]][:, None] @ embedded.mT
        token = x.transpose(0, 1)[places].mean(dim=(0, 1))
        return picked, fewer, along, selected, pairs, apart, between, negative, embedded, bags, table, token


def get_inputs():
    return [
        torch.randn(BATCH, LENGTH, WIDTH),
        torch.randint(0, VOCABULARY, (BATCH, LENGTH)),
        torch.randint(0, BATCH, (BATCH,)),
        torch.randint(0, LENGTH, (BATCH, PICKS)),
    ]


def get_init_inputs():
    return [VOCABULARY, WIDTH]
