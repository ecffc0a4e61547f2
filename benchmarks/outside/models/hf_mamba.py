"""Mamba on the plain path: a short causal convolution and a scan over time written as a Python loop."""

import torch
from torch import nn
from transformers import MambaConfig, MambaModel

BATCH = 2
LENGTH = 48
VOCABULARY = 600
WIDTH = 96
STATE = 12
LAYERS = 2
RANK = 10


class Model(nn.Module):
    def __init__(self, vocabulary, width, state, layers, rank):
        super().__init__()
        self.net = MambaModel(
            MambaConfig(
                vocab_size=vocabulary,
                hidden_size=width,
                state_size=state,
                num_hidden_layers=layers,
                time_step_rank=rank,
                use_cache=False,
            )
        )

    def forward(self, ids):
        return self.net(input_ids=ids).last_hidden_state


def get_inputs():
    return [torch.randint(0, VOCABULARY, (BATCH, LENGTH))]


def get_init_inputs():
    return [VOCABULARY, WIDTH, STATE, LAYERS, RANK]
