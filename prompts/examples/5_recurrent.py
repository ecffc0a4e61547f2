import torch, torch.nn as nn

BATCH, STEPS, VOCABULARY, WIDTH, HIDDEN = 32, 100, 5000, 128, 256

class Model(nn.Module):
    def __init__(self, vocabulary, width, hidden):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, hidden, batch_first=True)
        self.hidden = hidden

    def forward(self, tokens):
        h0 = torch.randn(1, tokens.shape[0], self.hidden)
        c0 = torch.zeros(1, tokens.shape[0], self.hidden)
        ys, (h, c) = self.lstm(self.embed(tokens), (h0, c0))
        return ys.cumsum(dim=1), h

def get_inputs():
    return [torch.randint(0, VOCABULARY, (BATCH, STEPS))]

def get_init_inputs():
    return [VOCABULARY, WIDTH, HIDDEN]
