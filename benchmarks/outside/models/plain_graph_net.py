"""Messages along the edges of a graph: rows gathered at both ends, scores normalised per target by scatters, a gated
update, and one vector for each graph of a batch."""

import torch
from torch import nn

NODES = 400
EDGES = 2400
GRAPHS = 16
FEATURES = 20
EDGE_FEATURES = 6
WIDTH = 64
HEADS = 4
ROUNDS = 2


class Round(nn.Module):
    def __init__(self, width, heads, edge_features):
        super().__init__()
        self.heads = heads
        self.send = nn.Linear(width, width)
        self.edge = nn.Linear(edge_features, width, bias=False)
        self.score = nn.Parameter(torch.randn(heads, width // heads))
        self.update = nn.GRUCell(width, width)

    def forward(self, h, source, target, edges):
        message = self.send(h)[source] + self.edge(edges)
        message = message.view(-1, self.heads, message.shape[1] // self.heads)
        logits = (torch.tanh(message + h[target].view_as(message)) * self.score).sum(-1)
        rows = target[:, None].expand_as(logits)
        top = logits.new_full((h.shape[0], self.heads), -1e9).scatter_reduce(0, rows, logits, "amax")
        weight = torch.exp(logits - top[target])
        total = torch.zeros_like(top).scatter_add(0, rows, weight)
        weight = weight / (total[target] + 1e-6)
        gathered = torch.zeros_like(h).index_add(0, target, (message * weight[..., None]).flatten(1))
        return self.update(gathered, h)


class Model(nn.Module):
    def __init__(self, features, edge_features, width, heads, rounds):
        super().__init__()
        self.start = nn.Linear(features, width)
        self.rounds = nn.ModuleList(Round(width, heads, edge_features) for _ in range(rounds))
        self.read = nn.Sequential(nn.Linear(2 * width, width), nn.SiLU(), nn.Linear(width, 1))

    def forward(self, nodes, edges, source, target, graph):
        h = torch.relu(self.start(nodes))
        for layer in self.rounds:
            h = layer(h, source, target, edges)
        sums = h.new_zeros(GRAPHS, h.shape[1]).index_add(0, graph, h)
        count = h.new_zeros(GRAPHS).index_add(0, graph, torch.ones_like(graph, dtype=h.dtype))
        return self.read(torch.cat([sums, sums / count.clamp(min=1)[:, None]], dim=1)).squeeze(-1), h


def get_inputs():
    return [
        torch.randn(NODES, FEATURES),
        torch.randn(EDGES, EDGE_FEATURES),
        torch.randint(0, NODES, (EDGES,)),
        torch.randint(0, NODES, (EDGES,)),
        torch.randint(0, GRAPHS, (NODES,)),
    ]


def get_init_inputs():
    return [FEATURES, EDGE_FEATURES, WIDTH, HEADS, ROUNDS]
