"""T5's encoder: one relative bias for all layers, no scale in attention."""

import torch
from torch import nn
from transformers import T5Config, T5EncoderModel

BATCH = 4
LENGTH = 80
HEAD_WIDTH = 32
FEEDFORWARD = 512
VOCABULARY = 1000
WIDTH = 256
HEADS = 4
LAYERS = 3


class Model(nn.Module):
    def __init__(self, vocabulary, width, heads, layers, head_width, feedforward):
        super().__init__()
        self.net = T5EncoderModel(
            T5Config(
                vocab_size=vocabulary,
                d_model=width,
                num_heads=heads,
                num_layers=layers,
                d_kv=head_width,
                d_ff=feedforward,
                feed_forward_proj="gated-gelu",
            )
        )

    def forward(self, ids):
        return self.net(input_ids=ids).last_hidden_state


def get_inputs():
    return [torch.randint(0, VOCABULARY, (BATCH, LENGTH))]


def get_init_inputs():
    return [VOCABULARY, WIDTH, HEADS, LAYERS, HEAD_WIDTH, FEEDFORWARD]
