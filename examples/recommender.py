"""Click prediction: embedding look-ups, pairwise dot products of all features, a top network and a sigmoid."""

import torch
import torch.nn as nn

BATCH = 2048
DENSE = 13
FIELDS = 26
ROWS = 100000
WIDTH = 64
HIDDEN = 512


class Model(nn.Module):
    def __init__(self, dense, fields, rows, width, hidden):
        super().__init__()
        self.bottom = nn.Sequential(nn.Linear(dense, hidden), nn.ReLU(), nn.Linear(hidden, width), nn.ReLU())
        self.tables = nn.Parameter(torch.randn(fields, rows, width) * 0.01)
        pairs = (fields + 1) * fields // 2
        self.top = nn.Sequential(nn.Linear(width + pairs, hidden), nn.ReLU(), nn.Linear(hidden, 1))
        self.fields = fields

    def forward(self, dense, ids):
        bottom = self.bottom(dense)
        rows = self.tables[torch.arange(self.fields, device=ids.device), ids]
        features = torch.cat([bottom[:, None, :], rows], dim=1)
        products = features @ features.transpose(1, 2)
        i, j = torch.tril_indices(self.fields + 1, self.fields + 1, offset=-1, device=ids.device)
        top = self.top(torch.cat([bottom, products[:, i, j]], dim=1))
        return torch.sigmoid(top).squeeze(1)


def get_inputs():
    return [torch.randn(BATCH, DENSE), torch.randint(0, ROWS, (BATCH, FIELDS))]


def get_init_inputs():
    return [DENSE, FIELDS, ROWS, WIDTH, HIDDEN]
