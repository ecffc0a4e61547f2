"""BERT with a padding mask and two segments; the pooled first token.

The library asks of a mask of rank 2 whether it hides anything, which the meta device cannot tell; one of rank 4 is
taken as it is."""

import torch
from torch import nn
from transformers import BertConfig, BertModel

BATCH = 8
LENGTH = 96
POSITIONS = 128
FEEDFORWARD = 1024
VOCABULARY = 1000
WIDTH = 256
HEADS = 4
LAYERS = 3


class Model(nn.Module):
    def __init__(self, vocabulary, width, heads, layers, feedforward, positions):
        super().__init__()
        self.net = BertModel(
            BertConfig(
                vocab_size=vocabulary,
                hidden_size=width,
                num_attention_heads=heads,
                num_hidden_layers=layers,
                intermediate_size=feedforward,
                max_position_embeddings=positions,
            )
        )

    def forward(self, ids, mask, segments):
        visible = mask.bool()[:, None, None, :].expand(-1, 1, ids.shape[1], -1)
        out = self.net(input_ids=ids, attention_mask=visible, token_type_ids=segments)
        return out.last_hidden_state, out.pooler_output


def get_inputs():
    mask = torch.cat([torch.ones(BATCH, 1), torch.randint(0, 2, (BATCH, LENGTH - 1))], dim=1).long()
    return [torch.randint(0, VOCABULARY, (BATCH, LENGTH)), mask, torch.randint(0, 2, (BATCH, LENGTH))]


def get_init_inputs():
    return [VOCABULARY, WIDTH, HEADS, LAYERS, FEEDFORWARD, POSITIONS]
