from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
import torch.nn as nn  # noqa: E402
import torch.nn.functional as F  # noqa: E402

SHAPES = [(4, 6), (4, 6, 5), (2, 6, 3, 4), (2, 6, 2, 3, 2)]


def shaken(module: Any) -> Any:
    """The module in eval mode with random weights and statistics, so that none of them can be forgotten."""
    for key, value in module.state_dict().items():
        if value.is_floating_point():
            value.copy_(torch.rand(value.shape) + 0.5 if "var" in key else torch.randn(value.shape))
    return module.eval()


@pytest.mark.parametrize("shape", SHAPES)
def test_batch_norm(check: Any, shape: tuple[int, ...]) -> None:
    x, mean, var, w, b = torch.randn(shape), torch.randn(6), torch.rand(6) + 0.1, torch.randn(6), torch.randn(6)
    given = {"x": x, "mean": mean, "var": var, "w": w, "b": b}
    check("batch_norm(x, mean, var, w, b; eps=1e-3)", given, F.batch_norm(x, mean, var, w, b, eps=1e-3))
    axes = [0, *range(2, len(shape))]
    check("batch_stats(x)", {"x": x}, (x.mean(axes), x.var(axes, unbiased=False)))


@pytest.mark.parametrize("options", [{}, {"affine": False}, {"track_running_stats": False, "eps": 0.1}])
@pytest.mark.parametrize("kind", [nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d])
def test_batch_norm_module(check: Any, kind: Any, options: dict[str, Any]) -> None:
    module = shaken(kind(6, **options))
    for shape in SHAPES[:2] if kind is nn.BatchNorm1d else [SHAPES[2 if kind is nn.BatchNorm2d else 3]]:
        x = torch.randn(shape)
        check(f'{kind.__name__}(x; name="m")', {"x": x}, module(x), module)


@pytest.mark.parametrize("kind", [nn.BatchNorm2d, nn.InstanceNorm2d])
def test_norm_module_in_train_mode(check: Any, kind: Any) -> None:
    module = nn.Sequential(shaken(kind(6, affine=True, track_running_stats=True))).train()
    x = torch.randn(SHAPES[2])
    before = {key: value.clone() for key, value in module.state_dict().items()}
    want = module(x)
    module.load_state_dict(before)
    check(f'{kind.__name__}(x; name="m.0")', {"x": x}, want, module)


@pytest.mark.parametrize("options", [{}, {"bias": False}, {"elementwise_affine": False, "eps": 0.3}])
@pytest.mark.parametrize("sizes", [(5,), (4, 5), (3, 4, 5)])
def test_layer_norm_module(check: Any, sizes: tuple[int, ...], options: dict[str, Any]) -> None:
    x = torch.randn(2, 3, 4, 5)
    module = shaken(nn.LayerNorm(sizes, **options))
    check('LayerNorm(x; name="m")', {"x": x}, module(x), module)


def test_layer_and_rms_norm(check: Any) -> None:
    x, w, b = torch.randn(2, 3, 7), torch.randn(7), torch.randn(7)
    check("layer_norm(x, w, b)", {"x": x, "w": w, "b": b}, F.layer_norm(x, (7,), w, b))
    check("layer_norm_plain(x; eps=0.1)", {"x": x}, F.layer_norm(x, (7,), eps=0.1))
    check("rms_norm(x, w; eps=0.01)", {"x": x, "w": w}, F.rms_norm(x, (7,), w, eps=0.01))


@pytest.mark.parametrize("options", [{"eps": 1e-4}, {"eps": 0.1, "elementwise_affine": False}])
def test_rms_norm_module(check: Any, options: dict[str, Any]) -> None:
    x, module = torch.randn(2, 3, 7), shaken(nn.RMSNorm(7, **options))
    check('RMSNorm(x; name="m")', {"x": x}, module(x), module)


@pytest.mark.parametrize("shape", SHAPES)
def test_group_norm(check: Any, shape: tuple[int, ...]) -> None:
    x, w, b = torch.randn(shape), torch.randn(6), torch.randn(6)
    check("group_norm(x, w, b; num_groups=3)", {"x": x, "w": w, "b": b}, F.group_norm(x, 3, w, b))
    for affine in (True, False):
        module = shaken(nn.GroupNorm(2, 6, eps=0.01, affine=affine))
        check('GroupNorm(x; name="m")', {"x": x}, module(x), module)


@pytest.mark.parametrize("options", [{}, {"affine": True}, {"affine": True, "track_running_stats": True}])
@pytest.mark.parametrize("kind", [nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d])
def test_instance_norm(check: Any, kind: Any, options: dict[str, Any]) -> None:
    x = torch.randn(SHAPES[[nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d].index(kind) + 1])
    check("instance_norm(x; eps=0.01)", {"x": x}, F.instance_norm(x, eps=0.01))
    module = shaken(kind(6, **options))
    check(f'{kind.__name__}(x; name="m")', {"x": x}, module(x), module)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_local_response_norm(check: Any, size: int) -> None:
    x = torch.randn(2, 6, 3, 4)
    want = F.local_response_norm(x, size, alpha=0.3, beta=0.6, k=1.5)
    check(f"local_response_norm(x; size={size}, alpha=0.3, beta=0.6, k=1.5)", {"x": x}, want)


@pytest.mark.parametrize("dim", [1, -1, 0])
@pytest.mark.parametrize("p", [1, 2, 3, "inf"])
def test_normalize(check: Any, p: Any, dim: int) -> None:
    x = torch.randn(3, 4, 5)
    x[1] = 0
    check(f"normalize(x; p={p}, dim={dim})", {"x": x}, F.normalize(x, float(p), dim))
