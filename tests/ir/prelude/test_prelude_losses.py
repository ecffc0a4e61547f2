from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402

REDUCTIONS = ["mean", "sum", "none"]


def near(shape: tuple[int, ...]) -> tuple[Any, Any]:
    """Two tensors, equal at some places and exactly 1 apart at others."""
    x = torch.randn(shape)
    t = x + torch.randn(shape)
    t[0] = x[0]
    t[1] = x[1] + 1
    return x, t


ELEMENTWISE: list[tuple[str, Callable[..., Any]]] = [
    ("mse_loss(x, t; {r})", F.mse_loss),
    ("l1_loss(x, t; {r})", F.l1_loss),
    ("smooth_l1_loss(x, t; {r})", F.smooth_l1_loss),
    ("smooth_l1_loss(x, t; {r}, beta=0.25)", partial(F.smooth_l1_loss, beta=0.25)),
    ("huber_loss(x, t; {r})", F.huber_loss),
    ("huber_loss(x, t; {r}, delta=0.5)", partial(F.huber_loss, delta=0.5)),
    ("poisson_nll_loss(x, t; {r})", F.poisson_nll_loss),
]  # fmt: skip


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize(("call", "reference"), ELEMENTWISE, ids=[call for call, _ in ELEMENTWISE])
def test_regression_losses(check: Any, call: str, reference: Callable[..., Any], reduction: str) -> None:
    x, t = near((4, 3, 5))
    check(call.format(r=f'reduction="{reduction}"'), {"x": x, "t": t}, reference(x, t, reduction=reduction))


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("spatial", [(), (4,), (2, 3)])
def test_class_losses(check: Any, spatial: tuple[int, ...], reduction: str) -> None:
    x, t = 5 * torch.randn(6, 5, *spatial), torch.randint(0, 5, (6, *spatial))
    given, r = {"x": x, "t": t}, f'reduction="{reduction}"'
    check(f"cross_entropy(x, t; {r})", given, F.cross_entropy(x, t, reduction=reduction))
    t[1] = -100
    check(f"nll_loss(x, t; {r})", given, F.nll_loss(x, t, reduction=reduction))
    t[2] = 3
    want = F.cross_entropy(x, t.where(t >= 0, 3), reduction=reduction, ignore_index=3, label_smoothing=0.2)
    given = {"x": x, "t": t.where(t >= 0, 3)}
    check(f"cross_entropy(x, t; {r}, ignore_index=3, label_smoothing=0.2)", given, want)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("smooth", [0.0, 0.3])
def test_cross_entropy_of_probabilities(check: Any, smooth: float, reduction: str) -> None:
    x, t = torch.randn(4, 5, 3), torch.softmax(torch.randn(4, 5, 3), 1)
    want = F.cross_entropy(x, t, reduction=reduction, label_smoothing=smooth)
    check(f'cross_entropy_probs(x, t; reduction="{reduction}", label_smoothing={smooth})', {"x": x, "t": t}, want)


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")
@pytest.mark.parametrize("reduction", [*REDUCTIONS, "batchmean"])
def test_kl_div(check: Any, reduction: str) -> None:
    x, t = torch.log_softmax(torch.randn(4, 5), 1), torch.softmax(3 * torch.randn(4, 5), 1)
    t[0, :] = torch.tensor([0.0, 0.0, 1.0, 0.0, 0.0])
    check(f'kl_div(x, t; reduction="{reduction}")', {"x": x, "t": t}, F.kl_div(x, t, reduction=reduction))
    t = torch.log_softmax(torch.randn(4, 5), 1)
    want = F.kl_div(x, t, reduction=reduction, log_target=True)
    check(f'kl_div(x, t; reduction="{reduction}", log_target=1)', {"x": x, "t": t}, want)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_binary_losses(check: Any, reduction: str) -> None:
    p, t = torch.rand(4, 6), torch.rand(4, 6)
    p[0], t[0] = torch.tensor([0.0, 1.0, 0.0, 1.0, 0.5, 0.5]), torch.tensor([0.0, 1.0, 1.0, 0.0, 1.0, 0.0])
    r = f'reduction="{reduction}"'
    want = F.binary_cross_entropy(p, t, reduction=reduction)
    check(f"binary_cross_entropy(p, t; {r})", {"p": p, "t": t}, want)
    x = torch.cat([50 * torch.randn(3, 6), torch.zeros(1, 6)])
    want = F.binary_cross_entropy_with_logits(x, t, reduction=reduction)
    check(f"binary_cross_entropy_with_logits(x, t; {r})", {"x": x, "t": t}, want)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_margin_losses(check: Any, reduction: str) -> None:
    x, y = torch.randn(4, 6), torch.randn(4, 6)
    t = torch.randint(0, 2, (4, 6)) * 2.0 - 1
    r = f'reduction="{reduction}"'
    given = {"x": x, "y": y, "t": t}
    check(f"soft_margin_loss(x, t; {r})", {"x": x, "t": t}, F.soft_margin_loss(x, t, reduction=reduction))
    want = F.hinge_embedding_loss(x, t, margin=0.7, reduction=reduction)
    check(f"hinge_embedding_loss(x, t; margin=0.7, {r})", {"x": x, "t": t}, want)
    want = F.margin_ranking_loss(x, y, t, margin=0.2, reduction=reduction)
    check(f"margin_ranking_loss(x, y, t; margin=0.2, {r})", given, want)
    want = F.cosine_embedding_loss(x, y, t[:, 0], margin=0.1, reduction=reduction)
    check(f"cosine_embedding_loss(x, y, t; margin=0.1, {r})", {**given, "t": t[:, 0].contiguous()}, want)
    v = torch.rand(4, 6)
    v[0] = 0
    want = F.gaussian_nll_loss(x, y, v, reduction=reduction)
    check(f"gaussian_nll_loss(x, y, v; {r})", {"x": x, "y": y, "v": v}, want)


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("p", [1, 2, 3])
def test_triplet_margin(check: Any, p: int, swap: bool) -> None:
    a, b, c = torch.randn(5, 7), torch.randn(5, 7), torch.randn(5, 7)
    b[0] = a[0]
    want = F.triplet_margin_loss(a, b, c, margin=0.8, p=p, swap=swap)
    check(f"triplet_margin_loss(a, b, c; margin=0.8, p={p}, swap={int(swap)})", {"a": a, "b": b, "c": c}, want)
    check(f"pairwise_distance(a, b; p={p})", {"a": a, "b": b}, F.pairwise_distance(a, b, p))


@pytest.mark.parametrize("dim", [1, -1, 0])
def test_cosine_similarity(check: Any, dim: int) -> None:
    a, b = torch.randn(3, 4, 5), torch.randn(3, 4, 5)
    a[0] = 0
    check(f"cosine_similarity(a, b; dim={dim})", {"a": a, "b": b}, F.cosine_similarity(a, b, dim))
