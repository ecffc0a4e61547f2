"""GPT-2 with the head tied to the embedding."""

import torch
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel

BATCH = 4
LENGTH = 128
POSITIONS = 256
VOCABULARY = 1000
WIDTH = 256
HEADS = 4
LAYERS = 3


class Model(nn.Module):
    def __init__(self, vocabulary, width, heads, layers, positions):
        super().__init__()
        self.net = GPT2LMHeadModel(
            GPT2Config(
                vocab_size=vocabulary,
                n_embd=width,
                n_head=heads,
                n_layer=layers,
                n_positions=positions,
                use_cache=False,
            )
        )

    def forward(self, ids):
        return self.net(input_ids=ids).logits


def get_inputs():
    return [torch.randint(0, VOCABULARY, (BATCH, LENGTH))]


def get_init_inputs():
    return [VOCABULARY, WIDTH, HEADS, LAYERS, POSITIONS]
