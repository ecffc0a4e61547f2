"""CLIP's text tower: causal, quick GELU. Its pooled row is the place of the largest token of each text."""

import torch
from torch import nn
from transformers import CLIPTextConfig, CLIPTextModel

BATCH = 6
LENGTH = 40
POSITIONS = 77
FEEDFORWARD = 768
VOCABULARY = 1000
WIDTH = 256
HEADS = 4
LAYERS = 3


class Model(nn.Module):
    def __init__(self, vocabulary, width, heads, layers, feedforward, positions):
        super().__init__()
        self.net = CLIPTextModel(
            CLIPTextConfig(
                vocab_size=vocabulary,
                hidden_size=width,
                num_attention_heads=heads,
                num_hidden_layers=layers,
                intermediate_size=feedforward,
                max_position_embeddings=positions,
                eos_token_id=2,
            )
        )

    def forward(self, ids):
        out = self.net(input_ids=ids)
        return out.last_hidden_state, out.pooler_output


def get_inputs():
    return [torch.randint(0, VOCABULARY, (BATCH, LENGTH))]


def get_init_inputs():
    return [VOCABULARY, WIDTH, HEADS, LAYERS, FEEDFORWARD, POSITIONS]
