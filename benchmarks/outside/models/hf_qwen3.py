"""Qwen3: as Llama, with norms of queries and keys and a head width of its own."""

import torch
from torch import nn
from transformers import Qwen3Config, Qwen3Model

BATCH = 3
LENGTH = 72
KEY_HEADS = 2
HEAD_WIDTH = 48
FEEDFORWARD = 640
VOCABULARY = 1000
WIDTH = 256
HEADS = 4
LAYERS = 3


class Model(nn.Module):
    def __init__(self, vocabulary, width, heads, layers, key_heads, head_width, feedforward):
        super().__init__()
        self.net = Qwen3Model(
            Qwen3Config(
                vocab_size=vocabulary,
                hidden_size=width,
                num_attention_heads=heads,
                num_hidden_layers=layers,
                num_key_value_heads=key_heads,
                head_dim=head_width,
                intermediate_size=feedforward,
                use_cache=False,
            )
        )

    def forward(self, ids):
        return self.net(input_ids=ids).last_hidden_state


def get_inputs():
    return [torch.randint(0, VOCABULARY, (BATCH, LENGTH))]


def get_init_inputs():
    return [VOCABULARY, WIDTH, HEADS, LAYERS, KEY_HEADS, HEAD_WIDTH, FEEDFORWARD]
