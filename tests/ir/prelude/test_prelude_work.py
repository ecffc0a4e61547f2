"""Prelude functions do the multiply-adds that PyTorch's own counter sees, and no others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")
import torch.nn as nn  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from solar_agent.analysis.count import count  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402


def image(*shape: int) -> dict[str, Any]:
    return {"x": torch.randn(2, 4, *shape)}


def heads(kept: int) -> dict[str, Any]:
    return {"q": torch.randn(2, 4, 5, 3), "k": torch.randn(2, kept, 6, 3), "v": torch.randn(2, kept, 6, 3)}


def attention(q: Any, k: Any, v: Any) -> Any:
    """Written out: the counter takes shared heads of the fused operator for heads of their own."""
    k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))
    return torch.softmax(q @ k.transpose(-1, -2), -1) @ v


CONTRACTIONS: list[tuple[str, dict[str, Any], Callable[..., Any]]] = [
    ("linear(x, w)", {"x": torch.randn(3, 5, 7), "w": torch.randn(4, 7)}, F.linear),
    ("matmul(a, b)", {"a": torch.randn(2, 3, 4), "b": torch.randn(2, 4, 5)}, torch.matmul),
    ("conv1d(x, w; padding=1, stride=2)", {**image(9), "w": torch.randn(6, 4, 3)},
     lambda x, w: F.conv1d(x, w, padding=1, stride=2)),
    ("conv2d(x, w; padding=[1, 0], groups=2)", {**image(6, 7), "w": torch.randn(6, 2, 3, 2)},
     lambda x, w: F.conv2d(x, w, padding=(1, 0), groups=2)),
    ("conv3d(x, w; dilation=2)", {**image(5, 6, 5), "w": torch.randn(3, 4, 2, 3, 1)},
     lambda x, w: F.conv3d(x, w, dilation=2)),
    ("conv_transpose1d(x, w; stride=2, padding=1)", {**image(5), "w": torch.randn(4, 3, 4)},
     lambda x, w: F.conv_transpose1d(x, w, stride=2, padding=1)),
    ("conv_transpose2d(x, w; stride=3, groups=2)", {**image(4, 5), "w": torch.randn(4, 3, 2, 3)},
     lambda x, w: F.conv_transpose2d(x, w, stride=3, groups=2)),
    ("scaled_dot_product_attention(q, k, v)", heads(4), attention),
    ("scaled_dot_product_attention(q, k, v)", heads(2), attention),
]  # fmt: skip


@pytest.mark.parametrize(("call", "given", "reference"), CONTRACTIONS, ids=[call for call, _, _ in CONTRACTIONS])
def test_nominal_multiply_adds(elaborated: Any, call: str, given: dict[str, Any], reference: Any) -> None:
    with FlopCounterMode(display=False) as counter:
        reference(*given.values())
    counts = count(elaborated(call, given))
    assert counts.macs_nominal == counter.get_total_flops() // 2
    assert 0 < counts.macs <= counts.macs_nominal


def test_causal_attention_does_half(elaborated: Any) -> None:
    given = {name: torch.randn(2, 3, 5, 4) for name in "qkv"}
    counts = count(elaborated("scaled_dot_product_attention(q, k, v; is_causal=1)", given))
    assert counts.macs == 2 * 2 * 3 * (5 * 6 // 2) * 4  # two products x batch x heads x triangle x width


def test_recurrent_layers(elaborated: Any) -> None:
    x = {"x": torch.randn(6, 3, 5)}
    gates = 6 * 3 * (5 * 4 + 4 * 4)  # steps x batch x (input + state)
    assert count(elaborated('LSTM(x; name="m")', x, 3, nn.LSTM(5, 4))).macs == 4 * gates
    assert count(elaborated('GRU(x; name="m")', x, 2, nn.GRU(5, 4, bidirectional=True))).macs == 2 * 3 * gates


FREE = [
    "gelu(x)", "softmax(x; dim=1)", "logsumexp(x)", "max_pool2d(x; kernel_size=2)", "avg_pool2d(x; kernel_size=3)",
    "instance_norm(x)", "normalize(x)", "cumsum(x)", "mse_loss(x, x)", "kl_div(x, x)", "cosine_similarity(x, x)",
    "huber_loss(x, x)", "upsample_bilinear2d(x; size=[9, 9])", "local_response_norm(x; size=3)", "glu(x)",
    "binary_cross_entropy_with_logits(x, x)", "cross_entropy_probs(x, x)", "cumprod(x)",
]  # fmt: skip


@pytest.mark.parametrize("call", FREE)
def test_pointwise_and_reducing_functions_have_no_multiply_adds(elaborated: Any, call: str) -> None:
    counts = count(elaborated(call, image(6, 8)))
    assert counts.macs_nominal == 0 and counts.vector_ops > 0
