"""A recommender: tables of embeddings, products of all pairs of them (the triangle picked by constant indices), a
cross network, and a target attended over a history of fixed length."""

import torch
from torch import nn

BATCH = 128
FIELDS = 9
ROWS = 5000
DENSE = 13
WIDTH = 32
HISTORY = 24
HIDDEN = 128
CROSSES = 3


class Cross(nn.Module):
    def __init__(self, width, rank):
        super().__init__()
        self.down = nn.Linear(width, rank, bias=False)
        self.up = nn.Linear(rank, width)

    def forward(self, first, x):
        return first * self.up(self.down(x)) + x


class Model(nn.Module):
    def __init__(self, fields, rows, dense, width, hidden, crosses):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(rows, width) for _ in range(fields))
        self.items = nn.Embedding(rows, width, padding_idx=0)
        self.bottom = nn.Sequential(nn.Linear(dense, hidden), nn.ReLU(), nn.Linear(hidden, width))
        pairs = torch.triu_indices(fields + 1, fields + 1, offset=1)
        self.register_buffer("left", pairs[0], persistent=False)
        self.register_buffer("right", pairs[1], persistent=False)
        joined = pairs.shape[1] + 3 * width
        self.crosses = nn.ModuleList(Cross(joined, hidden // 4) for _ in range(crosses))
        self.attend = nn.Sequential(nn.Linear(3 * width, hidden), nn.PReLU(), nn.Linear(hidden, 1))
        self.top = nn.Linear(joined, 1)

    def forward(self, dense, fields, history, item):
        d = self.bottom(torch.log1p(dense.abs()))
        vectors = [table(fields[:, number]) for number, table in enumerate(self.tables)]
        stacked = torch.stack([d, *vectors], dim=1)
        products = (stacked @ stacked.mT)[:, self.left, self.right]
        past, target = self.items(history), self.items(item)
        wide = target[:, None].expand_as(past)
        scores = self.attend(torch.cat([past, wide, past * wide], dim=-1)).squeeze(-1)
        weights = scores.masked_fill(history == 0, -1e9).softmax(dim=1)
        interest = torch.einsum("bt,btd->bd", weights, past)
        x = first = torch.cat([products, d, interest, target], dim=1)
        for cross in self.crosses:
            x = cross(first, x)
        return torch.sigmoid(self.top(x)).flatten()


def get_inputs():
    return [
        torch.rand(BATCH, DENSE),
        torch.randint(0, ROWS, (BATCH, FIELDS)),
        torch.randint(0, ROWS, (BATCH, HISTORY)),
        torch.randint(0, ROWS, (BATCH,)),
    ]


def get_init_inputs():
    return [FIELDS, ROWS, DENSE, WIDTH, HIDDEN, CROSSES]
