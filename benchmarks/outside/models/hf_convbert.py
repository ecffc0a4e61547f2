"""ConvBERT: attention beside convolutions whose kernels are computed from the tokens."""

import torch
from torch import nn
from transformers import ConvBertConfig, ConvBertModel

BATCH = 3
LENGTH = 48
POSITIONS = 64
EMBEDDING = 128
FEEDFORWARD = 512
VOCABULARY = 700
WIDTH = 128
HEADS = 4
LAYERS = 2


class Model(nn.Module):
    def __init__(self, vocabulary, width, heads, layers, embedding, feedforward, positions):
        super().__init__()
        self.net = ConvBertModel(
            ConvBertConfig(
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
        return self.net(input_ids=ids).last_hidden_state


def get_inputs():
    return [torch.randint(0, VOCABULARY, (BATCH, LENGTH))]


def get_init_inputs():
    return [VOCABULARY, WIDTH, HEADS, LAYERS, EMBEDDING, FEEDFORWARD, POSITIONS]
