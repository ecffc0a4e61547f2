import torch, torch.nn as nn, torch.nn.functional as F

TEMPERATURE = 0.5

class Model(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.register_buffer("weight", torch.rand(classes))

    def forward(self, logits, target):
        loss = F.cross_entropy(logits / TEMPERATURE, target, weight=self.weight)
        guess = logits.argmax(dim=-1)
        return {"accuracy": (guess == target).float().mean(), "guess": guess, "loss": loss}

batch, classes = 4096, 1000

def get_inputs():
    return [torch.randn(batch, classes), torch.randint(0, classes, (batch,))]

def get_init_inputs():
    return [classes]
