"""Mixtral: two of several experts per token, all of them by one batched product (static shapes)."""

import torch
from torch import nn
from transformers import MixtralConfig, MixtralModel

BATCH = 2
LENGTH = 24
KEY_HEADS = 2
FEEDFORWARD = 224
EXPERTS = 6
TOP = 2
VOCABULARY = 500
WIDTH = 128
HEADS = 4
LAYERS = 2


class Model(nn.Module):
    def __init__(self, vocabulary, width, heads, layers, key_heads, feedforward, experts, top):
        super().__init__()
        self.net = MixtralModel(
            MixtralConfig(
                vocab_size=vocabulary,
                hidden_size=width,
                num_attention_heads=heads,
                num_hidden_layers=layers,
                num_key_value_heads=key_heads,
                intermediate_size=feedforward,
                num_local_experts=experts,
                num_experts_per_tok=top,
                experts_implementation="batched_mm",
                use_cache=False,
            )
        )

    def forward(self, ids):
        return self.net(input_ids=ids).last_hidden_state


def get_inputs():
    return [torch.randint(0, VOCABULARY, (BATCH, LENGTH))]


def get_init_inputs():
    return [VOCABULARY, WIDTH, HEADS, LAYERS, KEY_HEADS, FEEDFORWARD, EXPERTS, TOP]
