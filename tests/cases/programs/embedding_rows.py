import torch
from torch import nn

WORDS = 50_000


class BagOfWords(nn.Module):
    """The sum of the vectors of a few words out of many."""

    def __init__(self):
        super().__init__()
        self.vectors = nn.Embedding(WORDS, 64)

    def forward(self, words):
        return self.vectors(words).sum(dim=1)


def get_inputs():
    return [torch.randint(0, WORDS, (4, 16))]
