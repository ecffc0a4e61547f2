"""Text classifier: embedding, two LSTM layers, mean and last state, log-probabilities of the classes."""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 64
STEPS = 256
VOCABULARY = 30000
EMBEDDING = 300
HIDDEN = 512
LAYERS = 2
CLASSES = 20


class Model(nn.Module):
    def __init__(self, vocabulary, embedding, hidden, layers, classes):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, embedding)
        self.lstm = nn.LSTM(embedding, hidden, num_layers=layers, batch_first=True, dropout=0.2)
        self.head = nn.Linear(2 * hidden, classes)

    def forward(self, tokens):
        states, (last, _) = self.lstm(self.embed(tokens))
        features = torch.cat([states.mean(dim=1), last[-1]], dim=-1)
        return F.log_softmax(self.head(features), dim=-1)


def get_inputs():
    return [torch.randint(0, VOCABULARY, (BATCH, STEPS))]


def get_init_inputs():
    return [VOCABULARY, EMBEDDING, HIDDEN, LAYERS, CLASSES]
