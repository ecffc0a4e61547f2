"""ALBERT: one layer's weights used by all layers, a narrower embedding. The library's result object as it is."""

import torch
from torch import nn
from transformers import AlbertConfig, AlbertModel

BATCH = 4
LENGTH = 56
POSITIONS = 90
EMBEDDING = 64
FEEDFORWARD = 600
VOCABULARY = 1000
WIDTH = 256
HEADS = 4
LAYERS = 3


class Model(nn.Module):
    def __init__(self, vocabulary, width, heads, layers, embedding, feedforward, positions):
        super().__init__()
        self.net = AlbertModel(
            AlbertConfig(
                vocab_size=vocabulary,
                hidden_size=width,
                num_attention_heads=heads,
                num_hidden_layers=layers,
                embedding_size=embedding,
                intermediate_size=feedforward,
                max_position_embeddings=positions,
            )
        )

    def forward(self, ids):
        return self.net(input_ids=ids)


def get_inputs():
    return [torch.randint(0, VOCABULARY, (BATCH, LENGTH))]


def get_init_inputs():
    return [VOCABULARY, WIDTH, HEADS, LAYERS, EMBEDDING, FEEDFORWARD, POSITIONS]
