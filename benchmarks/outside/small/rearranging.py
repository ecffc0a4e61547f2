"""Parts and moves: uneven splits, rolls, flips, quarter turns, repeats of both kinds, tiles, squeezes of a batch of
one, pixel shuffles, channel shuffles, meshes."""

import torch
import torch.nn.functional as F

BATCH = 4
CHANNELS = 12
HEIGHT = 15
WIDTH = 22
FACTOR = 2


def fn(x, lone):
    parts = x.split([3, 1, x.shape[1] - 4], dim=1)
    chunks = x.chunk(3, dim=3)  # the last one is narrower
    tensor_parts = torch.tensor_split(x, 4, dim=2)
    joined = torch.cat([parts[2], parts[0] * 2, parts[1]], 1) + torch.cat(chunks[::-1], -1)
    stacked = torch.stack([x[:, 0], x[:, -1]], dim=2).flatten(1, 2)
    rolled = x.roll((2, -3), dims=(2, 3)) + x.roll(1, 1), x[0, 0].roll(4)
    turned = torch.rot90(x, 1, (2, 3)), x.rot90(-1, (1, 3)), x.flip((1, 2)), x.fliplr()
    repeated = x.repeat(1, 2, 1, 3)[:, 5], x.repeat_interleave(3, dim=1)[:, :7], lone.repeat(2, 1, 1), lone.tile((2,))
    squeezed = lone.squeeze(), lone.squeeze(0).unsqueeze(-1), x.squeeze(), lone.squeeze((0, 1))
    finer = F.pixel_shuffle(x, FACTOR)
    coarser = F.pixel_unshuffle(finer.roll(1, 2), FACTOR) - x, F.channel_shuffle(x, 4)
    row, column = torch.meshgrid(torch.arange(x.shape[2]), torch.arange(x.shape[3]), indexing="ij")
    grid = (row * 3 - column).to(x.dtype) * x
    pair = torch.dstack([x[0, 0], x[0, 1]]), torch.hstack([x[:, 0], x[:, 1]]), torch.block_diag(x[0, 0], x[0, 1])
    bound = sum(x.unbind(1)) + x.swapaxes(0, 1)[0]
    return joined, tensor_parts[1], stacked, rolled, turned, repeated, squeezed, finer, coarser, grid, pair, bound


def example_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH), torch.randn(1, 1, CHANNELS)]
