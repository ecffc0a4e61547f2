"""DistilBERT with the scores of a masked token, sinusoidal positions."""

import torch
from torch import nn
from transformers import DistilBertConfig, DistilBertForMaskedLM

BATCH = 4
LENGTH = 64
POSITIONS = 100
FEEDFORWARD = 512
VOCABULARY = 1000
WIDTH = 256
HEADS = 4
LAYERS = 3


class Model(nn.Module):
    def __init__(self, vocabulary, width, heads, layers, feedforward, positions):
        super().__init__()
        self.net = DistilBertForMaskedLM(
            DistilBertConfig(
                vocab_size=vocabulary,
                dim=width,
                n_heads=heads,
                n_layers=layers,
                hidden_dim=feedforward,
                max_position_embeddings=positions,
                sinusoidal_pos_embds=True,
            )
        )

    def forward(self, ids):
        return self.net(input_ids=ids).logits


def get_inputs():
    return [torch.randint(0, VOCABULARY, (BATCH, LENGTH))]


def get_init_inputs():
    return [VOCABULARY, WIDTH, HEADS, LAYERS, FEEDFORWARD, POSITIONS]
