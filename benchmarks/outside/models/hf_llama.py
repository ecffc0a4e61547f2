"""Llama: rotary positions, RMS norm, gated layers, fewer key heads than query heads."""

import torch
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM

BATCH = 2
LENGTH = 160
KEY_HEADS = 2
FEEDFORWARD = 688
VOCABULARY = 1000
WIDTH = 256
HEADS = 4
LAYERS = 3


class Model(nn.Module):
    def __init__(self, vocabulary, width, heads, layers, key_heads, feedforward):
        super().__init__()
        self.net = LlamaForCausalLM(
            LlamaConfig(
                vocab_size=vocabulary,
                hidden_size=width,
                num_attention_heads=heads,
                num_hidden_layers=layers,
                num_key_value_heads=key_heads,
                intermediate_size=feedforward,
                use_cache=False,
            )
        )

    def forward(self, ids):
        return self.net(input_ids=ids).logits


def get_inputs():
    return [torch.randint(0, VOCABULARY, (BATCH, LENGTH))]


def get_init_inputs():
    return [VOCABULARY, WIDTH, HEADS, LAYERS, KEY_HEADS, FEEDFORWARD]
