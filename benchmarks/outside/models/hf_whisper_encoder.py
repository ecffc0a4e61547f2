"""Whisper's encoder: two convolutions over time, fixed positions, layers before norms."""

import torch
from torch import nn
from transformers import WhisperConfig
from transformers.models.whisper.modeling_whisper import WhisperEncoder

BATCH = 2
POSITIONS = 150
MELS = 40
WIDTH = 256
HEADS = 4
LAYERS = 3
FEEDFORWARD = 800


class Model(nn.Module):
    def __init__(self, positions, mels, width, heads, layers, feedforward):
        super().__init__()
        config = WhisperConfig(
            max_source_positions=positions,
            num_mel_bins=mels,
            d_model=width,
            encoder_attention_heads=heads,
            encoder_layers=layers,
            encoder_ffn_dim=feedforward,
        )
        self.net = WhisperEncoder(config)

    def forward(self, x):
        return self.net(x).last_hidden_state


def get_inputs():
    return [torch.randn(BATCH, MELS, 2 * POSITIONS)]


def get_init_inputs():
    return [POSITIONS, MELS, WIDTH, HEADS, LAYERS, FEEDFORWARD]
