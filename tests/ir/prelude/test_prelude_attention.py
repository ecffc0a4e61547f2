from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
import torch.nn as nn  # noqa: E402
import torch.nn.functional as F  # noqa: E402


def heads(batch: int, count: int, kept: int, length: int, keys: int, width: int) -> dict[str, Any]:
    return {
        "q": torch.randn(batch, count, length, width),
        "k": torch.randn(batch, kept, keys, width),
        "v": torch.randn(batch, kept, keys, width + 1),
    }


@pytest.mark.parametrize("kept", [1, 2, 4])
@pytest.mark.parametrize(("length", "keys"), [(5, 5), (3, 6), (6, 3), (1, 4)])
@pytest.mark.parametrize("causal", [False, True])
def test_attention(check: Any, causal: bool, length: int, keys: int, kept: int) -> None:
    given = heads(2, 4, kept, length, keys, 3)
    want = F.scaled_dot_product_attention(**_named(given), is_causal=causal, enable_gqa=kept != 4)
    check(f"scaled_dot_product_attention(q, k, v; is_causal={int(causal)})", given, want)


def test_attention_scale(check: Any) -> None:
    given = heads(2, 3, 3, 4, 5, 2)
    want = F.scaled_dot_product_attention(**_named(given), scale=0.3)
    check("scaled_dot_product_attention(q, k, v; scale=0.3)", given, want)


@pytest.mark.parametrize("lead", [(2, 4), (1, 1), (2, 1), (1, 4)])
def test_masked_attention(check: Any, lead: tuple[int, int]) -> None:
    given = heads(2, 4, 2, 5, 6, 3)
    mask = torch.rand(*lead, 5, 6) > 0.4
    mask[..., 0] = True
    want = F.scaled_dot_product_attention(**_named(given), attn_mask=mask, enable_gqa=True)
    check("masked_attention(q, k, v, mask)", {**given, "mask": mask}, want)
    bias = torch.randn(*lead, 5, 6)
    want = F.scaled_dot_product_attention(**_named(given), attn_mask=bias, enable_gqa=True)
    check("biased_attention(q, k, v, bias)", {**given, "bias": bias}, want)


def test_attention_with_nothing_to_attend_to(check: Any) -> None:
    given = heads(1, 1, 1, 3, 4, 2)
    mask = torch.tensor([[True, False, True, True], [False] * 4, [True] * 4])[None, None]
    want = F.scaled_dot_product_attention(**_named(given), attn_mask=mask)
    check("masked_attention(q, k, v, mask)", {**given, "mask": mask}, want)


@pytest.mark.parametrize("options", [{"batch_first": True}, {}, {"bias": False}, {"kdim": 3, "vdim": 5}])
def test_multihead_module(check: Any, options: dict[str, Any]) -> None:
    module = nn.MultiheadAttention(6, 2, **options).eval()
    nn.init.normal_(module.out_proj.weight)
    if module.in_proj_bias is not None:
        nn.init.normal_(module.in_proj_bias)
        nn.init.normal_(module.out_proj.bias)
    q, k = torch.randn(4, 3, 6), torch.randn(4, 3, options.get("kdim", 6))
    v = torch.randn(4, 3, options.get("vdim", 6))
    check('MultiheadAttention(q, k, v; name="m")', {"q": q, "k": k, "v": v}, module(q, k, v)[0], module)


def test_causal_multihead_module(check: Any) -> None:
    module = nn.MultiheadAttention(6, 3, batch_first=True).eval()
    x = torch.randn(2, 5, 6)
    mask = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)
    want = module(x, x, x, attn_mask=mask, is_causal=True)[0]
    check('MultiheadAttention(x, x, x; name="m", is_causal=1)', {"x": x}, want, module)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("options", [{}, {"norm_first": True, "batch_first": True}])
def test_encoder_layer_module(check: Any, options: dict[str, Any], activation: str) -> None:
    module = nn.TransformerEncoderLayer(6, 2, 8, activation=activation, **options).eval()
    for parameter in module.parameters():
        nn.init.normal_(parameter)
    x = torch.randn(3, 4, 6)
    call = f'TransformerEncoderLayer(x; name="m", activation="{activation}")'
    check(call, {"x": x}, module(x), module)


def _named(given: dict[str, Any]) -> dict[str, Any]:
    return {"query": given["q"], "key": given["k"], "value": given["v"]}
