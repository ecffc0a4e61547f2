from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")
import torch.nn as nn  # noqa: E402
import torch.nn.functional as F  # noqa: E402

EDGES = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 3.0, -3.0, 6.0, 20.0, -20.0, 21.0, 700.0, -800.0, 1e-300, -1e-9]
INFINITE = [float("inf"), float("-inf"), float("nan")]


def values(*extra: float) -> Any:
    return torch.cat([torch.tensor([*EDGES, *extra]), 3 * torch.randn(11)])


ACTIVATIONS: list[tuple[str, Callable[[Any], Any]]] = [
    ("relu(x)", F.relu),
    ("relu6(x)", F.relu6),
    ("leaky_relu(x)", F.leaky_relu),
    ("leaky_relu(x; negative_slope=0.2)", lambda x: F.leaky_relu(x, 0.2)),
    ("elu(x)", F.elu),
    ("elu(x; alpha=0.3)", lambda x: F.elu(x, 0.3)),
    ("selu(x)", F.selu),
    ("celu(x)", F.celu),
    ("celu(x; alpha=1.7)", lambda x: F.celu(x, 1.7)),
    ("gelu(x)", F.gelu),
    ('gelu(x; approximate="tanh")', lambda x: F.gelu(x, approximate="tanh")),
    ("silu(x)", F.silu),
    ("mish(x)", F.mish),
    ("softplus(x)", F.softplus),
    ("softplus(x; beta=2.5, threshold=3)", lambda x: F.softplus(x, 2.5, 3)),
    ("logsigmoid(x)", F.logsigmoid),
    ("hardtanh(x)", F.hardtanh),
    ("hardtanh(x; min_val=-0.25, max_val=2)", lambda x: F.hardtanh(x, -0.25, 2)),
    ("hardsigmoid(x)", F.hardsigmoid),
    ("hardswish(x)", F.hardswish),
    ("hardshrink(x)", F.hardshrink),
    ("hardshrink(x; lambd=1.0)", lambda x: F.hardshrink(x, 1.0)),
    ("softshrink(x)", F.softshrink),
    ("softshrink(x; lambd=1.0)", lambda x: F.softshrink(x, 1.0)),
    ("softsign(x)", F.softsign),
    ("tanhshrink(x)", F.tanhshrink),
    ("threshold(x; threshold=0.5, value=-2)", lambda x: F.threshold(x, 0.5, -2)),
]


@pytest.mark.parametrize(("call", "reference"), ACTIVATIONS, ids=[call for call, _ in ACTIVATIONS])
def test_activation_on_edges(check: Any, call: str, reference: Callable[[Any], Any]) -> None:
    x = values()
    check(call, {"x": x}, reference(x))


SPREADING = ["relu(x)", "relu6(x)", "leaky_relu(x)", "elu(x)", "hardtanh(x)", "softplus(x)", "selu(x)", "hardshrink(x)"]


@pytest.mark.parametrize("call", SPREADING)
def test_activation_propagates_non_finite_values(check: Any, call: str) -> None:
    x = values(*INFINITE)
    check(call, {"x": x}, dict(ACTIVATIONS)[call](x))


@pytest.mark.parametrize("shape", [(), (4,), (2, 3, 4, 5)])
def test_activation_of_any_rank(check: Any, shape: tuple[int, ...]) -> None:
    x = torch.randn(shape)
    check("gelu(relu6(x) - x)", {"x": x}, F.gelu(F.relu6(x) - x))


@pytest.mark.parametrize("dim", [-1, 1, 0])
def test_glu(check: Any, dim: int) -> None:
    x = torch.randn(4, 6, 2)
    check(f"glu(x; dim={dim})", {"x": x}, F.glu(x, dim))


def test_prelu(check: Any) -> None:
    x, slope = torch.randn(2, 3, 4, 5), torch.randn(3)
    check("prelu(x, s)", {"x": x, "s": slope}, F.prelu(x, slope))
    for count in (1, 3):
        module = nn.PReLU(count, init=0.3)
        check('PReLU(x; name="m")', {"x": x}, module(x), module)


SOFTMAX = {"softmax": F.softmax, "log_softmax": F.log_softmax, "softmin": F.softmin, "logsumexp": torch.logsumexp}


@pytest.mark.parametrize("dim", [-1, -2, 0, 1, 2, 3])
@pytest.mark.parametrize("name", SOFTMAX)
def test_softmax_family(check: Any, name: str, dim: int) -> None:
    x = 50 * torch.randn(3, 4, 2, 5)
    check(f"{name}(x; dim={dim})", {"x": x}, SOFTMAX[name](x, dim))


@pytest.mark.parametrize("name", SOFTMAX)
def test_softmax_of_extreme_rows(check: Any, name: str) -> None:
    inf = float("inf")
    x = torch.tensor([[1e4, -1e4, 0.0], [-inf, 1.0, 2.0], [-inf, -inf, -inf], [5.0, 5.0, 5.0]])
    check(f"{name}(x)", {"x": x}, SOFTMAX[name](x, -1))


@pytest.mark.parametrize("dim", [-1, 0, 1])
def test_prefix_sums(check: Any, dim: int) -> None:
    x = torch.randn(4, 7, 3)
    total = torch.cumsum(x, dim)
    check(f"cumsum(x; dim={dim})", {"x": x}, total)
    check(f"cumsum_exclusive(x; dim={dim})", {"x": x}, total - x)
    check(f"cumsum_reverse(x; dim={dim})", {"x": x}, x.flip(dim).cumsum(dim).flip(dim))
    check(f"cumprod(x; dim={dim})", {"x": x}, torch.cumprod(x, dim))


@pytest.mark.parametrize("dim", [-1, 0, 1])
def test_running_reductions(check: Any, dim: int) -> None:
    x = 50 * torch.randn(4, 7, 3)
    check(f"logcumsumexp(x; dim={dim})", {"x": x}, torch.logcumsumexp(x, dim))
    x[:, 2:4] = x[:, 1:2]
    x[2:, 5, 1] = float("nan")
    check(f"cummax_indices(x; dim={dim})", {"x": x}, torch.cummax(x, dim).indices)
    check(f"cummin_indices(x; dim={dim})", {"x": x}, torch.cummin(x, dim).indices)
