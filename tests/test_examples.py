"""The example programs run on the CPU at small sizes and keep their full sizes on the meta device."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

EXAMPLES = Path(__file__).parent.parent / "examples"
SMALL: dict[str, dict[str, int]] = {
    "conv_variants": {"BATCH": 2, "WIDTH": 8, "GROUPS": 4, "HEIGHT_PX": 18, "WIDTH_PX": 22},
    "corner_integers": {"BATCH": 3, "EVENTS": 50},
    "corner_losses": {"BATCH": 3, "STEPS": 5, "FEATURES": 4, "CLASSES": 7},
    "corner_pools": {"BATCH": 2, "FRAMES": 3, "CHANNELS": 4, "HEIGHT": 18, "WIDTH": 22},
    "corner_recurrent": {"BATCH": 3, "STEPS": 5, "FEATURES": 4, "HIDDEN": 6},
    "corner_resize": {"BATCH": 2, "CHANNELS": 4, "HEIGHT": 13, "WIDTH": 22},
    "corner_spectral": {"BATCH": 2, "STEPS": 11, "CHANNELS": 3, "CUTOFF": 4},
    "corner_views": {"BATCH": 2, "SIZE": 10, "HEAD": 3},
    "corner_windows": {"BATCH": 2, "HEIGHT": 8, "WIDTH": 12, "WINDOW": 4, "SHIFT": 1, "HEADS": 2, "CHANNELS": 6},
    "cumsum": {"BATCH": 3, "STEPS": 11},
    "gemm_chain": {"BATCH": 3, "IN_FEATURES": 5, "HIDDEN": 7, "RANK": 2, "OUT_FEATURES": 5},
    "gru_bidirectional": {"STEPS": 5, "BATCH": 3, "FEATURES": 4, "HIDDEN": 6, "TAGS": 7},
    "int8_linear": {"ROWS": 3, "IN_FEATURES": 5, "OUT_FEATURES": 7},
    "lstm_classifier": {"BATCH": 3, "STEPS": 5, "VOCABULARY": 11, "EMBEDDING": 6, "HIDDEN": 7, "CLASSES": 4},
    "mamba_scan": {"BATCH": 2, "STEPS": 5, "WIDTH": 6, "STATE": 3, "STEP_RANK": 2},
    "masked_attention": {"BATCH": 3, "LENGTH": 10, "HEADS": 2, "HEAD_DIM": 3, "WIDTH": 6},
    "mobilenet_block": {"BATCH": 2, "CHANNELS": 4, "EXPANSION": 2, "REDUCTION": 2, "SIZE": 7},
    "moe_gather": {"TOKENS": 5, "WIDTH": 4, "HIDDEN": 6, "EXPERTS": 7, "CHOSEN": 3},
    "norms": {"BATCH": 2, "CHANNELS": 6, "GROUPS": 3, "HEIGHT": 5, "WIDTH": 7},
    "pooling": {"BATCH": 2, "CHANNELS": 3, "HEIGHT": 18, "WIDTH": 22, "GRID": 3},
    "recommender": {"BATCH": 3, "DENSE": 5, "FIELDS": 4, "ROWS": 9, "WIDTH": 6, "HIDDEN": 7},
    "resnet_block": {"BATCH": 2, "IN_CHANNELS": 3, "CHANNELS": 5, "SIZE": 9},
    "retrieval_topk": {"QUERIES": 3, "FEATURES": 5, "EMBEDDING": 4, "DOCUMENTS": 20, "HITS": 6},
    "rmsnorm_swiglu": {"BATCH": 2, "LENGTH": 5, "HEADS": 4, "KV_HEADS": 2, "HEAD_DIM": 6, "WIDTH": 24, "HIDDEN": 7},
    "softmax_losses": {"BATCH": 5, "CLASSES": 7},
    "unet": {"BATCH": 2, "BASE": 2, "HEIGHT": 8, "WIDTH": 12},
    "vit_block": {"BATCH": 2, "IMAGE": 8, "PATCH": 4, "WIDTH": 6, "HEADS": 2, "LAYERS": 2, "CLASSES": 5},
    "wavenet_stack": {"BATCH": 2, "CHANNELS": 3, "SKIP": 5, "STEPS": 20, "LAYERS": 3},
}


def loaded(name: str, sizes: dict[str, int]) -> Any:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for key, value in sizes.items():
        assert isinstance(getattr(module, key), int)
        setattr(module, key, value)
    return module


def leaves(result: Any) -> list[Any]:
    if torch.is_tensor(result):
        return [result]
    parts = result.values() if isinstance(result, dict) else result
    return [leaf for part in parts for leaf in leaves(part)]


def results(module: Any) -> list[Any]:
    with torch.no_grad():
        return leaves(module.Model(*module.get_init_inputs()).eval()(*module.get_inputs()))


def test_every_example_is_listed() -> None:
    assert sorted(SMALL) == sorted(path.stem for path in EXAMPLES.glob("*.py"))


@pytest.mark.parametrize("name", SMALL)
def test_example_runs_small_and_keeps_its_size_on_meta(name: str) -> None:
    torch.manual_seed(1)
    small = results(loaded(name, SMALL[name]))
    assert all(leaf.isfinite().all() for leaf in small)
    with torch.device("meta"):
        full = results(loaded(name, {}))
    assert [leaf.dim() for leaf in full] == [leaf.dim() for leaf in small]
    assert sum(leaf.numel() for leaf in full) > sum(leaf.numel() for leaf in small)
