"""Two-tower retrieval: cosine scores of projected queries against a stored index, and the best hits of each query."""

import torch
import torch.nn as nn
import torch.nn.functional as F

QUERIES = 256
FEATURES = 512
EMBEDDING = 128
DOCUMENTS = 100000
HITS = 10


class Model(nn.Module):
    def __init__(self, features, embedding, documents, hits):
        super().__init__()
        self.tower = nn.Sequential(
            nn.Linear(features, 2 * embedding), nn.ReLU(), nn.Linear(2 * embedding, embedding)
        )
        self.register_buffer("index", torch.randn(documents, embedding))
        self.hits = hits

    def forward(self, query):
        q = F.normalize(self.tower(query), dim=-1)
        d = F.normalize(self.index, dim=-1)
        scores = q @ d.T
        value, hit = torch.topk(scores, self.hits, dim=-1)
        return value, hit


def get_inputs():
    return [torch.randn(QUERIES, FEATURES)]


def get_init_inputs():
    return [FEATURES, EMBEDDING, DOCUMENTS, HITS]
